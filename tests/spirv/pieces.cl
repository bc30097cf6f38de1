/*
 * Kernels that tell where they are, in every way that OpenCL C has. All have the same arguments, so
 * that one program can run them (tests/spirv/host.c). None waits; the last three are cut as well.
 */
__attribute__((noinline)) ulong place(uint d)
{
    return get_group_id(d) * 1000 + get_num_groups(d);
}

__attribute__((noinline)) ulong deeper(uint d)
{
    return place(d) + get_global_offset(d) * 7;
}

__attribute__((noinline)) uint untouched(uint x)
{
    return x * 2654435761u;
}

kernel void ids(global ulong *out, global const uint *in, uint n)
{
    size_t at = get_global_linear_id();

    out[at] = get_global_id(0) + 3 * get_global_id(1) + 5 * get_global_id(2) + in[at % n];
}

kernel void sizes(global ulong *out, global const uint *in, uint n)
{
    size_t at = get_global_linear_id();

    out[at] = get_global_size(0) + 11 * get_global_size(1) + 13 * get_global_size(2) + 17 * get_work_dim() +
              get_local_size(0) * get_local_id(1);
}

kernel void called(global ulong *out, global const uint *in, uint n)
{
    size_t at = get_global_linear_id();

    out[at] = deeper(0) + 2 * deeper(1) + 3 * deeper(2) + untouched(in[at % n]);
}

/* The dimension is known at run time only. */
kernel void chosen(global ulong *out, global const uint *in, uint n)
{
    size_t at = get_global_linear_id();
    uint d = in[at % n] % 3;

    out[at] = get_global_id(d) + get_num_groups(d) * 100 + get_group_id(d) * 10000;
}

/* A loop whose end is read from memory, as in rows of a sparse matrix. */
kernel void rows(global ulong *out, global const uint *in, uint n)
{
    size_t at = get_global_linear_id();
    ulong sum = 0;

    for (uint j = in[at % n] % n; j < in[(at + 1) % n] % n; j++)
        sum += in[j];
    out[at] = sum + get_group_id(0);
}

kernel void counted(global ulong *out, global const uint *in, uint n)
{
    size_t at = get_global_linear_id();
    ulong sum = 0;

    for (size_t j = get_local_id(0); j < n; j += get_local_size(0))
        sum += in[j] == 0 ? 1 : in[j];
    out[at] = sum + get_global_id(0);
}
