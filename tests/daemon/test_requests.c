/*
 * The engine requests of a job against those that the plan counts (daemon/requests.h): by number,
 * by length, by kind.
 */
#include <stdlib.h>

#include "base/random.h"
#include "harness.h"
#include "lanes_scene.h"

#define MS NSEC_PER_MS

/* ---- the tally, against a comparison of sorted lists ---- */

static int longest_first(const void *a, const void *b)
{
    baton_nsec x = *(const baton_nsec *)a, y = *(const baton_nsec *)b;

    return (x < y) - (x > y);
}

/* Is the k-th longest that was seen no longer than the k-th longest that was planned? */
static bool dominated(baton_nsec *seen, size_t n_seen, baton_nsec *planned, size_t n_planned)
{
    qsort(seen, n_seen, sizeof *seen, longest_first);
    qsort(planned, n_planned, sizeof *planned, longest_first);
    if (n_seen > n_planned)
        return false;
    for (size_t i = 0; i < n_seen; i++) {
        if (seen[i] > planned[i])
            return false;
    }
    return true;
}

START_TEST(a_tally_finds_what_a_comparison_of_sorted_lists_finds)
{
    struct random_state random;
    unsigned within_count = 0;

    random_init(&random, 7, 0);
    for (int round = 0; round < 20000; round++) {
        struct plan_requests counted = {.said = true};
        struct request_tally tally = {0};
        baton_nsec planned[12] = {0}, seen[12] = {0};
        size_t n_planned = (size_t)random_between(&random, 0, 12);
        size_t n_seen = (size_t)random_between(&random, 0, 12);
        bool within = true;

        for (size_t i = 0; i < n_planned; i++) {
            planned[i] = random_between(&random, 1, 6);
            plan_requests_add(&counted, REQUEST_COPY_IN, planned[i], 1);
        }
        for (size_t i = 0; i < n_seen; i++) {
            seen[i] = random_between(&random, 1, 5);
            within &= request_tally_made(&tally, &counted, REQUEST_COPY_IN);
            within &= request_tally_lasted(&tally, &counted, REQUEST_COPY_IN, seen[i]);
        }
        ck_assert_int_eq(within, dominated(seen, n_seen, planned, n_planned));
        within_count += within && n_seen > 2;
    }
    ck_assert_uint_gt(within_count, 500);
}
END_TEST

/* A plan has at most PLAN_REQUEST_LENGTHS lengths: what does not fit is counted as shorter. */
START_TEST(lengths_that_do_not_fit_allow_less_and_never_more)
{
    struct plan_requests counted = {.said = true};

    for (unsigned i = 0; i < 3 * PLAN_REQUEST_LENGTHS; i++) {
        const struct plan_request_lengths *kind = &counted.kinds[REQUEST_PEER];

        plan_requests_add(&counted, REQUEST_PEER, (baton_nsec)(1 + i * 7 % (3 * PLAN_REQUEST_LENGTHS)), 1);
        ck_assert_uint_eq(plan_requests_count(&counted, REQUEST_PEER), i + 1);
        for (unsigned k = 1; k < kind->n; k++)
            ck_assert_int_gt(kind->of[k - 1].length, kind->of[k].length);
    }
    /* of 1..48 the k-th kept one is at most the k-th longest, and the last is the shortest */
    for (unsigned k = 0; k < PLAN_REQUEST_LENGTHS; k++)
        ck_assert_int_le(counted.kinds[REQUEST_PEER].of[k].length, 3 * PLAN_REQUEST_LENGTHS - (int)k);
    ck_assert_int_eq(counted.kinds[REQUEST_PEER].of[PLAN_REQUEST_LENGTHS - 1].length, 1);
}
END_TEST

/* ---- jobs: two executions of 1 ms, one copy in, one copy from another GPU ---- */

static void plan_two(void)
{
    struct plan_task task = {.name = "counted",
                             .priority = 50,
                             .gpus = 1,
                             .bound = 20 * MS,
                             .period = 20 * MS,
                             .deadline = 20 * MS,
                             .requests = {.said = true}};
    struct plan plan = {.analysis = "gpusync", .profile = "gpusync", .tasks = &task, .n_tasks = 1};

    plan_requests_add(&task.requests, REQUEST_EXECUTION, MS, 2);
    plan_requests_add(&task.requests, REQUEST_COPY_IN, MS, 1);
    plan_requests_add(&task.requests, REQUEST_PEER, MS, 1);
    ck_assert_int_eq(server_set_plan(scene.server, &plan, "plan", scene.now), 0);
}

static void begin(unsigned gpu_cluster, unsigned tokens)
{
    scene_start(gpu_cluster, tokens, OVERRUN_DEMOTE);
    plan_two();
    scene_connect_client(0, "counted", 20);
    scene_job(0, JOB_SAID, NOW + 20 * MS);
}

static void use(unsigned peer, unsigned lease)
{
    scene_ask(peer, lease);
    ck_assert(scene_has(peer, lease));
    scene_give(peer, lease, false);
}

static uint64_t excesses(void)
{
    return scene.server->peers[0]->excesses;
}

START_TEST(a_job_that_makes_more_requests_than_were_counted_ends_the_claim)
{
    begin(1, 1);
    use(0, EXECUTION(0));
    use(0, COPY_IN_OF(0));
    use(0, EXECUTION(0));
    ck_assert_uint_eq(excesses(), 0);
    scene_job(0, JOB_ENDS, 0);
    scene_job(0, JOB_SAID, NOW + 40 * MS); /* the next job may make as many again */
    use(0, EXECUTION(0));
    use(0, EXECUTION(0));
    ck_assert_uint_eq(excesses(), 0);
    use(0, EXECUTION(0));
    ck_assert_uint_eq(excesses(), 1);
    use(0, EXECUTION(0));
    ck_assert_uint_eq(scene.excesses, 1); /* one line in the log */
    server_free(scene.server);
}
END_TEST

START_TEST(a_piece_is_a_request)
{
    begin(1, 1);
    scene_ask(0, EXECUTION(0));
    scene_give(0, EXECUTION(0), true);
    ck_assert_uint_eq(excesses(), 0);
    scene_give(0, EXECUTION(0), true);
    ck_assert_uint_eq(excesses(), 1);
    server_free(scene.server);
}
END_TEST

START_TEST(a_kind_that_was_not_counted_ends_the_claim)
{
    begin(1, 1);
    use(0, COPY_OUT_OF(0));
    ck_assert_uint_eq(excesses(), 1);
    server_free(scene.server);
}
END_TEST

/* A lease that the program keeps would hide its next use. */
START_TEST(leases_of_a_counted_job_are_not_kept)
{
    begin(1, 1);
    scene_ask(0, EXECUTION(0));
    ck_assert(atomic_load(&scene.pages[0]->leases[EXECUTION(0)].word) & LEASE_FLAG_WANTED);
    server_free(scene.server);
}
END_TEST

START_TEST(a_copy_from_another_gpu_is_a_peer_copy)
{
    unsigned own, other;

    begin(2, 1);
    scene.server->config.migration = MIGRATION_P2P;
    scene_place(0);
    own = (unsigned)scene_placed(0);
    other = own ^ 1;
    use(0, COPY_OUT_OF(other));
    ck_assert_uint_eq(excesses(), 0);
    use(0, COPY_OUT_OF(other));
    ck_assert_uint_eq(excesses(), 1);
    server_free(scene.server);
}
END_TEST

/* A hold is as long as others wait for it: a piece of it, once another job has come. */
START_TEST(a_request_that_keeps_others_waiting_longer_than_was_counted_ends_the_claim)
{
    for (int late = 0; late < 2; late++) {
        begin(1, 2);
        scene_connect_client(1, "other", 0);
        scene_job(1, JOB_SAID, 0);
        scene_ask(0, EXECUTION(0));
        scene_wait_until(NOW + 7 * MS);
        scene_ask(1, EXECUTION(0));
        ck_assert(!scene_has(1, EXECUTION(0)));
        scene_wait_until(NOW + 8 * MS + late);
        scene_give(0, EXECUTION(0), false);
        ck_assert(scene_has(1, EXECUTION(0)));
        ck_assert_uint_eq(excesses(), (unsigned)late);
        server_free(scene.server);
    }
}
END_TEST

START_TEST(a_request_that_is_granted_while_others_wait_counts_from_its_grant)
{
    for (int late = 0; late < 2; late++) {
        begin(1, 3);
        scene_connect_client(1, "first", 0);
        scene_connect_client(2, "last", 0);
        scene_job(1, JOB_SAID, 0);
        scene_job(2, JOB_SAID, 0);
        scene_ask(1, EXECUTION(0));
        scene_ask(0, EXECUTION(0));
        scene_ask(2, EXECUTION(0));
        scene_wait_until(NOW + 5 * MS);
        scene_give(1, EXECUTION(0), false);
        ck_assert(scene_has(0, EXECUTION(0)));
        scene_wait_until(NOW + 6 * MS + late);
        scene_give(0, EXECUTION(0), false);
        ck_assert_uint_eq(excesses(), (unsigned)late);
        server_free(scene.server);
    }
}
END_TEST

/* Engines of a group are held together; the analysis counts one at a time. */
START_TEST(a_group_ends_the_claim)
{
    begin(1, 1);
    scene_say(0,
              (struct frame){.type = FRAME_GROUP,
                             .group = {.leases = UINT32_C(1) << EXECUTION(0) | UINT32_C(1) << COPY_IN_OF(0),
                                       .epoch = ++scene.epochs[0]}});
    ck_assert(scene_has(0, EXECUTION(0)));
    ck_assert_uint_eq(excesses(), 1);
    server_free(scene.server);
}
END_TEST

/* The plan counts one critical section a job. until_gpu: it ends with the last GPU segment. */
START_TEST(a_token_that_is_kept_longer_or_taken_twice_ends_the_claim)
{
    enum { KEEPS, GIVES_BACK, ASKS_AGAIN, WAYS };

    for (int way = 0; way < 2 * WAYS; way++) {
        bool until_gpu = way < WAYS;
        struct plan_task task = {.name = "counted",
                                 .priority = 50,
                                 .gpus = 1,
                                 .bound = -1,
                                 .until_gpu = until_gpu,
                                 .period = 20 * MS,
                                 .deadline = 20 * MS};
        struct plan plan = {.analysis = "gpusync", .profile = "gpusync", .tasks = &task, .n_tasks = 1};

        scene_start(1, 1, OVERRUN_OFF);
        ck_assert_int_eq(server_set_plan(scene.server, &plan, "plan", scene.now), 0);
        scene_connect_client(0, "counted", 20);
        scene_job(0, JOB_SAID, NOW + 20 * MS);
        scene_ask(0, EXECUTION(0));
        scene_give(0, EXECUTION(0), false);
        if (way % WAYS != KEEPS)
            scene_job(0, JOB_GPU_OVER, 0);
        if (way % WAYS == ASKS_AGAIN) {
            scene_ask(0, EXECUTION(0));
            ck_assert(scene_has(0, EXECUTION(0)));
            scene_give(0, EXECUTION(0), false);
        }
        scene_job(0, JOB_ENDS, 0);
        ck_assert_msg(scene.server->peers[0]->strayed ==
                          (way % WAYS == ASKS_AGAIN || (until_gpu && way % WAYS == KEEPS)),
                      "way %d", way);
        server_free(scene.server);
    }
}
END_TEST

HARNESS_MAIN("requests", 30, a_tally_finds_what_a_comparison_of_sorted_lists_finds,
             lengths_that_do_not_fit_allow_less_and_never_more,
             a_job_that_makes_more_requests_than_were_counted_ends_the_claim, a_piece_is_a_request,
             a_kind_that_was_not_counted_ends_the_claim, leases_of_a_counted_job_are_not_kept,
             a_copy_from_another_gpu_is_a_peer_copy,
             a_request_that_keeps_others_waiting_longer_than_was_counted_ends_the_claim,
             a_request_that_is_granted_while_others_wait_counts_from_its_grant, a_group_ends_the_claim,
             a_token_that_is_kept_longer_or_taken_twice_ends_the_claim)
