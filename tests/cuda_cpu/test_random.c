/* Random kernels, many to a module: what the device computes against a direct evaluation. */
#include "device.h"
#include "random_program.h"

#include "base/draft.h"
#include "harness.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PER_MODULE = 100, WORDS = 3 * PROGRAM_MOST_THREADS * PROGRAM_WORDS };

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
    size_t words = (size_t)program->blocks * program->threads * PROGRAM_WORDS;
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
                         i, i / PROGRAM_WORDS, i % PROGRAM_WORDS, out[i], expected[i]);
        }
    ck_assert_msg(memcmp(counters, expected_counters, sizeof expected_counters) == 0,
                  "module %zu, %s: counters differ", seed, name);
}

/*
 * In `make test` one module of five is compiled as users' modules are, one as modules that are
 * wanted soon, and the others without optimisation, which is a third of the time. A million kernels
 * are nearly all compiled by clang without optimisation, where there is a clang: a sixth.
 */
static void choose_compiler(struct device *device, size_t module)
{
    bool is_soak = getenv("BATON_SOAK") != NULL;
    size_t turn = module % (is_soak ? 16 : 5);

    device->haste = turn == 0 ? IMAGE_WELL : turn == 1 || is_soak ? IMAGE_SOON : IMAGE_AT_ONCE;
    if (is_soak && turn > 1 && access("/usr/bin/clang", X_OK) == 0) {
        device->haste = IMAGE_AT_ONCE;
        device->compiler = "/usr/bin/clang";
    }
    device->no_cache = is_soak;
}

/* BATON_RANDOM_MODULES=FIRST:COUNT runs these, to see a failure again or to go on with a soak. */
static void choose_modules(size_t *ret_first, size_t *ret_end)
{
    const char *asked = getenv("BATON_RANDOM_MODULES");
    size_t first = 0, count = harness_scale(1000, 1000000) / PER_MODULE;

    if (asked)
        ck_assert_int_eq(sscanf(asked, "%zu:%zu", &first, &count), 2);
    *ret_first = first;
    *ret_end = first + count;
}

START_TEST(random_kernels_agree_with_a_direct_evaluation)
{
    static struct device device;
    size_t first, end;
    unsigned seen = 0;

    choose_modules(&first, &end);
    for (size_t m = first; m < end; m++) {
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
        choose_compiler(&device, m);
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
