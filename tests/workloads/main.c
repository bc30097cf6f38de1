/*
 * Runs workloads and says whether their results are right.
 *
 *   workloads --list
 *   workloads --source NAME       prints the workload's kernels
 *   workloads [--size small|medium|large|N] [--rounds N] [--seed N] [--repeat N] [--times]
 *             [--unchecked] [--device N] [--json] NAME... | all
 *   workloads ... --period MS --jobs N [--for MS] [--wait-for FILE] NAME
 *
 * One line per workload: `NAME OK HASH`, or `NAME WRONG HASH`. The hash is over all bytes of its
 * outputs and depends on the size and the seed only. --repeat runs the job so often; --times adds
 * the medians of writing, computing and reading in ms, each stage by itself. --unchecked does not
 * compute the results again on the CPU (`NAME ran HASH`).
 *
 * --period makes it a periodic program of implicit deadline: a job is released every period. After
 * a miss the next one is released at once and begins a new period (GPU-SPARC, sec. V-A). The line
 * then ends with jobs, misses and the greatest response time in ms; --json has every job. --for: no
 * job is released so long after the first, so that several programs end together. --wait-for: the
 * first release is when this file exists, so that several programs begin together, and not before
 * they have built their kernels.
 *
 * Exit: 0 all right, 1 a wrong result, 2 usage, 3 the environment failed.
 */
#include "workload.h"

#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum { MOST_JOBS = 100000, MOST_ROUNDS = 10000 };

struct settings {
    size_t size;   /* 0: by name */
    size_t rounds; /* 0: as the workload likes */
    enum work_size named;
    uint64_t seed;
    size_t jobs;
    double period_ms; /* 0: one job after the other */
    double for_ms;    /* 0: all jobs */
    const char *wait_for;
    unsigned device;
    bool times, unchecked, json;
};

/* What the jobs of one workload took. */
struct record {
    double *write, *kernel, *read, *response, *release; /* ms, by job; release since the first */
    size_t n, misses;
};

static _Noreturn void usage(const char *subject, const char *what)
{
    fprintf(stderr,
            "workloads: %s%s%s\n"
            "usage: workloads [--list] [--size small|medium|large|N] [--rounds N] [--seed N] [--repeat N]\n"
            "                 [--times] [--unchecked] [--json] [--period MS --jobs N [--for MS] [--wait-for "
            "FILE]] "
            "NAME...|all\n",
            subject ? subject : "", subject ? ": " : "", what);
    exit(2);
}

static double number(const char *text, double least, double most, const char *option)
{
    char *end;
    double value;

    errno = 0;
    value = strtod(text, &end);
    if (errno || end == text || *end || !(value >= least && value <= most))
        usage(option, "not a number in its range");
    return value;
}

static void set_size(struct settings *settings, const char *text)
{
    static const char *const names[] = {"small", "medium", "large"};

    settings->size = 0;
    for (size_t i = 0; i < 3; i++) {
        if (!strcmp(text, names[i])) {
            settings->named = (enum work_size)i;
            return;
        }
    }
    settings->size = (size_t)number(text, 1, 1e9, "--size");
}

static void list(void)
{
    for (size_t i = 0; i < n_workloads; i++)
        printf("%-20s %-24s %8zu %8zu %8zu %s\n", workloads[i]->name, workloads[i]->row,
               workloads[i]->sizes[0], workloads[i]->sizes[1], workloads[i]->sizes[2], workloads[i]->unit);
    exit(0);
}

static void print_source(const char *name)
{
    const struct workload *workload = workload_find(name);

    if (!workload)
        usage(name, "no such workload");
    puts(workload->source);
    exit(0);
}

static const struct option options[] = {{"list", no_argument, NULL, 'l'},
                                        {"size", required_argument, NULL, 's'},
                                        {"seed", required_argument, NULL, 'e'},
                                        {"repeat", required_argument, NULL, 'r'},
                                        {"times", no_argument, NULL, 't'},
                                        {"unchecked", no_argument, NULL, 'u'},
                                        {"json", no_argument, NULL, 'j'},
                                        {"period", required_argument, NULL, 'p'},
                                        {"jobs", required_argument, NULL, 'r'},
                                        {"wait-for", required_argument, NULL, 'w'},
                                        {"device", required_argument, NULL, 'd'},
                                        {"rounds", required_argument, NULL, 'o'},
                                        {"for", required_argument, NULL, 'f'},
                                        {"source", required_argument, NULL, 'k'},
                                        {NULL, 0, NULL, 0}};

static void parse(struct settings *settings, int argc, char **argv)
{
    int letter;

    *settings = (struct settings){.seed = 1, .jobs = 1};
    while ((letter = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (letter) {
        case 'l':
            list();
            break;
        case 'k':
            print_source(optarg);
            break;
        case 's':
            set_size(settings, optarg);
            break;
        case 'o':
            settings->rounds = (size_t)number(optarg, 1, MOST_ROUNDS, "--rounds");
            break;
        case 'e':
            settings->seed = (uint64_t)number(optarg, 0, 1e15, "--seed");
            break;
        case 'r':
            settings->jobs = (size_t)number(optarg, 1, MOST_JOBS, "--repeat");
            break;
        case 'p':
            settings->period_ms = number(optarg, 0.001, 1e7, "--period");
            break;
        case 'f':
            settings->for_ms = number(optarg, 0.001, 1e9, "--for");
            break;
        case 'd':
            settings->device = (unsigned)number(optarg, 0, WORK_DEVICES - 1, "--device");
            break;
        case 'w':
            settings->wait_for = optarg;
            break;
        case 't':
            settings->times = true;
            break;
        case 'u':
            settings->unchecked = true;
            break;
        case 'j':
            settings->json = true;
            break;
        default:
            usage(NULL, "unknown option");
        }
    }
}

static void sleep_until(baton_nsec at)
{
    const struct timespec until = {.tv_sec = at / NSEC_PER_SEC, .tv_nsec = at % NSEC_PER_SEC};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

static void await_start(const char *file)
{
    baton_nsec give_up_at = clock_now() + 300 * NSEC_PER_SEC;

    fprintf(stderr, "ready\n");
    while (access(file, F_OK)) {
        if (clock_now() > give_up_at)
            usage(file, "waited five minutes for it");
        sleep_until(clock_now() + NSEC_PER_MS);
    }
}

/* A release is a period after the last one, or, when that has passed already, at once. */
static void run_jobs(struct work *work, const struct settings *settings, struct record *record)
{
    baton_nsec period = (baton_nsec)(settings->period_ms * (double)NSEC_PER_MS);
    baton_nsec length = (baton_nsec)(settings->for_ms * (double)NSEC_PER_MS);
    baton_nsec first_at;
    baton_nsec release_at;

    if (period)
        work_job(work); /* memory touched and kernels measured before the first release */
    if (settings->wait_for)
        await_start(settings->wait_for);
    first_at = release_at = clock_now();
    for (size_t i = 0; i < settings->jobs; i++) {
        baton_nsec done_at;
        if (length && release_at - first_at >= length)
            break;
        if (period)
            sleep_until(release_at);
        else
            release_at = clock_now();
        work_job(work);
        done_at = clock_now();
        record->write[i] = work->write_ms;
        record->kernel[i] = work->kernel_ms;
        record->read[i] = work->read_ms;
        record->response[i] = nsec_to_ms(done_at - release_at);
        record->release[i] = nsec_to_ms(release_at - first_at);
        record->misses += period && done_at - release_at > period;
        release_at = done_at - release_at > period ? done_at : release_at + period;
        record->n++;
    }
}

static int compare_numbers(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

/* The value at this fraction of the sorted ones; the record keeps its order. */
static double quantile(const double *values, size_t n, double fraction)
{
    double *sorted = check_array(n * sizeof *sorted);
    double value;

    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_numbers);
    value = sorted[(size_t)(fraction * (double)(n - 1) + 0.5)];
    free(sorted);
    return value;
}

static json_t *numbers(const double *values, size_t n)
{
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(array, json_real(values[i]));
    return array;
}

static json_t *as_json(const struct work *work, const struct settings *settings, const struct record *record,
                       const char *verdict, const char *hash)
{
    json_t *object =
        json_pack("{s:s, s:s, s:I, s:s, s:s, s:I, s:I, s:I, s:o}", "name", work->workload->name, "row",
                  work->workload->row, "size", (json_int_t)work->size, "result", verdict, "hash", hash,
                  "launches", (json_int_t)work->launches, "bytes_in", (json_int_t)work->bytes_in, "bytes_out",
                  (json_int_t)work->bytes_out, "response_ms", numbers(record->response, record->n));

    if (settings->times) {
        json_object_set_new(object, "write_ms", numbers(record->write, record->n));
        json_object_set_new(object, "kernel_ms", numbers(record->kernel, record->n));
        json_object_set_new(object, "read_ms", numbers(record->read, record->n));
    }
    if (settings->period_ms > 0) {
        json_object_set_new(object, "period_ms", json_real(settings->period_ms));
        json_object_set_new(object, "misses", json_integer((json_int_t)record->misses));
        json_object_set_new(object, "release_ms", numbers(record->release, record->n));
    }
    return object;
}

static void print_line(const struct work *work, const struct settings *settings, const struct record *record,
                       const char *verdict, const char *hash)
{
    printf("%s %s %s", work->workload->name, verdict, hash);
    if (settings->times)
        printf(" write_ms %.4f kernel_ms %.4f read_ms %.4f", quantile(record->write, record->n, 0.5),
               quantile(record->kernel, record->n, 0.5), quantile(record->read, record->n, 0.5));
    if (settings->period_ms > 0)
        printf(" jobs %zu misses %zu max_ms %.4f", record->n, record->misses,
               quantile(record->response, record->n, 1));
    putchar('\n');
    fflush(stdout);
}

/* Is the result right? Its line is printed, or its object appended. */
static bool run_one(const struct workload *workload, const struct settings *settings, json_t *objects)
{
    struct work work;
    double *memory = check_array(5 * settings->jobs * sizeof *memory);
    struct record record = {.write = memory,
                            .kernel = memory + settings->jobs,
                            .read = memory + 2 * settings->jobs,
                            .response = memory + 3 * settings->jobs,
                            .release = memory + 4 * settings->jobs};
    char hash[17];
    bool right;
    const char *verdict;

    work_open(&work, workload, settings->size ? settings->size : workload->sizes[settings->named],
              settings->rounds, settings->seed, settings->device);
    work.staged = settings->times;
    run_jobs(&work, settings, &record);
    right = settings->unchecked || workload->check(&work);
    verdict = settings->unchecked ? "ran" : right ? "OK" : "WRONG";
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)work_hash(&work));
    if (settings->json)
        json_array_append_new(objects, as_json(&work, settings, &record, verdict, hash));
    else
        print_line(&work, settings, &record, verdict, hash);
    work_close(&work);
    free(memory);
    return right;
}

static bool chosen(const struct workload *workload, int argc, char **argv)
{
    for (int i = optind; i < argc; i++)
        if (!strcmp(argv[i], "all") || !strcmp(argv[i], workload->name))
            return true;
    return false;
}

int main(int argc, char **argv)
{
    struct settings settings;
    json_t *objects = json_array();
    bool right = true;

    parse(&settings, argc, argv);
    if (optind == argc)
        usage(NULL, "which workload? --list names them");
    for (int i = optind; i < argc; i++)
        if (strcmp(argv[i], "all") != 0 && !workload_find(argv[i]))
            usage(argv[i], "no such workload; --list names them");
    for (size_t i = 0; i < n_workloads; i++)
        if (chosen(workloads[i], argc, argv))
            right &= run_one(workloads[i], &settings, objects);
    if (settings.json) {
        json_t *object = json_pack("{s:O}", "workloads", objects);
        json_dumpf(object, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(7));
        putchar('\n');
        json_decref(object);
    }
    json_decref(objects);
    return right ? 0 : 1;
}
