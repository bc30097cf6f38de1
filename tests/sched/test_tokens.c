/* The core: tokens, and on which GPU a job runs. */
#include "story.h"

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
            job_id job = round == 1 ? 1 - j : j; /* the first that comes */

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
     * A third client: two GPUs are not enough for one each, so the client that comes first takes
     * the first that is free.
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
    pair = one(sched_copy_engine(story.core, gpu, DIRECTION_IN));
    engine_set_add(&pair, sched_copy_engine(story.core, 1 - gpu, DIRECTION_OUT));
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

/*
 * Low was stopped on GPU 0 by high, which took both GPUs. When both come free, mid takes the one
 * where no lane waits to go on.
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

HARNESS_MAIN("tokens", 20, tokens_go_to_tasks_of_the_plan_before_other_programs,
             placing_prefers_the_home_of_the_data_until_moving_is_cheaper,
             with_no_more_clients_than_gpus_each_keeps_its_own,
             engines_need_a_token_of_their_gpu_under_gpusync, a_request_for_one_gpu_takes_no_token_of_another,
             without_a_token_limit_a_request_gets_the_gpu_it_names, a_request_names_gpus_of_one_cluster,
             under_gpusync_a_holder_yields_at_its_border_to_whatever_waits,
             a_split_job_asks_for_all_its_tokens_in_one_event,
             a_kernel_for_any_gpu_leaves_the_one_where_another_waits_to_resume)
