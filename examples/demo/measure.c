#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

void sleep_until_ms(double instant)
{
    struct timespec until = {.tv_sec = (time_t)(instant / 1e3)};

    until.tv_nsec = (long)((instant - (double)until.tv_sec * 1e3) * 1e6);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) {
    }
}

uint32_t turned(uint32_t word, uint32_t steps)
{
    uint32_t factor = 1664525U;
    uint32_t summand = 1013904223U;

    /* Squaring: the map w -> factor * w + summand, applied 2^k times, is such a map again. */
    for (; steps; steps >>= 1) {
        if (steps & 1)
            word = word * factor + summand;
        summand *= factor + 1;
        factor *= factor;
    }
    return word;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

double quantile(double *values, size_t n, double fraction)
{
    size_t index = (size_t)(fraction * (double)n);

    qsort(values, n, sizeof *values, compare);
    return values[index < n ? index : n - 1];
}

double option(int argc, char **argv, const char *name, double otherwise)
{
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--", 2) == 0 && strcmp(argv[i] + 2, name) == 0) {
            char *end = NULL;
            double value = i + 1 < argc ? strtod(argv[i + 1], &end) : 0;
            if (i + 1 == argc || end == argv[i + 1] || *end || !(value >= 0)) {
                fprintf(stderr, "%s: --%s: expected a number\n", argv[0], name);
                exit(2);
            }
            return value;
        }
    return otherwise;
}

/* How many arguments it is with its value; 0: it is none of these. */
static int option_length(const char *argument, const char *const *names)
{
    for (; strncmp(argument, "--", 2) == 0 && *names; names++) {
        size_t length = strlen(*names);
        int values = (*names)[length - 1] == '=';

        length -= (size_t)values;
        if (strlen(argument + 2) == length && strncmp(argument + 2, *names, length) == 0)
            return 1 + values;
    }
    return 0;
}

void check_options(int argc, char **argv, int first, const char *const *names, const char *usage)
{
    int length;

    for (int i = first; i < argc; i += length) {
        length = option_length(argv[i], names);
        if (length > 0)
            continue;
        fprintf(stderr, "%s: unknown option %s\nusage: %s\n", argv[0], argv[i], usage);
        exit(2);
    }
}

bool flag(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--", 2) == 0 && strcmp(argv[i] + 2, name) == 0)
            return true;
    return false;
}

/* ---- the loop of a periodic program ---- */

struct record {
    double *response, *call; /* from the release, from the first call; ms */
    double *begin;           /* the instant of the first call */
    size_t n, skipped, misses, wrong;
};

static void run_jobs(const struct measured *measured, struct record *record, size_t most, double period,
                     double deadline, double length)
{
    double release = now_ms() + period;
    double end = release + length;

    while (record->n < most && release < end) {
        double begin;
        sleep_until_ms(release);
        begin = now_ms();
        measured->run_job(measured->user, (uint32_t)record->n);
        record->begin[record->n] = begin;
        record->call[record->n] = now_ms() - begin;
        record->response[record->n] = now_ms() - release;
        record->misses += record->response[record->n] > deadline;
        record->wrong += !measured->is_right(measured->user);
        record->n++;
        release += period;
        while (release < now_ms()) {
            release += period;
            record->skipped++;
        }
    }
}

int run_periodically(const struct measured *measured, int argc, char **argv)
{
    double period = option(argc, argv, "period", 10);
    size_t most = (size_t)option(argc, argv, "jobs", 100000);
    size_t warm = (size_t)option(argc, argv, "warm", 5);
    struct record record = {.response = calloc(most + 1, sizeof(double)),
                            .call = calloc(most + 1, sizeof(double)),
                            .begin = calloc(most + 1, sizeof(double))};

    if (!record.response || !record.call || !record.begin || period <= 0) {
        fprintf(stderr, "%s: no memory, or no period\n", argv[0]);
        exit(3);
    }
    for (size_t i = 0; i < warm; i++)
        measured->run_job(measured->user, (uint32_t)i);
    run_jobs(measured, &record, most, period, option(argc, argv, "deadline", period),
             option(argc, argv, "seconds", 1e6) * 1e3);
    for (size_t i = 0; flag(argc, argv, "list") && i < record.n; i++)
        printf("%.4f %.4f %.4f\n", record.response[i], record.call[i], record.begin[i]);
    if (record.n)
        printf("jobs %zu releases %zu misses %zu p50_ms %.4f p99_ms %.4f max_ms %.4f call_p50_ms %.4f "
               "call_p99_ms %.4f "
               "call_max_ms %.4f wrong %zu\n",
               record.n, record.n + record.skipped, record.misses + record.skipped,
               quantile(record.response, record.n, 0.5), quantile(record.response, record.n, 0.99),
               quantile(record.response, record.n, 1.0), quantile(record.call, record.n, 0.5),
               quantile(record.call, record.n, 0.99), quantile(record.call, record.n, 1.0), record.wrong);
    free(record.response);
    free(record.call);
    free(record.begin);
    return record.wrong ? 1 : 0;
}
