/*
 * Equals on a virtual clock: programs that run commands on one engine, as the layer does, against
 * the real core. A program that holds the engine goes on until it is asked to yield, or until an
 * equal waits and its turn is over, and leaves at the next border. Expected numbers follow from the
 * rule in docs/protocols.md (Q6): T is a turn, X the longest stretch between two borders.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "harness.h"
#include "sched/core.h"

#define MAX_PROGRAMS 32
#define MS           NSEC_PER_MS

enum state { THINKS, WAITS, RUNS };

struct program {
    /* What it is. */
    unsigned priority;
    bool admitted;
    baton_nsec command, piece; /* lengths; piece == command: cannot be cut */
    baton_nsec think;          /* between two commands; 0: it always has the next one */
    bool random;               /* commands and thinking of any length up to these */
    baton_nsec begin_at;
    /* What it does. */
    enum state state;
    baton_nsec left;     /* of the command */
    baton_nsec until_at; /* thinks, or its piece ends */
    baton_nsec held_at, asked_at;
    bool yield, turn;
    /* What became of it. */
    baton_nsec served, worst_wait, first_wait;
    unsigned commands;
    bool waited;
};

struct stage {
    struct sched_core *core;
    struct program *programs;
    unsigned n;
    baton_nsec at;
    struct random_state random;
};

static void tell(struct stage *stage, struct sched_event event);

static baton_nsec some(struct stage *stage, const struct program *program, baton_nsec most)
{
    return program->random && most ? 1 + (baton_nsec)random_below(&stage->random, (uint64_t)most) : most;
}

static baton_nsec next_piece(const struct program *program)
{
    return program->left < program->piece ? program->left : program->piece;
}

static void granted(struct stage *stage, struct program *program)
{
    baton_nsec wait = stage->at - program->asked_at;

    if (program->state == WAITS) {
        program->worst_wait = wait > program->worst_wait ? wait : program->worst_wait;
        if (!program->waited)
            program->first_wait = wait;
        program->waited = true;
    }
    program->state = RUNS;
    program->held_at = stage->at;
    program->yield = program->turn = false;
    program->until_at = stage->at + next_piece(program);
}

static void tell(struct stage *stage, struct sched_event event)
{
    const struct sched_decision *decisions;
    size_t n;

    event.at = stage->at;
    ck_assert_int_eq(sched_core_handle(stage->core, &event, &decisions, &n), 0);
    for (size_t i = 0; i < n; i++) {
        struct program *program = &stage->programs[decisions[i].job];

        if (decisions[i].action == SCHED_GRANT)
            granted(stage, program);
        else if (decisions[i].action == SCHED_YIELD)
            program->yield = true;
        else if (decisions[i].action == SCHED_TURN)
            program->turn = true;
    }
}

static void ask(struct stage *stage, unsigned p)
{
    struct sched_event request = {.kind = SCHED_ENGINE_REQUEST, .job = p, .home = SCHED_NO_GPU};
    struct program *program = &stage->programs[p];

    engine_set_add(&request.engines, 0);
    program->state = WAITS;
    program->asked_at = stage->at;
    program->left = some(stage, program, program->command);
    tell(stage, (struct sched_event){.kind = SCHED_JOB_NEXT, .job = p});
    tell(stage, request);
}

/* A piece has ended. */
static void border(struct stage *stage, unsigned p)
{
    struct program *program = &stage->programs[p];
    baton_nsec piece = next_piece(program);
    bool leave = program->yield || (program->turn && stage->at - program->held_at >= SCHED_TURN_NS);

    program->served += piece;
    program->left -= piece;
    program->commands += program->left == 0;
    if (program->left == 0 && (leave || program->think)) {
        tell(stage, (struct sched_event){.kind = SCHED_ENGINE_RELEASE, .job = p});
        program->state = THINKS;
        program->until_at = stage->at + some(stage, program, program->think);
        return;
    }
    if (program->left == 0)
        program->left = some(stage, program, program->command);
    if (leave) {
        program->state = WAITS;
        program->asked_at = stage->at;
        tell(stage, (struct sched_event){.kind = SCHED_PIECE_DONE, .job = p});
        return;
    }
    program->until_at = stage->at + next_piece(program);
}

static void perform(struct stage *stage, baton_nsec end_at)
{
    for (;;) {
        unsigned first = stage->n;

        for (unsigned p = 0; p < stage->n; p++) {
            const struct program *program = &stage->programs[p];

            if (program->state != WAITS &&
                (first == stage->n || program->until_at < stage->programs[first].until_at))
                first = p;
        }
        if (first == stage->n || stage->programs[first].until_at > end_at)
            return;
        stage->at = stage->programs[first].until_at;
        if (stage->programs[first].state == RUNS)
            border(stage, first);
        else
            ask(stage, first);
    }
}

static void play(struct program programs[], unsigned n, enum sched_policy_id policy, uint64_t seed,
                 baton_nsec end_at)
{
    struct sched_config config = {.profile = PROFILE_PRIORITY,
                                  .policy = policy,
                                  .gpus = 1,
                                  .copy_engines = 1,
                                  .buses = 1,
                                  .tokens_per_gpu = 1,
                                  .cpus = 2,
                                  .clients = MAX_PROGRAMS,
                                  .jobs = MAX_PROGRAMS,
                                  .lanes = 1};
    struct stage stage = {.programs = programs, .n = n};

    random_init(&stage.random, seed, 0);
    ck_assert_int_eq(sched_core_new(&config, &stage.core), 0);
    for (unsigned p = 0; p < n; p++) {
        tell(&stage, (struct sched_event){
                         .kind = SCHED_CLIENT_JOIN, .client = p, .uses_gpu = true, .keeps_idle = true});
        tell(&stage, (struct sched_event){.kind = SCHED_JOB_RELEASE,
                                          .client = p,
                                          .job = p,
                                          .admitted = programs[p].admitted,
                                          .priority = programs[p].priority,
                                          .deadline_at = NSEC_MAX});
        programs[p].state = THINKS;
        programs[p].until_at = programs[p].begin_at;
    }
    perform(&stage, end_at);
    sched_core_free(stage.core);
}

/* (sum x)^2 / (n sum x^2): 1 where all have the same, 1 / n where one has all. */
static double jain(const struct program programs[], unsigned n)
{
    double sum = 0;
    double squares = 0;

    for (unsigned p = 0; p < n; p++) {
        double served = (double)programs[p].served;

        sum += served;
        squares += served * served;
    }
    return sum * sum / (n * squares);
}

static baton_nsec all_served(const struct program programs[], unsigned n)
{
    baton_nsec sum = 0;

    for (unsigned p = 0; p < n; p++)
        sum += programs[p].served;
    return sum;
}

START_TEST(two_to_32_equals_that_are_always_busy_get_equal_shares_of_a_second)
{
    static const struct {
        baton_nsec command, piece, end_at;
    } kinds[] = {{10 * MS, MS / 2, NSEC_PER_SEC},
                 {MS / 10, MS / 10, NSEC_PER_SEC},
                 {800 * MS, MS / 2, NSEC_PER_SEC},
                 /* Whole: of 32 programs each has 3 of them in a second, give or take one. */
                 {10 * MS, 10 * MS, 4 * NSEC_PER_SEC}};

    for (unsigned k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (unsigned n = 2; n <= MAX_PROGRAMS; n++) {
            for (int policy = 0; policy < 2; policy++) {
                struct program programs[MAX_PROGRAMS] = {0};

                for (unsigned p = 0; p < n; p++) {
                    programs[p] = (struct program){.priority = policy ? 0 : 20,
                                                   .command = kinds[k].command,
                                                   .piece = kinds[k].piece,
                                                   .begin_at = (baton_nsec)p * MS / 7};
                }
                play(programs, n, policy ? POLICY_ADAPTIVE : POLICY_FIXED, 1, kinds[k].end_at);
                ck_assert_msg(jain(programs, n) >= 0.98, "%u equals of kind %u: %f", n, k, jain(programs, n));
                ck_assert(all_served(programs, n) >= kinds[k].end_at - 2 * kinds[k].piece);
            }
        }
    }
}
END_TEST

START_TEST(shares_are_by_time_whatever_the_length_of_commands)
{
    struct program programs[4] = {{.priority = 20, .command = 10 * MS, .piece = MS / 2},
                                  {.priority = 20, .command = MS / 10, .piece = MS / 10},
                                  {.priority = 20, .command = 40 * MS, .piece = 40 * MS},
                                  {.priority = 20, .command = 3 * MS, .piece = 3 * MS}};

    play(programs, 4, POLICY_FIXED, 1, 4 * NSEC_PER_SEC);
    /*
     * Each is within one hold of the longest, T + 40 ms, and the debt that it leaves, of a quarter
     * of 4 s.
     */
    for (unsigned p = 0; p < 4; p++)
        ck_assert_msg(llabs(programs[p].served - NSEC_PER_SEC) <= 2 * (SCHED_TURN_NS + 40 * MS), "%u: %f ms",
                      p, (double)programs[p].served / MS);
}
END_TEST

START_TEST(a_newcomer_is_not_overtaken_by_what_its_equals_do_later)
{
    /*
     * The other one is busy for good with commands of 5 s. 0.6 s of work needs 1.2 s beside it, and
     * a turn to begin.
     */
    struct program programs[2] = {
        {.priority = 20, .command = 5000 * MS, .piece = MS / 2},
        {.priority = 20, .command = 600 * MS, .piece = MS / 2, .think = 100 * NSEC_PER_SEC}};

    programs[1].begin_at = 1000 * MS;
    play(programs, 2, POLICY_FIXED, 1, 1000 * MS + 1200 * MS + 2 * (SCHED_TURN_NS + MS / 2));
    ck_assert_uint_eq(programs[1].commands, 1);
    /* The other has had its turn long ago. */
    ck_assert_msg(programs[1].first_wait <= MS / 2, "%f ms", (double)programs[1].first_wait / MS);
}
END_TEST

START_TEST(a_program_that_needs_less_than_its_share_hardly_waits)
{
    struct program programs[4] = {{.priority = 20, .command = 10 * MS, .piece = MS / 2},
                                  {.priority = 20, .command = 10 * MS, .piece = MS / 2},
                                  {.priority = 20, .command = 10 * MS, .piece = MS / 2},
                                  {.priority = 20, .command = MS / 4, .piece = MS / 4, .think = 3 * MS}};

    play(programs, 4, POLICY_FIXED, 1, NSEC_PER_SEC);
    /*
     * Alone 1000 / 3.25 = 307 commands. Beside three others it wants 1/13 of the time, below its
     * quarter: a piece of waiting each.
     */
    ck_assert_msg(programs[3].commands >= 1000 / (3.25 + 2 * 0.5), "%u", programs[3].commands);
}
END_TEST

START_TEST(no_request_waits_longer_than_the_bound)
{
    bool long_wait = false;

    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct random_state random;
        struct program programs[8];
        bool adaptive = seed % 2;
        baton_nsec x = 0;
        baton_nsec bound;
        unsigned n;

        random_init(&random, seed, 1);
        n = 2 + (unsigned)random_below(&random, 7);
        for (unsigned p = 0; p < n; p++) {
            struct program *program = &programs[p];

            *program = (struct program){.priority = adaptive ? 0 : 20, .random = random_below(&random, 2)};
            program->command = 1 + (baton_nsec)random_below(&random, 30 * MS);
            program->piece = random_below(&random, 3) ? MS / 2 : program->command;
            program->think = random_below(&random, 2) ? (baton_nsec)random_below(&random, 50 * MS) : 0;
            program->begin_at = (baton_nsec)random_below(&random, NSEC_PER_SEC);
            x = program->piece > x ? program->piece : x;
        }
        play(programs, n, adaptive ? POLICY_ADAPTIVE : POLICY_FIXED, seed, 5 * NSEC_PER_SEC);
        bound = (n - 1) * (3 * SCHED_TURN_NS + 2 * x + (adaptive ? 2 * SCHED_LEAD_NS : 0));
        for (unsigned p = 0; p < n; p++) {
            ck_assert_msg(programs[p].worst_wait <= bound, "seed %d: program %u waited %f ms of %f",
                          (int)seed, p, (double)programs[p].worst_wait / MS, (double)bound / MS);
            long_wait |= !adaptive && 2 * programs[p].worst_wait > bound;
        }
    }
    ck_assert(long_wait); /* the generator comes near it */
}
END_TEST

START_TEST(adaptive_lets_short_jobs_pass_long_ones)
{
    /* Three with jobs of 40 ms, one with jobs of 1 ms, all always busy but for a moment. */
    struct program programs[4] = {{.command = 40 * MS, .piece = MS / 2, .think = 1},
                                  {.command = 40 * MS, .piece = MS / 2, .think = 1},
                                  {.command = 40 * MS, .piece = MS / 2, .think = 1},
                                  {.command = MS, .piece = MS / 2, .think = 20 * MS}};

    play(programs, 4, POLICY_ADAPTIVE, 1, 2 * NSEC_PER_SEC);
    /* 2 s / 21 ms = 95 jobs alone; each may wait for a piece. */
    ck_assert_msg(programs[3].commands >= 2000 / (21 + 2 * 0.5) - 2, "%u", programs[3].commands);
    ck_assert(jain(programs, 3) >= 0.98);
}
END_TEST

START_TEST(a_task_of_the_plan_goes_before_every_other_program)
{
    /*
     * The stranger asks for more than the plan gives. 1 ms each 10 ms: 100 jobs a second, each
     * after a piece at most.
     */
    struct program programs[3] = {
        {.priority = 99, .command = 10 * MS, .piece = MS / 2},
        {.priority = 20, .command = 10 * MS, .piece = MS / 2},
        {.priority = 1, .admitted = true, .command = MS, .piece = MS / 2, .think = 9 * MS}};

    play(programs, 3, POLICY_ADAPTIVE, 1, NSEC_PER_SEC);
    ck_assert(programs[2].worst_wait <= MS / 2);
    ck_assert_uint_ge(programs[2].commands, 95); /* 1000 / 10.5 */
    ck_assert_int_eq(programs[1].served, 0);     /* priority 20 beside a busy 99 */
}
END_TEST

HARNESS_MAIN("share", 60, two_to_32_equals_that_are_always_busy_get_equal_shares_of_a_second,
             shares_are_by_time_whatever_the_length_of_commands,
             a_newcomer_is_not_overtaken_by_what_its_equals_do_later,
             a_program_that_needs_less_than_its_share_hardly_waits, no_request_waits_longer_than_the_bound,
             adaptive_lets_short_jobs_pass_long_ones, a_task_of_the_plan_goes_before_every_other_program)
