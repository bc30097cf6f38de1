#include "study/run/run_study.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "study/run/run_messages.h"

#define PENDING        256                 /* points that may wait to be written */
#define FLUSH_EVERY    (200 * NSEC_PER_MS) /* a crash loses younger points */
#define PROGRESS_EVERY (500 * NSEC_PER_MS)
#define ALONE_WAIT     (50 * NSEC_PER_MS)
#define POLL_WAIT      (NSEC_PER_MS) /* MPI cannot sleep until a message arrives */

struct run {
    const struct study_spec *spec;
    const struct study_run_options *options;
    pthread_mutex_t store_lock;
    struct store *store;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t news;  /* for the caller: points are waiting, or a thread has ended */
    pthread_cond_t room;  /* for threads: points have been written */
    uint32_t *units;
    size_t n_units, next;
    uint32_t *known; /* by unit: rows x points that are done */
    uint64_t done, total;
    struct study_point *pending;
    size_t n_pending;
    uint64_t points, tests;
    unsigned running; /* threads and other processes that are working */
    bool broken;      /* a write failed: later points must not be stored before the lost ones */
    int result;
    atomic_bool stop;
};

static size_t waiting(struct run *run)
{
    size_t n;

    pthread_mutex_lock(&run->lock);
    n = run->n_pending;
    pthread_mutex_unlock(&run->lock);
    return n;
}

static void give_up(struct run *run, int result)
{
    pthread_mutex_lock(&run->lock);
    if (!run->result)
        run->result = result;
    atomic_store(&run->stop, true);
    pthread_cond_broadcast(&run->room);
    pthread_cond_signal(&run->news);
    pthread_mutex_unlock(&run->lock);
}

/* Rows x points of a unit that need no more work; a curve that ended early counts completely. */
static uint32_t steps_done(const struct study_spec *spec, const struct study_unit *unit)
{
    uint32_t whole = spec->kind == STUDY_GEMA ? 1 : (uint32_t)spec->n_points;
    uint32_t steps = 0;

    for (uint32_t row = 0; row < unit->n; row++)
        steps += study_row_finished(spec, &unit->rows[row]) ? whole : unit->rows[row].next;
    return steps;
}

static uint32_t steps_of_unit(const struct study_spec *spec)
{
    return (uint32_t)(study_rows(spec) * (spec->kind == STUDY_GEMA ? 1 : spec->n_points));
}

static int look_up(struct run *run, uint32_t index, struct study_unit *ret_unit)
{
    uint32_t steps;
    int result;

    pthread_mutex_lock(&run->store_lock);
    result = store_unit(run->store, index, ret_unit);
    pthread_mutex_unlock(&run->store_lock);
    if (result)
        return result;
    steps = steps_done(run->spec, ret_unit);
    pthread_mutex_lock(&run->lock);
    run->done += steps - run->known[index];
    run->known[index] = steps;
    pthread_mutex_unlock(&run->lock);
    return 0;
}

/*
 * The next unit with work left; 1 when there is none. Reads the store again, because another run
 * may have worked on the unit.
 */
static int take_unit(struct run *run, struct study_unit *ret_unit)
{
    for (;;) {
        uint32_t index = 0;
        bool none;
        int result;

        pthread_mutex_lock(&run->lock);
        none = atomic_load(&run->stop) || run->next == run->n_units;
        if (!none)
            index = run->units[run->next++];
        pthread_mutex_unlock(&run->lock);
        if (none)
            return 1;
        result = look_up(run, index, ret_unit);
        if (result)
            return result;
        if (steps_done(run->spec, ret_unit) < steps_of_unit(run->spec))
            return 0;
    }
}

static void note(struct run *run, const struct study_point *point)
{
    uint32_t whole = run->spec->kind == STUDY_GEMA ? 1 : (uint32_t)run->spec->n_points;

    for (uint32_t i = 0; i < point->n; i++) {
        uint32_t steps = point->cells[i].finished ? whole - point->point : 1;

        run->done += steps;
        run->known[point->unit] += steps;
        run->tests += point->cells[i].tested;
    }
    run->pending[run->n_pending++] = *point;
}

static int hand_in(void *context, const struct study_point *point)
{
    struct run *run = context;
    bool stopped;

    pthread_mutex_lock(&run->lock);
    while (run->n_pending == PENDING && !atomic_load(&run->stop))
        pthread_cond_wait(&run->room, &run->lock);
    stopped = run->n_pending == PENDING;
    if (!stopped)
        note(run, point);
    if (run->n_pending >= PENDING / 2)
        pthread_cond_signal(&run->news);
    pthread_mutex_unlock(&run->lock);
    return stopped ? -EINTR : 0;
}

static void *work(void *context)
{
    struct run *run = context;
    struct study_worker *worker = NULL;
    struct study_unit unit;
    int result = study_worker_new(run->spec, &worker);

    while (result == 0) {
        result = take_unit(run, &unit);
        if (result == 0)
            result = study_worker_unit(worker, &unit, &run->stop, hand_in, run);
    }
    study_worker_free(worker);
    if (result < 0)
        give_up(run, result);
    pthread_mutex_lock(&run->lock);
    run->running--;
    pthread_cond_signal(&run->news);
    pthread_mutex_unlock(&run->lock);
    return NULL;
}

static int flush(struct run *run)
{
    struct study_point *points = NULL;
    size_t new_cells = 0;
    size_t n;
    int result = 0;

    pthread_mutex_lock(&run->lock);
    n = run->n_pending;
    if (n > 0) {
        points = malloc(n * sizeof *points);
        if (points) {
            memcpy(points, run->pending, n * sizeof *points);
            run->n_pending = 0;
            pthread_cond_broadcast(&run->room);
        }
    }
    pthread_mutex_unlock(&run->lock);
    if (n == 0)
        return 0;
    if (!points)
        return -ENOMEM;
    if (run->broken) {
        free(points);
        return 0;
    }
    pthread_mutex_lock(&run->store_lock);
    result = store_put(run->store, points, n, &new_cells);
    pthread_mutex_unlock(&run->store_lock);
    free(points);
    run->points += new_cells;
    run->broken = result != 0;
    return result;
}

/* Handles one message of another process. */
static int answer(struct run *run, unsigned from, int tag, const union run_message *message)
{
    struct study_unit unit;
    int result;

    if (tag == MESSAGE_POINT) {
        if (message->point.unit >= run->spec->n_units || message->point.n > STUDY_MAX_CONFIGURATIONS)
            return -EPROTO;
        /* only this thread flushes, so it must not wait for room */
        while (waiting(run) == PENDING) {
            result = flush(run);
            if (result)
                return result;
        }
        return hand_in(run, &message->point);
    }
    if (tag == MESSAGE_FAILED)
        return message->failure ? message->failure : -EIO;
    result = take_unit(run, &unit);
    if (result < 0)
        return result;
    if (result == 0)
        return run->options->transport->send(from, MESSAGE_UNIT, &unit, sizeof unit);
    pthread_mutex_lock(&run->lock);
    run->running--;
    pthread_mutex_unlock(&run->lock);
    return run->options->transport->send(from, MESSAGE_END, NULL, 0);
}

static int serve_others(struct run *run)
{
    union run_message message = {0};
    const struct study_transport *transport = run->options->transport;
    unsigned from;
    int tag;
    int result;

    while ((result = transport->poll(&from, &tag, &message, sizeof message)) == 1) {
        result = answer(run, from, tag, &message);
        if (result)
            break;
    }
    return result;
}

static void report(struct run *run, baton_nsec begin_at, double before, struct study_run_state *ret_state)
{
    pthread_mutex_lock(&run->lock);
    *ret_state = (struct study_run_state){.points = run->points,
                                          .tests = run->tests,
                                          .fraction = run->total ? (double)run->done / (double)run->total : 1,
                                          .before = before,
                                          .elapsed = clock_now() - begin_at};
    pthread_mutex_unlock(&run->lock);
}

/* Sleeps until the caller has something to do. True when every worker has ended. */
static bool wait_for_news(struct run *run, baton_nsec wait)
{
    struct timespec until;
    bool ended;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += wait;
    if (until.tv_nsec >= NSEC_PER_SEC) {
        until.tv_sec++;
        until.tv_nsec -= NSEC_PER_SEC;
    }
    pthread_mutex_lock(&run->lock);
    if (run->running > 0 && run->n_pending < PENDING / 2)
        (void)pthread_cond_timedwait(&run->news, &run->lock, &until);
    ended = run->running == 0;
    pthread_mutex_unlock(&run->lock);
    return ended;
}

/* The caller's part until all threads and processes have ended. */
static void conduct(struct run *run, baton_nsec begin_at, double before)
{
    const struct study_run_options *options = run->options;
    baton_nsec flushed_at = begin_at;
    baton_nsec shown_at = 0;
    struct study_run_state state;
    bool ended = false;

    while (!ended) {
        baton_nsec now;
        int result = options->transport ? serve_others(run) : 0;

        if (result)
            give_up(run, result);
        ended = wait_for_news(run, options->transport ? POLL_WAIT : ALONE_WAIT);
        if (atomic_load(options->stop))
            give_up(run, -EINTR);
        now = clock_now();
        if (ended || waiting(run) >= PENDING / 2 || now - flushed_at >= FLUSH_EVERY) {
            result = flush(run);
            flushed_at = now;
            if (result)
                give_up(run, result);
        }
        if (options->progress && now - shown_at >= PROGRESS_EVERY) {
            report(run, begin_at, before, &state);
            options->progress(options->context, &state);
            shown_at = now;
        }
        if (result && options->transport && result != -EINTR)
            break; /* the caller ends the others */
    }
}

/*
 * Lists the units in random order. The remaining units then take as long on average as the finished
 * ones, so the estimate of the remaining time is fair. Two runs into one file also rarely take the
 * same unit.
 */
static int list_units(struct run *run)
{
    size_t all = run->spec->n_units;
    struct random_state random;

    run->units = calloc(all, sizeof *run->units);
    run->known = calloc(all, sizeof *run->known);
    run->pending = calloc(PENDING, sizeof *run->pending);
    if (!run->units || !run->known || !run->pending)
        return -ENOMEM;
    random_init(&random, (uint64_t)clock_now(), (uint64_t)getpid());
    for (size_t unit = run->options->shard; unit < all; unit += run->options->shards) {
        size_t at = random_below(&random, run->n_units + 1);

        run->units[run->n_units++] = run->units[at];
        run->units[at] = (uint32_t)unit;
    }
    run->total = (uint64_t)run->n_units * steps_of_unit(run->spec);
    for (size_t i = 0; i < run->n_units; i++) {
        struct study_unit unit;
        int result = look_up(run, run->units[i], &unit);

        if (result)
            return result;
    }
    return 0;
}

static void start_threads(struct run *run, pthread_t threads[], unsigned *ret_started)
{
    unsigned started = 0;

    run->running = run->options->transport ? run->options->transport->size - 1 : 0;
    while (started < run->options->jobs) {
        int result;

        pthread_mutex_lock(&run->lock);
        run->running++;
        pthread_mutex_unlock(&run->lock);
        result = pthread_create(&threads[started], NULL, work, run);
        if (result) {
            pthread_mutex_lock(&run->lock);
            run->running--;
            pthread_mutex_unlock(&run->lock);
            give_up(run, -result);
            break;
        }
        started++;
    }
    *ret_started = started;
}

int study_run(const struct study_spec *spec, struct store *store, const struct study_run_options *options,
              struct study_run_state *ret_state)
{
    struct run run = {.spec = spec, .options = options, .store = store};
    pthread_t *threads = calloc(options->jobs ? options->jobs : 1, sizeof *threads);
    baton_nsec begin_at = clock_now();
    pthread_condattr_t monotonic;
    unsigned started = 0;
    int result = threads ? 0 : -ENOMEM;

    pthread_mutex_init(&run.store_lock, NULL);
    pthread_mutex_init(&run.lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&run.news, &monotonic);
    pthread_cond_init(&run.room, NULL);
    if (!result)
        result = list_units(&run);
    if (!result) {
        double before = run.total ? (double)run.done / (double)run.total : 1;

        start_threads(&run, threads, &started);
        conduct(&run, begin_at, before);
        for (unsigned i = 0; i < started; i++)
            (void)pthread_join(threads[i], NULL);
        report(&run, begin_at, before, ret_state);
        result = run.result;
    }
    pthread_cond_destroy(&run.news);
    pthread_cond_destroy(&run.room);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_destroy(&run.lock);
    pthread_mutex_destroy(&run.store_lock);
    free(run.units);
    free(run.known);
    free(run.pending);
    free(threads);
    return result;
}
