/* Which GPU for a job: the predictor alone, and the question over the real wire. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "client/place.h"
#include "daemon/moves.h"
#include "fixture.h"
#include "harness.h"

#define CONFIG "probe: false\nrealtime: false\n"
#define MIB    (UINT64_C(1) << 20)
#define GIB    (UINT64_C(1) << 30)

struct program {
    struct session *session;
    struct lease *leases[2];
};

static struct program start_with(const struct settings *settings)
{
    struct program program;

    ck_assert_int_eq(session_open(settings, NULL, &program.session), 0);
    ck_assert_int_eq(lease_open(program.session, "test:0", ENGINE_EXECUTION, &program.leases[0]), 0);
    ck_assert_int_eq(lease_open(program.session, "test:1", ENGINE_EXECUTION, &program.leases[1]), 0);
    return program;
}

static struct program start(const struct fixture *fixture, const char *name)
{
    struct settings settings = fixture_settings(fixture, name, 50);

    return start_with(&settings);
}

/* The GPU that is chosen, as a bit; asserts that the daemon chose it, however long that takes. */
static uint32_t choose(struct program *program, size_t home, uint64_t bytes, baton_nsec work)
{
    struct place_request request = {.home = home, .bytes = bytes, .work = work, .patience = FIXTURE_LIMIT};
    uint32_t chosen = 0;

    ck_assert_int_eq(place_choose(program->session, program->leases, 2, &request, &chosen), 0);
    return chosen;
}

START_TEST(a_job_goes_where_its_data_is)
{
    struct fixture fixture;
    struct program program;

    fixture_start(&fixture, CONFIG, NULL);
    program = start(&fixture, "a");
    ck_assert_uint_eq(choose(&program, 0, MIB, 0), 1);
    ck_assert_uint_eq(choose(&program, 1, MIB, 0), 2);
    ck_assert_uint_eq(choose(&program, PLACE_NOWHERE, 0, 0), 1);
    session_close(program.session);
    fixture_done(&fixture);
}
END_TEST

/* Until something is learned, moving costs 250 ps a byte: 1 MiB 0.26 ms, 1 GiB 268 ms. */
START_TEST(announced_work_sends_others_elsewhere_unless_moving_costs_more)
{
    struct fixture fixture;
    struct program a;
    struct program b;

    fixture_start(&fixture, CONFIG, NULL);
    a = start(&fixture, "a");
    b = start(&fixture, "b");
    ck_assert_uint_eq(choose(&a, 0, MIB, 100 * NSEC_PER_MS), 1);
    ck_assert_uint_eq(choose(&b, 0, MIB, NSEC_PER_MS), 2);
    ck_assert_uint_eq(choose(&b, 0, GIB, NSEC_PER_MS), 1);
    place_end(a.session);
    ck_assert_uint_eq(choose(&a, PLACE_NOWHERE, 0, NSEC_PER_MS), 2); /* b is on GPU 0 still */
    place_end(a.session);
    place_end(b.session);
    ck_assert_uint_eq(choose(&b, 0, MIB, NSEC_PER_MS), 1);
    session_close(a.session);
    session_close(b.session);
    fixture_done(&fixture);
}
END_TEST

START_TEST(what_moving_costs_is_learned_from_reports)
{
    struct fixture fixture;
    struct program a;
    struct program b;

    fixture_start(&fixture, CONFIG, NULL);
    a = start(&fixture, "a");
    b = start(&fixture, "b");
    ck_assert_uint_eq(choose(&a, 0, MIB, 100 * NSEC_PER_MS), 1);
    ck_assert_uint_eq(choose(&b, 0, GIB, NSEC_PER_MS), 1); /* 268 ms to move, 100 ms to wait */
    /* 1 GiB in 1 ms is about 1 ps a byte: 250 (7/8)^10 + 1 is below 70 ps, so 1 GiB below 75 ms. */
    for (unsigned i = 0; i < 10; i++)
        place_moved(b.session, b.leases[0], b.leases[1], GIB, NSEC_PER_MS);
    ck_assert_uint_eq(choose(&b, 0, GIB, NSEC_PER_MS), 2);
    session_close(a.session);
    session_close(b.session);
    fixture_done(&fixture);
}
END_TEST

START_TEST(a_gpu_that_somebody_uses_unannounced_is_avoided)
{
    struct fixture fixture;
    struct program program;
    struct puppet hog;

    fixture_start(&fixture, CONFIG, NULL);
    program = start(&fixture, "a");
    hog = puppet_start(&fixture, "hog", 10, "test:0");
    puppet_do(&hog, PUPPET_BEGIN, 'B');
    ck_assert_uint_eq(choose(&program, PLACE_NOWHERE, 0, 0), 2);
    puppet_do(&hog, PUPPET_END, 'E'); /* an idle lease is no use of the GPU */
    ck_assert_uint_eq(choose(&program, PLACE_NOWHERE, 0, 0), 1);
    puppet_quit(&hog);
    session_close(program.session);
    fixture_done(&fixture);
}
END_TEST

static struct program *waiting;

static bool goes_first(void *argument)
{
    (void)argument;
    return choose(waiting, 0, MIB, NSEC_PER_MS) == 1;
}

START_TEST(what_a_dead_client_announced_is_forgotten)
{
    struct fixture fixture;
    struct program a;
    struct program b;

    fixture_start(&fixture, CONFIG, NULL);
    a = start(&fixture, "a");
    b = start(&fixture, "b");
    ck_assert_uint_eq(choose(&a, 0, MIB, 100 * NSEC_PER_MS), 1);
    ck_assert_uint_eq(choose(&b, 0, MIB, NSEC_PER_MS), 2);
    session_close(a.session);
    waiting = &b;
    fixture_wait(goes_first, NULL, "the announcement is gone");
    session_close(b.session);
    fixture_done(&fixture);
}
END_TEST

START_TEST(several_gpus_are_chosen_at_once)
{
    struct fixture fixture;
    struct place_request request = {.gpus = 2, .home = 1, .patience = FIXTURE_LIMIT};
    struct program program;
    uint32_t chosen = 0;

    fixture_start(&fixture, CONFIG, NULL);
    program = start(&fixture, "a");
    ck_assert_int_eq(place_choose(program.session, program.leases, 2, &request, &chosen), 0);
    ck_assert_uint_eq(chosen, 3);
    request.gpus = 3;
    ck_assert_int_eq(place_choose(program.session, program.leases, 2, &request, &chosen), -EINVAL);
    session_close(program.session);
    fixture_done(&fixture);
}
END_TEST

START_TEST(without_a_daemon_the_data_decides)
{
    struct fixture fixture = {.socket = "/nonexistent/socket"};
    struct settings settings = fixture_settings(&fixture, "alone", 50);
    struct place_request request = {.home = 1, .bytes = MIB};
    struct program program;
    uint32_t chosen = 0;

    settings.require_daemon = false;
    program = start_with(&settings);
    ck_assert_int_eq(place_choose(program.session, program.leases, 2, &request, &chosen), PLACE_PASSED);
    ck_assert_uint_eq(chosen, 2);
    request.home = PLACE_NOWHERE;
    ck_assert_int_eq(place_choose(program.session, program.leases, 2, &request, &chosen), PLACE_PASSED);
    ck_assert_uint_eq(chosen, 1);
    place_end(program.session);
    place_moved(program.session, NULL, program.leases[0], MIB, NSEC_PER_MS);
    session_close(program.session);
}
END_TEST

START_TEST(a_daemon_that_does_not_answer_in_time_decides_nothing)
{
    struct place_request request = {.home = 1, .bytes = MIB};
    struct fixture fixture;
    struct program program;
    uint32_t chosen = 0;

    fixture_start(&fixture, CONFIG, NULL);
    program = start(&fixture, "a");
    ck_assert_int_eq(unsetenv("BATON_TEST_PATIENCE"), 0); /* the limit of a program is what is tested */
    ck_assert_int_eq(kill(fixture.daemon, SIGSTOP), 0);
    ck_assert_int_eq(place_choose(program.session, program.leases, 2, &request, &chosen), PLACE_PASSED);
    ck_assert_uint_eq(chosen, 2); /* where the data is */
    ck_assert_int_eq(kill(fixture.daemon, SIGCONT), 0);
    session_close(program.session);
    fixture_done(&fixture);
}
END_TEST

START_TEST(under_tokens_a_program_stays_on_its_gpu)
{
    struct fixture fixture;
    struct program program;

    fixture_start(&fixture, CONFIG "profile: gpusync\n", NULL);
    program = start(&fixture, "a"); /* its second GPU is refused: one per client */
    ck_assert_uint_eq(choose(&program, 1, MIB, 0), 1);
    session_close(program.session);
    fixture_done(&fixture);
}
END_TEST

START_TEST(the_prediction_begins_with_a_guess_and_follows_reports_slowly)
{
    static struct moves moves;

    ck_assert_int_eq(moves_predict(&moves, 0, 1, 4000000), NSEC_PER_MS); /* 4 MB at 4 GB/s */
    ck_assert_int_eq(moves_predict(&moves, 0, 0, 4000000), 0);
    moves_learn(&moves, 0, 1, 1000000, 1000000); /* 1000 ps: (7 x 250 + 1000 + 4) / 8 = 344 */
    ck_assert_int_eq(moves_predict(&moves, 0, 1, 1000000), 344000);
    ck_assert_int_eq(moves_predict(&moves, 1, 0, 1000000), 250000);
    ck_assert_int_eq(moves_predict(&moves, MOVES_HOST, 1, 1000000), 250000);
}
END_TEST

START_TEST(one_report_at_most_doubles_a_prediction)
{
    static struct moves moves;

    moves_learn(&moves, 0, 1, 1000000, UINT64_C(3600) * NSEC_PER_SEC);
    ck_assert_int_le(moves_predict(&moves, 0, 1, 1000000), 2 * 250000);
    for (unsigned i = 0; i < 1000; i++)
        moves_learn(&moves, 0, 1, 1000000, UINT64_C(3600) * NSEC_PER_SEC);
    ck_assert_int_le(moves_predict(&moves, 0, 1, 1000000),
                     NSEC_PER_SEC + NSEC_PER_MS); /* never below 1 MB/s */
    for (unsigned i = 0; i < 1000; i++)
        moves_learn(&moves, 0, 1, 1000000, 0);
    ck_assert_int_ge(moves_predict(&moves, 0, 1, 1000000), 1000); /* nor for nothing */
    moves_learn(&moves, 0, 1, UINT64_MAX, UINT64_MAX);
    moves_learn(&moves, 0, 1, 0, UINT64_MAX);
    ck_assert_int_gt(moves_predict(&moves, 0, 1, UINT64_MAX), 0);
}
END_TEST

HARNESS_MAIN("place", 30, a_job_goes_where_its_data_is,
             announced_work_sends_others_elsewhere_unless_moving_costs_more,
             what_moving_costs_is_learned_from_reports, a_gpu_that_somebody_uses_unannounced_is_avoided,
             what_a_dead_client_announced_is_forgotten, several_gpus_are_chosen_at_once,
             without_a_daemon_the_data_decides, a_daemon_that_does_not_answer_in_time_decides_nothing,
             under_tokens_a_program_stays_on_its_gpu,
             the_prediction_begins_with_a_guess_and_follows_reports_slowly,
             one_report_at_most_doubles_a_prediction)
