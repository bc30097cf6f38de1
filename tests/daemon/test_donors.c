/* Donors of the CK-OMLP on the CPUs: when they have the lowest level, and when it ends. */
#include <stdio.h>
#include <stdlib.h>

#include "claims_world.h"
#include "harness.h"

#define LOWEST 1u

enum { DONEE, OTHER, DONOR, TASKS };

static struct server *server;
static unsigned peers[TASKS];
static char *text;

/* Three programs on the two cores of a cluster; all four GPUs are one cluster. */
static void start(void)
{
    static const char *const names[TASKS] = {"donee", "other", "donor"};
    struct config config = claims_gpusync_config();
    struct plan plan = claims_gpusync_plan();
    struct plan_task tasks[TASKS];

    config.lock = LOCK_CK_OMLP;
    config.gpu_cluster = 4;
    for (unsigned i = 0; i < TASKS; i++) {
        tasks[i] = claims_gpusync_tasks[0];
        tasks[i].name = names[i];
        tasks[i].priority = 20 + i;
    }
    plan.tasks = tasks;
    plan.n_tasks = TASKS;
    server = claims_gpusync_start(&config, &plan, &text);
    for (unsigned i = 0; i < TASKS; i++)
        peers[i] = claims_join_ordered(server, names[i]);
}

static void stop(void)
{
    free(text);
    server_free(server);
}

static void begin(unsigned task, baton_nsec deadline)
{
    uint64_t deadline_at = (uint64_t)(claims_world.now_at + deadline);

    claims_say(server, peers[task],
               &(struct frame){.type = FRAME_JOB, .job = {.what = JOB_SAID, .deadline_at = deadline_at}});
}

static void end(unsigned task)
{
    claims_say(server, peers[task], &(struct frame){.type = FRAME_JOB, .job = {.what = JOB_ENDS}});
}

/* The least urgent job has a token and no engine; the third job lends it its rank. */
static void donate(void)
{
    struct frame attach = {.type = FRAME_ATTACH, .attach = {.index = 0, .engine = ENGINE_EXECUTION}};

    (void)snprintf(attach.attach.device, sizeof attach.attach.device, "%s", GPU);
    begin(DONEE, 3 * PERIOD);
    claims_say(server, peers[DONEE], &attach);
    claims_say(server, peers[DONEE],
               &(struct frame){.type = FRAME_PLACE,
                               .place = {.number = 1, .n = 1, .leases = 1, .home = FRAME_NO_LEASE}});
    begin(OTHER, PERIOD);
    begin(DONOR, 2 * PERIOD);
}

START_TEST(a_donor_that_ends_its_job_while_it_is_suspended_has_a_level_for_the_next_one)
{
    start();
    donate();
    ck_assert_uint_eq(claims_world.levels[DONOR], LOWEST);
    ck_assert_uint_gt(claims_world.levels[DONEE], LOWEST);
    end(DONOR);
    ck_assert_uint_eq(claims_world.levels[DONOR], LOWEST); /* its end is deferred */
    end(DONEE);
    ck_assert_uint_gt(claims_world.levels[DONOR], LOWEST);
    claims_world.now_at += PERIOD;
    begin(DONOR, PERIOD);
    ck_assert_uint_gt(claims_world.levels[DONOR], LOWEST);
    stop();
}
END_TEST

/*
 * The donee waits for its token when the donor's job ends: the donor is not suspended. Its program
 * may compute for the next job already, and the donee has its rank.
 */
START_TEST(a_donor_whose_end_is_deferred_runs_below_all_others)
{
    start();
    donate();
    claims_say(server, peers[DONEE], &(struct frame){.type = FRAME_REQUEST, .request = {.epoch = 1}});
    ck_assert_uint_gt(claims_world.levels[DONOR], LOWEST); /* the donee is in its engine */
    end(DONOR);
    ck_assert_uint_eq(claims_world.levels[DONOR], LOWEST);
    claims_world.pages[peers[DONEE]]->leases[0].word = 0;
    claims_say(server, peers[DONEE], &(struct frame){.type = FRAME_RELEASE, .release = {.epoch = 1}});
    ck_assert_uint_eq(claims_world.levels[DONOR], LOWEST);
    begin(DONOR, 3 * PERIOD); /* not before its last job has ended */
    ck_assert_uint_eq(claims_world.levels[DONOR], LOWEST);
    end(DONEE);
    ck_assert_uint_gt(claims_world.levels[DONOR], LOWEST);
    stop();
}
END_TEST

HARNESS_MAIN("donors", 30, a_donor_that_ends_its_job_while_it_is_suspended_has_a_level_for_the_next_one,
             a_donor_whose_end_is_deferred_runs_below_all_others)
