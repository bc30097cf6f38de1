/* Random kernels, many to a module: what the device computes against a direct evaluation. */
#include "device.h"
#include "random_program.h"

#include "base/draft.h"
#include "harness.h"

#include <stdlib.h>
#include <string.h>

enum { PER_MODULE = 100, WORDS = 3 * PROGRAM_MOST_THREADS * (PROGRAM_REGISTERS + 1) };

static struct program programs[PER_MODULE];

static void print_module(char **ret_text, size_t *ret_size)
{
    struct draft draft;

    ck_assert_int_eq(draft_begin(&draft), 0);
    fputs(".version 8.0\n.target sm_80\n.address_size 64\n\n", draft.out);
    for (unsigned i = 0; i < PER_MODULE; i++)
        program_print(&programs[i], draft.out);
    ck_assert_int_eq(draft_take(&draft, 0, ret_text, ret_size), 0);
}

static void check_program(struct device *device, const struct program *program, uint32_t *out,
                          uint32_t *counters, size_t seed)
{
    static uint32_t expected[WORDS];
    uint32_t expected_counters[PROGRAM_COUNTERS] = {0};
    size_t words = (size_t)program->blocks * program->threads * (PROGRAM_REGISTERS + 1);
    char name[32];

    (void)snprintf(name, sizeof name, "k%u", program->number);
    memset(out, 0, sizeof expected);
    memset(counters, 0, sizeof expected_counters);
    program_evaluate(program, expected, expected_counters);
    ck_assert_msg(device_run(device, name, program->blocks, program->threads, "ll", out, counters) == CPU_OK,
                  "module %zu, %s: %s", seed, name, device->fault.text);
    for (size_t i = 0; i < words; i++)
        if (out[i] != expected[i]) {
            program_print(program, stderr);
            ck_abort_msg("module %zu, %s: word %zu (thread %zu, register %zu) is %x, expected %x", seed, name,
                         i, i / (PROGRAM_REGISTERS + 1), i % (PROGRAM_REGISTERS + 1), out[i], expected[i]);
        }
    ck_assert_msg(memcmp(counters, expected_counters, sizeof expected_counters) == 0,
                  "module %zu, %s: counters differ", seed, name);
}

START_TEST(random_kernels_agree_with_a_direct_evaluation)
{
    static struct device device;
    size_t modules = harness_scale(2000, 1000000) / PER_MODULE;
    unsigned seen = 0;

    for (size_t m = 0; m < modules; m++) {
        struct random_state random;
        uint32_t *out;
        uint32_t *counters;
        char *text;
        size_t size;

        random_init(&random, 21, m);
        for (unsigned i = 0; i < PER_MODULE; i++) {
            program_make(&programs[i], &random, i);
            seen |= programs[i].seen;
        }
        print_module(&text, &size);
        device.is_quick = m % 4 != 0;
        device_open(&device, text, size);
        out = device_memory(&device, WORDS * 4);
        counters = device_memory(&device, PROGRAM_COUNTERS * 4);
        for (unsigned i = 0; i < PER_MODULE; i++)
            check_program(&device, &programs[i], out, counters, m);
        device_close(&device);
        free(text);
    }
    ck_assert_uint_eq(seen, (1U << PROGRAM_N_KINDS) - 1); /* every kind of statement occurs */
}
END_TEST

HARNESS_MAIN("cuda_cpu random kernels", 86400, random_kernels_agree_with_a_direct_evaluation)
