#include "study/run/study_worker.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "study/gema_experiment.h"
#include "study/generator.h"
#include "study/stopping.h"

#define US_PER_SECOND 1e6

/* Sums over the sets on which one configuration was tested. */
struct unit_tally {
    uint32_t tested, schedulable;
    double tardiness, bandwidth;
    bool live; /* not stopped yet */
};

struct study_worker {
    const struct study_spec *spec;
    struct arena arena;
    struct gpusync_workspace *workspace;
    struct gpusync_system *systems; /* [overheads][configuration] */
    /* configurations in an order that groups those with equal loading */
    uint8_t *order;
    /* by position in the order: loading differs from the previous one */
    bool *reload;
    struct gpusync_job *jobs;
};

static struct gpusync_system *system_of(struct study_worker *worker, size_t overheads, size_t configuration)
{
    return &worker->systems[overheads * worker->spec->n_configurations + configuration];
}

static bool alike(struct study_worker *worker, size_t a, size_t b)
{
    for (size_t o = 0; o < worker->spec->n_overheads; o++)
        if (!gpusync_loads_alike(system_of(worker, o, a), system_of(worker, o, b)))
            return false;
    return true;
}

/*
 * Loading depends only on copy costs and migration. With equal configurations adjacent, Table IV
 * loads a set 6 times instead of 39.
 */
static void put_in_order(struct study_worker *worker)
{
    size_t n = worker->spec->n_configurations;
    bool grouped[STUDY_MAX_CONFIGURATIONS] = {false};
    size_t placed = 0;

    for (size_t i = 0; i < n; i++) {
        bool first = true;

        for (size_t k = i; k < n; k++)
            if (!grouped[k] && (first ? k == i : alike(worker, i, k))) {
                worker->order[placed] = (uint8_t)k;
                worker->reload[placed++] = first;
                grouped[k] = true;
                first = false;
            }
    }
}

static int make_systems(struct study_worker *worker, struct gpusync_limits *ret_limits)
{
    const struct study_spec *spec = worker->spec;

    for (size_t o = 0; o < spec->n_overheads; o++)
        for (size_t c = 0; c < spec->n_configurations; c++) {
            struct platform platform = spec->configurations[c].platform;
            struct gpusync_system *system = system_of(worker, o, c);
            int result;

            platform.has_overheads = true;
            platform.overheads = spec->overheads[o].sets[spec->configurations[c].organisation];
            result = gpusync_system_init(&platform, &worker->arena, system);
            if (result)
                return result;
            if (system->cpu_clusters > ret_limits->cpu_clusters)
                ret_limits->cpu_clusters = system->cpu_clusters;
            if (system->gpu_clusters > ret_limits->gpu_clusters)
                ret_limits->gpu_clusters = system->gpu_clusters;
        }
    return 0;
}

static size_t most_tasks(const struct study_spec *spec)
{
    double lowest = 1;

    for (size_t i = 0; i < spec->choices[PARAMETER_UTILISATION].n; i++)
        lowest = fmin(lowest, spec->choices[PARAMETER_UTILISATION].values[i].low);
    return (size_t)(spec->step * (double)spec->n_points / lowest) + 2;
}

static int make_gpusync(struct study_worker *worker)
{
    const struct study_spec *spec = worker->spec;
    struct gpusync_limits limits = {.tasks = most_tasks(spec)};
    int result;

    worker->systems =
        arena_calloc(&worker->arena, spec->n_overheads * spec->n_configurations, sizeof *worker->systems);
    worker->order = arena_calloc(&worker->arena, spec->n_configurations, sizeof *worker->order);
    worker->reload = arena_calloc(&worker->arena, spec->n_configurations, sizeof *worker->reload);
    worker->jobs = arena_calloc(&worker->arena, STUDY_MAX_TASKS, sizeof *worker->jobs);
    if (!worker->systems || !worker->order || !worker->reload || !worker->jobs)
        return -ENOMEM;
    result = make_systems(worker, &limits);
    if (result)
        return result;
    put_in_order(worker);
    limits.requests = 8 * limits.tasks;
    return gpusync_workspace_new(&limits, &worker->workspace);
}

int study_worker_new(const struct study_spec *spec, struct study_worker **ret_worker)
{
    struct study_worker *worker = calloc(1, sizeof *worker);
    int result = 0;

    if (!worker)
        return -ENOMEM;
    worker->spec = spec;
    arena_init(&worker->arena, 0);
    if (spec->kind == STUDY_GPUSYNC)
        result = make_gpusync(worker);
    if (result) {
        study_worker_free(worker);
        return result;
    }
    *ret_worker = worker;
    return 0;
}

void study_worker_free(struct study_worker *worker)
{
    if (!worker)
        return;
    gpusync_workspace_free(worker->workspace);
    arena_done(&worker->arena);
    free(worker);
}

bool study_row_finished(const struct study_spec *spec, const struct study_progress *progress)
{
    if (spec->kind == STUDY_GEMA)
        return progress->next > 0;
    return progress->next >= spec->n_points ||
           (spec->stopping.cut > 0 && progress->zeros >= spec->stopping.cut);
}

static double mean_tardiness(const struct gpusync_workspace *workspace)
{
    double sum = 0;

    for (size_t i = 0; i < workspace->n; i++)
        sum += workspace->terms[i].tardiness * workspace->tasks[i].inverse;
    return workspace->n ? sum / (double)workspace->n : 0;
}

/* Tests the set in worker->jobs on every configuration that needs more sets. */
static void test_set(struct study_worker *worker, size_t overheads, size_t n, struct unit_tally tallies[],
                     size_t *live)
{
    const struct study_spec *spec = worker->spec;
    double bandwidth = 0;
    bool loaded = false;

    for (size_t i = 0; i < n; i++)
        bandwidth += (double)(worker->jobs[i].bytes_in + worker->jobs[i].bytes_out) / worker->jobs[i].period;
    for (size_t k = 0; k < spec->n_configurations; k++) {
        const struct gpusync_system *system = system_of(worker, overheads, worker->order[k]);
        struct unit_tally *tally = &tallies[worker->order[k]];

        loaded = loaded && !worker->reload[k];
        if (!tally->live)
            continue;
        if (!loaded)
            gpusync_load(worker->workspace, system, worker->jobs, n);
        loaded = true;
        tally->tested++;
        if (gpusync_analyse(worker->workspace, system, &spec->options) == GPUSYNC_BOUNDED) {
            tally->schedulable++;
            tally->tardiness += mean_tardiness(worker->workspace);
            tally->bandwidth += bandwidth * US_PER_SECOND;
        }
        if (stopping_enough(&spec->stopping, tally->schedulable, tally->tested)) {
            tally->live = false;
            --*live;
        }
    }
}

static int test_point(struct study_worker *worker, const struct study_combination *combination,
                      uint32_t point, struct unit_tally tallies[], size_t live, const atomic_bool *stop)
{
    double utilisation = worker->spec->step * (double)(point + 1);
    struct random_state random;

    random_init(&random, worker->spec->seed, generator_stream(combination, utilisation));
    while (live > 0) {
        size_t n = generator_draw(combination, utilisation, &random, worker->jobs);

        test_set(worker, combination->overheads, n, tallies, &live);
        if (atomic_load_explicit(stop, memory_order_relaxed))
            return -EINTR;
    }
    return 0;
}

/* Stores the tallies of a point as its cells, and advances the rows. */
static void close_point(const struct study_spec *spec, const struct unit_tally tallies[], const bool wanted[],
                        struct study_progress rows[], struct study_point *point)
{
    point->n = 0;
    for (size_t c = 0; c < spec->n_configurations; c++) {
        const struct unit_tally *tally = &tallies[c];
        bool some = tally->schedulable > 0;

        if (!wanted[c])
            continue;
        rows[c].next = point->point + 1;
        rows[c].zeros = some ? 0 : rows[c].zeros + 1;
        point->cells[point->n++] =
            (struct study_cell){.row = (uint32_t)c,
                                .tested = tally->tested,
                                .schedulable = tally->schedulable,
                                .finished = study_row_finished(spec, &rows[c]),
                                .tardiness = some ? tally->tardiness / tally->schedulable : -1,
                                .bandwidth = some ? tally->bandwidth / tally->schedulable : -1};
    }
}

static int work_gpusync(struct study_worker *worker, const struct study_unit *unit, const atomic_bool *stop,
                        int (*done)(void *context, const struct study_point *point), void *context)
{
    const struct study_spec *spec = worker->spec;
    struct study_progress rows[STUDY_MAX_CONFIGURATIONS];
    struct study_point point = {.unit = unit->index};
    struct study_combination combination;
    int result = 0;

    study_combination(spec, unit->index, &combination);
    for (size_t c = 0; c < spec->n_configurations; c++)
        rows[c] = unit->rows[c];
    for (uint32_t p = 0; p < spec->n_points && !result; p++) {
        struct unit_tally tallies[STUDY_MAX_CONFIGURATIONS] = {{0}};
        bool wanted[STUDY_MAX_CONFIGURATIONS];
        size_t live = 0;

        for (size_t c = 0; c < spec->n_configurations; c++) {
            wanted[c] = rows[c].next == p && !study_row_finished(spec, &rows[c]);
            tallies[c].live = wanted[c];
            live += wanted[c];
        }
        if (live == 0)
            continue;
        point.point = p;
        result = test_point(worker, &combination, p, tallies, live, stop);
        if (result)
            break;
        close_point(spec, tallies, wanted, rows, &point);
        result = done(context, &point);
    }
    return result;
}

static int work_gema(struct study_worker *worker, const struct study_unit *unit,
                     int (*done)(void *context, const struct study_point *point), void *context)
{
    const struct study_gema *gema = &worker->spec->gema;
    struct study_point point = {.unit = unit->index};
    struct gema_point counts;
    double utilisation;
    double dependent;
    int result;

    if (study_row_finished(worker->spec, &unit->rows[0]))
        return 0;
    utilisation = gema->utilisation[unit->index % gema->n_utilisation];
    dependent = gema->dependent[unit->index / gema->n_utilisation];
    result = gema_experiment(utilisation, dependent, gema->sets, worker->spec->seed,
                             generator_hash(generator_hash(0, utilisation), dependent), &counts);
    if (result)
        return result;
    for (uint32_t curve = 0; curve < GEMA_CURVES; curve++)
        for (uint32_t policy = 0; policy < GEMA_POLICIES; policy++)
            point.cells[point.n++] =
                (struct study_cell){.row = curve * GEMA_POLICIES + policy,
                                    .tested = gema->sets,
                                    .schedulable = (uint32_t)counts.schedulable[curve][policy],
                                    .finished = 1,
                                    .tardiness = -1,
                                    .bandwidth = -1};
    return done(context, &point);
}

int study_worker_unit(struct study_worker *worker, const struct study_unit *unit, const atomic_bool *stop,
                      int (*done)(void *context, const struct study_point *point), void *context)
{
    if (worker->spec->kind == STUDY_GEMA)
        return work_gema(worker, unit, done, context);
    return work_gpusync(worker, unit, stop, done, context);
}
