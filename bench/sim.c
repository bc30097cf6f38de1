/*
 * How many events the simulator handles in a second of CPU time, by profile and size of the set.
 * Events are releases, completions on CPUs, completions of pieces. Also that memory does not grow
 * with the horizon. Medians of five runs with their spread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "sim/sim.h"
#include "figure.h"

#define RUNS 5

/*
 * n tasks of 2 CPU segments, 2 copies and a sliced kernel, on 4 CPUs and 2 GPUs. 70 % of a GPU and
 * 35 % of the bus are in use.
 */
static char *make_text(unsigned n)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    (void)fprintf(out, "platform: {cpus: 4, gpus: 2, copy_engines: 2, tokens_per_gpu: 2}\ntasks:\n");
    for (unsigned i = 0; i < n; i++) {
        double period = 10.0 + i;
        double kernel = period * 0.7 / n;
        double copy = period * 0.175 / n;

        (void)fprintf(out,
                      "  - {name: t%u, period_ms: %.6f, segments: [{cpu_ms: %.6f}, {copy_in_ms: %.6f}, "
                      "{kernel_ms: %.6f, piece_ms: %.6f}, {copy_out_ms: %.6f}, {cpu_ms: %.6f}]}\n",
                      i, period, period / n * 0.2, copy, kernel, kernel / 8, copy, period / n * 0.2);
    }
    (void)fclose(out);
    return text;
}

static int by_value(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;

    return (*x > *y) - (*x < *y);
}

static double cpu_seconds(void)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6;
}

static double run_once(struct sim *sim, baton_nsec horizon, uint64_t *ret_events)
{
    struct sim_run run = {.horizon = horizon, .seed = 1};
    struct sim_result result;
    double begin = cpu_seconds();
    double end;

    sim_run(sim, &run, NULL, &result);
    end = cpu_seconds();
    *ret_events = result.events;
    return (double)result.events / (end > begin ? end - begin : 1e-6);
}

static int measure(enum sched_profile_id profile, unsigned n)
{
    struct sim_options options = {.profile = profile,
                                  .policy = profile == PROFILE_GPUSYNC ? POLICY_EDF : POLICY_FIXED,
                                  .lock = LOCK_R2DGLP};
    struct task_set set;
    struct input_error error;
    struct sim *sim = NULL;
    const char *reason = "";
    char *text = make_text(n);
    size_t task;
    double rates[RUNS];
    uint64_t events = 0;
    struct rusage before;
    struct rusage after;

    if (!text || task_set_read("bench", text, strlen(text), &set, &error))
        return 1;
    options.set = &set;
    if (sim_new(&options, &sim, &reason, &task))
        return 1;
    (void)run_once(sim, NSEC_PER_SEC, &events);
    (void)getrusage(RUSAGE_SELF, &before);
    for (unsigned i = 0; i < RUNS; i++)
        rates[i] = run_once(sim, 60 * NSEC_PER_SEC, &events);
    (void)getrusage(RUSAGE_SELF, &after);
    qsort(rates, RUNS, sizeof rates[0], by_value);
    printf("%-16s %3u tasks %9llu events a run  %6.2f million events/s (%.2f .. %.2f)  memory +%ld KiB over "
           "300 s\n",
           sched_profiles[profile].name, n, (unsigned long long)events, rates[RUNS / 2] / 1e6, rates[0] / 1e6,
           rates[RUNS - 1] / 1e6, after.ru_maxrss - before.ru_maxrss);
    if (profile == PROFILE_PRIORITY && n == 10)
        figure("sim-events", rates[RUNS / 2] / 1e6, rates[0] / 1e6, rates[RUNS - 1] / 1e6);
    sim_free(sim);
    task_set_done(&set);
    free(text);
    return 0;
}

int main(void)
{
    static const unsigned sizes[] = {3, 10, 30};
    int failed = 0;

    for (unsigned p = 0; p < SCHED_PROFILES; p++) {
        for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            failed |= measure((enum sched_profile_id)p, sizes[i]);
    }
    return failed;
}
