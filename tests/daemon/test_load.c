/*
 * Random load on the real batond: processes with two threads each take turns on two devices, give
 * way when asked, and are killed at random moments; now and then the daemon is killed and started
 * again. Shared memory keeps the truth: which thread really is on which engine. ROUNDS kills in
 * `make test`, an hour in `make soak` (BATON_SOAK_SECONDS changes that).
 */
#include <fcntl.h>
#include <math.h>
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
#define ROUNDS  160 /* three daemons are killed in them */

struct truth {
    _Atomic pid_t owner[ENGINES]; /* the thread (tid) that is on it, 0: none */
    _Atomic bool lawless;         /* the daemon is down or has just come back: no exclusion is promised */
    _Atomic uint64_t collisions, holds, yields;
    _Atomic uint64_t
        ending; /* killed threads that were found on their engine, leases gone, between life and death */
    _Atomic uint64_t progress[WORKERS][THREADS]; /* holds ended, per thread */
    _Atomic uint64_t ended[ENGINES][WORKERS];    /* the same, per engine; a higher slot is more urgent */
    _Atomic uint64_t overtaken; /* the most holds of less urgent workers that ended while one thread waited */
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

/*
 * Has the thread ended, or is it ending? Then what it left is no collision. A thread that was
 * killed closes its files, and so lets go of its leases, before the system calls it a zombie; on a
 * busy machine others may get in between. The kernel's flag for it is older than both.
 */
static bool is_gone(struct truth *truth, pid_t tid)
{
    enum { PF_EXITING = 4 }; /* include/linux/sched.h; proc(5): (9) flags */
    char path[64];
    char text[256] = "";
    unsigned flags = 0;
    const char *state;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)tid);
    file = fopen(path, "r");
    if (!file)
        return true;
    (void)!fgets(text, sizeof text, file);
    (void)fclose(file);
    state = strrchr(text, ')');
    if (!state || state[2] == 'Z' || state[2] == 'X')
        return true;
    if (sscanf(state + 3, "%*d %*d %*d %*d %*d %u", &flags) != 1 || !(flags & PF_EXITING))
        return false;
    (void)atomic_fetch_add(&truth->ending, 1);
    return true;
}

static void enter(struct worker *worker, unsigned engine, pid_t me)
{
    struct truth *truth = worker->truth;
    pid_t before = atomic_exchange(&truth->owner[engine], me);

    if (before == 0 || atomic_load(&truth->lawless) || is_gone(truth, before))
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

static uint64_t less_urgent_holds(const struct worker *worker, unsigned engine)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < worker->slot; i++)
        sum += atomic_load(&worker->truth->ended[engine][i]);
    return sum;
}

static void note_overtaking(struct truth *truth, uint64_t overtaken)
{
    uint64_t most = atomic_load(&truth->overtaken);

    while (!atomic_load(&truth->lawless) && overtaken > most &&
           !atomic_compare_exchange_weak(&truth->overtaken, &most, overtaken))
        ;
}

/* A thread that began ends; another thread of the process is simply waited for. */
static void acquire(struct lease *lease)
{
    for (;;) {
        int answer = lease_try_begin(lease);

        if (answer == LEASE_ASK)
            answer = lease_request(lease);
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
        uint64_t before;

        before = less_urgent_holds(worker, engine);
        acquire(lease);
        note_overtaking(worker->truth, less_urgent_holds(worker, engine) - before);
        enter(worker, engine, me);
        for (uint64_t piece = random_below(&random, 4); piece-- > 0;) {
            struct timespec length = {0, (long)random_below(&random, 200000)};

            nanosleep(&length, NULL);
            if (!(lease_flags(lease) & LEASE_FLAG_YIELD))
                continue;
            leave(worker, engine, me);
            (void)atomic_fetch_add(&worker->truth->yields, 1);
            if (lease_yield(lease) == LEASE_ASK)
                (void)lease_wait(lease, NSEC_MAX);
            enter(worker, engine, me);
        }
        leave(worker, engine, me);
        lease_end(lease);
        (void)atomic_fetch_add(&worker->truth->holds, 1);
        (void)atomic_fetch_add(&worker->truth->ended[engine][worker->slot], 1);
        (void)atomic_fetch_add(&worker->truth->progress[worker->slot][number], 1);
        atomic_store(&worker->truth->generation[worker->slot],
                     session_online(worker->session) ? session_generation(worker->session) : 0);
        /*
         * Twelve threads that hold for 0.3 ms and rest for 3 ms want about half of two engines:
         * enough to collide, and not so much that the least urgent starves by right.
         */
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
    if (fixture_session(&settings, &worker.session) < 0 ||
        lease_open(worker.session, "test:0", ENGINE_EXECUTION, &worker.leases[0]) < 0 ||
        lease_open(worker.session, "test:1", ENGINE_EXECUTION, &worker.leases[1]) < 0)
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

/* Of a few holds of all the crew. */
static baton_nsec deadline(void)
{
    return clock_now() + (baton_nsec)harness_limit(5 * FIXTURE_LIMIT);
}

struct crew {
    struct fixture fixture;
    pid_t pids[WORKERS];
};

/* Until each thread of the worker has ended so many more. */
static void wait_for_holds(struct truth *truth, unsigned slot, uint64_t holds, baton_nsec until_at)
{
    for (unsigned t = 0; t < THREADS; t++) {
        uint64_t before = atomic_load(&truth->progress[slot][t]);

        while (atomic_load(&truth->progress[slot][t]) < before + holds) {
            ck_assert_msg(clock_now() < until_at, "thread %u of worker %u starves: %llu holds of all so far",
                          t, slot, (unsigned long long)atomic_load(&truth->holds));
            nap_ms(1);
        }
    }
}

/* Each process has come back to the present daemon and ended what began without one. */
static void wait_for_law(struct truth *truth, uint32_t generation)
{
    baton_nsec until_at = deadline();

    for (unsigned i = 0; i < WORKERS; i++) {
        while (atomic_load(&truth->generation[i]) != generation) {
            ck_assert_msg(clock_now() < until_at, "worker %u never came back to daemon %u (is with %u)", i,
                          generation, atomic_load(&truth->generation[i]));
            nap_ms(1);
        }
    }
    for (unsigned i = 0; i < WORKERS; i++) /* two more holds of each thread end whatever began before */
        wait_for_holds(truth, i, 2, until_at);
    atomic_store(&truth->lawless, false);
}

/* So much must have happened for the verdict to mean something. */
static void wait_for_events(const struct truth *truth, uint64_t holds, uint64_t yields)
{
    baton_nsec until_at = deadline();

    while (atomic_load(&truth->holds) <= holds || atomic_load(&truth->yields) <= yields) {
        ck_assert_msg(clock_now() < until_at, "%llu holds, %llu yields", (unsigned long long)truth->holds,
                      (unsigned long long)truth->yields);
        nap_ms(1);
    }
}

static double seconds; /* of each part; 0: ROUNDS */

START_TEST(random_load_with_kills_collides_nowhere_and_starves_nobody)
{
    baton_nsec end_at = clock_now() + (baton_nsec)(seconds * (double)NSEC_PER_SEC);
    struct truth *truth =
        mmap(NULL, sizeof *truth, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct crew crew;
    struct random_state random;
    baton_nsec until_at;
    uint32_t generation = 1;
    unsigned kills = 0;

    random_init(&random, 3, (uint64_t)_i);
    fixture_start(&crew.fixture, "probe: false\nrealtime: false\nsettle_ms: 100\n", NULL);
    for (unsigned i = 0; i < WORKERS; i++)
        crew.pids[i] = start_worker(&crew.fixture, truth, i);
    for (unsigned round = 1; seconds > 0 ? clock_now() < end_at : round <= ROUNDS; round++) {
        unsigned victim = (unsigned)random_below(&random, WORKERS);

        nap_ms(random_between(&random, 1, 30));
        (void)kill(crew.pids[victim], SIGKILL);
        ck_assert_int_eq(waitpid(crew.pids[victim], NULL, 0), crew.pids[victim]);
        atomic_store(&truth->generation[victim], 0);
        crew.pids[victim] = start_worker(&crew.fixture, truth, victim);
        kills++;
        if (round % 50 != 0)
            continue;
        atomic_store(&truth->lawless, true);
        fixture_kill_daemon(&crew.fixture, SIGKILL);
        nap_ms(20);
        fixture_restart(&crew.fixture, NULL);
        wait_for_law(truth, ++generation);
    }
    until_at = deadline();
    for (unsigned i = 0; i < WORKERS; i++)
        wait_for_holds(truth, i, 1, until_at);
    wait_for_events(truth, 100, 10);
    for (unsigned i = 0; i < WORKERS; i++) {
        (void)kill(crew.pids[i], SIGKILL);
        (void)waitpid(crew.pids[i], NULL, 0);
    }
    printf("%llu holds, %llu yields, %u clients killed, %u daemons killed; at most %llu less urgent holds "
           "during one wait; "
           "%llu ending threads met\n",
           (unsigned long long)truth->holds, (unsigned long long)truth->yields, kills, generation - 1,
           (unsigned long long)truth->overtaken, (unsigned long long)truth->ending);
    (void)fflush(stdout); /* the figures matter also when the verdict is bad */
    ck_assert_msg(truth->collisions == 0, "%llu collisions; first: %s", (unsigned long long)truth->collisions,
                  truth->first);
    fixture_done(&crew.fixture);
}
END_TEST

/*
 * In parts of at most 20 minutes: libcheck counts microseconds in 31 bits, and fails a test that
 * takes longer than that.
 */
int main(void)
{
    const char *given = getenv("BATON_SOAK_SECONDS");
    double all = given ? strtod(given, NULL) : (double)harness_scale(0, 3600);
    int parts = (int)ceil(fmax(1, all / 1200));
    Suite *suite = suite_create("load");
    TCase *cases = tcase_create("load");

    seconds = all / parts;
    tcase_set_timeout(cases, harness_limit(3000 + seconds));
    tcase_add_loop_test(cases, random_load_with_kills_collides_nowhere_and_starves_nobody, 0, parts);
    suite_add_tcase(suite, cases);
    return harness_run(suite);
}
