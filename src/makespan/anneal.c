#include "makespan/anneal.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "makespan/starts.h"
#include "makespan/walk.h"

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
    struct instance *instances;
    atomic_uint next; /* instance that nobody has taken yet */
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

/* Tries a neighbour at random. Reinsertion goes near or far, all scales alike; a step past either end comes back in. */
static unsigned try_neighbour(struct walk *walk, enum anneal_move move, size_t length, unsigned scales,
                              struct random_state *random)
{
    size_t from = random_below(random, length);
    size_t distance, to;

    if (move == ANNEAL_SWAP)
        return walk_try_swap(walk, from, random_below(random, length));
    distance = 1 + random_below(random, UINT64_C(2) << random_below(random, scales));
    if (random_u64(random) >> 63)
        to = from + distance < length ? from + distance : length - 1;
    else
        to = from > distance ? from - distance : 0;
    return walk_try_reinsert(walk, from, to);
}

/* Eq. (3) with T = T0 (1 - i / iterations). */
static bool is_accepted(unsigned current, unsigned candidate, double temperature, struct random_state *random)
{
    if (candidate >= current)
        return true;
    return random_unit(random) * (double)(current - candidate) < temperature;
}

static int run_walk(struct crew *crew, struct instance *instance, struct walk *walk,
                    struct random_state *random)
{
    const struct anneal_settings *settings = crew->settings;
    size_t length = crew->problem->n * crew->problem->warps;
    unsigned scales = 1;
    int result = note(instance, walk_makespan(walk), clock_now() - crew->began_at);

    while (scales < 24 && (UINT64_C(2) << scales) < length)
        scales++;
    walk_order(walk, instance->order);
    for (uint64_t i = 0; result == 0 && i < settings->iterations; i++) {
        double temperature = settings->temperature * (1 - (double)i / (double)settings->iterations);
        unsigned current = walk_makespan(walk);
        unsigned candidate = try_neighbour(walk, settings->move, length, scales, random);

        instance->iterations++;
        if (is_accepted(current, candidate, temperature, random))
            walk_accept(walk);
        else
            walk_reject(walk);
        if (candidate > instance->makespan) {
            walk_order(walk, instance->order);
            result = note(instance, candidate, clock_now() - crew->began_at);
        }
        if (settings->enough && instance->makespan >= settings->enough)
            break;
        if (settings->until_at && i % ITERATIONS_PER_CLOCK_CHECK == 0 && clock_now() > settings->until_at) {
            instance->timed_out = true;
            break;
        }
    }
    return result;
}

static void run_instance(struct crew *crew, struct instance *instance)
{
    const struct problem *problem = crew->problem;
    struct random_state random;
    struct walk *walk = NULL;

    random_init(&random, crew->settings->seed, instance->index);
    instance->error = -ENOMEM;
    instance->order = malloc(problem->n * problem->warps * sizeof instance->order[0]);
    if (!instance->order ||
        start_make(problem, (enum start)(instance->index % N_STARTS), &random, instance->order))
        return;
    walk = walk_new(problem, instance->order);
    if (walk)
        instance->error = run_walk(crew, instance, walk, &random);
    walk_free(walk);
}

static void *work(void *argument)
{
    struct crew *crew = argument;
    unsigned index;

    while ((index = atomic_fetch_add(&crew->next, 1)) < crew->settings->instances)
        run_instance(crew, &crew->instances[index]);
    return NULL;
}

/* Runs the crew on n threads, this one among them. Fewer threads than asked for are no error: the work is the same. */
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
    struct crew crew = {.problem = problem, .settings = settings, .began_at = clock_now()};
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned threads = settings->threads ? settings->threads : processors > 0 ? (unsigned)processors : 1;
    int result;

    crew.instances = calloc(settings->instances, sizeof crew.instances[0]);
    if (!crew.instances)
        return -ENOMEM;
    for (unsigned i = 0; i < settings->instances; i++)
        crew.instances[i].index = i;
    run_threads(&crew, threads < settings->instances ? threads : settings->instances);
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
