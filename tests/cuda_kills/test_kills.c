/*
 * CUDA programs on the CPU device, under Baton and without it, killed, stopped and continued at
 * random moments, and batond with them. What must hold after each round: a program that was not
 * killed ended with the results of its model; batond and the device's queues hold nothing; a
 * newcomer runs through with batond, without Baton, and where no daemon listens; dead processes
 * left neither processes nor files.
 *
 * replay: BATON_KILLS_SEED=N. The moments are the machine's, so a replay draws the same choices but
 * may not meet the same race. BATON_SOAK: as many seconds as BATON_SOAK_SECONDS says.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "harness.h"
#include "kills_impostor.h"
#include "kills_stage.h"

enum { PROGRAMS = 6, STEPS = 30, ROUNDS = 4 };

static struct {
    struct kills_stage stage;
    struct kills_program programs[PROGRAMS];
    struct random_state random;
    bool follows; /* two GPUs in one cluster, and programs that go from one to the other */
    unsigned started, ended, killed, stopped, daemons;
} kills;

static unsigned pick(unsigned n)
{
    return (unsigned)random_below(&kills.random, n);
}

/* --- programs --- */

static struct kills_way a_way(void)
{
    static const struct kills_way ways[] = {
        {false, NULL, NULL},
        {true, NULL, "--socket /nowhere/socket"},
        {true, NULL, NULL},
        {true, NULL, "--priority 80"},
        {true, NULL, "--priority 10 --slice 1"},
        {true, NULL, "--slice 1 --chunk 4096"},
        {true, "BATON_TEST_QUEUE=1", NULL},
        {true, "BATON_TEST_QUEUE=1", "--priority 60 --slice 3 --chunk 256"},
    };
    static const struct kills_way following[] = {
        {false, NULL, NULL},
        {true, NULL, NULL},
        {true, "BATON_TEST_ROAM=1", NULL},
        {true, "BATON_TEST_ROAM=1", "--slice 1"},
        {true, "BATON_TEST_QUEUE=1", "--slice 3 --chunk 256"},
    };

    return kills.follows ? following[pick(sizeof following / sizeof following[0])]
                         : ways[pick(sizeof ways / sizeof ways[0])];
}

static void put_kernels(struct kills_words *words, const char *folder)
{
    kills_put(words, "%s/tests/%s/kernels.ptx", kills.stage.source, folder);
}

static void put_random_host(struct kills_words *words, unsigned programs)
{
    kills_put(words, "tests/cuda_front/random-host");
    put_kernels(words, kills.follows ? "cuda_migrate" : "cuda_conformance");
    kills_put(words, "%u", pick(1000000)); /* its seed */
    kills_put(words, "%u", programs);
    if (kills.follows)
        kills_put(words, "follows");
}

static void put_workloads(struct kills_words *words)
{
    static const char *const names[] = {"mmul", "bfs", "reduction", "transpose", "scan", "vector-add"};

    kills_put(words, "tests/workloads/workloads-cuda");
    kills_put(words, "--size");
    kills_put(words, "small");
    kills_put(words, "%s", names[pick(6)]);
    kills_put(words, "%s", names[pick(6)]);
}

static void put_state(struct kills_words *words)
{
    kills_put(words, "tests/cuda_migrate/cuda-state");
    put_kernels(words, "cuda_migrate");
    kills_put(words, "%u", 10 + pick(60)); /* jobs */
    kills_put(words, "%u", pick(1000000)); /* its seed */
    kills_put(words, pick(2) ? "library" : "module");
}

/* Long kernels until the round ends. */
static void put_hog(struct kills_words *words)
{
    kills_put(words, "tests/cuda_front/cuda-load");
    put_kernels(words, "cuda_conformance");
    kills_put(words, "hog");
    kills_put(words, "%u", 1 + pick(30)); /* ms */
    kills_put(words, "%s/go", kills.stage.folder);
}

/* Loads garbage, half a module, and a whole one that works. */
static void put_garbage(struct kills_words *words)
{
    kills_put(words, "tests/cuda_front/corners");
    put_kernels(words, "cuda_conformance");
    kills_put(words, "garbage");
}

static void start(struct kills_program *program)
{
    struct kills_words words = {0};
    struct kills_way way = a_way();
    unsigned what = pick(9);

    if (what < 2 && !kills.follows)
        put_workloads(&words);
    else if (what < 4)
        put_state(&words);
    else if (what < 5 && !(way.options && strstr(way.options, "--slice"))) /* its blocks are very many */
        put_hog(&words);
    else if (what < 6)
        put_garbage(&words);
    else
        put_random_host(&words, 10 + pick(150));
    kills_start(&kills.stage, program, way, &words);
    kills.started++;
}

/* --- random steps --- */

static void disturb(struct kills_program *program)
{
    switch (pick(8)) {
    case 0:
    case 1:
        kills_kill(program);
        kills.killed++;
        break;
    case 2:
    case 3:
        kills_signal(program, program->stopped ? SIGCONT : SIGSTOP);
        kills.stopped++;
        break;
    default:
        break;
    }
}

static void disturb_daemon(void)
{
    switch (pick(3)) {
    case 0:
        kills_daemon_signal(&kills.stage, kills.stage.daemon_stopped ? SIGCONT : SIGSTOP);
        break;
    case 1:
        kills_daemon_end(&kills.stage, SIGKILL);
        break;
    default:
        kills_daemon_end(&kills.stage, SIGTERM);
        break;
    }
    kills.daemons++;
    if (kills.stage.daemon)
        return;
    kills_pause(pick(30)); /* programs go on alone */
    kills_daemon_start(&kills.stage);
}

static void step(void)
{
    struct kills_program *program = &kills.programs[pick(PROGRAMS)];

    if (program->pid && !program->stopped && kills_ended(program))
        kills.ended++;
    if (!program->pid)
        start(program);
    else
        disturb(program);
    if (pick(12) == 0)
        disturb_daemon();
    if (pick(6) == 0)
        kills_kill_translator(&kills.stage);
    if (pick(16) == 0)
        kills_spoil_cache(&kills.stage, random_u64(&kills.random));
    kills_pause(pick(40));
}

/* --- between rounds --- */

static void newcomer(struct kills_way way)
{
    struct kills_program program;
    struct kills_words words = {0};

    put_random_host(&words, 3);
    kills_start(&kills.stage, &program, way, &words);
    kills_await(&kills.stage, &program);
}

static void make_go(bool there)
{
    char path[KILLS_PATH];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/go", kills.stage.folder);
    file = there ? fopen(path, "we") : NULL;
    if (file)
        ck_assert_int_eq(fclose(file), 0);
    else
        ck_assert(unlink(path) == 0);
}

static void end_round(void)
{
    if (kills.stage.daemon_stopped)
        kills_daemon_signal(&kills.stage, SIGCONT);
    make_go(false);
    for (int i = 0; i < PROGRAMS; i++)
        if (kills.programs[i].stopped && kills.programs[i].pid)
            kills_signal(&kills.programs[i], SIGCONT);
    for (int i = 0; i < PROGRAMS; i++)
        if (kills.programs[i].pid) {
            kills_await(&kills.stage, &kills.programs[i]);
            kills.ended++;
        }
    kills_nothing_held(&kills.stage);
    newcomer((struct kills_way){true, NULL, "--require-daemon --slice 1"});
    newcomer((struct kills_way){false, NULL, NULL});
    newcomer((struct kills_way){true, NULL, "--socket /nowhere/socket"});
    kills_nothing_held(&kills.stage);
    kills_nothing_left(&kills.stage);
}

static void one_round(void)
{
    make_go(true);
    for (int i = 0; i < STEPS; i++)
        step();
    end_round();
}

static uint64_t seed_of(uint64_t usual)
{
    const char *said = getenv("BATON_KILLS_SEED");
    uint64_t seed = said ? strtoull(said, NULL, 10) : getenv("BATON_SOAK") ? (uint64_t)clock_now() : usual;

    printf("replay: BATON_KILLS_SEED=%llu\n", (unsigned long long)seed);
    (void)fflush(stdout);
    return seed;
}

static baton_nsec soak_time(void)
{
    const char *said = getenv("BATON_SOAK_SECONDS");

    return (said ? strtoll(said, NULL, 10) : (long long)harness_scale(0, 900)) * NSEC_PER_SEC;
}

static void many_rounds(unsigned gpus, uint64_t seed, const char *const migrations[], size_t n)
{
    const baton_nsec until_at = clock_now() + soak_time();

    random_init(&kills.random, seed_of(seed), 0);
    kills.follows = gpus > 1;
    kills_open(&kills.stage, gpus);
    for (unsigned round = 0; round < ROUNDS || clock_now() < until_at; round++) {
        kills_configure(&kills.stage, migrations[round % n]);
        kills_daemon_end(&kills.stage, SIGTERM);
        kills_daemon_start(&kills.stage);
        one_round();
    }
    printf("%u programs started, %u ended right, %u killed; %u times stopped or continued; %u times batond\n",
           kills.started, kills.ended, kills.killed, kills.stopped, kills.daemons);
    ck_assert_msg(kills.ended > 0 && kills.killed > 0, "the random walk was too short to say anything");
    kills_close(&kills.stage);
}

START_TEST(programs_that_are_killed_or_stopped_leave_nothing_to_the_others)
{
    static const char *const none[] = {NULL};

    many_rounds(1, 22, none, 1);
}
END_TEST

START_TEST(nor_do_programs_whose_state_follows_their_jobs)
{
    static const char *const migrations[] = {"ondemand", "p2p", "system"};

    many_rounds(2, 23, migrations, 3);
}
END_TEST

/* Programs that batond scheduled before, and programs that met the impostor first. */
static void one_impostor(void)
{
    char path[KILLS_PATH];
    struct kills_impostor impostor;

    make_go(true);
    for (int i = 0; i < PROGRAMS / 2; i++)
        start(&kills.programs[i]);
    kills_pause(pick(300));
    kills_daemon_end(&kills.stage, SIGKILL);
    (void)snprintf(path, sizeof path, "%s/socket", kills.stage.folder);
    kills_impostor_start(&impostor, path, random_u64(&kills.random));
    for (int i = PROGRAMS / 2; i < PROGRAMS; i++)
        start(&kills.programs[i]);
    kills_pause(500 + pick(500));
    kills_impostor_end(&impostor);
    kills_daemon_start(&kills.stage);
    end_round();
}

START_TEST(garbage_in_place_of_batond_costs_programs_nothing)
{
    const baton_nsec until_at = clock_now() + soak_time();

    random_init(&kills.random, seed_of(24), 0);
    kills_open(&kills.stage, 1);
    kills_daemon_start(&kills.stage);
    for (unsigned round = 0; round < ROUNDS || clock_now() < until_at; round++)
        one_impostor();
    printf("%u programs ended right\n", kills.ended);
    kills_close(&kills.stage);
}
END_TEST

HARNESS_MAIN("cuda kills", 120, garbage_in_place_of_batond_costs_programs_nothing,
             programs_that_are_killed_or_stopped_leave_nothing_to_the_others,
             nor_do_programs_whose_state_follows_their_jobs)
