#include "makespan/search/anneal.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "makespan/search/starts.h"
#include "makespan/search/walk.h"

#define ITERATIONS_PER_CLOCK_CHECK 1024

/* One instance: written by the thread that runs it, read after that thread was joined. */
struct instance {
    unsigned index;
    unsigned makespan;
    uint16_t *order;                         /* owned; the best so far */
    struct anneal_improvement *improvements; /* owned */
    size_t n_improvements, room;
    uint64_t iterations;
    bool timed_out;
    int error;
};

struct crew {
    const struct problem *problem;
    const struct anneal_settings *settings;
    size_t length;   /* of a string */
    unsigned scales; /* of the distance that a reinsertion goes: 2, 4, ... 2^scales at most */
    size_t lanes;    /* instances that a thread runs at once */
    struct instance *instances;
    atomic_uint next; /* instance that no thread has taken yet */
    baton_nsec began_at;
};

static int note(struct instance *instance, unsigned makespan, baton_nsec after)
{
    if (instance->n_improvements == instance->room) {
        size_t room = instance->room ? instance->room * 2 : 32;
        struct anneal_improvement *more = realloc(instance->improvements, room * sizeof more[0]);

        if (!more)
            return -ENOMEM;
        instance->improvements = more;
        instance->room = room;
    }
    instance->improvements[instance->n_improvements++] =
        (struct anneal_improvement){.instance = instance->index, .makespan = makespan, .after = after};
    instance->makespan = makespan;
    return 0;
}

/*
 * An instance in progress. A thread runs a few of them together because that is faster
 * (walk_go_on); they do not influence each other.
 */
struct anneal_lane {
    struct instance *instance;
    struct walk *walk; /* owned */
    struct random_state random;
};

/*
 * Begins to try a neighbour at random. Reinsertion goes near or far, all scales alike; a step past
 * either end comes back in.
 */
static void try_neighbour(const struct crew *crew, struct anneal_lane *lane)
{
    size_t from = random_below(&lane->random, crew->length);
    uint64_t bits;
    size_t distance, to;

    if (crew->settings->move == ANNEAL_SWAP) {
        walk_try_swap(lane->walk, from, random_below(&lane->random, crew->length));
        return;
    }
    /*
     * One number for all of it: 16 bits for the scale, the highest for the direction, the distance
     * between them.
     */
    bits = random_u64(&lane->random);
    distance = 1 + (bits >> 16 & ((UINT64_C(2) << ((bits & 0xffff) * crew->scales >> 16)) - 1));
    if (bits >> 63)
        to = from + distance < crew->length ? from + distance : crew->length - 1;
    else
        to = from > distance ? from - distance : 0;
    walk_try_reinsert(lane->walk, from, to);
}

/* Eq. (3) with T = T0 (1 - i / iterations). */
static bool is_accepted(const struct anneal_settings *settings, uint64_t i, unsigned current,
                        unsigned candidate, struct random_state *random)
{
    if (candidate >= current)
        return true;
    return random_unit(random) * (double)(current - candidate) <
           settings->temperature * (1 - (double)i / (double)settings->iterations);
}

/* Decides about the neighbour that was evaluated. 0 or -ENOMEM. */
static int end_iteration(const struct crew *crew, struct anneal_lane *lane)
{
    struct instance *instance = lane->instance;
    unsigned candidate = walk_tried(lane->walk);

    if (is_accepted(crew->settings, instance->iterations++, walk_makespan(lane->walk), candidate,
                    &lane->random))
        walk_accept(lane->walk);
    else
        walk_reject(lane->walk);
    if (candidate <= instance->makespan)
        return 0;
    walk_order(lane->walk, instance->order);
    return note(instance, candidate, clock_now() - crew->began_at);
}

/* Begins the next iteration, unless that was all: then false. */
static bool begin_iteration(const struct crew *crew, struct anneal_lane *lane)
{
    const struct anneal_settings *settings = crew->settings;
    struct instance *instance = lane->instance;

    if (instance->iterations >= settings->iterations ||
        (settings->enough && instance->makespan >= settings->enough))
        return false;
    if (settings->until_at && instance->iterations % ITERATIONS_PER_CLOCK_CHECK == 0 &&
        clock_now() > settings->until_at) {
        instance->timed_out = true;
        return false;
    }
    try_neighbour(crew, lane);
    return true;
}

/* Takes an instance into the lane and begins its first iteration: false if it is already over. */
static bool begin_instance(const struct crew *crew, struct instance *instance, struct anneal_lane *lane)
{
    const struct problem *problem = crew->problem;

    *lane = (struct anneal_lane){.instance = instance};
    random_init(&lane->random, crew->settings->seed, instance->index);
    instance->error = -ENOMEM;
    instance->order = malloc(crew->length * sizeof instance->order[0]);
    if (!instance->order ||
        start_make(problem, (enum start)(instance->index % N_STARTS), &lane->random, instance->order))
        return false;
    lane->walk = walk_new(problem, instance->order);
    if (!lane->walk)
        return false;
    instance->error = note(instance, walk_makespan(lane->walk), clock_now() - crew->began_at);
    return instance->error == 0 && begin_iteration(crew, lane);
}

/* Takes instances until all lanes are busy or none is left. Returns how many are busy. */
static size_t fill_lanes(struct crew *crew, struct anneal_lane lanes[SLOTS_LANES], size_t n)
{
    unsigned index;

    while (n < crew->lanes && (index = atomic_fetch_add(&crew->next, 1)) < crew->settings->instances) {
        if (begin_instance(crew, &crew->instances[index], &lanes[n]))
            n++;
        else
            walk_free(lanes[n].walk);
    }
    return n;
}

static void *work(void *argument)
{
    struct crew *crew = argument;
    struct anneal_lane lanes[SLOTS_LANES];
    size_t n = fill_lanes(crew, lanes, 0);

    while (n > 0) {
        struct walk *walks[SLOTS_LANES];
        size_t busy = 0;

        for (size_t i = 0; i < n; i++)
            walks[i] = lanes[i].walk;
        walk_go_on(walks, n);
        for (size_t i = 0; i < n; i++) {
            struct anneal_lane *lane = &lanes[i];
            bool goes_on = true;

            if (walk_is_evaluated(lane->walk)) {
                lane->instance->error = end_iteration(crew, lane);
                goes_on = lane->instance->error == 0 && begin_iteration(crew, lane);
            }
            if (!goes_on)
                walk_free(lane->walk);
            else if (busy++ != i)
                lanes[busy - 1] = *lane;
        }
        n = busy == n ? n : fill_lanes(crew, lanes, busy);
    }
    return NULL;
}

/*
 * Runs the crew on n threads, including this one. Fewer threads than requested are no error: the
 * work is the same.
 */
static void run_threads(struct crew *crew, unsigned n)
{
    pthread_t threads[64];
    unsigned started = 0;

    n = n > sizeof threads / sizeof threads[0] ? sizeof threads / sizeof threads[0] : n;
    while (started + 1 < n && pthread_create(&threads[started], NULL, work, crew) == 0)
        started++;
    (void)work(crew);
    for (unsigned i = 0; i < started; i++)
        (void)pthread_join(threads[i], NULL);
}

/* Takes the best instance, the lowest of equals, and all improvements. */
static int gather(struct crew *crew, struct anneal_result *ret_result)
{
    struct anneal_result result = {0};
    struct instance *best = &crew->instances[0];
    size_t n = 0;

    for (unsigned i = 0; i < crew->settings->instances; i++) {
        struct instance *instance = &crew->instances[i];

        if (instance->error)
            return instance->error;
        if (instance->makespan > best->makespan)
            best = instance;
        n += instance->n_improvements;
        result.iterations += instance->iterations;
        result.timed_out |= instance->timed_out;
    }
    result.improvements = malloc((n + 1) * sizeof result.improvements[0]);
    if (!result.improvements)
        return -ENOMEM;
    for (unsigned i = 0; i < crew->settings->instances; i++) {
        struct instance *instance = &crew->instances[i];

        memcpy(result.improvements + result.n_improvements, instance->improvements,
               instance->n_improvements * sizeof result.improvements[0]);
        result.n_improvements += instance->n_improvements;
    }
    result.makespan = best->makespan;
    result.instance = best->index;
    result.order = best->order;
    best->order = NULL;
    *ret_result = result;
    return 0;
}

int anneal_run(const struct problem *problem, const struct anneal_settings *settings,
               struct anneal_result *ret_result)
{
    struct crew crew = {.problem = problem,
                        .settings = settings,
                        .length = problem->n * problem->warps,
                        .scales = 1,
                        .began_at = clock_now()};
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned threads = settings->threads ? settings->threads : processors > 0 ? (unsigned)processors : 1;
    int result;

    crew.instances = calloc(settings->instances, sizeof crew.instances[0]);
    if (!crew.instances)
        return -ENOMEM;
    for (unsigned i = 0; i < settings->instances; i++)
        crew.instances[i].index = i;
    while (crew.scales < 24 && (UINT64_C(2) << crew.scales) < crew.length)
        crew.scales++;
    threads = threads < settings->instances ? threads : settings->instances;
    crew.lanes = (settings->instances + threads - 1) / threads;
    crew.lanes = crew.lanes < SLOTS_LANES ? crew.lanes : SLOTS_LANES;
    run_threads(&crew, threads);
    result = gather(&crew, ret_result);
    for (unsigned i = 0; i < settings->instances; i++) {
        free(crew.instances[i].order);
        free(crew.instances[i].improvements);
    }
    free(crew.instances);
    return result;
}

void anneal_result_done(struct anneal_result *result)
{
    free(result->order);
    free(result->improvements);
    *result = (struct anneal_result){0};
}
