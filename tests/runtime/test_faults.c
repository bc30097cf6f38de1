/*
 * Faults with real processes: batond, `baton run`, the layer and PoCL, killed at random moments.
 * Programs that live on must get right results and end by themselves. Engines of the dead must go
 * to the living, and a new daemon must find the old clients again. The short version runs for
 * seconds; with BATON_SOAK the last case goes on for an hour (BATON_SOAK_SECONDS).
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "harness.h"
#include "stage.h"

enum { VICTIMS = 3 };

enum { START_MS = 600000 }; /* compiling a kernel is two seconds of work: only what hangs needs so long */

static struct stage stage;

static const struct stage_how URGENT = {.baton = true, .priority = 80, .name = "urgent", .stats = true};
static const struct stage_how HOG = {.baton = true, .priority = 10, .name = "hog", .stats = true};

static void pause_ms(unsigned ms)
{
    struct timespec wait = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000L};

    while (nanosleep(&wait, &wait) < 0 && errno == EINTR) {
    }
}

/* About 20 ms a kernel, checked at the end. */
static void start_hog(struct stage_program *hog, const char *seconds)
{
    static const char *const kinds[] = {"kernel", "infi", "copy"};
    static unsigned turn;
    const char *argv[] = {"examples/demo/hog", kinds[turn++ % 3], "--steps", "10", "--bytes",
                          "8388608",           "--seconds",       seconds,   NULL};

    stage_start(&stage, hog, &HOG, argv);
}

static void start_urgent(struct stage_program *urgent, const char *jobs)
{
    const char *argv[] = {"examples/demo/urgent", "--steps", "100", "--period", "5", "--jobs", jobs, NULL};

    stage_start(&stage, urgent, &URGENT, argv);
}

/* Ended by itself, with nothing wrong. */
static void assert_right(struct stage_program *program, const char *who)
{
    int status = stage_end(program, 0);

    ck_assert_msg(status == 0, "%s ended with status %d", who, status);
    ck_assert_msg(stage_value(program, "wrong") == 0, "%s computed wrong results", who);
}

/* Megabytes that the process has in memory now. */
static double resident_mb(pid_t pid)
{
    char path[64];
    unsigned long pages = 0;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    file = fopen(path, "re");
    if (!file || fscanf(file, "%*u %lu", &pages) != 1) /* NOLINT(cert-err34-c): the kernel's own number */
        pages = 0;
    if (file)
        (void)fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static bool daemon_knows(const char *name)
{
    char command[PATH_MAX + 64];
    char line[512];
    bool found = false;
    FILE *pipe;

    (void)snprintf(command, sizeof command, "'%s/baton' status", stage.build);
    pipe = popen(command, "re"); /* NOLINT(cert-env33-c): a fixed command of ours */
    while (pipe && fgets(line, sizeof line, pipe))
        found = found || (strstr(line, name) && strstr(line, "connected"));
    if (pipe)
        (void)pclose(pipe);
    return found;
}

/* How often the main thread has gone to sleep. ret_asleep: is it asleep now? */
static long sleeps_of(pid_t pid, bool *ret_asleep)
{
    char path[64];
    char line[128];
    char state = 0;
    long n = 0;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        (void)sscanf(line, "State: %c", &state);                /* NOLINT(cert-err34-c) */
        (void)sscanf(line, "voluntary_ctxt_switches: %ld", &n); /* NOLINT(cert-err34-c) */
    }
    if (file)
        (void)fclose(file);
    *ret_asleep = state == 'S';
    return n;
}

/*
 * Waits until the program's main thread has waited, or the program has grown by `most` megabytes.
 * To have waited is 1000 sleeps, or 20 looks at which it still was in the sleep of the look before.
 * One that may enqueue without end sleeps only when it meets a lock, and grows first.
 */
static void await_waiting_or_grown(pid_t pid, double most)
{
    enum { SLEEPS = 1000, LOOKS = 20 };
    const double before = resident_mb(pid);
    const baton_nsec until_at = clock_now() + START_MS * NSEC_PER_MS;
    bool asleep, was_asleep;
    const long first = sleeps_of(pid, &was_asleep);
    long last = first, looks = 0;

    while (last - first < SLEEPS && looks < LOOKS && resident_mb(pid) < before + most) {
        long n;

        ck_assert_msg(clock_now() < until_at, "the program neither waits nor grows");
        pause_ms(10);
        n = sleeps_of(pid, &asleep);
        looks += asleep && was_asleep && n == last;
        was_asleep = asleep;
        last = n;
    }
}

/*
 * A command in the queue takes about 1.5 kB: without back-pressure 50 MB are 33,000 commands. A
 * thousand queued commands are 1.5 MB.
 */
START_TEST(a_program_that_never_waits_does_not_grow_while_others_have_the_engine)
{
    const char *endless[] = {"examples/demo/hog", "infi", "--queued", "0", "--steps", "100",
                             "--seconds",         "600",  NULL};
    const char *busy[] = {"examples/demo/hog", "kernel", "--steps", "200", "--seconds", "600", NULL};
    struct stage_program hog = {0};
    struct stage_program above = {0};
    double before;
    double after;

    stage_open(&stage, "basic");
    stage_daemon_start(&stage, "priority", NULL);
    stage_start(&stage, &hog, &HOG, endless);
    ck_assert(stage_await(&hog, "ready", START_MS));
    stage_start(&stage, &above, &URGENT, busy);
    ck_assert(stage_await(&above, "ready", START_MS));
    before = resident_mb(hog.pid);
    ck_assert(before > 1);
    await_waiting_or_grown(hog.pid, 60);
    after = resident_mb(hog.pid);
    if (after >= before + 50) /* it would take minutes to end by itself */
        (void)stage_end(&hog, SIGKILL);
    ck_assert_msg(after < before + 50, "%.0f MB, then %.0f MB", before, after);
    ck_assert_int_eq(stage_end(&above, SIGTERM), 0);
    ck_assert(stage_value(&above, "wrong") == 0);
    ck_assert_int_eq(stage_end(&hog, SIGTERM), 0);
    ck_assert(stage_value(&hog, "wrong") == 0);
    stage_close(&stage);
}
END_TEST

START_TEST(killed_clients_leave_their_engines_to_the_others)
{
    struct stage_program victims[VICTIMS] = {0};
    struct stage_program survivor = {0};
    struct random_state random;

    random_init(&random, 7, 0);
    stage_open(&stage, "basic");
    stage_daemon_start(&stage, "priority", NULL);
    start_urgent(&survivor, "800");
    for (unsigned round = 0; round < 12; round++) {
        struct stage_program *victim = &victims[round % VICTIMS];
        (void)stage_end(victim, SIGKILL);
        start_hog(victim, "600");
        /* Every second one is at work before time goes on: the others may die at their start. */
        if (round % 2 == 1)
            ck_assert(stage_await(victim, "ready", START_MS));
        pause_ms((unsigned)random_below(&random, 400));
    }
    for (unsigned i = 0; i < VICTIMS; i++)
        (void)stage_end(&victims[i], SIGKILL);
    assert_right(&survivor, "the survivor");
    start_hog(&survivor, "0.3"); /* and a less urgent one finds everything free */
    assert_right(&survivor, "a newcomer");
    stage_close(&stage);
}
END_TEST

START_TEST(clients_outlive_the_daemon_and_find_the_next_one)
{
    struct stage_program urgent = {0};
    struct stage_program hog = {0};
    baton_nsec until_at;
    bool back = false;

    stage_open(&stage, "basic");
    stage_daemon_start(&stage, "priority", NULL);
    start_hog(&hog, "1000"); /* until it is ended */
    start_urgent(&urgent, "1000");
    ck_assert_msg(stage_await(&hog, "ready", START_MS), "the hog did not start");
    pause_ms(300);
    stage_daemon_kill(&stage);
    pause_ms(300);
    stage_daemon_start(&stage, "priority", NULL);
    for (until_at = clock_now() + 300 * NSEC_PER_SEC; clock_now() < until_at && !back; pause_ms(50))
        back = daemon_knows("hog");
    ck_assert_msg(back, "the hog did not come back to the new daemon");
    assert_right(&urgent, "the urgent program");
    ck_assert_int_eq(stage_end(&hog, SIGTERM), 0);
    ck_assert(stage_value(&hog, "wrong") == 0);
    stage_close(&stage);
}
END_TEST

START_TEST(a_program_started_without_a_daemon_joins_one_that_appears)
{
    struct stage_program hog = {0};
    baton_nsec until_at;
    bool there = false;

    stage_open(&stage, "basic");
    stage_daemon_start(&stage, "priority", NULL); /* so that `baton run` starts none by itself */
    start_hog(&hog, "1000");                      /* until it is ended */
    ck_assert_msg(stage_await(&hog, "ready", START_MS), "the hog did not start");
    stage_daemon_stop(&stage);
    pause_ms(200);
    stage_daemon_start(&stage, "priority", NULL);
    for (until_at = clock_now() + 300 * NSEC_PER_SEC; clock_now() < until_at && !there; pause_ms(50))
        there = daemon_knows("hog");
    ck_assert_msg(there, "the hog did not join");
    ck_assert_int_eq(stage_end(&hog, SIGTERM), 0);
    ck_assert(stage_value(&hog, "wrong") == 0);
    stage_close(&stage);
}
END_TEST

static double soak_seconds(void)
{
    const char *said = getenv("BATON_SOAK_SECONDS");

    return said ? strtod(said, NULL) : (double)harness_scale(6, 3600);
}

/*
 * Several programs at once; every now and then one of them, or the daemon, is killed. Those that
 * end by themselves must be right.
 */
START_TEST(random_load_with_kills_loses_nothing)
{
    enum { PROGRAMS = 4 };
    struct stage_program programs[PROGRAMS] = {0};
    baton_nsec until_at = clock_now() + (baton_nsec)(soak_seconds() * 1e9);
    uint64_t seed = getenv("BATON_SOAK") ? (uint64_t)clock_now() : 11;
    struct random_state random;
    unsigned ended = 0;
    unsigned killed = 0;
    unsigned daemons = 0;

    random_init(&random, seed, 0);
    stage_open(&stage, "basic");
    stage_daemon_start(&stage, "priority", NULL);
    /* A busy machine makes few steps in that time: some of each kind there must be. */
    while (clock_now() < until_at ||
           ((!ended || !killed) && clock_now() < until_at + (baton_nsec)harness_limit(600) * NSEC_PER_SEC)) {
        unsigned i = (unsigned)random_below(&random, PROGRAMS);
        unsigned what = (unsigned)random_below(&random, 10);
        if (programs[i].pid && what < 5) {
            (void)stage_end(&programs[i], SIGKILL);
            killed++;
        } else if (programs[i].pid) {
            assert_right(&programs[i], "a program that was let live");
            ended++;
        } else if (what == 0) {
            stage_daemon_kill(&stage);
            pause_ms((unsigned)random_below(&random, 200));
            stage_daemon_start(&stage, "priority", NULL);
            daemons++;
        } else if (what < 5) {
            start_urgent(&programs[i], "100");
        } else {
            start_hog(&programs[i], "0.5");
        }
        pause_ms((unsigned)random_below(&random, 100));
    }
    for (unsigned i = 0; i < PROGRAMS; i++)
        if (programs[i].pid)
            assert_right(&programs[i], "a program at the end");
    printf("%u programs ended right, %u were killed, %u daemons too\n", ended, killed, daemons);
    ck_assert_msg(ended > 0 && killed > 0, "the random walk was too short to say anything");
    stage_close(&stage);
}
END_TEST

HARNESS_MAIN("runtime faults", getenv("BATON_SOAK") ? 4000 : 150,
             a_program_that_never_waits_does_not_grow_while_others_have_the_engine,
             killed_clients_leave_their_engines_to_the_others,
             clients_outlive_the_daemon_and_find_the_next_one,
             a_program_started_without_a_daemon_joins_one_that_appears, random_load_with_kills_loses_nothing)
