/*
 * Kernels and what must be said of them: a name that begins with wait_ runs whole, one that begins
 * with free_ is cut (tests/spirv/test_cut.c). Kernels that begin with doubt_ end by themselves, which
 * is not seen: either answer is right.
 */
kernel void wait_flag(global volatile int *flag, global int *out)
{
    while (flag[0] == 0)
        ;
    out[get_global_id(0)] = 1;
}

kernel void wait_plain(global int *flag, global int *out)
{
    int i = 0;

    while (flag[i & 1] == 0)
        i++;
    out[get_global_id(0)] = i;
}

kernel void wait_lock(global int *lock, global int *out)
{
    while (atomic_cmpxchg(lock, 0, 1) != 0)
        ;
    out[0]++;
    atomic_xchg(lock, 0);
}

kernel void wait_count(global int *arrived, global int *out)
{
    atomic_inc(arrived);
    while (atomic_add(arrived, 0) < (int)get_num_groups(0))
        ;
    out[get_global_id(0)] = 1;
}

__attribute__((noinline)) int ready(global volatile int *flag)
{
    return flag[get_group_id(0)];
}

kernel void wait_called(global volatile int *flag, global int *out)
{
    while (!ready(flag))
        ;
    out[get_global_id(0)] = 1;
}

kernel void wait_inner(global volatile int *flag, global int *out)
{
    for (int i = 0; i < 10; i++)
        while (flag[i] == 0)
            ;
    out[get_global_id(0)] = 1;
}

kernel void free_counter(global int *count, global int *out)
{
    for (int i = 0; i < 10; i++)
        out[atomic_inc(count)] = i;
}

kernel void doubt_bounded(global volatile int *flag, global int *out)
{
    int i = 0;

    while (flag[0] == 0 && i < 100)
        i++;
    out[get_global_id(0)] = i;
}

kernel void retry_sum(global int *sum, global int *out)
{
    int seen = *sum;

    for (;;) {
        int found = atomic_cmpxchg(sum, seen, seen + out[get_global_id(0)]);

        if (found == seen)
            break;
        seen = found;
    }
}

kernel void free_reduce(global int *in, global int *out, local int *part)
{
    part[get_local_id(0)] = in[get_global_id(0)];
    for (uint s = get_local_size(0) / 2; s > 0; s /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (get_local_id(0) < s)
            part[get_local_id(0)] += part[get_local_id(0) + s];
    }
    if (get_local_id(0) == 0)
        out[get_group_id(0)] = part[0];
}
