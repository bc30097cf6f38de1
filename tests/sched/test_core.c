/*
 * The core's answers to single stories: what is refused, who is granted, and what each policy,
 * budget and death does.
 */
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "sched/core.h"

struct story {
    struct sched_core *core;
    const struct sched_decision *decisions;
    size_t n;
    baton_nsec at;
};

static struct sched_config small(enum sched_profile_id profile)
{
    return (struct sched_config){.profile = profile,
                                 .gpus = 2,
                                 .copy_engines = 2,
                                 .buses = 1,
                                 .tokens_per_gpu = 1,
                                 .cpus = 2,
                                 .clients = 4,
                                 .jobs = 6,
                                 .lanes = 3};
}

static struct story begin(const struct sched_config *config)
{
    struct story story = {0};

    ck_assert_int_eq(sched_core_new(config, &story.core), 0);
    for (client_id c = 0; c < 3; c++) {
        struct sched_event join = {.kind = SCHED_CLIENT_JOIN, .client = c, .uses_gpu = true};

        ck_assert_int_eq(sched_core_handle(story.core, &join, &story.decisions, &story.n), 0);
    }
    return story;
}

static int tell(struct story *story, struct sched_event event)
{
    event.at = story->at;
    story->n = 0;
    return sched_core_handle(story->core, &event, &story->decisions, &story->n);
}

static void must(struct story *story, struct sched_event event)
{
    ck_assert_int_eq(tell(story, event), 0);
}

static void release(struct story *story, job_id job, client_id client, unsigned priority)
{
    must(story, (struct sched_event){.kind = SCHED_JOB_RELEASE,
                                     .job = job,
                                     .client = client,
                                     .priority = priority,
                                     .deadline_at = NSEC_MAX});
}

static struct engine_set one(engine_id engine)
{
    struct engine_set set = {0};

    engine_set_add(&set, engine);
    return set;
}

static void ask(struct story *story, job_id job, unsigned lane, engine_id engine)
{
    must(story, (struct sched_event){.kind = SCHED_ENGINE_REQUEST,
                                     .job = job,
                                     .lane = lane,
                                     .engines = one(engine),
                                     .home = SCHED_NO_GPU});
}

static bool decided(const struct story *story, enum sched_action action, job_id job)
{
    for (size_t i = 0; i < story->n; i++) {
        if (story->decisions[i].action == action && story->decisions[i].job == job)
            return true;
    }
    return false;
}

static size_t place_of(const struct story *story, enum sched_action action, job_id job)
{
    for (size_t i = 0; i < story->n; i++) {
        if (story->decisions[i].action == action && story->decisions[i].job == job)
            return i;
    }
    return SIZE_MAX;
}

START_TEST(capacities_are_answers)
{
    struct sched_config config = small(PROFILE_PRIORITY);
    struct story story = begin(&config);
    client_id client;
    job_id job;

    ck_assert_int_eq(tell(&story, (struct sched_event){.kind = SCHED_CLIENT_JOIN, .client = 4}), SCHED_FULL);
    ck_assert_int_eq(tell(&story, (struct sched_event){.kind = SCHED_JOB_RELEASE, .job = 6}), SCHED_FULL);
    release(&story, 0, 0, 10);
    ck_assert_int_eq(
        tell(&story,
             (struct sched_event){.kind = SCHED_ENGINE_REQUEST, .job = 0, .lane = 3, .engines = one(0)}),
        SCHED_FULL);
    ck_assert_int_eq(sched_core_unused_client(story.core, &client), 0);
    ck_assert_uint_eq(client, 3);
    ck_assert_int_eq(sched_core_unused_job(story.core, &job), 0);
    ck_assert_uint_eq(job, 1);
    for (job = 1; job < 6; job++)
        release(&story, job, 1, 10);
    ck_assert_int_eq(sched_core_unused_job(story.core, &job), SCHED_FULL);
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
    ask(&story, 0, 1, 1); /* granted: nobody waits for it, whatever job 0 was served elsewhere */
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

START_TEST(tokens_go_to_tasks_of_the_plan_before_other_programs)
{
    struct sched_config config = small(PROFILE_GPUSYNC);
    struct story story;

    config.gpus = 1;
    config.cpus = 1; /* c = 1, k = 1: one slot, one donor, the others are parked */
    config.clients = 5;
    story = begin(&config);
    must(&story, (struct sched_event){.kind = SCHED_CLIENT_JOIN, .client = 3, .uses_gpu = true});
    release(&story, 0, 0, 99);
    release(&story, 1, 1, 98);
    release(&story, 2, 2, 98);
    must(&story, (struct sched_event){.kind = SCHED_JOB_RELEASE,
                                      .job = 3,
                                      .client = 3,
                                      .admitted = true,
                                      .priority = 1,
                                      .deadline_at = NSEC_MAX});
    for (job_id j = 0; j < 4; j++) {
        job_id order[] = {0, 2, 1, 3}; /* of the two equals the one released later asks first */

        must(&story, (struct sched_event){
                         .kind = SCHED_TOKEN_REQUEST, .job = order[j], .n = 1, .home = SCHED_NO_GPU});
    }
    for (job_id j = 0; j < 3; j++) {
        job_id holders[] = {0, 3, 2};
        job_id next[] = {3, 2, 1};

        must(&story, (struct sched_event){.kind = SCHED_TOKEN_RELEASE, .job = holders[j]});
        ck_assert_msg(decided(&story, SCHED_TOKEN, next[j]), "token %u", j);
    }
    sched_core_free(story.core);
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
    must(&story, (struct sched_event){.kind = SCHED_PIECE_DONE, .job = 0}); /* goes on: nobody is above */
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
                                      .engines = sched_copy_engines(story.core, 0, COPY_IN)});
    must(&story, (struct sched_event){.kind = SCHED_ENGINE_REQUEST,
                                      .job = 0,
                                      .lane = 1,
                                      .engines = sched_copy_engines(story.core, 0, COPY_OUT)});
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
        unsigned priority[2]; /* of the holder and of the one who waits */
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
        {PROFILE_PRIORITY_WHOLE, POLICY_FIXED, {10, 90}, {NSEC_MAX, NSEC_MAX}, true}, /* nobody yields here */
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
                                      .engines = sched_copy_engines(story.core, 0, COPY_IN)});
    ck_assert(decided(&story, SCHED_GRANT, 0));
    must(&story, (struct sched_event){.kind = SCHED_ENGINE_REQUEST,
                                      .job = 1,
                                      .engines = sched_copy_engines(story.core, 1, COPY_OUT)});
    ck_assert(!decided(&story, SCHED_GRANT, 1) && decided(&story, SCHED_YIELD, 0));
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
        story.at += NSEC_PER_SEC; /* job 0 has it, and nobody waits */
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

START_TEST(placing_prefers_the_home_of_the_data_until_moving_is_cheaper)
{
    struct sched_config config = small(PROFILE_PRIORITY);
    struct story story = begin(&config);
    struct sched_event place = {
        .kind = SCHED_PLACE, .job = 0, .n = 1, .gpus = 3, .home = 1, .migration = 50, .cost = 40};

    release(&story, 0, 0, 10);
    release(&story, 1, 1, 10);
    release(&story, 2, 2, 10);
    must(&story, place);
    ck_assert_uint_eq(story.decisions[0].gpus, 2); /* gpu1: home, idle */
    place.job = 1;
    must(&story, place);
    ck_assert_uint_eq(story.decisions[0].gpus, 2); /* 40 of work there < 50 to move */
    place.job = 2;
    must(&story, place);
    ck_assert_uint_eq(story.decisions[0].gpus, 1); /* 80 > 50 */
    place.n = 3;
    ck_assert_int_eq(tell(&story, place), SCHED_REFUSED);
    must(&story, (struct sched_event){.kind = SCHED_JOB_DONE, .job = 0});
    must(&story, (struct sched_event){.kind = SCHED_JOB_DONE, .job = 1});
    place.n = 1;
    must(&story, place);
    ck_assert_uint_eq(story.decisions[0].gpus, 2);
    sched_core_free(story.core);
}
END_TEST

START_TEST(with_no_more_clients_than_gpus_each_keeps_its_own)
{
    struct sched_config config = small(PROFILE_GPUSYNC);
    struct story story;
    unsigned gpus[2];

    config.keep_gpu = true;
    config.tokens_per_gpu = 2;
    story = begin(&config);
    must(&story, (struct sched_event){.kind = SCHED_CLIENT_LEAVE, .client = 2});
    for (unsigned round = 0; round < 3; round++) {
        for (job_id j = 0; j < 2; j++) {
            job_id job = round == 1 ? 1 - j : j; /* whoever comes first */

            release(&story, job, job, 10);
            must(&story, (struct sched_event){.kind = SCHED_TOKEN_REQUEST, .job = job, .home = SCHED_NO_GPU});
            ck_assert(decided(&story, SCHED_TOKEN, job));
            if (round == 0)
                gpus[job] = story.decisions[place_of(&story, SCHED_TOKEN, job)].gpu;
            ck_assert_uint_eq(story.decisions[place_of(&story, SCHED_TOKEN, job)].gpu, gpus[job]);
        }
        for (job_id j = 0; j < 2; j++) {
            must(&story, (struct sched_event){.kind = SCHED_TOKEN_RELEASE, .job = j});
            must(&story, (struct sched_event){.kind = SCHED_JOB_DONE, .job = j});
        }
    }
    ck_assert_uint_ne(gpus[0], gpus[1]);
    /*
     * A third client: two GPUs are not enough for one each, so whoever comes first takes the first
     * that is free.
     */
    must(&story, (struct sched_event){.kind = SCHED_CLIENT_JOIN, .client = 2, .uses_gpu = true});
    for (job_id j = 0; j < 2; j++) {
        job_id job = 1 - j;

        release(&story, job, job, 10);
        must(&story, (struct sched_event){.kind = SCHED_TOKEN_REQUEST, .job = job, .home = SCHED_NO_GPU});
        ck_assert_uint_eq(story.decisions[place_of(&story, SCHED_TOKEN, job)].gpu, gpus[j]);
    }
    sched_core_free(story.core);
}
END_TEST

START_TEST(engines_need_a_token_of_their_gpu_under_gpusync)
{
    struct sched_config config = small(PROFILE_GPUSYNC);
    struct story story = begin(&config);
    unsigned gpu;
    struct engine_set pair;

    release(&story, 0, 0, 10);
    ck_assert_int_eq(
        tell(&story, (struct sched_event){.kind = SCHED_ENGINE_REQUEST, .job = 0, .engines = one(0)}),
        SCHED_REFUSED);
    must(&story, (struct sched_event){.kind = SCHED_TOKEN_REQUEST, .job = 0, .home = SCHED_NO_GPU});
    gpu = story.decisions[place_of(&story, SCHED_TOKEN, 0)].gpu;
    ck_assert_int_eq(
        tell(&story, (struct sched_event){.kind = SCHED_ENGINE_REQUEST,
                                          .job = 0,
                                          .engines = one(sched_execution_engine(story.core, 1 - gpu))}),
        SCHED_REFUSED); /* E3: of a foreign GPU */
    pair = one(sched_copy_engine(story.core, gpu, COPY_IN));
    engine_set_add(&pair, sched_copy_engine(story.core, 1 - gpu, COPY_OUT));
    must(&story,
         (struct sched_event){.kind = SCHED_ENGINE_REQUEST, .job = 0, .engines = pair}); /* peer to peer */
    ck_assert_int_eq(tell(&story, (struct sched_event){.kind = SCHED_TOKEN_RELEASE, .job = 0}),
                     SCHED_REFUSED); /* G3 */
    must(&story, (struct sched_event){.kind = SCHED_ENGINE_RELEASE, .job = 0});
    must(&story, (struct sched_event){.kind = SCHED_TOKEN_RELEASE, .job = 0});
    sched_core_free(story.core);
}
END_TEST

/*
 * A program that cannot move asks for the token of its GPU: another one that is free does not help
 * it, under any lock.
 */
START_TEST(a_request_for_one_gpu_takes_no_token_of_another)
{
    for (unsigned lock = 0; lock < SCHED_LOCKS; lock++) {
        struct sched_config config = small(PROFILE_GPUSYNC);
        struct sched_event second = {
            .kind = SCHED_TOKEN_REQUEST, .gpus = 2, .home = SCHED_NO_GPU}; /* of the second GPU */
        struct story story;

        config.lock = (enum sched_lock_id)lock;
        story = begin(&config);
        for (second.job = 0; second.job < 2; second.job++) {
            release(&story, second.job, second.job, 10);
            must(&story, second);
            ck_assert_int_eq(decided(&story, SCHED_TOKEN, second.job), second.job == 0);
        }
        ck_assert_int_eq(sched_core_has_job(story.core, 1), true);
        must(&story, (struct sched_event){.kind = SCHED_TOKEN_RELEASE, .job = 0});
        ck_assert(decided(&story, SCHED_TOKEN, 1));
        ck_assert_uint_eq(story.decisions[place_of(&story, SCHED_TOKEN, 1)].gpu, 1);
        sched_core_free(story.core);
    }
}
END_TEST

START_TEST(without_a_token_limit_a_request_gets_the_gpu_it_names)
{
    struct sched_config config = small(PROFILE_GPUSYNC);
    struct story story;

    config.tokens_per_gpu = TOKENS_UNLIMITED;
    config.lock = LOCK_CK_OMLP; /* there is no lock to donate for */
    story = begin(&config);
    for (job_id job = 0; job < 3; job++) {
        release(&story, job, job, 10);
        must(&story,
             (struct sched_event){.kind = SCHED_TOKEN_REQUEST, .job = job, .gpus = 2, .home = SCHED_NO_GPU});
        ck_assert_uint_eq(story.decisions[place_of(&story, SCHED_TOKEN, job)].gpu, 1);
    }
    sched_core_free(story.core);
}
END_TEST

START_TEST(a_request_names_gpus_of_one_cluster)
{
    struct sched_config config = small(PROFILE_GPUSYNC);
    struct story story;

    config.gpu_cluster = 1;
    story = begin(&config);
    release(&story, 0, 0, 10);
    ck_assert_int_eq(tell(&story, (struct sched_event){.kind = SCHED_TOKEN_REQUEST, .gpus = 3}),
                     SCHED_REFUSED);
    /* Not the client's own cluster, but one. */
    must(&story, (struct sched_event){.kind = SCHED_TOKEN_REQUEST, .gpus = 2, .home = SCHED_NO_GPU});
    ck_assert_uint_eq(story.decisions[place_of(&story, SCHED_TOKEN, 0)].gpu, 1);
    sched_core_free(story.core);
}
END_TEST

/*
 * E6: every piece is a request, so a less urgent job that waits comes before the next piece of a
 * more urgent one.
 */
START_TEST(under_gpusync_a_holder_yields_at_its_border_to_whatever_waits)
{
    struct sched_config config = small(PROFILE_GPUSYNC);
    struct story story;
    engine_id engine;

    config.tokens_per_gpu = 2;
    config.gpus = 1;
    story = begin(&config);
    engine = sched_execution_engine(story.core, 0);
    for (job_id job = 0; job < 2; job++) {
        release(&story, job, job, 20 - job);
        must(&story, (struct sched_event){.kind = SCHED_TOKEN_REQUEST, .job = job, .home = SCHED_NO_GPU});
        ask(&story, job, 0, engine);
    }
    ck_assert(decided(&story, SCHED_YIELD, 0));
    must(&story, (struct sched_event){.kind = SCHED_PIECE_DONE, .job = 0});
    ck_assert(decided(&story, SCHED_GRANT, 1));
    sched_core_free(story.core);
}
END_TEST

START_TEST(a_split_job_asks_for_all_its_tokens_in_one_event)
{
    struct sched_config config = small(PROFILE_GPUSYNC);
    struct story story = begin(&config);

    release(&story, 0, 0, 10);
    must(&story, (struct sched_event){.kind = SCHED_TOKEN_REQUEST, .job = 0, .n = 2, .home = SCHED_NO_GPU});
    ck_assert_uint_eq(story.n, 2);
    ck_assert_uint_ne(story.decisions[0].gpu, story.decisions[1].gpu);
    ck_assert_int_eq(
        tell(&story, (struct sched_event){.kind = SCHED_TOKEN_REQUEST, .job = 0, .lane = 1, .n = 2}),
        SCHED_REFUSED); /* lane 1 has one */
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

/*
 * Low was stopped on GPU 0 by high, which took both GPUs. When both come free, mid takes the one
 * where nobody waits to go on.
 */
START_TEST(a_kernel_for_any_gpu_leaves_the_one_where_another_waits_to_resume)
{
    enum { LOW, HIGH, MID };
    struct sched_config config = small(PROFILE_PRIORITY);
    struct story story = begin(&config);
    struct engine_set both = one(sched_execution_engine(story.core, 0));

    engine_set_add(&both, sched_execution_engine(story.core, 1));
    release(&story, LOW, 0, 10);
    release(&story, HIGH, 1, 90);
    release(&story, MID, 2, 50);
    ask(&story, LOW, 0, sched_execution_engine(story.core, 0));
    must(&story, (struct sched_event){
                     .kind = SCHED_ENGINE_REQUEST, .job = HIGH, .engines = both, .home = SCHED_NO_GPU});
    must(&story, (struct sched_event){.kind = SCHED_PIECE_DONE, .job = LOW});
    ck_assert(decided(&story, SCHED_GRANT, HIGH));
    must(
        &story,
        (struct sched_event){
            .kind = SCHED_ENGINE_REQUEST, .job = MID, .engines = both, .one_of = true, .home = SCHED_NO_GPU});
    must(&story, (struct sched_event){.kind = SCHED_ENGINE_RELEASE, .job = HIGH});
    ck_assert(decided(&story, SCHED_GRANT, MID));
    ck_assert_uint_eq(story.decisions[place_of(&story, SCHED_GRANT, MID)].gpu, 1);
    ck_assert(decided(&story, SCHED_GRANT, LOW));
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
             only_an_equal_or_better_has_a_claim_to_a_turn,
             a_turn_is_asked_for_at_the_grant_and_after_each_piece_when_an_equal_already_waits,
             a_job_takes_turns_with_itself_on_the_bus, turns_follow_the_policy_and_profile_in_force,
             a_short_job_has_no_right_to_stay_under_adaptive,
             the_less_served_equal_goes_first_whatever_came_first,
             a_kept_engine_that_nobody_wants_costs_nothing,
             every_task_of_the_plan_is_above_every_other_program,
             tokens_go_to_tasks_of_the_plan_before_other_programs,
             a_holder_that_falls_to_the_rank_of_a_waiter_takes_turns,
             a_batch_collects_its_engines_and_is_never_asked_to_yield,
             the_bus_serves_one_copy_at_a_time_whatever_the_copy_engines, policies_rank_as_their_names_say,
             adaptive_puts_short_jobs_before_hogs_and_both_behind_priorities,
             a_program_that_does_not_report_its_jobs_has_many_all_the_same,
             an_overrun_is_reported_once_and_costs_the_priority_if_configured,
             placing_prefers_the_home_of_the_data_until_moving_is_cheaper,
             with_no_more_clients_than_gpus_each_keeps_its_own,
             engines_need_a_token_of_their_gpu_under_gpusync, a_request_for_one_gpu_takes_no_token_of_another,
             without_a_token_limit_a_request_gets_the_gpu_it_names, a_request_names_gpus_of_one_cluster,
             under_gpusync_a_holder_yields_at_its_border_to_whatever_waits,
             a_split_job_asks_for_all_its_tokens_in_one_event,
             what_a_dead_client_holds_is_given_on_only_when_the_gpu_has_drained,
             a_blocked_engine_is_not_granted_until_it_is_unblocked_as_often,
             a_holder_stops_at_the_border_of_an_engine_that_was_blocked_meanwhile,
             a_kernel_for_any_gpu_leaves_the_one_where_another_waits_to_resume,
             the_names_in_help_are_those_of_the_tables, engines_have_names_and_gpus)
