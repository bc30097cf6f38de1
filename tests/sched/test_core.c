/* The core answers single stories: what is refused, which client is granted, what deaths do. */
#include "story.h"

START_TEST(capacities_are_answers)
{
    struct sched_config config = small(PROFILE_PRIORITY);
    struct story story = begin(&config);

    ck_assert_int_eq(tell(&story, (struct sched_event){.kind = SCHED_CLIENT_JOIN, .client = 4}), SCHED_FULL);
    ck_assert_int_eq(tell(&story, (struct sched_event){.kind = SCHED_JOB_RELEASE, .job = 6}), SCHED_FULL);
    release(&story, 0, 0, 10);
    ck_assert_int_eq(
        tell(&story,
             (struct sched_event){.kind = SCHED_ENGINE_REQUEST, .job = 0, .lane = 3, .engines = one(0)}),
        SCHED_FULL);
    sched_core_free(story.core);
    config.lanes = 0;
    ck_assert_int_eq(sched_core_new(&config, &story.core), -22);
}
END_TEST

START_TEST(events_that_break_a_rule_are_refused_and_change_nothing)
{
    struct sched_config config = small(PROFILE_PRIORITY);
    struct story story = begin(&config);
    static const enum sched_event_kind early[] = {
        SCHED_JOB_DONE,   SCHED_PLACE,          SCHED_TOKEN_REQUEST,  SCHED_TOKEN_RELEASE,
        SCHED_PIECE_DONE, SCHED_ENGINE_RELEASE, SCHED_ENGINE_REQUEST, SCHED_JOB_PRIORITY};

    for (size_t i = 0; i < sizeof early / sizeof early[0]; i++) /* no such job */
        ck_assert_int_eq(tell(&story, (struct sched_event){.kind = early[i], .job = 2}), SCHED_REFUSED);
    release(&story, 0, 0, 10);
    ck_assert_int_eq(tell(&story, (struct sched_event){.kind = SCHED_JOB_RELEASE, .job = 0}),
                     SCHED_REFUSED); /* twice */
    ck_assert_int_eq(tell(&story, (struct sched_event){.kind = SCHED_PIECE_DONE, .job = 0}), SCHED_REFUSED);
    ck_assert_int_eq(tell(&story, (struct sched_event){.kind = SCHED_ENGINE_REQUEST, .job = 0}),
                     SCHED_REFUSED); /* none */
    ck_assert_int_eq(
        tell(&story, (struct sched_event){.kind = SCHED_ENGINE_REQUEST, .job = 0, .engines = one(200)}),
        SCHED_REFUSED); /* no such engine */
    ck_assert_int_eq(tell(&story, (struct sched_event){.kind = SCHED_ENGINE_REQUEST,
                                                       .job = 0,
                                                       .one_of = true,
                                                       .engines = one(sched_bus_engine(story.core, 0))}),
                     SCHED_REFUSED); /* `any` is about GPUs */
    ck_assert_int_eq(tell(&story, (struct sched_event){.kind = SCHED_TOKEN_REQUEST, .job = 0}),
                     SCHED_REFUSED); /* no tokens here */
    ask(&story, 0, 0, 0);
    ck_assert_int_eq(
        tell(&story, (struct sched_event){.kind = SCHED_ENGINE_REQUEST, .job = 0, .engines = one(1)}),
        SCHED_REFUSED); /* that lane holds one already */
    ck_assert_int_eq(tell(&story, (struct sched_event){.kind = SCHED_JOB_DONE, .job = 0}), SCHED_REFUSED);
    ck_assert_int_eq(tell(&story, (struct sched_event){.kind = SCHED_CLIENT_LEAVE, .client = 0}),
                     SCHED_REFUSED);
    ck_assert_int_eq(tell(&story, (struct sched_event){.kind = SCHED_JOB_RELEASE, .job = 1, .budget = -1}),
                     SCHED_REFUSED);
    ck_assert_int_eq(tell(&story, (struct sched_event){.kind = SCHED_JOB_RELEASE, .job = 1, .cost = -1}),
                     SCHED_REFUSED);
    story.at = 5;
    must(&story, (struct sched_event){.kind = SCHED_TICK});
    story.at = 4;
    ck_assert_int_eq(tell(&story, (struct sched_event){.kind = SCHED_TICK}),
                     SCHED_REFUSED); /* time goes back */
    ck_assert_uint_eq(sched_core_holder(story.core, 0, NULL), 0);
    sched_core_free(story.core);
}
END_TEST

START_TEST(a_holder_is_raised_before_it_is_asked_to_yield_and_lowered_before_the_next_grant)
{
    struct sched_config config = small(PROFILE_PRIORITY);
    struct story story = begin(&config);

    release(&story, 0, 0, 10);
    release(&story, 1, 1, 80);
    ask(&story, 0, 0, 0);
    ck_assert(decided(&story, SCHED_GRANT, 0));
    ask(&story, 1, 0, 0);
    ck_assert(place_of(&story, SCHED_EFF, 0) < place_of(&story, SCHED_YIELD, 0));
    ck_assert_uint_eq(story.decisions[place_of(&story, SCHED_EFF, 0)].as, 1);
    must(&story, (struct sched_event){.kind = SCHED_PIECE_DONE, .job = 0});
    ck_assert(place_of(&story, SCHED_EFF, 0) < place_of(&story, SCHED_GRANT, 1));
    ck_assert(!decided(&story, SCHED_GRANT, 0));
    must(&story, (struct sched_event){.kind = SCHED_ENGINE_RELEASE, .job = 1});
    ck_assert(decided(&story, SCHED_GRANT, 0)); /* resumes */
    sched_core_free(story.core);
}
END_TEST

START_TEST(an_idle_lease_that_turns_busy_is_declared_first_and_then_asked_to_yield)
{
    /*
     * M3: job 0 released gpu0 as far as the core knows; before job 1 asks, its client is found busy
     * again.
     */
    struct sched_config config = small(PROFILE_PRIORITY);
    struct story story = begin(&config);

    release(&story, 0, 0, 10);
    release(&story, 1, 1, 80);
    ask(&story, 0, 0, 0);
    must(&story, (struct sched_event){.kind = SCHED_ENGINE_RELEASE, .job = 0});
    ask(&story, 0, 0, 0);
    ck_assert(decided(&story, SCHED_GRANT, 0));
    ask(&story, 1, 0, 0);
    ck_assert(decided(&story, SCHED_YIELD, 0) && !decided(&story, SCHED_GRANT, 1));
    sched_core_free(story.core);
}
END_TEST

START_TEST(a_batch_collects_its_engines_and_is_never_asked_to_yield)
{
    struct sched_config config = small(PROFILE_PRIORITY);
    struct story story = begin(&config);
    struct engine_set both = one(0);

    engine_set_add(&both, 3);
    release(&story, 0, 0, 50);
    release(&story, 1, 1, 10);
    release(&story, 2, 2, 90);
    ask(&story, 1, 0, 0);
    must(&story,
         (struct sched_event){.kind = SCHED_ENGINE_REQUEST, .job = 0, .engines = both, .batch = true});
    ck_assert(decided(&story, SCHED_YIELD, 1));
    ask(&story, 1, 1, 3); /* lower: engine 3 is free, but kept for the batch (E2) */
    ck_assert(!decided(&story, SCHED_GRANT, 1));
    must(&story, (struct sched_event){.kind = SCHED_PIECE_DONE, .job = 1});
    ck_assert(decided(&story, SCHED_GRANT, 0));
    ask(&story, 2, 0, 0); /* higher, but a batch ends by itself */
    ck_assert(!decided(&story, SCHED_YIELD, 0));
    sched_core_free(story.core);
}
END_TEST

START_TEST(the_bus_serves_one_copy_at_a_time_whatever_the_copy_engines)
{
    struct sched_config config = small(PROFILE_PRIORITY);
    struct story story = begin(&config);

    release(&story, 0, 0, 10);
    release(&story, 1, 1, 20);
    must(&story, (struct sched_event){.kind = SCHED_ENGINE_REQUEST,
                                      .job = 0,
                                      .engines = sched_copy_engines(story.core, 0, DIRECTION_IN)});
    ck_assert(decided(&story, SCHED_GRANT, 0));
    must(&story, (struct sched_event){.kind = SCHED_ENGINE_REQUEST,
                                      .job = 1,
                                      .engines = sched_copy_engines(story.core, 1, DIRECTION_OUT)});
    ck_assert(!decided(&story, SCHED_GRANT, 1) && decided(&story, SCHED_YIELD, 0));
    sched_core_free(story.core);
}
END_TEST

START_TEST(an_overrun_is_reported_once_and_costs_the_priority_if_configured)
{
    for (int demote = 0; demote < 2; demote++) {
        struct sched_config config = small(PROFILE_PRIORITY);
        struct story story;

        config.overrun = demote ? SCHED_OVERRUN_DEMOTE : SCHED_OVERRUN_TELL;
        story = begin(&config);
        must(&story,
             (struct sched_event){
                 .kind = SCHED_JOB_RELEASE, .job = 0, .priority = 80, .deadline_at = NSEC_MAX, .budget = 10});
        release(&story, 1, 1, 20);
        ask(&story, 0, 0, 0);
        ask(&story, 1, 0, 0);
        ck_assert_int_eq(sched_core_next_tick(story.core, 0), 11);
        story.at = 10;
        must(&story, (struct sched_event){.kind = SCHED_TICK});
        ck_assert(!decided(&story, SCHED_OVERRUN, 0));
        story.at = 11;
        must(&story, (struct sched_event){.kind = SCHED_TICK});
        ck_assert(decided(&story, SCHED_OVERRUN, 0));
        ck_assert_int_eq(decided(&story, SCHED_YIELD, 0), demote);
        ck_assert_int_eq(sched_core_used(story.core, 0), 11);
        story.at = 12;
        must(&story, (struct sched_event){.kind = SCHED_TICK});
        ck_assert(!decided(&story, SCHED_OVERRUN, 0));
        must(&story, (struct sched_event){.kind = SCHED_PIECE_DONE, .job = 0});
        ck_assert_int_eq(decided(&story, SCHED_GRANT, 1), demote);
        sched_core_free(story.core);
    }
}
END_TEST

/*
 * From the most urgent on: a task with a deadline, one past its budget, a task without a deadline,
 * a program outside of the plan whatever its priority, a task without a deadline past its budget.
 */
START_TEST(a_demoted_job_comes_after_deadlines_and_before_what_has_none)
{
    static const struct {
        bool admitted, no_deadline, over;
        unsigned priority;
    } jobs[] = {{true, false, false, 1},
                {true, false, true, 90},
                {true, true, false, 5},
                {false, false, false, 99},
                {true, true, true, 80}};
    struct sched_config config = small(PROFILE_PRIORITY);
    struct story story;

    config.overrun = SCHED_OVERRUN_DEMOTE;
    story = begin(&config);
    for (unsigned i = 0; i < 5; i++) {
        must(&story, (struct sched_event){.kind = SCHED_JOB_RELEASE,
                                          .client = i % 3,
                                          .job = i,
                                          .admitted = jobs[i].admitted,
                                          .no_deadline = jobs[i].no_deadline,
                                          .priority = jobs[i].priority,
                                          .deadline_at = NSEC_MAX,
                                          .told = true,
                                          .budget = jobs[i].over ? 10 : 0});
        if (jobs[i].over)
            must(&story, (struct sched_event){.kind = SCHED_JOB_USED, .job = i, .used = 11});
        for (unsigned above = 0; above < i; above++) {
            ck_assert(sched_core_above(story.core, above, i));
            ck_assert(!sched_core_above(story.core, i, above));
        }
    }
    sched_core_free(story.core);
}
END_TEST

START_TEST(what_a_dead_client_holds_is_given_on_only_when_the_gpu_has_drained)
{
    struct sched_config config = small(PROFILE_PRIORITY);
    struct story story = begin(&config);

    release(&story, 0, 0, 50);
    release(&story, 1, 1, 80);
    ask(&story, 0, 0, 0);
    ask(&story, 0, 1, 3);
    ask(&story, 1, 0, 0);
    must(&story, (struct sched_event){.kind = SCHED_CLIENT_GONE, .client = 0});
    ck_assert(!decided(&story, SCHED_GRANT, 1)); /* the kernel still runs (X1) */
    ck_assert_int_eq(tell(&story, (struct sched_event){.kind = SCHED_ENGINE_RELEASE, .job = 0}),
                     SCHED_REFUSED);
    ck_assert_int_eq(tell(&story, (struct sched_event){.kind = SCHED_CLIENT_JOIN, .client = 0}),
                     SCHED_REFUSED);
    must(&story, (struct sched_event){.kind = SCHED_CLIENT_DRAINED, .client = 0});
    ck_assert(decided(&story, SCHED_GRANT, 1));
    ck_assert_uint_eq(sched_core_holder(story.core, 3, NULL), SCHED_NO_JOB);
    must(&story, (struct sched_event){.kind = SCHED_CLIENT_JOIN, .client = 0});
    release(&story, 0, 0, 10);
    sched_core_free(story.core);
}
END_TEST

START_TEST(a_blocked_engine_is_not_granted_until_it_is_unblocked_as_often)
{
    struct sched_config config = small(PROFILE_PRIORITY);
    struct story story = begin(&config);

    release(&story, 0, 0, 50);
    must(&story, (struct sched_event){.kind = SCHED_ENGINE_BLOCK, .engine = 0});
    must(&story, (struct sched_event){.kind = SCHED_ENGINE_BLOCK, .engine = 0});
    ask(&story, 0, 0, 0);
    ck_assert(!decided(&story, SCHED_GRANT, 0));
    must(&story, (struct sched_event){.kind = SCHED_ENGINE_UNBLOCK, .engine = 0});
    ck_assert(!decided(&story, SCHED_GRANT, 0));
    must(&story, (struct sched_event){.kind = SCHED_ENGINE_UNBLOCK, .engine = 0});
    ck_assert(decided(&story, SCHED_GRANT, 0));
    ck_assert_int_eq(tell(&story, (struct sched_event){.kind = SCHED_ENGINE_UNBLOCK, .engine = 0}),
                     SCHED_REFUSED);
    sched_core_free(story.core);
}
END_TEST

static void joined_names(char *ret_text, size_t size, const char *(*name)(unsigned), unsigned n)
{
    ret_text[0] = 0;
    for (unsigned i = 0; i < n; i++) {
        (void)strncat(ret_text, i ? "|" : "", size - strlen(ret_text) - 1);
        (void)strncat(ret_text, name(i), size - strlen(ret_text) - 1);
    }
}

static const char *profile_name(unsigned i)
{
    return sched_profiles[i].name;
}

static const char *policy_name(unsigned i)
{
    return sched_policies[i].name;
}

static const char *lock_name(unsigned i)
{
    return sched_locks[i].name;
}

START_TEST(a_holder_stops_at_the_border_of_an_engine_that_was_blocked_meanwhile)
{
    struct sched_config config = small(PROFILE_PRIORITY);
    struct story story = begin(&config);

    release(&story, 0, 0, 10);
    ask(&story, 0, 0, 0);
    ck_assert(decided(&story, SCHED_GRANT, 0));
    must(&story, (struct sched_event){.kind = SCHED_ENGINE_BLOCK, .engine = 0});
    must(&story, (struct sched_event){.kind = SCHED_PIECE_DONE, .job = 0});
    ck_assert(!decided(&story, SCHED_GRANT, 0));
    must(&story, (struct sched_event){.kind = SCHED_ENGINE_UNBLOCK, .engine = 0});
    ck_assert(decided(&story, SCHED_GRANT, 0));
    sched_core_free(story.core);
}
END_TEST

START_TEST(the_names_in_help_are_those_of_the_tables)
{
    char text[256];

    joined_names(text, sizeof text, profile_name, SCHED_PROFILES);
    ck_assert_str_eq(text, SCHED_PROFILE_NAMES);
    joined_names(text, sizeof text, policy_name, SCHED_POLICIES);
    ck_assert_str_eq(text, SCHED_POLICY_NAMES);
    joined_names(text, sizeof text, lock_name, SCHED_LOCKS);
    ck_assert_str_eq(text, SCHED_LOCK_NAMES);
    ck_assert_int_eq(sched_profile_find("gpusync"), PROFILE_GPUSYNC);
    ck_assert_int_eq(sched_policy_find("nonsense"), -1);
}
END_TEST

START_TEST(engines_have_names_and_gpus)
{
    struct sched_config config = small(PROFILE_PRIORITY);
    struct story story = begin(&config);
    static const char *const names[] = {"gpu0", "gpu0 in", "gpu0 out", "gpu1", "gpu1 in", "gpu1 out", "bus0"};
    char name[32];

    ck_assert_uint_eq(sched_engines(story.core), 7);
    for (engine_id e = 0; e < 7; e++) {
        sched_engine_name(story.core, e, name, sizeof name);
        ck_assert_str_eq(name, names[e]);
        ck_assert_uint_eq(sched_engine_gpu(story.core, e), e < 6 ? e / 3 : SCHED_NO_GPU);
    }
    sched_core_free(story.core);
}
END_TEST

HARNESS_MAIN("core", 20, capacities_are_answers, events_that_break_a_rule_are_refused_and_change_nothing,
             a_holder_is_raised_before_it_is_asked_to_yield_and_lowered_before_the_next_grant,
             an_idle_lease_that_turns_busy_is_declared_first_and_then_asked_to_yield,
             a_batch_collects_its_engines_and_is_never_asked_to_yield,
             the_bus_serves_one_copy_at_a_time_whatever_the_copy_engines,
             an_overrun_is_reported_once_and_costs_the_priority_if_configured,
             a_demoted_job_comes_after_deadlines_and_before_what_has_none,
             what_a_dead_client_holds_is_given_on_only_when_the_gpu_has_drained,
             a_blocked_engine_is_not_granted_until_it_is_unblocked_as_often,
             a_holder_stops_at_the_border_of_an_engine_that_was_blocked_meanwhile,
             the_names_in_help_are_those_of_the_tables, engines_have_names_and_gpus)
