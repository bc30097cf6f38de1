/*
 * A CUDA driver's library that misbehaves as BATON_TEST_DRIVER says: `crash` in cuInit, or `none`,
 * which finds no GPU as a driver without one does.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

int cuInit(unsigned flags);
int cuDriverGetVersion(int *ret_version);
int cuDeviceGetCount(int *ret_count);

int cuInit(unsigned flags)
{
    const char *how = getenv("BATON_TEST_DRIVER");

    (void)flags;
    if (how && strcmp(how, "crash") == 0) {
        (void)signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would report it */
        (void)raise(SIGSEGV);
    }
    return how && strcmp(how, "none") == 0 ? 100 : 0; /* CUDA_ERROR_NO_DEVICE */
}

int cuDriverGetVersion(int *ret_version)
{
    *ret_version = 12040;
    return 0;
}

int cuDeviceGetCount(int *ret_count)
{
    *ret_count = 3;
    return 0;
}
