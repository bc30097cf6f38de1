/* The fake driver knows these kernels by their names and arguments (tests/fake_driver/kernels.c). */
kernel void shape(global int *out)
{
    global int *mine = out + 16 * get_global_linear_id();

    for (uint d = 0; d < 3; d++) {
        mine[d] = get_global_id(d);
        mine[3 + d] = get_group_id(d);
        mine[6 + d] = get_local_id(d);
        mine[9 + d] = get_num_groups(d);
        mine[12 + d] = get_global_size(d);
    }
    mine[15] = get_work_dim();
}

kernel void scale(global int *a, int factor)
{
    a[get_global_id(0)] = a[get_global_id(0)] * factor + 1;
}
