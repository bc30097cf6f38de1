/*
 * The cost of a job: how long it is among the c most urgent of its CPU cluster. Jobs that cost more
 * than their plan counts end the claims before another job counts against them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "claims_world.h"
#include "daemon/peer.h"
#include "harness.h"

#define MS   NSEC_PER_MS
#define MOST 12

/* ---- the part of a span in which fewer than so many intervals are under way ---- */

/* Tick by tick. */
static baton_nsec naive(baton_nsec from_at, baton_nsec until, const baton_nsec begins[],
                        const baton_nsec ends[], size_t n, unsigned cpus)
{
    baton_nsec outside = 0;

    for (baton_nsec at = from_at; at < until; at++) {
        unsigned under_way = 0;

        for (size_t i = 0; i < n; i++)
            under_way += begins[i] <= at && at < ends[i];
        outside += under_way < cpus;
    }
    return outside;
}

static int by_time(const void *a, const void *b)
{
    baton_nsec x = *(const baton_nsec *)a;
    baton_nsec y = *(const baton_nsec *)b;

    return (x > y) - (x < y);
}

START_TEST(time_outside_of_intervals_is_what_ticks_add_up_to)
{
    struct random_state random;
    size_t some = 0;

    random_init(&random, 1, 1);
    for (int round = 0; round < 20000; round++) {
        baton_nsec begins[MOST] = {0}, ends[MOST] = {0}, from_at = (baton_nsec)random_below(&random, 20);
        baton_nsec until = from_at + 1 + (baton_nsec)random_below(&random, 30);
        size_t n = random_below(&random, MOST + 1);
        unsigned cpus = 1 + (unsigned)random_below(&random, 4);
        baton_nsec expected;

        for (size_t i = 0; i < n; i++)
            ends[i] = from_at + 1 + (baton_nsec)random_below(&random, (uint64_t)(until - from_at));
        qsort(ends, n, sizeof *ends, by_time);
        for (size_t i = 0; i < n; i++)
            begins[i] = from_at + (baton_nsec)random_below(&random, (uint64_t)(ends[i] - from_at));
        expected = naive(from_at, until, begins, ends, n, cpus);
        ck_assert_int_eq(job_costs_outside(from_at, until, begins, ends, n, cpus), expected);
        some += expected > 0 && expected < until - from_at;
    }
    ck_assert_uint_gt(some, 5000);
}
END_TEST

/* ---- jobs of three tasks on one cluster ---- */

enum { EYE, EAR, NOSE, TASKS };

static const char *const names[TASKS] = {"eye", "ear", "nose"};
static struct server *server;
static unsigned peers[TASKS];
static char *text;

/* Every task has a cost of 5 ms and its point at 10 ms; PERIOD is 20 ms. cpus: of each cluster. */
static void start(unsigned cpus)
{
    struct config config = claims_gpusync_config();
    struct plan plan = claims_gpusync_plan();
    struct plan_task tasks[TASKS];

    config.cpu_cluster = cpus;
    config.gpu_cluster = 4;
    plan_basis_set_count(&plan.basis, BASIS_CPU_CLUSTER, cpus);
    plan_basis_set(&plan.basis, BASIS_GPU_CLUSTER, "4");
    claims_world.of_program = claims_cores(cpus == 1 ? "0" : "0-1");
    for (unsigned i = 0; i < TASKS; i++) {
        tasks[i] = claims_gpusync_tasks[0];
        tasks[i].name = names[i];
        tasks[i].priority = 20 + i;
        tasks[i].cost = 5 * MS;
        tasks[i].bound = 60 * MS;
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

/* A job with a stated release is begun now. */
static void begin(unsigned task, baton_nsec release_at)
{
    struct page *page = claims_world.pages[peers[task]];

    page->released_at = release_at;
    page->job_mark++;
    claims_say(server, peers[task],
               &(struct frame){.type = FRAME_JOB,
                               .job = {.what = JOB_SAID, .deadline_at = (uint64_t)(release_at + PERIOD)}});
}

static void end(unsigned task)
{
    claims_job_ends(server, peers[task]);
}

/*
 * A job of each task, so that there is an idle instant. Their next releases may be since a period.
 */
static baton_nsec calm(void)
{
    claims_world.now_at += 2 * PERIOD;
    for (unsigned i = 0; i < TASKS; i++) {
        begin(i, claims_world.now_at);
        end(i);
    }
    claims_world.now_at += 2 * PERIOD;
    claims_world.logged[0] = 0;
    return claims_world.now_at;
}

/* Without a question, which would take a quarter of a second. */
static bool claimed(void)
{
    return !server->claims.none;
}

static void wait(baton_nsec time)
{
    claims_world.now_at += time;
}

static void say_late(unsigned task, baton_nsec release_at)
{
    struct frame late = {.type = FRAME_LATE, .late = {.flags = LATE_EXCEEDED, .limit = (uint64_t)(60 * MS)}};

    late.late.release_at = (uint64_t)release_at;
    late.late.end_at = late.late.release_at + late.late.limit + 1;
    claims_say(server, peers[task], &late);
}

START_TEST(a_job_that_costs_what_its_plan_counts_keeps_the_claims)
{
    for (int more = 0; more < 2; more++) {
        start(2);
        begin(EYE, calm());
        ck_assert(claimed());
        wait(5 * MS + more);
        end(EYE);
        ck_assert_int_eq(strcmp(claims_world.logged, more ? "cost\n" : ""), 0);
        ck_assert_int_eq(claims_rule(server) == RULE_MET, !more);
        (void)calm();
        ck_assert(claimed());
        stop();
    }
}
END_TEST

/*
 * A program is stopped between two jobs, for longer than its jobs take, or for less. Then it begins
 * a job with the release that it missed. The time between the two counts.
 */
START_TEST(a_job_that_begins_long_after_its_release_ends_the_claims_at_once)
{
    static const struct {
        baton_nsec stopped, runs;
        bool at_begin, at_end;
    } cases[] = {{500 * MS, 0, true, true},
                 {5 * MS, 0, false, false},
                 {5 * MS + 1, 0, true, true},
                 {4 * MS, MS, false, false},
                 {4 * MS, MS + 1, false, true}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        baton_nsec release_at;

        start(2);
        release_at = calm();
        ck_assert(claimed());
        wait(cases[i].stopped);
        begin(EYE, release_at);
        ck_assert_msg(claimed() != cases[i].at_begin, "case %zu", i);
        wait(cases[i].runs);
        end(EYE);
        ck_assert_msg((strlen(claims_world.logged) > 0) == cases[i].at_end, "case %zu", i);
        stop();
    }
}
END_TEST

/* The burst of a program that was stopped delays another one. No job of that one was claimed. */
START_TEST(a_job_that_a_burst_of_late_jobs_delayed_was_not_claimed)
{
    struct frame about;
    baton_nsec release_at, late_at;

    start(1);
    release_at = calm();
    for (int i = 0; i < 20; i++) {
        wait(PERIOD);
        begin(EAR, claims_world.now_at);
        end(EAR);
    }
    ck_assert(claimed());
    wait(PERIOD);
    late_at = claims_world.now_at;
    begin(EAR, late_at);
    for (int i = 0; i < 20; i++) {
        begin(EYE, release_at + i * PERIOD);
        wait(4 * MS);
        end(EYE);
    }
    say_late(EAR, late_at);
    about = claims_ask(server, QUERY_TASK, 1);
    ck_assert_uint_eq(about.about_task.exceeded, 1);
    ck_assert_uint_eq(about.about_task.unclaimed, 1);
    stop();
}
END_TEST

/* One CPU: eye waits for ear before its begin, and nose for both. Each costs 5 ms. */
START_TEST(time_behind_more_urgent_jobs_does_not_count)
{
    baton_nsec release_at;

    start(1);
    release_at = calm();
    begin(EAR, release_at - 2 * MS);
    wait(3 * MS);
    end(EAR);
    begin(EYE, release_at);
    wait(2 * MS);
    begin(NOSE, release_at); /* with the point of eye, and known later */
    wait(3 * MS);
    end(EYE);
    wait(5 * MS);
    end(NOSE);
    ck_assert_str_eq(claims_world.logged, "");
    ck_assert(claimed());
    stop();
}
END_TEST

/* Two CPUs: one more urgent job leaves a CPU, two do not. */
START_TEST(a_job_counts_while_fewer_jobs_than_cpus_are_more_urgent)
{
    for (unsigned others = 0; others <= 2; others++) {
        baton_nsec release_at;

        start(2);
        release_at = calm();
        for (unsigned i = 0; i < others; i++)
            begin(EAR + i, release_at - MS);
        wait(4 * MS);
        for (unsigned i = 0; i < others; i++)
            end(EAR + i);
        wait(2 * MS);
        begin(EYE, release_at);
        ck_assert_msg(claimed() == (others == 2), "%u others", others);
        stop();
    }
}
END_TEST

/* The job of eye is pending since its release, and nothing is heard of it. */
START_TEST(a_pending_job_that_costs_too_much_ends_the_claims_before_a_late_job_counts)
{
    struct frame about;
    baton_nsec release_at;

    start(1);
    release_at = calm();
    begin(EYE, release_at);
    begin(EAR, release_at);
    wait(70 * MS);
    say_late(EAR, release_at);
    ck_assert(!claimed());
    about = claims_ask(server, QUERY_TASK, 1);
    ck_assert_uint_eq(about.about_task.exceeded, 1);
    ck_assert_uint_eq(about.about_task.unclaimed, 1);
    ck_assert_uint_eq(about.about_task.rule, RULE_IDLE);
    stop();
}
END_TEST

/* A job that is released before the last one has ended is pending from that end on. */
START_TEST(a_job_does_not_count_while_its_predecessor_runs)
{
    baton_nsec release_at;

    start(1);
    release_at = calm();
    begin(EAR, release_at - 2 * MS);
    begin(EYE, release_at);
    wait(PERIOD + 4 * MS);
    end(EAR); /* it has cost too much */
    ck_assert_str_eq(claims_world.logged, "cost\n");
    wait(2 * MS);
    end(EYE);
    begin(EYE, release_at + PERIOD);
    wait(4 * MS);
    end(EYE);
    ck_assert_str_eq(claims_world.logged, "cost\n"); /* 4 of 5 ms, and 6 ms before they were another's */
    ck_assert_uint_eq(server->peers[peers[EYE]]->costly, 0);
    stop();
}
END_TEST

/* Before its begin is reported, the job asks for a GPU. It counts from its release all the same. */
START_TEST(a_job_whose_first_request_comes_before_its_begin_counts_from_its_release)
{
    struct frame attach = {.type = FRAME_ATTACH, .attach = {.engine = ENGINE_EXECUTION}};
    struct frame place = {.type = FRAME_PLACE, .place = {.n = 1, .leases = 0xf, .home = FRAME_NO_LEASE}};
    baton_nsec release_at;

    start(2);
    for (unsigned i = 0; i < 4; i++) {
        attach.attach.index = i;
        (void)snprintf(attach.attach.device, sizeof attach.attach.device, "pci:0000:0%u:00.0", i + 1);
        claims_say(server, peers[EYE], &attach);
    }
    release_at = calm();
    ck_assert(claimed());
    wait(4 * MS);
    claims_say(server, peers[EYE], &place);
    wait(2 * MS);
    ck_assert(claimed());
    begin(EYE, release_at);
    ck_assert(!claimed());
    stop();
}
END_TEST

/*
 * More jobs end meanwhile than are kept: the cost is at most the time for which the job is pending.
 */
START_TEST(a_job_behind_more_jobs_than_are_kept_may_cost_too_much)
{
    baton_nsec release_at;

    start(1);
    release_at = calm();
    for (int i = 0; i < JOB_COSTS_KEPT + 10; i++) {
        begin(EAR, release_at - MS);
        wait(MS);
        end(EAR);
    }
    ck_assert_uint_eq(server->peers[peers[EYE]]->costly, 0);
    begin(EYE, release_at);
    ck_assert_int_eq(job_costs_so_far(server, server->peers[peers[EYE]]), 10 * MS);
    stop();
}
END_TEST

HARNESS_MAIN("job costs", 30, time_outside_of_intervals_is_what_ticks_add_up_to,
             a_job_that_costs_what_its_plan_counts_keeps_the_claims,
             a_job_that_begins_long_after_its_release_ends_the_claims_at_once,
             a_job_that_a_burst_of_late_jobs_delayed_was_not_claimed,
             time_behind_more_urgent_jobs_does_not_count,
             a_job_counts_while_fewer_jobs_than_cpus_are_more_urgent,
             a_pending_job_that_costs_too_much_ends_the_claims_before_a_late_job_counts,
             a_job_does_not_count_while_its_predecessor_runs,
             a_job_whose_first_request_comes_before_its_begin_counts_from_its_release,
             a_job_behind_more_jobs_than_are_kept_may_cost_too_much)
