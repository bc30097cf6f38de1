/* The fake driver knows these kernels by their names and arguments (tests/fake_driver/kernels.c). */
kernel void shape(global int *out)
{
    out[get_global_linear_id() * 16] = get_group_id(0);
}

kernel void scale(global int *a, int factor)
{
    a[get_global_id(0)] = a[get_global_id(0)] * factor + 1;
}
