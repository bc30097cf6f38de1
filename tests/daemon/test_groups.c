/*
 * Groups of leases, as batches take them, against the real batond: processes that hold several
 * engines at once contend with others that hold one, some are killed in the middle, and so is the
 * daemon. The truth is a table in shared memory: which process is on which engine.
 */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/session_private.h"
#include "fixture.h"
#include "harness.h"

#define DEVICES 2
#define ENGINES (DEVICES * 2) /* execution and copy-in of each */

static const char config[] = "probe: false\nrealtime: false\ndevices: 2\nbuses: 1\n";

static const char tokens_config[] =
    "profile: gpusync\ntokens_per_gpu: 2\nprobe: false\nrealtime: false\ndevices: 2\nbuses: 1\n";

/* Shared by all processes of a test. */
struct truth {
    atomic_int on[ENGINES]; /* pid */
    atomic_int bus;         /* pid: copies of both devices share it */
    atomic_uint overlaps, batches, singles;
    atomic_bool enough; /* end where nothing is held: a killed process leaves its name in the table */
};

struct program {
    struct session *session;
    struct lease *leases[ENGINES];
};

static struct truth *new_truth(void)
{
    struct truth *truth =
        mmap(NULL, sizeof *truth, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    ck_assert_ptr_ne(truth, MAP_FAILED);
    return truth;
}

static bool open_program(struct program *program, const struct settings *settings)
{
    static const char *const devices[] = {"test:0", "test:1"};

    if (session_open(settings, NULL, &program->session) < 0)
        return false;
    for (unsigned i = 0; i < ENGINES; i++) {
        if (lease_open(program->session, devices[i / 2], i % 2 ? ENGINE_COPY_IN : ENGINE_EXECUTION,
                       &program->leases[i]) < 0)
            return false;
    }
    return true;
}

static struct lease_group group_of(const struct program *program, uint32_t engines)
{
    struct lease_group group = {0};

    for (unsigned i = 0; i < ENGINES; i++) {
        if (engines >> i & 1)
            lease_group_add(&group, program->leases[i]);
    }
    return group;
}

static void take_group(const struct lease_group *group)
{
    int answer;

    while ((answer = lease_group_request(group)) == LEASE_TAKEN)
        (void)sched_yield();
    if (answer == LEASE_ASK)
        (void)lease_group_wait(group, NSEC_MAX);
}

/* On the engines for a moment, and no other process with this one. */
static void occupy(struct truth *truth, uint32_t engines)
{
    int me = getpid();
    bool copies = (engines & 0xa) != 0;

    for (unsigned i = 0; i < ENGINES; i++) {
        if (engines >> i & 1)
            truth->overlaps += atomic_exchange(&truth->on[i], me) != 0;
    }
    if (copies)
        truth->overlaps += atomic_exchange(&truth->bus, me) != 0;
    usleep(100);
    for (unsigned i = 0; i < ENGINES; i++) {
        if (engines >> i & 1)
            truth->overlaps += atomic_exchange(&truth->on[i], 0) != me;
    }
    if (copies)
        truth->overlaps += atomic_exchange(&truth->bus, 0) != me;
}

static void run_batches(struct program *program, struct truth *truth, uint32_t engines)
{
    struct lease_group group = group_of(program, engines);

    while (!truth->enough) {
        session_job_begin(program->session, true, clock_now()); /* tokens go back at the end of a job */
        take_group(&group);
        occupy(truth, engines);
        truth->batches++;
        lease_group_end(&group);
        session_job_end(program->session, true, clock_now());
    }
}

static void run_singles(struct program *program, struct truth *truth, uint32_t engines)
{
    struct lease *lease = program->leases[__builtin_ctz(engines)];

    while (!truth->enough) {
        session_job_begin(program->session, true, clock_now());
        if (lease_try_begin(lease) != LEASE_BEGUN && lease_request(lease) == LEASE_ASK)
            (void)lease_wait(lease, NSEC_MAX);
        occupy(truth, engines);
        truth->singles++;
        lease_end(lease);
        session_job_end(program->session, true, clock_now());
        usleep(50);
    }
}

static pid_t start(const struct fixture *fixture, struct truth *truth, uint32_t engines, int priority,
                   void (*run)(struct program *, struct truth *, uint32_t))
{
    struct settings settings = fixture_settings(fixture, "contender", priority);
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        struct program program = {0};

        if (!open_program(&program, &settings))
            _exit(3);
        run(&program, truth, engines);
        session_close(program.session);
        _exit(0);
    }
    return pid;
}

static void stop(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

static void finish(struct truth *truth, const pid_t pids[], size_t n)
{
    truth->enough = true;
    for (size_t i = 0; i < n; i++) {
        int status = -1;

        (void)waitpid(pids[i], &status, 0);
        ck_assert_int_eq(status, 0);
    }
}

struct goal {
    atomic_uint *count;
    unsigned wanted;
};

static bool reached(void *argument)
{
    const struct goal *goal = argument;

    return atomic_load(goal->count) >= goal->wanted;
}

static bool is_online(void *session)
{
    return session_online(session);
}

static void expect_more(atomic_uint *count, unsigned more, const char *what)
{
    struct goal goal = {count, atomic_load(count) + more};

    fixture_wait(reached, &goal, what);
}

START_TEST(batches_and_single_commands_of_several_processes_exclude_one_another)
{
    struct fixture fixture;
    struct truth *truth = new_truth();
    pid_t pids[5];

    fixture_start(&fixture, config, NULL);
    pids[0] = start(&fixture, truth, 0xf, 20, run_batches); /* everything */
    pids[1] = start(&fixture, truth, 0xa, 20, run_batches); /* both copy engines and the bus */
    pids[2] = start(&fixture, truth, 0x1, 20, run_singles);
    pids[3] = start(&fixture, truth, 0x8, 20, run_singles);
    pids[4] = start(&fixture, truth, 0x4, 20, run_singles);
    expect_more(&truth->batches, 200, "batches among single commands");
    expect_more(&truth->singles, 200, "single commands among batches");
    finish(truth, pids, 5);
    ck_assert_uint_eq(truth->overlaps, 0);
    fixture_done(&fixture);
}
END_TEST

START_TEST(batches_and_single_commands_exclude_one_another_under_tokens)
{
    struct fixture fixture;
    struct truth *truth = new_truth();
    pid_t pids[4];

    fixture_start(&fixture, tokens_config, NULL);
    pids[0] = start(&fixture, truth, 0x3, 20,
                    run_batches); /* one GPU per program: execution and copy engine of the first */
    pids[1] = start(&fixture, truth, 0x3, 20, run_batches);
    pids[2] = start(&fixture, truth, 0x1, 20, run_singles);
    pids[3] = start(&fixture, truth, 0x2, 20, run_singles);
    expect_more(&truth->batches, 100, "batches among single commands");
    expect_more(&truth->singles, 100, "single commands among batches");
    finish(truth, pids, 4);
    ck_assert_uint_eq(truth->overlaps, 0);
    fixture_done(&fixture);
}
END_TEST

static void hold_batch(struct program *program, struct truth *truth, uint32_t engines)
{
    struct lease_group group = group_of(program, engines);

    take_group(&group);
    truth->batches++;
    for (;;)
        (void)pause();
}

/* All of them are connected, have asked for what they want, and wait. */
static void wait_for_silence(const struct fixture *fixture, const pid_t *pids, unsigned n)
{
    pid_t all[1 + ENGINES] = {fixture->daemon};

    memcpy(&all[1], pids, n * sizeof pids[0]);
    (void)fixture_quiet(all, 1 + n);
}

static bool has_settled(void *argument)
{
    return fixture_timer(((const struct fixture *)argument)->daemon) == NSEC_MAX;
}

START_TEST(death_in_the_middle_of_a_batch_returns_all_its_engines)
{
    struct fixture fixture;
    struct truth *truth = new_truth();
    pid_t holder;
    pid_t others[ENGINES];

    fixture_start(&fixture, config, NULL);
    holder = start(&fixture, truth, 0xf, 20, hold_batch);
    expect_more(&truth->batches, 1, "the batch");
    for (unsigned i = 0; i < ENGINES; i++)
        others[i] = start(&fixture, truth, 1u << i, 90, run_singles);
    wait_for_silence(&fixture, others, ENGINES);
    ck_assert_uint_eq(truth->singles,
                      0); /* not even more urgent ones: a batch is never asked to yield (M2) */
    stop(holder);
    expect_more(&truth->singles, 50, "single commands after the death of the batch's process");
    finish(truth, others, ENGINES);
    ck_assert_uint_eq(truth->overlaps, 0);
    fixture_done(&fixture);
}
END_TEST

START_TEST(process_that_keeps_engines_idle_or_uses_them_within_a_batch_does_not_wait_for_itself)
{
    struct fixture fixture;
    struct settings settings;
    struct program program = {0};
    struct lease_group group;

    fixture_start(&fixture, config, NULL);
    settings = fixture_settings(&fixture, "alone", 20);
    ck_assert(open_program(&program, &settings));
    group = group_of(&program, 0xb);
    for (unsigned i = 0; i < ENGINES; i++) { /* one more than the batch wants, on its bus: idle all */
        ck_assert_int_eq(lease_request(program.leases[i]), LEASE_ASK);
        ck_assert_int_eq(lease_wait(program.leases[i], clock_now() + FIXTURE_LIMIT), LEASE_BEGUN);
        lease_end(program.leases[i]);
    }
    ck_assert_int_eq(lease_group_request(&group), LEASE_ASK);
    ck_assert_int_eq(lease_group_wait(&group, clock_now() + FIXTURE_LIMIT), LEASE_BEGUN);
    /* Within: one holder at a time, no message, never asked to yield. */
    ck_assert_int_eq(lease_try_begin(program.leases[0]), LEASE_BEGUN);
    ck_assert_int_eq(lease_try_begin(program.leases[0]), LEASE_TAKEN);
    ck_assert(!lease_wanted(program.leases[0]));
    lease_end(program.leases[0]);
    ck_assert_int_eq(lease_request(program.leases[0]), LEASE_BEGUN);
    lease_group_end(&group);
    /*
     * A command that still runs keeps the lease until its own end; then the next batch can have it.
     */
    ck_assert_int_eq(lease_group_request(&group), LEASE_TAKEN);
    lease_end(program.leases[0]);
    ck_assert_int_eq(lease_group_request(&group), LEASE_ASK);
    ck_assert_int_eq(lease_group_wait(&group, clock_now() + FIXTURE_LIMIT), LEASE_BEGUN);
    lease_group_end(&group);
    session_close(program.session);
    fixture_done(&fixture);
}
END_TEST

START_TEST(batch_waits_for_the_command_of_another_thread_and_tells_it_so)
{
    struct fixture fixture;
    struct settings settings;
    struct program program = {0};
    struct lease_group group;

    fixture_start(&fixture, config, NULL);
    settings = fixture_settings(&fixture, "alone", 20);
    ck_assert(open_program(&program, &settings));
    group = group_of(&program, 0x3);
    ck_assert_int_eq(lease_request(program.leases[1]), LEASE_ASK);
    ck_assert_int_eq(lease_wait(program.leases[1], clock_now() + FIXTURE_LIMIT), LEASE_BEGUN);
    ck_assert_int_eq(lease_group_request(&group), LEASE_TAKEN);
    ck_assert(lease_wanted(program.leases[1]));
    lease_end(program.leases[1]);
    ck_assert_int_eq(lease_group_request(&group), LEASE_ASK);
    ck_assert_int_eq(lease_group_wait(&group, clock_now() + FIXTURE_LIMIT), LEASE_BEGUN);
    lease_group_end(&group);
    session_close(program.session);
    fixture_done(&fixture);
}
END_TEST

START_TEST(daemon_that_dies_lets_batches_pass_and_its_successor_respects_them)
{
    struct fixture fixture;
    struct settings settings;
    struct program program = {0};
    struct lease_group group;
    struct truth *truth = new_truth();
    pid_t other;

    fixture_start(&fixture, config, NULL);
    settings = fixture_settings(&fixture, "holder", 20);
    other = start(&fixture, truth, 0xf, 20, hold_batch);
    expect_more(&truth->batches, 1, "the first batch");
    ck_assert(open_program(&program, &settings));
    group = group_of(&program, 0xf);
    ck_assert_int_eq(lease_group_request(&group), LEASE_ASK);
    ck_assert_int_eq(lease_group_wait(&group, clock_now() + 50 * NSEC_PER_MS), LEASE_TIMEOUT);
    fixture_kill_daemon(&fixture, SIGKILL);
    /* Passing through: granted without a daemon. */
    ck_assert_int_eq(lease_group_wait(&group, clock_now() + FIXTURE_LIMIT), LEASE_BEGUN);
    stop(other);
    fixture_restart(&fixture, NULL);
    fixture_wait(is_online, program.session,
                 "the batch's process is back"); /* in time, however busy the machine is */
    other = start(&fixture, truth, 0x2, 90, run_singles);
    fixture_wait(has_settled, &fixture, "the daemon has settled"); /* what is declared stays ours */
    wait_for_silence(&fixture, &other, 1);
    ck_assert(session_online(program.session));
    ck_assert_uint_eq(truth->singles, 0);
    lease_group_end(&group);
    expect_more(&truth->singles, 20, "single commands after the declared batch");
    stop(other);
    session_close(program.session);
    fixture_done(&fixture);
}
END_TEST

HARNESS_MAIN("groups", 60, batches_and_single_commands_of_several_processes_exclude_one_another,
             batches_and_single_commands_exclude_one_another_under_tokens,
             death_in_the_middle_of_a_batch_returns_all_its_engines,
             process_that_keeps_engines_idle_or_uses_them_within_a_batch_does_not_wait_for_itself,
             batch_waits_for_the_command_of_another_thread_and_tells_it_so,
             daemon_that_dies_lets_batches_pass_and_its_successor_respects_them)
