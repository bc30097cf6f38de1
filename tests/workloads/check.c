/* Comparing outputs with what the CPU computed. */
#include "workload.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

bool check_failed(const struct work *work, const char *format, ...)
{
    va_list arguments;

    fprintf(stderr, "workloads: %s: ", work->workload->name);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return false;
}

bool check_bytes(const struct work *work, const void *got, const void *want, size_t bytes)
{
    const unsigned char *is = got;
    const unsigned char *should = want;

    for (size_t i = 0; i < bytes; i++)
        if (is[i] != should[i])
            return check_failed(work, "byte %zu is %u, not %u", i, is[i], should[i]);
    return true;
}

bool check_words(const struct work *work, const uint32_t *got, const uint32_t *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (got[i] != want[i])
            return check_failed(work, "word %zu is %u, not %u", i, got[i], want[i]);
    return true;
}

bool check_floats(const struct work *work, const float *got, const float *want, size_t n, double tolerance)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= tolerance * (1 + fabs((double)want[i]))))
            return check_failed(work, "number %zu is %.9g, not %.9g", i, (double)got[i], (double)want[i]);
    return true;
}
