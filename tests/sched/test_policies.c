/* The core: ranks, policies, and turns among equals. */
#include "story.h"

START_TEST(only_an_equal_or_better_has_a_claim_to_a_turn)
{
    struct sched_config config = small(PROFILE_PRIORITY);
    struct story story = begin(&config);

    release(&story, 0, 0, 50);
    release(&story, 1, 1, 10);
    release(&story, 2, 2, 50);
    ask(&story, 0, 0, 0);
    ask(&story, 1, 0, 0); /* less urgent: no turn, however long the holder stays */
    ck_assert_uint_eq(story.n, 0);
    ask(&story, 2, 0, 0); /* an equal, released later: not above, but it shall not starve */
    ck_assert(decided(&story, SCHED_TURN, 0) && !decided(&story, SCHED_YIELD, 0));
    ask(&story, 1, 1, 0);
    ck_assert_uint_eq(story.n, 0); /* once per grant */
    must(&story, (struct sched_event){.kind = SCHED_ENGINE_RELEASE, .job = 0});
    ck_assert(decided(&story, SCHED_GRANT, 2));
    ck_assert(!decided(&story, SCHED_TURN, 2)); /* only the less urgent one is left */
    ask(&story, 0, 0, 0); /* released earlier, but served before: a turn is what it gets */
    ck_assert(decided(&story, SCHED_TURN, 2) && !decided(&story, SCHED_YIELD, 2));
    sched_core_free(story.core);
}
END_TEST

START_TEST(the_less_served_equal_goes_first_whatever_came_first)
{
    struct sched_config config = small(PROFILE_PRIORITY);
    struct story story = begin(&config);

    for (job_id j = 0; j < 3; j++)
        release(&story, j, j, 50);
    ask(&story, 0, 0, 0);
    ask(&story, 1, 0, 0);
    story.at = 3 * NSEC_PER_MS;
    must(&story, (struct sched_event){.kind = SCHED_PIECE_DONE, .job = 0}); /* 3 ms against none */
    ck_assert(decided(&story, SCHED_GRANT, 1));
    story.at = 4 * NSEC_PER_MS;
    ask(&story, 2, 0, 0); /* meets equals for the first time: as far as the least served one, 1 ms */
    must(&story, (struct sched_event){.kind = SCHED_ENGINE_RELEASE, .job = 1});
    ck_assert(decided(&story, SCHED_GRANT, 2)); /* 1 ms, and job 0, which asked before it, has had 3 */
    story.at = 14 * NSEC_PER_MS;
    ask(&story, 1, 0, 0); /* 1 ms; the holder, with 11, is more than a turn ahead */
    ck_assert(decided(&story, SCHED_YIELD, 2));
    sched_core_free(story.core);
}
END_TEST

START_TEST(a_kept_engine_that_nobody_wants_costs_nothing)
{
    struct sched_config config = small(PROFILE_PRIORITY);
    struct story story = begin(&config);

    for (job_id j = 0; j < 3; j++)
        release(&story, j, j, 50);
    ask(&story, 0, 1, 1); /* a copy engine, kept for a second */
    ask(&story, 0, 0, 0);
    ask(&story, 1, 0, 0);
    story.at = NSEC_PER_SEC;
    must(&story, (struct sched_event){.kind = SCHED_ENGINE_RELEASE, .job = 0, .lane = 1});
    must(&story, (struct sched_event){.kind = SCHED_ENGINE_RELEASE, .job = 0});
    ck_assert(decided(&story, SCHED_GRANT, 1));
    ask(&story, 0, 1, 1); /* granted: no job waits for it, whatever job 0 was served elsewhere */
    ck_assert(decided(&story, SCHED_GRANT, 0));
    ask(&story, 2, 1, 1); /* finds one equal, at a second */
    story.at += 2 * NSEC_PER_MS;
    ask(&story, 2, 0, 0); /* finds another, that has had 2 ms */
    ask(&story, 0, 0, 0);
    must(&story, (struct sched_event){.kind = SCHED_ENGINE_RELEASE, .job = 1});
    ck_assert(decided(&story, SCHED_GRANT, 2)); /* and the debt of job 0 is that of one hold, not more */
    sched_core_free(story.core);
}
END_TEST

START_TEST(every_task_of_the_plan_is_above_every_other_program)
{
    for (unsigned p = 0; p < SCHED_POLICIES; p++) {
        struct sched_config config = small(PROFILE_PRIORITY);
        struct story story;

        config.policy = (enum sched_policy_id)p;
        story = begin(&config);
        /* The stranger is better by every policy: priority, deadline, release, behaviour. */
        must(&story, (struct sched_event){
                         .kind = SCHED_JOB_RELEASE, .job = 0, .client = 0, .priority = 99, .deadline_at = 1});
        must(&story, (struct sched_event){.kind = SCHED_JOB_RELEASE,
                                          .job = 1,
                                          .client = 1,
                                          .admitted = true,
                                          .priority = 1,
                                          .deadline_at = 100});
        ck_assert(sched_core_above(story.core, 1, 0));
        ask(&story, 0, 0, 0);
        ask(&story, 1, 0, 0);
        ck_assert(decided(&story, SCHED_YIELD, 0));
        ck_assert_uint_eq(story.decisions[place_of(&story, SCHED_YIELD, 0)].as, 1);
        ck_assert_uint_eq(sched_core_effective(story.core, 0), 1);
        must(&story, (struct sched_event){.kind = SCHED_PIECE_DONE, .job = 0});
        ck_assert(decided(&story, SCHED_GRANT, 1));
        ck_assert(!decided(&story, SCHED_TURN, 1)); /* no claim to a turn beside a task of the plan */
        /* It leaves the plan: beneath it, where priorities count. */
        must(&story,
             (struct sched_event){.kind = SCHED_JOB_PRIORITY, .job = 1, .priority = 1, .deadline_at = 100});
        ck_assert(decided(&story, SCHED_YIELD, 1));
        sched_core_free(story.core);
    }
}
END_TEST

START_TEST(a_turn_is_asked_for_at_the_grant_and_after_each_piece_when_an_equal_already_waits)
{
    struct sched_config config = small(PROFILE_PRIORITY);
    struct story story;

    config.policy = POLICY_FIFO; /* equals in order of release: the first may go on */
    story = begin(&config);
    for (job_id j = 0; j < 3; j++)
        release(&story, j, j, 50);
    for (job_id j = 0; j < 3; j++)
        ask(&story, j, 0, 0);
    must(&story, (struct sched_event){.kind = SCHED_PIECE_DONE, .job = 0}); /* goes on: no job is above */
    ck_assert(place_of(&story, SCHED_GRANT, 0) < place_of(&story, SCHED_TURN, 0));
    ck_assert(decided(&story, SCHED_TURN, 0));
    must(&story, (struct sched_event){.kind = SCHED_ENGINE_RELEASE, .job = 0});
    ck_assert(place_of(&story, SCHED_GRANT, 1) < place_of(&story, SCHED_TURN, 1));
    ck_assert(decided(&story, SCHED_TURN, 1));
    sched_core_free(story.core);
}
END_TEST

START_TEST(a_job_takes_turns_with_itself_on_the_bus)
{
    struct sched_config config = small(PROFILE_PRIORITY);
    struct story story = begin(&config);

    release(&story, 0, 0, 50);
    must(&story, (struct sched_event){.kind = SCHED_ENGINE_REQUEST,
                                      .job = 0,
                                      .engines = sched_copy_engines(story.core, 0, DIRECTION_IN)});
    must(&story, (struct sched_event){.kind = SCHED_ENGINE_REQUEST,
                                      .job = 0,
                                      .lane = 1,
                                      .engines = sched_copy_engines(story.core, 0, DIRECTION_OUT)});
    ck_assert(decided(&story, SCHED_TURN, 0) && !decided(&story, SCHED_YIELD, 0));
    sched_core_free(story.core);
}
END_TEST

/* Job 0 holds, job 1 comes to wait: is job 0 told to take turns? */
static bool turn_between(struct story *story, struct sched_event holder, struct sched_event waiter)
{
    bool told;

    holder.kind = waiter.kind = SCHED_JOB_RELEASE;
    waiter.job = waiter.client = 1;
    must(story, holder);
    must(story, waiter);
    ask(story, 0, 0, 0);
    ask(story, 1, 0, 0);
    told = decided(story, SCHED_TURN, 0);
    sched_core_free(story->core);
    return told;
}

START_TEST(turns_follow_the_policy_and_profile_in_force)
{
    static const struct {
        enum sched_profile_id profile;
        enum sched_policy_id policy;
        unsigned priority[2]; /* of the holder and of the job that waits */
        baton_nsec deadline_at[2];
        bool turn;
    } cases[] = {
        {PROFILE_PRIORITY, POLICY_FIXED, {0, 0}, {NSEC_MAX, NSEC_MAX}, true}, /* neither has a priority */
        {PROFILE_PRIORITY, POLICY_FIXED, {1, 0}, {NSEC_MAX, NSEC_MAX}, false},
        {PROFILE_PRIORITY, POLICY_EDF, {0, 0}, {100, 100}, true},
        {PROFILE_PRIORITY, POLICY_EDF, {10, 90}, {100, 101}, false}, /* deadlines count, not priorities */
        {PROFILE_PRIORITY, POLICY_FIFO, {90, 10}, {NSEC_MAX, NSEC_MAX}, true},
        {PROFILE_PRIORITY, POLICY_ADAPTIVE, {1, 0}, {NSEC_MAX, NSEC_MAX}, false},
        {PROFILE_FIFO,
         POLICY_FIXED,
         {90, 10},
         {NSEC_MAX, NSEC_MAX},
         true}, /* what a driver does: by arrival */
        {PROFILE_PRIORITY_WHOLE, POLICY_FIXED, {90, 10}, {NSEC_MAX, NSEC_MAX}, false},
        {PROFILE_PRIORITY_WHOLE, POLICY_FIXED, {50, 50}, {NSEC_MAX, NSEC_MAX}, true},
        {PROFILE_PRIORITY_WHOLE, POLICY_FIXED, {10, 90}, {NSEC_MAX, NSEC_MAX}, true}, /* no job yields here */
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sched_config config = small(cases[i].profile);
        struct story story;

        config.policy = cases[i].policy;
        story = begin(&config);
        ck_assert_msg(turn_between(&story,
                                   (struct sched_event){.priority = cases[i].priority[0],
                                                        .deadline_at = cases[i].deadline_at[0]},
                                   (struct sched_event){.priority = cases[i].priority[1],
                                                        .deadline_at = cases[i].deadline_at[1]}) ==
                          cases[i].turn,
                      "case %zu", i);
    }
}
END_TEST

START_TEST(a_short_job_has_no_right_to_stay_under_adaptive)
{
    struct sched_config config = small(PROFILE_PRIORITY);
    struct story story;

    /* Client 1's jobs take 10 ms: it is behind client 0, of which nothing is known yet. */
    config.policy = POLICY_ADAPTIVE;
    story = begin(&config);
    release(&story, 1, 1, 0);
    ask(&story, 1, 0, 0);
    story.at += 10 * NSEC_PER_MS;
    must(&story, (struct sched_event){.kind = SCHED_ENGINE_RELEASE, .job = 1});
    must(&story, (struct sched_event){.kind = SCHED_JOB_DONE, .job = 1});
    release(&story, 0, 0, 0);
    release(&story, 1, 1, 0);
    ask(&story, 0, 0, 0);
    ask(&story, 1, 0, 0); /* job 0 may be endless; only when it lets go is its time counted */
    ck_assert(decided(&story, SCHED_TURN, 0));
    sched_core_free(story.core);
}
END_TEST

START_TEST(a_holder_that_falls_to_the_rank_of_a_waiter_takes_turns)
{
    struct sched_config config = small(PROFILE_PRIORITY);
    struct story story = begin(&config);

    release(&story, 0, 0, 50);
    release(&story, 1, 1, 10);
    ask(&story, 0, 0, 0);
    ask(&story, 1, 0, 0);
    ck_assert(!decided(&story, SCHED_TURN, 0));
    must(&story,
         (struct sched_event){.kind = SCHED_JOB_PRIORITY, .job = 0, .priority = 10, .deadline_at = NSEC_MAX});
    ck_assert(decided(&story, SCHED_TURN, 0));
    sched_core_free(story.core);
}
END_TEST

START_TEST(policies_rank_as_their_names_say)
{
    struct sched_config config = small(PROFILE_PRIORITY);
    struct story story;

    for (unsigned p = 0; p < SCHED_POLICIES; p++) {
        config.policy = (enum sched_policy_id)p;
        story = begin(&config);
        /* Job 0: priority 10, deadline 100, cost 90; job 1: priority 20, deadline 90, cost 10. */
        must(&story, (struct sched_event){.kind = SCHED_JOB_RELEASE,
                                          .job = 0,
                                          .client = 0,
                                          .priority = 10,
                                          .deadline_at = 100,
                                          .cost = 90});
        must(&story, (struct sched_event){.kind = SCHED_JOB_RELEASE,
                                          .job = 1,
                                          .client = 1,
                                          .priority = 20,
                                          .deadline_at = 90,
                                          .cost = 10});
        /* EDF: 100 > 90. Fair lateness with c = 2: 100 - 45 = 55 < 90 - 5 = 85. */
        ck_assert_int_eq(sched_core_above(story.core, 0, 1), p == POLICY_FAIR_LATENESS || p == POLICY_FIFO);
        sched_core_free(story.core);
    }
}
END_TEST

START_TEST(adaptive_puts_short_jobs_before_hogs_and_both_behind_priorities)
{
    struct sched_config config = small(PROFILE_PRIORITY);
    struct story story;

    config.policy = POLICY_ADAPTIVE;
    story = begin(&config);
    release(&story, 0, 0, 0); /* a hog: no priority, never ends */
    ask(&story, 0, 0, 0);
    story.at = 50 * NSEC_PER_MS;
    release(&story, 1, 1, 0); /* new, nothing known: counts as short */
    release(&story, 2, 2, 1);
    ck_assert(sched_core_above(story.core, 2, 1) && sched_core_above(story.core, 2, 0));
    ask(&story, 1, 0, 0);
    ck_assert(decided(&story, SCHED_YIELD, 0));
    must(&story, (struct sched_event){.kind = SCHED_PIECE_DONE, .job = 0});
    story.at += NSEC_PER_MS;
    must(&story, (struct sched_event){.kind = SCHED_ENGINE_RELEASE, .job = 1});
    must(&story, (struct sched_event){.kind = SCHED_JOB_DONE, .job = 1});
    must(&story, (struct sched_event){.kind = SCHED_ENGINE_RELEASE, .job = 0});
    must(&story, (struct sched_event){.kind = SCHED_JOB_DONE, .job = 0});
    /* The next jobs start with what their clients are known for: 50 ms against 1 ms. */
    release(&story, 3, 0, 0);
    release(&story, 4, 1, 0);
    ask(&story, 2, 0, 0);
    ask(&story, 3, 0, 0);
    ask(&story, 4, 0, 0);
    must(&story, (struct sched_event){.kind = SCHED_ENGINE_RELEASE, .job = 2});
    ck_assert(decided(&story, SCHED_GRANT, 4));
    sched_core_free(story.core);
}
END_TEST

START_TEST(a_program_that_does_not_report_its_jobs_has_many_all_the_same)
{
    struct sched_config config = small(PROFILE_PRIORITY);
    struct story story;

    config.policy = POLICY_ADAPTIVE;
    story = begin(&config);
    for (client_id c = 0; c < 2; c++) {
        must(&story, (struct sched_event){.kind = SCHED_CLIENT_LEAVE, .client = c});
        must(&story, (struct sched_event){
                         .kind = SCHED_CLIENT_JOIN, .client = c, .uses_gpu = true, .keeps_idle = true});
    }
    for (job_id j = 0; j < 3; j++)
        release(&story, j, j, j == 2);
    /*
     * Jobs of 1 ms and of 8 ms, in turns; the engine is kept for a second between them, which says
     * nothing about their length.
     */
    for (unsigned round = 0; round < 20; round++) {
        for (job_id j = 0; j < 2; j++) {
            must(&story, (struct sched_event){.kind = SCHED_JOB_NEXT, .job = j});
            ask(&story, j, 0, 0);
        }
        story.at += NSEC_PER_MS;
        must(&story, (struct sched_event){.kind = SCHED_ENGINE_RELEASE, .job = 0});
        ask(&story, 0, 0, 0);
        story.at += 8 * NSEC_PER_MS;
        must(&story, (struct sched_event){.kind = SCHED_ENGINE_RELEASE, .job = 1});
        story.at += NSEC_PER_SEC; /* job 0 has it, and no job waits */
        must(&story, (struct sched_event){.kind = SCHED_ENGINE_RELEASE, .job = 0});
    }
    ask(&story, 2, 0, 0);
    ask(&story, 1, 0, 0);
    ask(&story, 0, 0, 0);
    must(&story, (struct sched_event){.kind = SCHED_ENGINE_RELEASE, .job = 2});
    ck_assert(decided(&story, SCHED_GRANT, 0));
    sched_core_free(story.core);
}
END_TEST

HARNESS_MAIN("policies", 20, only_an_equal_or_better_has_a_claim_to_a_turn,
             a_turn_is_asked_for_at_the_grant_and_after_each_piece_when_an_equal_already_waits,
             a_job_takes_turns_with_itself_on_the_bus, turns_follow_the_policy_and_profile_in_force,
             a_short_job_has_no_right_to_stay_under_adaptive,
             the_less_served_equal_goes_first_whatever_came_first,
             a_kept_engine_that_nobody_wants_costs_nothing,
             every_task_of_the_plan_is_above_every_other_program,
             a_holder_that_falls_to_the_rank_of_a_waiter_takes_turns, policies_rank_as_their_names_say,
             adaptive_puts_short_jobs_before_hogs_and_both_behind_priorities,
             a_program_that_does_not_report_its_jobs_has_many_all_the_same)
