#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SANITIZER_SLOWNESS 10 /* TSan's manual says 5 to 15, ASan's 2 to 3 */

Suite *harness_suite(const char *name, double seconds, const TTest *const tests[], size_t n)
{
    Suite *suite = suite_create(name);
    TCase *cases = tcase_create(name);

    tcase_set_timeout(cases, getenv("BATON_SOAK") ? 7200 : harness_limit(seconds));
    for (size_t i = 0; i < n; i++)
        tcase_add_test(cases, tests[i]);
    suite_add_tcase(suite, cases);
    return suite;
}

int harness_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    int failed;
    int ran;

    srunner_run_all(runner, CK_NORMAL);
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
