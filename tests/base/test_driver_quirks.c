/* Which versions and devices have which quirk. */
#include "base/driver_quirks.h"

#include "harness.h"

#define POCL  "OpenCL 3.0 PoCL HSTR: basic-x86_64-pc-linux-gnu-skylake-avx512"
#define BASIC "basic-skylake-avx512-AMD EPYC"

enum { OF_POCL = (1u << DRIVER_QUIRKS) - 1 - (1u << QUIRK_THREADS_ON_CORES) };

/*
 * The first version known to have the quirk, and the last one before; NULL: none is known to be
 * free of it. A new row of the table about PoCL needs one here.
 */
static const struct {
    const char *before, *first;
} known[DRIVER_QUIRKS] = {
    [QUIRK_ENQUEUE_ALONE] = {NULL, "0.6"},
    [QUIRK_RUNS_INSIDE] = {NULL, "0.6"},
    /* The release notes of PoCL 1.4 are the first with code by width. */
    [QUIRK_WIDER_ALONE] = {"1.3", "1.4"},
    [QUIRK_WIDE_GRIDS] = {"1.3", "1.4"},
    [QUIRK_ON_CORES] = {NULL, "0.6"},
    [QUIRK_STANDARD_OF_DEVICE] = {NULL, "0.6"},
};

START_TEST(a_quirk_begins_with_the_first_version_known_to_have_it)
{
    for (enum driver_quirk i = 0; i < DRIVER_QUIRKS; i++) {
        if (!(OF_POCL >> i & 1))
            continue;
        ck_assert_msg(known[i].first, "quirk %u has no version here", i);
        ck_assert_msg(driver_quirks_have(driver_quirks_of(POCL, known[i].first, BASIC), i), "quirk %u", i);
        if (known[i].before)
            ck_assert_msg(!driver_quirks_have(driver_quirks_of(POCL, known[i].before, BASIC), i), "quirk %u",
                          i);
    }
}
END_TEST

/* As Debian 12, Ubuntu 24.04 and Debian 13 ship it, and a later one. */
START_TEST(no_later_version_is_known_to_be_free_of_one)
{
    static const char *const later[] = {"3.1+debian", "5.0", "6.0+debian", "7.1"};

    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++)
        ck_assert_msg(driver_quirks_of(POCL, later[i], BASIC) == OF_POCL, "%s", later[i]);
}
END_TEST

START_TEST(what_is_not_known_has_the_quirk)
{
    ck_assert_uint_eq(driver_quirks_of(POCL, "unknown", BASIC), OF_POCL);
    ck_assert_uint_eq(driver_quirks_of(POCL, "", ""), OF_POCL);
    ck_assert_uint_eq(driver_quirks_of(POCL, "6.0", "cpu-minimal-skylake"), OF_POCL);
    ck_assert_uint_eq(driver_quirks_of(POCL, "6.0", "cpu-skylake"), OF_POCL & ~(1u << QUIRK_RUNS_INSIDE));
}
END_TEST

START_TEST(a_stable_name_says_the_driver)
{
    static const char *const others[] = {"pci:0000:01:00.0", "nvidia-cuda:0", "portable-computing:0",
                                         "pocl:0", ""};

    ck_assert_uint_eq(driver_quirks_named("portable-computing-language:1"), OF_POCL);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        ck_assert_msg(!driver_quirks_named(others[i]), "%s", others[i]);
    ck_assert_uint_eq(driver_quirks_of("OpenCL 3.0 CUDA", "3.1", BASIC), 0);
    ck_assert_uint_eq(driver_quirks_of("", "3.1", BASIC), 0);
}
END_TEST

START_TEST(the_cpu_device_of_cuda_is_known_by_both_its_names)
{
    const unsigned own = 1u << QUIRK_THREADS_ON_CORES;

    ck_assert_uint_eq(driver_quirks_of("Baton CPU device 1", "", ""), own);
    ck_assert_uint_eq(driver_quirks_named("pci:ba70:b1:00.0"), own);
    ck_assert_uint_eq(driver_quirks_of("NVIDIA GeForce RTX 4090", "", ""), 0);
}
END_TEST

START_TEST(a_range_holds_both_its_ends)
{
    static const struct {
        const char *version;
        unsigned from, until;
        bool in;
    } cases[] = {
        {"3.0", 3001, 0, false},    {"3.1", 3001, 0, true},  {"3.1+debian", 3001, 3001, true},
        {"3.2", 3001, 3001, false}, {"3.10", 3002, 0, true}, {"10.0", 3001, 9999, false},
        {"2.999", 0, 3000, true},   {"3.0", 0, 2999, false}, {"unknown", 3001, 3001, true},
        {"535.183.01", 0, 0, true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_msg(driver_quirks_in_range(cases[i].version, cases[i].from, cases[i].until) == cases[i].in,
                      "case %zu: %s", i, cases[i].version);
}
END_TEST

HARNESS_MAIN("driver quirks", 20, a_quirk_begins_with_the_first_version_known_to_have_it,
             no_later_version_is_known_to_be_free_of_one, what_is_not_known_has_the_quirk,
             a_stable_name_says_the_driver, the_cpu_device_of_cuda_is_known_by_both_its_names,
             a_range_holds_both_its_ends)
