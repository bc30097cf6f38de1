/*
 * Kernels that nvcc has compiled, run on the CPU: results, faults, and what a program may do
 * meanwhile.
 */
#include "device.h"
#include "harness.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KERNELS "cuda_cpu/kernels.ptx"

static struct device d;

static void expect(enum cpu_status found, enum cpu_status expected)
{
    ck_assert_msg(found == expected, "%s (%s), expected %s", cpu_status_text(found), d.fault.text,
                  cpu_status_text(expected));
}

START_TEST(vectors_are_added)
{
    float *a;
    float *b;
    float *c;

    device_open_file(&d, KERNELS);
    a = device_memory(&d, 4000);
    b = device_memory(&d, 4000);
    c = device_memory(&d, 4096);
    for (int i = 0; i < 1000; i++) {
        a[i] = (float)i;
        b[i] = (float)(i * i);
    }
    expect(device_run(&d, "add", 8, 128, "llli", a, b, c, 1000), CPU_OK);
    for (int i = 0; i < 1000; i++)
        ck_assert(c[i] == (float)i + (float)(i * i));
    ck_assert(c[1000] == 0);
    device_close(&d);
}
END_TEST

START_TEST(a_part_of_the_grid_can_run_alone)
{
    float *a;
    float *c;

    device_open_file(&d, KERNELS);
    a = device_memory(&d, 4096);
    c = device_memory(&d, 4096);
    for (int i = 0; i < 1024; i++)
        a[i] = 1;
    d.launch.first_block = 2;
    d.launch.end_block = 5;
    expect(device_run(&d, "add", 8, 128, "llli", a, a, c, 1024), CPU_OK);
    for (int i = 0; i < 1024; i++)
        ck_assert(c[i] == (i >= 256 && i < 640 ? 2 : 0));
    device_close(&d);
}
END_TEST

START_TEST(a_tiled_product_waits_at_its_barriers)
{
    enum { N = 64 };
    const unsigned grid[3] = {N / 16, N / 16, 1};
    const unsigned block[3] = {16, 16, 1};
    struct {
        float *a, *b, *c;
        int n;
    } p;

    device_open_file(&d, KERNELS);
    p.a = device_memory(&d, N * N * 4);
    p.b = device_memory(&d, N * N * 4);
    p.c = device_memory(&d, N * N * 4);
    p.n = N;
    for (int i = 0; i < N * N; i++) {
        p.a[i] = (float)(i % 7);
        p.b[i] = (float)(i % 5 - 2);
    }
    expect(device_run_3d(&d, "product", grid, block, &p), CPU_OK);
    for (int y = 0; y < N; y++)
        for (int x = 0; x < N; x++) {
            float sum = 0;

            for (int k = 0; k < N; k++)
                sum += p.a[y * N + k] * p.b[k * N + x];
            ck_assert(p.c[y * N + x] == sum);
        }
    device_close(&d);
}
END_TEST

START_TEST(sums_by_shuffles_and_by_dynamic_shared_memory)
{
    int *in;
    int *out;
    int sum = 0;

    device_open_file(&d, KERNELS);
    in = device_memory(&d, 8 * 1024 * 4);
    out = device_memory(&d, 64);
    for (int i = 0; i < 8 * 1024; i++)
        sum += in[i] = i * 7 % 31;
    expect(device_run(&d, "warp_sum", 8, 1024, "ll", in, out), CPU_OK);
    ck_assert_int_eq(out[0], sum);
    d.launch.dynamic_shared_bytes = 1024 * 4;
    expect(device_run(&d, "block_sum", 8, 1024, "ll", in, out), CPU_OK);
    ck_assert_int_eq(out[0] + out[1] + out[2] + out[3] + out[4] + out[5] + out[6] + out[7], sum);
    d.launch.dynamic_shared_bytes = 100 * 1024; /* beyond 48 KB */
    expect(device_run(&d, "block_sum", 8, 1024, "ll", in, out), CPU_OK);
    d.launch.dynamic_shared_bytes = 300 * 1024;
    expect(device_run(&d, "block_sum", 8, 1024, "ll", in, out), CPU_BAD_LAUNCH);
    d.launch.dynamic_shared_bytes = 1024; /* too little for 1024 threads */
    expect(device_run(&d, "block_sum", 8, 1024, "ll", in, out), CPU_ILLEGAL_ADDRESS);
    device_close(&d);
}
END_TEST

START_TEST(warp_operations_answer_as_documented)
{
    int *out;

    device_open_file(&d, KERNELS);
    out = device_memory(&d, 64 * 16 * 4);
    expect(device_run(&d, "collectives", 1, 64, "l", out), CPU_OK);
    for (int i = 0; i < 64; i++) {
        const int *o = out + i * 16;
        int lane = i % 32;

        ck_assert_uint_eq((unsigned)o[0], 0xaaaaaaaaU);
        ck_assert_int_eq(o[1], 1);
        ck_assert_uint_eq((unsigned)o[2], 0xffU << (lane / 8 * 8));
        ck_assert_uint_eq((unsigned)o[3], 0xffffffffU);
        ck_assert_int_eq(o[4], 1);
        ck_assert_int_eq(o[5], 31 * 32 / 2);
        ck_assert_int_eq(o[6], 15);
        ck_assert_int_eq(o[7], lane ^ 5);
        ck_assert_int_eq(o[8], lane % 8 < 3 ? lane : lane - 3);
        ck_assert_int_eq(o[9], lane / 16 * 16 + 3);
        ck_assert_uint_eq((unsigned)o[10], lane < 12 ? 0xfffU : 0xfffff000U);
        ck_assert_int_eq(o[11], 5);
        ck_assert_int_eq(o[12], 3);
        ck_assert_int_eq(o[13], lane < 20 ? 19 : 21);
        ck_assert_int_eq(o[14], lane / 8 * 64 + 28); /* 8 lanes from 8 q on: 64 q + 0 + ... + 7 */
        ck_assert_int_eq(o[15], 32);
    }
    device_close(&d);
}
END_TEST

START_TEST(a_grid_barrier_holds_all_blocks)
{
    enum { N = 6 * 96 };
    int *data;
    int *out;

    device_open_file(&d, KERNELS);
    ck_assert(image_find_entry(d.image, "grid_sum")->is_grid_wide);
    data = device_memory(&d, 2 * N * 4);
    out = device_memory(&d, N * 4);
    for (int i = 0; i < N; i++)
        data[i] = i * i;
    d.launch.is_cooperative = true;
    expect(device_run(&d, "grid_sum", 6, 96, "lli", data, out, 5), CPU_OK);
    for (int i = 0; i < N; i++) /* five rounds: the value five places on, plus five */
        ck_assert_int_eq(out[i], (i + 5) % N * ((i + 5) % N) + 5);
    d.launch.is_cooperative = false;
    expect(device_run(&d, "grid_sum", 6, 96, "lli", data, out, 5), CPU_TRAP);
    device_close(&d);
}
END_TEST

START_TEST(functions_recurse_and_are_called_by_address)
{
    static const int fibonacci[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610};
    int *out;

    device_open_file(&d, KERNELS);
    out = device_memory(&d, 64);
    expect(device_run(&d, "recursion", 1, 16, "l", out), CPU_OK);
    ck_assert_int_eq(memcmp(out, fibonacci, sizeof fibonacci), 0);
    expect(device_run(&d, "indirect", 1, 16, "l", out), CPU_OK);
    for (int i = 0; i < 16; i++)
        ck_assert_int_eq(out[i], i & 1 ? i * i : 2 * i);
    expect(device_run(&d, "bad_call", 1, 1, "ll", (uint64_t)12345, out), CPU_ILLEGAL_INSTRUCTION);
    expect(device_run(&d, "bottomless", 1, 1, "l", out), CPU_STACK_OVERFLOW);
    expect(device_run(&d, "recursion", 1, 16, "l", out), CPU_OK);
    device_close(&d);
}
END_TEST

START_TEST(module_variables_have_values_and_addresses)
{
    struct {
        float x, y;
        int tag;
    } point = {1, 2, 3}, *made;
    struct image *other;
    const struct image_variable *table;
    float *out;

    device_open_file(&d, KERNELS);
    out = device_memory(&d, 64);
    out[1] = 2;
    expect(device_run(&d, "variables", 1, 1, "l", out), CPU_OK);
    ck_assert(out[0] == 20 && out[1] == 2.5F && out[2] == 7);
    table = image_find_variable(d.image, "table");
    ck_assert_uint_eq(table->size, 16);
    ck_assert_int_eq(((int *)(uintptr_t)table->address)[3], 40);
    ck_assert(image_find_variable(d.image, "managed")->is_managed);
    ck_assert_int_eq(*(int *)(uintptr_t)image_find_variable(d.image, "managed")->address, 8);
    ck_assert_int_eq(image_find_variable(d.image, "weights")->kind, IMAGE_CONSTANT);
    made = device_memory(&d, sizeof *made);
    expect(device_run(&d, "by_value", 1, 1, "bil", sizeof point, &point, 0, made), CPU_OK);
    ck_assert(made->x == 2 && made->y == 1 && made->tag == 4);
    (void)other;
    device_close(&d);
}
END_TEST

START_TEST(printf_and_assert_reach_the_caller)
{
    device_open_file(&d, KERNELS);
    expect(device_run(&d, "print", 1, 3, "i", 42), CPU_OK);
    ck_assert_str_eq(d.printed, "42  1.50 text q 1099511627776 ff%\n");
    d.n_printed = 0;
    memset(d.printed, 0, sizeof d.printed);
    expect(device_run(&d, "check", 2, 1, "i", 4), CPU_ASSERT);
    ck_assert_msg(strstr(d.printed, "block: [0,0,0], thread: [0,0,0] Assertion `n == 3` failed.") != NULL,
                  "%s", d.printed);
    expect(device_run(&d, "check", 2, 1, "i", 3), CPU_OK);
    device_close(&d);
}
END_TEST

START_TEST(faults_end_the_launch_only)
{
    int *p;
    int host = 0;

    device_open_file(&d, KERNELS);
    p = device_memory(&d, 4096);
    expect(device_run(&d, "stop", 1, 8, ""), CPU_TRAP);
    ck_assert_uint_eq(d.fault.thread[0], 3);
    expect(device_run(&d, "store", 1, 1, "ll", p, (uint64_t)1024), CPU_ILLEGAL_ADDRESS); /* the page behind */
    ck_assert_uint_eq(d.fault.address, (uint64_t)(uintptr_t)(p + 1024));
    expect(device_run(&d, "store", 1, 1, "ll", p, (uint64_t)1 << 30), CPU_ILLEGAL_ADDRESS);
    expect(device_run(&d, "store", 1, 1, "ll", &host, (uint64_t)0),
           CPU_ILLEGAL_ADDRESS); /* memory of the host */
    expect(device_run(&d, "store", 1, 1, "ll", (uint64_t)0, (uint64_t)0), CPU_ILLEGAL_ADDRESS);
    ck_assert_int_eq(host, 0);
    expect(device_run(&d, "misaligned", 1, 1, "l", p), CPU_MISALIGNED);
    expect(device_run(&d, "shared_out", 1, 32, "li", p, 32), CPU_ILLEGAL_ADDRESS);
    expect(device_run(&d, "half_barrier", 1, 64, "l", p), CPU_DEADLOCK);
    expect(device_run(&d, "store", 1, 1, "ll", p, (uint64_t)1023), CPU_OK);
    ck_assert_int_eq(p[1023], 1);
    device_close(&d);
}
END_TEST

static bool allows(void *context, uint64_t address, uint64_t size, bool is_write)
{
    (void)is_write;
    return address >= (uint64_t)(uintptr_t)context && address + size <= (uint64_t)(uintptr_t)context + 16;
}

START_TEST(registered_memory_of_the_host_is_reachable)
{
    int host[4] = {0};

    device_open_file(&d, KERNELS);
    d.launch.calls.context = host;
    d.launch.calls.may_access = allows;
    expect(device_run(&d, "store", 1, 1, "ll", host, (uint64_t)3), CPU_OK);
    ck_assert_int_eq(host[3], 1);
    expect(device_run(&d, "store", 1, 1, "ll", host, (uint64_t)4), CPU_ILLEGAL_ADDRESS);
    device_close(&d);
}
END_TEST

static volatile sig_atomic_t handled;
static sigjmp_buf *volatile resume;

static void on_segv(int number)
{
    handled = number;
    siglongjmp(*resume, 1);
}

START_TEST(the_program_keeps_its_own_signal_handlers)
{
    struct sigaction own = {.sa_handler = on_segv};
    sigjmp_buf place;
    int *p;

    device_open_file(&d, KERNELS);
    p = device_memory(&d, 4096);
    expect(device_run(&d, "store", 1, 1, "ll", p, (uint64_t)0), CPU_OK);
    ck_assert_int_eq(sigaction(SIGSEGV, &own, NULL),
                     0); /* after ours: the next launch goes before it again */
    expect(device_run(&d, "store", 1, 1, "ll", p, (uint64_t)1024), CPU_ILLEGAL_ADDRESS);
    ck_assert_int_eq(handled, 0);
    resume = &place;
    if (sigsetjmp(place, 1) == 0)
        *(volatile int *)(p + 1024) = 1; /* the host's own fault */
    ck_assert_int_eq(handled, SIGSEGV);
    device_close(&d);
}
END_TEST

static void *abort_it(void *argument)
{
    const struct timespec while_it_runs = {.tv_nsec = 20000000};

    (void)nanosleep(&while_it_runs,
                    NULL); /* either way the launch ends: before it begins, or while it runs */
    worker_abort(argument);
    return NULL;
}

START_TEST(an_endless_launch_can_be_aborted)
{
    pthread_t thread;
    int *p;

    device_open_file(&d, KERNELS);
    p = device_memory(&d, 64);
    ck_assert_int_eq(pthread_create(&thread, NULL, abort_it, d.worker), 0);
    expect(device_run(&d, "forever", 1, 32, "l", p), CPU_ABORTED);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    device_close(&d);
    device_open_file(&d, KERNELS);
    p = device_memory(&d, 64);
    ck_assert_int_eq(pthread_create(&thread, NULL, abort_it, d.worker), 0);
    expect(device_run(&d, "spin_plain", 1, 1, "il", 5, p), CPU_ABORTED);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    device_close(&d);
}
END_TEST

START_TEST(threads_that_wait_for_each_other_get_on)
{
    int *out;
    int *flags;

    device_open_file(&d, KERNELS);
    out = device_memory(&d, 4096);
    flags = device_memory(&d, 64);
    expect(device_run(&d, "critical", 4, 128, "l", out), CPU_OK);
    ck_assert_int_eq(out[0], 512);
    expect(device_run(&d, "hand_over", 1, 128, "ll", flags, out), CPU_OK);
    ck_assert_int_eq(out[1], 42);
    memset(out, 0, 4096);
    expect(device_run(&d, "mbarrier", 1, 100, "l", out), CPU_OK);
    for (int i = 0; i < 100; i++) /* (i + 1) times 1, 2 and 3 */
        ck_assert_int_eq(out[i], (i + 1) % 100 * 6);
    expect(device_run(&d, "named", 1, 128, "l", out), CPU_OK);
    for (int i = 0; i < 128; i++)
        ck_assert_int_eq(out[i], i < 64 ? 63 - i : 63 - (i - 64) + 100);
    device_close(&d);
}
END_TEST

START_TEST(atomics_count_every_thread)
{
    int *i;
    float *f;
    double *x;
    uint64_t *u;

    device_open_file(&d, KERNELS);
    i = device_memory(&d, 64);
    f = device_memory(&d, 64);
    x = device_memory(&d, 64);
    u = device_memory(&d, 64);
    i[7] = -1;
    expect(device_run(&d, "atomics", 2, 96, "llll", i, f, x, u), CPU_OK);
    ck_assert_int_eq(i[0], 192);
    ck_assert_int_eq(i[1], 90);
    ck_assert_int_eq(i[2], -95);
    ck_assert_uint_eq((unsigned)i[3], 0xffffffffU);
    ck_assert_int_eq(i[4], 0);        /* each number twice */
    ck_assert_int_eq(i[5], 192 % 10); /* 0 to 9, around */
    ck_assert_int_eq(i[6], 4); /* 0 becomes 6, then down: after 192 steps of 7 places, 6 - (192 - 1) % 7 */
    ck_assert_int_eq(i[7], 0);
    ck_assert_int_eq(i[8], 95 * 96 / 2);
    ck_assert(*f == 48 && *x == 96 && *u == UINT64_C(192) << 33);
    device_close(&d);
}
END_TEST

static struct texture texture;
static struct surface surface;

static const struct texture *find_texture(void *context, uint64_t handle)
{
    (void)context;
    return handle == 11 ? &texture : NULL;
}

static const struct surface *find_surface(void *context, uint64_t handle)
{
    (void)context;
    return handle == 12 ? &surface : NULL;
}

START_TEST(textures_filter_and_surfaces_store)
{
    const unsigned grid[3] = {1, 1, 1};
    const unsigned block[3] = {4, 4, 1};
    struct {
        uint64_t texture, surface;
        float *out;
    } p = {11, 12, NULL};
    float *texels;

    device_open_file(&d, KERNELS);
    texels = device_memory(&d, 64);
    p.out = device_memory(&d, 128);
    for (int i = 0; i < 16; i++) {
        int texel = i / 4 * 10 + i % 4;

        texels[i] = (float)texel;
    }
    texture = (struct texture){
        .n_levels = 1, .is_linear = true, .address = {TEXTURE_CLAMP, TEXTURE_CLAMP, TEXTURE_CLAMP}};
    texture.levels[0] = (struct texture_image){.address = (uint64_t)(uintptr_t)texels,
                                               .row_pitch = 16,
                                               .width = 4,
                                               .height = 4,
                                               .channels = 1,
                                               .format = TEXTURE_FLOAT};
    surface.image = texture.levels[0];
    surface.image.address = (uint64_t)(uintptr_t)device_memory(&d, 64);
    d.launch.calls.texture = find_texture;
    d.launch.calls.surface = find_surface;
    expect(device_run_3d(&d, "textures", grid, block, &p), CPU_OK);
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 4; x++) { /* half way between row y and the next; the last row is repeated */
            float expected = (float)x + (y < 3 ? (float)y * 10 + 5 : 30);

            ck_assert(p.out[y * 4 + x] == expected);
            ck_assert(p.out[16 + y * 4 + x] == expected + 1);
        }
    p.texture = 12;
    expect(device_run_3d(&d, "textures", grid, block, &p), CPU_ILLEGAL_INSTRUCTION);
    device_close(&d);
}
END_TEST

START_TEST(copies_and_heap_blocks)
{
    struct four {
        int v[4];
    } * in, *out;
    int **blocks;

    device_open_file(&d, KERNELS);
    in = device_memory(&d, 64 * 16);
    out = device_memory(&d, 64 * 16);
    for (int i = 0; i < 64; i++)
        in[i] = (struct four){{i, i + 1, i + 2, i + 3}};
    expect(device_run(&d, "asynchronous", 1, 64, "ll", in, out), CPU_OK);
    for (int i = 0; i < 64; i++)
        for (int k = 0; k < 4; k++)
            ck_assert_int_eq(out[i].v[k], (i ^ 1) == 3 && k >= 2 ? 0 : (i ^ 1) + k);
    blocks = device_memory(&d, 32 * 8);
    expect(device_run(&d, "heap", 1, 32, "l", blocks), CPU_OK);
    for (int i = 0; i < 32; i += 2)
        ck_assert_int_eq(blocks[i][i], i);
    device_close(&d);
}
END_TEST

HARNESS_MAIN("cuda_cpu kernels", 120, vectors_are_added, a_part_of_the_grid_can_run_alone,
             a_tiled_product_waits_at_its_barriers, sums_by_shuffles_and_by_dynamic_shared_memory,
             warp_operations_answer_as_documented, a_grid_barrier_holds_all_blocks,
             functions_recurse_and_are_called_by_address, module_variables_have_values_and_addresses,
             printf_and_assert_reach_the_caller, faults_end_the_launch_only,
             registered_memory_of_the_host_is_reachable, the_program_keeps_its_own_signal_handlers,
             an_endless_launch_can_be_aborted, threads_that_wait_for_each_other_get_on,
             atomics_count_every_thread, textures_filter_and_surfaces_store, copies_and_heap_blocks)
