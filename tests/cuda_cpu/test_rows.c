/*
 * Rows of threads that run without checks, and the rows beside them that may not: values that wrap
 * within a row, borders, strays. Expected values are computed here, thread by thread.
 */
#include "device.h"

#include "harness.h"

#include <string.h>

enum { N = 1000, THREADS = 64 };

static struct device device;
static uint32_t *in, *out;

static void open_device(void)
{
    device_open_file(&device, "cuda_cpu/rows.ptx");
    in = device_memory(&device, N * 4);
    out = device_memory(&device, N * 4);
    for (uint32_t i = 0; i < N; i++)
        in[i] = i * i + 5;
    memset(out, 0xff, N * 4);
}

START_TEST(a_guard_ends_the_threads_beyond_n_and_no_others)
{
    open_device();
    ck_assert_int_eq(device_run(&device, "guarded", 15, THREADS, "llii", in, out, 0, 901), CPU_OK);
    for (uint32_t i = 0; i < N; i++)
        ck_assert_uint_eq(out[i], i < 901 ? in[i] + 1 : UINT32_MAX);
    device_close(&device);
}
END_TEST

START_TEST(addresses_may_fall_from_thread_to_thread)
{
    open_device();
    ck_assert_int_eq(device_run(&device, "reversed", 10, 100, "llii", in, out, 0, N), CPU_OK);
    for (uint32_t i = 0; i < N; i++)
        ck_assert_uint_eq(out[i], in[N - 1 - i]);
    device_close(&device);
}
END_TEST

START_TEST(both_borders_are_left_alone)
{
    open_device();
    ck_assert_int_eq(device_run(&device, "neighbours", 16, THREADS, "llii", in, out, 0, N), CPU_OK);
    for (uint32_t i = 0; i < N; i++)
        ck_assert_uint_eq(out[i], i == 0 || i == N - 1 ? UINT32_MAX : in[i - 1] + in[i + 1]);
    device_close(&device);
}
END_TEST

START_TEST(an_index_that_wraps_within_a_row_is_not_one_step)
{
    uint64_t far;

    open_device();
    /* Indices 2^32 - 16 to 2^32 - 1 are out[0..15]; thread 16 has index 0, 16 GiB below. */
    far = (uint64_t)(uintptr_t)out - 4 * UINT64_C(0xfffffff0);
    ck_assert_int_eq(device_run(&device, "wrapped", 1, 16, "llii", in, far, 0xfffffff0, 0), CPU_OK);
    ck_assert_uint_eq(out[15], 0xffffffff);
    ck_assert_uint_eq(out[14], 0xfffffffe);
    ck_assert_int_eq(device_run(&device, "wrapped", 1, 32, "llii", in, far, 0xfffffff0, 0),
                     CPU_ILLEGAL_ADDRESS);
    device_close(&device);
}
END_TEST

START_TEST(a_comparison_that_wraps_within_a_row_is_asked_of_every_thread)
{
    open_device();
    /* i is 0x7ffffff0 + x: from x = 16 on it is negative, and less than n again. */
    ck_assert_int_eq(device_run(&device, "between", 1, 32, "llii", in, out, 0x7ffffff0, 0x7ffffff8), CPU_OK);
    for (uint32_t x = 0; x < 32; x++)
        ck_assert_uint_eq(out[x], x >= 8 && x < 16 ? UINT32_MAX : 1);
    device_close(&device);
}
END_TEST

START_TEST(a_comparison_for_equality_is_asked_of_every_thread)
{
    open_device();
    ck_assert_int_eq(device_run(&device, "all_but_one", 1, 32, "llii", in, out, 100, 117), CPU_OK);
    for (uint32_t x = 0; x < 32; x++)
        ck_assert_uint_eq(out[x], x == 17 ? UINT32_MAX : 1);
    device_close(&device);
}
END_TEST

START_TEST(registers_with_two_values_and_pairs_of_words_are_right)
{
    open_device();
    ck_assert_int_eq(device_run(&device, "rewritten", 1, 32, "llii", in, out, 0, 0), CPU_OK);
    for (uint32_t x = 0; x < 64; x++)
        ck_assert_uint_eq(in[x], x % 2 ? x * x + 5 : 9);
    ck_assert_int_eq(device_run(&device, "pairs", 1, 250, "llii", in + 2, out, 0, 0), CPU_OK);
    for (uint32_t x = 0; x < 500; x++)
        ck_assert_uint_eq(out[x], in[2 + (x ^ 1)]);
    device_close(&device);
}
END_TEST

START_TEST(strays_and_misalignment_are_found_in_fast_rows)
{
    uint32_t host[64];

    open_device();
    ck_assert_int_eq(device_run(&device, "guarded", 64, THREADS, "llii", in, out, 0, 1 << 20),
                     CPU_ILLEGAL_ADDRESS);
    memset(host, 7, sizeof host);
    ck_assert_int_eq(device_run(&device, "guarded", 1, THREADS, "llii", in, host, 0, N), CPU_ILLEGAL_ADDRESS);
    ck_assert_uint_eq(host[0], 0x07070707);
    ck_assert_int_eq(device_run(&device, "guarded", 1, THREADS, "llii", (char *)in + 2, out, 0, N),
                     CPU_MISALIGNED);
    ck_assert_int_eq(device_run(&device, "pairs", 1, THREADS, "llii", in + 1, out, 0, N), CPU_MISALIGNED);
    ck_assert_int_eq(device_run(&device, "guarded", 1, THREADS, "llii", UINT64_C(0), out, 0, N),
                     CPU_ILLEGAL_ADDRESS);
    device_close(&device);
}
END_TEST

static bool allow(void *context, uint64_t address, uint64_t size, bool is_write)
{
    (void)context;
    (void)address;
    (void)is_write;
    return size == 4;
}

START_TEST(memory_of_the_host_that_is_allowed_works_in_every_row)
{
    uint32_t host[THREADS] = {0};

    open_device();
    device.launch.calls.may_access = allow;
    ck_assert_int_eq(device_run(&device, "guarded", 1, THREADS, "llii", in, host, 0, N), CPU_OK);
    for (uint32_t i = 0; i < THREADS; i++)
        ck_assert_uint_eq(host[i], in[i] + 1);
    device_close(&device);
}
END_TEST

HARNESS_MAIN("cuda_cpu rows", 240, a_guard_ends_the_threads_beyond_n_and_no_others,
             addresses_may_fall_from_thread_to_thread, both_borders_are_left_alone,
             an_index_that_wraps_within_a_row_is_not_one_step,
             a_comparison_that_wraps_within_a_row_is_asked_of_every_thread,
             a_comparison_for_equality_is_asked_of_every_thread,
             registers_with_two_values_and_pairs_of_words_are_right,
             strays_and_misalignment_are_found_in_fast_rows,
             memory_of_the_host_that_is_allowed_works_in_every_row)
