#include "harness.h"

#include <ftw.h>
#include <sys/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Factor of a machine with many more programs than cores: a case that takes longer hangs. */
#define BUSY_SLOWNESS 20
/* TSan's manual says 5 to 15, ASan's 2 to 3. */
#define SANITIZER_SLOWNESS 10

Suite *harness_suite(const char *name, double seconds, const TTest *const tests[], size_t n)
{
    Suite *suite = suite_create(name);
    TCase *cases = tcase_create(name);

    tcase_set_timeout(cases, getenv("BATON_SOAK") ? 7200 : BUSY_SLOWNESS * harness_limit(seconds));
    for (size_t i = 0; i < n; i++)
        tcase_add_test(cases, tests[i]);
    suite_add_tcase(suite, cases);
    return suite;
}

/*
 * Where the cases' folders are: $TMPDIR for them and for what they start. A long one would make
 * sockets impossible.
 */
static char scratch[48];

static void scratch_make(void)
{
    const char *temporary = getenv("TMPDIR");

    if (!temporary || strlen(temporary) + sizeof "/baton.XXXXXX" > sizeof scratch)
        temporary = "/tmp";
    (void)snprintf(scratch, sizeof scratch, "%s/baton.XXXXXX", temporary);
    /* Other users find what a case opens to them. */
    if (!mkdtemp(scratch) || chmod(scratch, 0711) < 0 || setenv("TMPDIR", scratch, 1) < 0) {
        perror(scratch);
        exit(3);
    }
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

void harness_folder(char ret_path[static 64])
{
    (void)snprintf(ret_path, 64, "%s/XXXXXX", scratch);
    ck_assert_ptr_nonnull(mkdtemp(ret_path));
}

int harness_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    int failed;
    int ran;

    scratch_make();
    srunner_run_all(runner, CK_NORMAL);
    (void)nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    failed = srunner_ntests_failed(runner);
    ran = srunner_ntests_run(runner);
    srunner_free(runner);
    printf("%d passed, %d failed\n", ran - failed, failed);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

size_t harness_scale(size_t normal, size_t soak)
{
    return getenv("BATON_SOAK") ? soak : normal;
}

const char *harness_sanitizer(void)
{
    const char *sanitizer = getenv("BATON_SANITIZER");

    return sanitizer ? sanitizer : "none";
}

bool harness_sanitized(void)
{
    return strcmp(harness_sanitizer(), "none") != 0;
}

double harness_limit(double normal)
{
    return harness_sanitized() ? normal * SANITIZER_SLOWNESS : normal;
}

const char *harness_data(const char *name)
{
    static char path[4096];

    (void)snprintf(path, sizeof path, "%s/%s", TESTS_FOLDER, name);
    return path;
}
