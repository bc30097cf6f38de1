/* Real-time programs beside those of the plan, on their cores, end the claims. */
#include <stdlib.h>
#include <string.h>

#include "claims_world.h"
#include "daemon/foreign.h"
#include "harness.h"

static struct server *server;
static char *text;

/* eye has the highest level of the band: real-time priority 40. */
static void start(void)
{
    struct config config = claims_gpusync_config();
    struct plan plan = claims_gpusync_plan();
    unsigned eye;

    claims_world.n_others = 0;
    server = claims_gpusync_start(&config, &plan, &text);
    eye = claims_join_ordered(server, "eye");
    claims_has_a_job(server, eye);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
}

static void stop(void)
{
    free(text);
    server_free(server);
}

static void tick(void)
{
    claims_world.now_at += NSEC_PER_SEC;
    server_tick(server, claims_world.now_at);
}

static void add(pid_t pid, int rank, const char *cores)
{
    claims_world.others[claims_world.n_others++] =
        (struct claims_other){.pid = pid, .rank = rank, .cores = claims_cores(cores)};
}

START_TEST(a_real_time_program_on_the_cores_of_the_plan_ends_the_claims_while_it_is_there)
{
    struct frame frame;

    start();
    add(9000, 60, "1-2");
    tick();
    claims_expect_unclaimed(server, "cpus", "");
    ck_assert(claims_differs(server, "cpus", "", &frame));
    ck_assert_str_eq(frame.about_difference.planned, "no other real-time program");
    ck_assert_str_eq(frame.about_difference.found,
                     "other (process 9000, real-time priority 60) may run there, too");
    claims_world.n_others = 0;
    ck_assert_int_eq(claims_rule(server), RULE_IDLE);
    claims_has_a_job(server, 0);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    stop();
}
END_TEST

/*
 * The cores of programs are 0 to 3, the lowest level in use has priority 40; clients have rules of
 * their own.
 */
START_TEST(what_cannot_delay_a_program_of_the_plan_keeps_the_claims)
{
    static const struct {
        pid_t pid;
        int rank;
        const char *cores;
        bool claimed;
    } cases[] = {{9000, 39, "0-4", true}, {9000, 40, "0-4", false}, {9000, 99, "4", true},
                 {9000, 0, "0-4", true},  {9000, 100, "3", false},  {CLAIMS_CLIENT, 99, "0-4", true},
                 {1, 99, "0-4", true}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start();
        add(cases[i].pid, cases[i].rank, cases[i].cores);
        tick();
        ck_assert_msg((claims_rule(server) != RULE_BASIS) == cases[i].claimed, "case %zu", i);
        stop();
    }
}
END_TEST

/* `chrt -f 60 baton top`: other rules are about programs that use GPUs. */
START_TEST(a_real_time_process_that_is_connected_but_is_no_program_ends_the_claims)
{
    const struct credentials who = {.pid = 9000};
    struct frame hello = {.type = FRAME_HELLO, .hello = {.version = FRAME_VERSION, .flags = HELLO_MONITOR}};

    for (int silent = 0; silent < 2; silent++) {
        unsigned peer;

        start();
        ck_assert_int_eq(server_accept(server, &who, claims_world.now_at, &peer), 0);
        if (!silent)
            claims_say(server, peer, &hello);
        add(9000, 60, "0-3");
        tick();
        claims_expect_unclaimed(server, "cpus", "");
        stop();
    }
}
END_TEST

/* Its main thread is a normal one. It has named no other thread, so no other rule finds it. */
START_TEST(a_real_time_thread_of_a_program_before_its_first_job_ends_the_claims)
{
    start();
    (void)claims_join(server, "ear", HELLO_TASK, PERIOD);
    add(CLAIMS_CLIENT + 1, 39, "0-3");
    tick();
    ck_assert_int_ne(claims_rule(server), RULE_BASIS);
    claims_world.others[0].rank = 60;
    tick();
    claims_expect_unclaimed(server, "cpus", "");
    stop();
}
END_TEST

/* Without ordered CPUs the programs have priorities of their own; one of these has none. */
START_TEST(under_fixed_priorities_the_lowest_program_of_the_plan_counts)
{
    for (int low = 0; low < 2; low++) {
        struct config config = claims_plain_config();
        struct plan plan = claims_good_plan();

        text = claims_text(&plan);
        claims_world.settles = false;
        claims_world.n_others = 0;
        claims_world.ranks[0] = 20;
        claims_world.ranks[1] = low ? 0 : 10;
        server = claims_start(&config);
        ck_assert_int_eq(server_add_device(server, GPU, "a GPU"), 0);
        claims_give(server, text);
        (void)claims_join(server, "eye", HELLO_TASK, PERIOD);
        (void)claims_join(server, "ear", HELLO_TASK, PERIOD);
        add(9000, 9, "0");
        tick();
        ck_assert_int_eq(claims_rule(server) == RULE_BASIS, low);
        stop();
    }
}
END_TEST

/*
 * batond runs above all programs: a look takes a bounded time, and the next one goes on behind it.
 */
START_TEST(a_look_is_at_so_many_processes_and_the_next_one_goes_on)
{
    const unsigned rounds = 4;

    start();
    for (unsigned i = 0; i < rounds * FOREIGN_A_LOOK; i++)
        add(9000 + (pid_t)i, i == rounds * FOREIGN_A_LOOK - 1 ? 60 : 0, "0-3");
    while (claims_world.next_other != 0) /* to the end of the round that is under way */
        tick();
    for (unsigned round = 1; round <= rounds; round++) {
        claims_world.asked_others = 0;
        tick();
        ck_assert_uint_le(claims_world.asked_others, FOREIGN_A_LOOK + 1);
        ck_assert_int_eq(strstr(claims_world.logged, "cpus\n") != NULL, round == rounds);
    }
    stop();
}
END_TEST

HARNESS_MAIN("foreign", 30, a_real_time_program_on_the_cores_of_the_plan_ends_the_claims_while_it_is_there,
             what_cannot_delay_a_program_of_the_plan_keeps_the_claims,
             a_real_time_process_that_is_connected_but_is_no_program_ends_the_claims,
             a_real_time_thread_of_a_program_before_its_first_job_ends_the_claims,
             under_fixed_priorities_the_lowest_program_of_the_plan_counts,
             a_look_is_at_so_many_processes_and_the_next_one_goes_on)
