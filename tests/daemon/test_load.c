/*
 * Random load on the real batond: processes with two threads each take turns on two devices, give way when asked, and are killed
 * at random moments; now and then the daemon is killed and started again. Shared memory keeps the truth: who really is on
 * which engine. A few seconds in `make test`, an hour in `make soak` (BATON_SOAK_SECONDS changes that).
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "fixture.h"
#include "harness.h"

#define WORKERS 6
#define THREADS 2
#define ENGINES 2

struct truth {
    _Atomic pid_t owner[ENGINES]; /* the thread (tid) that is on it, 0: nobody */
    _Atomic bool lawless;         /* the daemon is down or has just come back: no exclusion is promised */
    _Atomic uint64_t collisions, holds, yields;
    _Atomic uint64_t progress[WORKERS][THREADS]; /* holds ended, per thread */
    _Atomic uint32_t generation[WORKERS];
    char first[200]; /* what the first collision was */
};

struct worker {
    struct truth *truth;
    unsigned slot;
    _Atomic unsigned threads; /* how many have begun */
    struct session *session;
    struct lease *leases[ENGINES];
};

/* Has the thread ended (or is its process a zombie)? Then what it left is no collision. */
static bool is_gone(pid_t tid)
{
    char path[64];
    char text[256] = "";
    const char *state;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)tid);
    file = fopen(path, "r");
    if (!file)
        return true;
    (void)!fgets(text, sizeof text, file);
    (void)fclose(file);
    state = strrchr(text, ')');
    return !state || state[2] == 'Z' || state[2] == 'X';
}

static void enter(struct worker *worker, unsigned engine, pid_t me)
{
    struct truth *truth = worker->truth;
    pid_t before = atomic_exchange(&truth->owner[engine], me);

    if (before == 0 || atomic_load(&truth->lawless) || is_gone(before))
        return;
    if (atomic_fetch_add(&truth->collisions, 1) == 0)
        (void)snprintf(truth->first, sizeof truth->first,
                       "thread %d of worker %u found thread %d on engine %u", (int)me, worker->slot,
                       (int)before, engine);
}

static void leave(struct worker *worker, unsigned engine, pid_t me)
{
    pid_t expected = me;

    (void)atomic_compare_exchange_strong(&worker->truth->owner[engine], &expected, 0);
}

/* Whoever began ends; another thread of the process is simply waited for. */
static void acquire(struct lease *lease)
{
    for (;;) {
        int answer = lease_try_begin(lease);

        if (answer == LEASE_ASK)
            answer = lease_request(lease, 0);
        if (answer == LEASE_ASK)
            answer = lease_wait(lease, NSEC_MAX);
        if (answer == LEASE_BEGUN)
            return;
        sched_yield();
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    pid_t me = gettid();
    unsigned number = atomic_fetch_add(&worker->threads, 1);
    struct random_state random;

    random_init(&random, (uint64_t)clock_now(), (uint64_t)me);
    for (;;) {
        unsigned engine = (unsigned)random_below(&random, ENGINES);
        struct timespec rest;
        struct lease *lease = worker->leases[engine];

        acquire(lease);
        enter(worker, engine, me);
        for (uint64_t piece = random_below(&random, 4); piece-- > 0;) {
            struct timespec length = {0, (long)random_below(&random, 200000)};

            nanosleep(&length, NULL);
            if (!lease_yield_asked(lease))
                continue;
            leave(worker, engine, me);
            (void)atomic_fetch_add(&worker->truth->yields, 1);
            if (lease_yield(lease, 0) == LEASE_ASK)
                (void)lease_wait(lease, NSEC_MAX);
            enter(worker, engine, me);
        }
        leave(worker, engine, me);
        lease_end(lease);
        (void)atomic_fetch_add(&worker->truth->holds, 1);
        (void)atomic_fetch_add(&worker->truth->progress[worker->slot][number], 1);
        atomic_store(&worker->truth->generation[worker->slot],
                     session_online(worker->session) ? session_generation(worker->session) : 0);
        /* Twelve threads that hold for 0.3 ms and rest for 3 ms want about half of two engines: enough to collide, and not so much that
         * the least urgent starves by right. */
        rest = (struct timespec){0, (long)random_below(&random, 6000000)};
        nanosleep(&rest, NULL);
    }
    return NULL;
}

static pid_t start_worker(const struct fixture *fixture, struct truth *truth, unsigned slot)
{
    pid_t pid = fork();
    static struct worker worker;
    struct settings settings;
    pthread_t thread;

    if (pid != 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    settings = fixture_settings(fixture, "worker", 1 + (int)slot * 16);
    worker = (struct worker){.truth = truth, .slot = slot};
    if (session_open(&settings, NULL, &worker.session) < 0 ||
        lease_open(worker.session, "test:0", LEASE_EXECUTION, &worker.leases[0]) < 0 ||
        lease_open(worker.session, "test:1", LEASE_EXECUTION, &worker.leases[1]) < 0)
        _exit(3);
    for (unsigned i = 1; i < THREADS; i++)
        (void)pthread_create(&thread, NULL, work, &worker);
    (void)work(&worker);
    _exit(0);
}

static void nap_ms(long ms)
{
    struct timespec length = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&length, NULL);
}

/* Until each thread of the worker has ended so many more. */
static void wait_for_holds(struct truth *truth, unsigned slot, uint64_t holds, baton_nsec until_at)
{
    for (unsigned t = 0; t < THREADS; t++) {
        uint64_t before = atomic_load(&truth->progress[slot][t]);

        while (atomic_load(&truth->progress[slot][t]) < before + holds) {
            ck_assert_msg(clock_now() < until_at, "thread %u of worker %u starves", t, slot);
            nap_ms(1);
        }
    }
}

/* Everybody has come back to the present daemon and ended what began without one. */
static void wait_for_law(struct truth *truth, uint32_t generation)
{
    baton_nsec until_at = clock_now() + 10 * NSEC_PER_SEC;

    for (unsigned i = 0; i < WORKERS; i++) {
        while (atomic_load(&truth->generation[i]) != generation) {
            ck_assert_msg(clock_now() < until_at, "worker %u never came back", i);
            nap_ms(1);
        }
    }
    for (unsigned i = 0; i < WORKERS; i++) /* two more holds of each thread end whatever began before */
        wait_for_holds(truth, i, 2, until_at);
    atomic_store(&truth->lawless, false);
}

START_TEST(random_load_with_kills_collides_nowhere_and_starves_nobody)
{
    const char *given = getenv("BATON_SOAK_SECONDS");
    double seconds = given ? strtod(given, NULL) : (double)harness_scale(4, 3600);
    baton_nsec end_at = clock_now() + (baton_nsec)(seconds * (double)NSEC_PER_SEC);
    struct truth *truth =
        mmap(NULL, sizeof *truth, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct random_state random;
    struct fixture fixture;
    pid_t pids[WORKERS];
    uint32_t generation = 1;
    unsigned kills = 0;

    random_init(&random, 3, 0);
    fixture_start(&fixture, "probe: false\nrealtime: false\nsettle_ms: 100\n", NULL);
    for (unsigned i = 0; i < WORKERS; i++)
        pids[i] = start_worker(&fixture, truth, i);
    for (unsigned round = 1; clock_now() < end_at; round++) {
        unsigned victim = (unsigned)random_below(&random, WORKERS);

        nap_ms(random_between(&random, 1, 30));
        (void)kill(pids[victim], SIGKILL);
        ck_assert_int_eq(waitpid(pids[victim], NULL, 0), pids[victim]);
        atomic_store(&truth->generation[victim], 0);
        pids[victim] = start_worker(&fixture, truth, victim);
        kills++;
        if (round % 50 != 0)
            continue;
        atomic_store(&truth->lawless, true);
        fixture_kill_daemon(&fixture, SIGKILL);
        nap_ms(20);
        fixture_restart(&fixture, NULL);
        wait_for_law(truth, ++generation);
    }
    for (unsigned i = 0; i < WORKERS; i++)
        wait_for_holds(truth, i, 1, clock_now() + 10 * NSEC_PER_SEC);
    for (unsigned i = 0; i < WORKERS; i++) {
        (void)kill(pids[i], SIGKILL);
        (void)waitpid(pids[i], NULL, 0);
    }
    printf("%llu holds, %llu yields, %u clients killed, %u daemons killed\n",
           (unsigned long long)truth->holds, (unsigned long long)truth->yields, kills, generation - 1);
    ck_assert_msg(truth->collisions == 0, "%llu collisions; first: %s", (unsigned long long)truth->collisions,
                  truth->first);
    ck_assert_uint_gt(truth->holds, 100);
    ck_assert_uint_gt(truth->yields, 10);
    fixture_done(&fixture);
}
END_TEST

HARNESS_MAIN("load", 100, random_load_with_kills_collides_nowhere_and_starves_nobody)
