/*
 * What a study costs. One task-set test with everything (drawing, loading, partitioning, blocking,
 * overheads, fixed point), averaged over a study's whole run. Two processes against one. What all
 * of examples/studies/paper.yaml would cost at that price.
 *
 * usage: bench-study [STUDY [PAPER]]        default: examples/studies/quick.yaml and paper.yaml
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "study/run/study_worker.h"
#include "figure.h"

#define REPEATS 5

static atomic_bool never;

struct count {
    uint64_t tests, points;
};

static int add(void *context, const struct study_point *point)
{
    struct count *count = context;

    for (uint32_t i = 0; i < point->n; i++)
        count->tests += point->cells[i].tested;
    count->points += point->n;
    return 0;
}

/* Takes units first, first + every, ... or, where others take them too, from the shared counter. */
static struct count work(const struct study_spec *spec, size_t first, size_t every, atomic_ullong *shared)
{
    struct count count = {0};
    struct study_worker *worker;

    if (study_worker_new(spec, &worker))
        exit(EXIT_FAILURE);
    for (size_t index = shared ? atomic_fetch_add(shared, 1) : first; index < spec->n_units;
         index = shared ? atomic_fetch_add(shared, 1) : index + every) {
        struct study_unit unit = {.index = (uint32_t)index, .n = (uint32_t)study_rows(spec)};

        if (study_worker_unit(worker, &unit, &never, add, &count))
            exit(EXIT_FAILURE);
    }
    study_worker_free(worker);
    return count;
}

/* Wall time of n processes that share the units; the tests that they made are added up. */
static double wall_of_processes(const struct study_spec *spec, size_t n, atomic_ullong shared[2])
{
    baton_nsec begin_at = clock_now();

    atomic_store(&shared[1], 0);
    for (size_t i = 0; i < n; i++) {
        pid_t child = fork();

        if (child < 0)
            exit(EXIT_FAILURE);
        if (child == 0) {
            atomic_fetch_add(&shared[0], work(spec, 0, 1, &shared[1]).tests);
            _exit(EXIT_SUCCESS);
        }
    }
    while (wait(NULL) > 0) {
    }
    return (double)(clock_now() - begin_at) / NSEC_PER_SEC;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double cpu_seconds(int whose)
{
    struct rusage usage;

    (void)getrusage(whose, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6;
}

/*
 * Every n-th unit of the paper's study with few sets a point: the mix of sizes that the whole has.
 */
static void project(const char *path)
{
    static struct study_spec spec;
    struct input_error error;
    struct count count;
    size_t worked;
    double each;
    double full;
    double begin;

    if (study_spec_read(path, &spec, &error)) {
        (void)fprintf(stderr, "bench-study: %s is no study\n", path);
        return;
    }
    spec.stopping.least = spec.stopping.most = 8;
    begin = cpu_seconds(RUSAGE_SELF);
    count = work(&spec, 3, 61, NULL); /* 61 is coprime to every number of choices: all values are visited */
    each = (cpu_seconds(RUSAGE_SELF) - begin) / (double)count.tests;
    worked = (spec.n_units - 3 + 60) / 61;
    full = (double)count.points * (double)spec.n_units / (double)worked;
    (void)printf("paper.yaml, every 61st unit: %.2f us a test, %.0f points in the whole study\n", each * 1e6,
                 full);
    (void)printf("  at 500 sets a point %.1f CPU hours, at 4,000 %.1f\n", full * 500 * each / 3600,
                 full * 4000 * each / 3600);
    figure("study-hours", full * 500 * each / 3600, full * 500 * each / 3600, full * 500 * each / 3600);
    study_spec_done(&spec);
}

int main(int argc, char *argv[])
{
    const char *path = argc > 1 ? argv[1] : "examples/studies/quick.yaml";
    static struct study_spec spec;
    struct input_error error;
    double cost[REPEATS];
    double ratio[REPEATS];
    struct rusage usage;
    atomic_ullong *tests;

    if (study_spec_read(path, &spec, &error)) {
        (void)fprintf(stderr, "bench-study: %s is no study (run it from the top of the source)\n", path);
        return 2;
    }
    tests = mmap(NULL, 2 * sizeof *tests, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (tests == MAP_FAILED)
        return EXIT_FAILURE;
    for (size_t i = 0; i < REPEATS; i++) {
        double begin = cpu_seconds(RUSAGE_CHILDREN);
        double one;

        atomic_store(tests, 0);
        one = wall_of_processes(&spec, 1, tests);
        cost[i] = (cpu_seconds(RUSAGE_CHILDREN) - begin) * 1e6 / (double)atomic_load(tests);
        ratio[i] = one / wall_of_processes(&spec, 2, tests);
    }
    qsort(cost, REPEATS, sizeof cost[0], ascending);
    qsort(ratio, REPEATS, sizeof ratio[0], ascending);
    (void)getrusage(RUSAGE_CHILDREN, &usage);
    (void)printf("one test, generation included: %.2f us of CPU (%.2f .. %.2f), %llu tests\n",
                 cost[REPEATS / 2], cost[0], cost[REPEATS - 1], atomic_load(tests) / 2);
    (void)printf("two processes against one: %.2f times as fast (%.2f .. %.2f)\n", ratio[REPEATS / 2],
                 ratio[0], ratio[REPEATS - 1]);
    figure_sorted("study-test", cost, REPEATS);
    figure_sorted("study-processes", ratio, REPEATS);
    (void)printf("largest resident size: %ld KiB\n", usage.ru_maxrss);
    study_spec_done(&spec);
    project(argc > 2 ? argv[2] : "examples/studies/paper.yaml");
    return EXIT_SUCCESS;
}
