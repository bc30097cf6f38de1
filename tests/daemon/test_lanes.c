/*
 * Under tokens (daemon/lanes.h): which GPU a job gets and when, programs on several GPUs, jobs past
 * their budget. The server on a clock that only the test moves.
 */
#include "harness.h"
#include "lanes_scene.h"

/* ---- which GPU ---- */

START_TEST(a_job_is_told_its_gpu_with_its_token)
{
    scene_start(4, 1, OVERRUN_OFF);
    for (unsigned i = 0; i < 4; i++) {
        scene_connect_client(i, "program", 0);
        scene_job(i, JOB_SAID, 0);
        scene_place(i);
        ck_assert_int_eq(scene_placed(i), (int)scene.token_gpu[i]);
        for (unsigned j = 0; j < i; j++)
            ck_assert_int_ne(scene_placed(i), scene_placed(j));
    }
    server_free(scene.server);
}
END_TEST

START_TEST(a_job_without_a_token_waits_for_the_answer)
{
    scene_start(1, 1, OVERRUN_OFF);
    for (unsigned i = 0; i < 3; i++)
        scene_connect_client(i, "program", 0);
    for (unsigned i = 0; i < 3; i++) { /* all opened GPU 0 first: its cluster is theirs */
        scene_job(i, JOB_SAID, 0);
        scene_place(i);
    }
    ck_assert_int_eq(scene_placed(0), 0);
    ck_assert_int_eq(scene_placed(1), -1);
    scene_job(0, JOB_GPU_OVER, 0); /* it goes on without a GPU */
    ck_assert_int_eq(scene_placed(1), 0);
    ck_assert_int_eq(scene_placed(2), -1);
    scene_ask(1, EXECUTION(0));
    ck_assert(scene_has(1, EXECUTION(0)));
    scene_job(1, JOB_ENDS, 0); /* but its kernel still runs */
    ck_assert_int_eq(scene_placed(2), -1);
    scene_give(1, EXECUTION(0), false);
    ck_assert_int_eq(scene_placed(2), 0);
    server_free(scene.server);
}
END_TEST

/* How long the client's only record of this kind lasted; -1: it has none. */
static baton_nsec recorded_of(enum record_kind kind, uint32_t client)
{
    const struct history *history = &scene.server->history;
    baton_nsec length = -1;

    for (uint64_t i = 0; i < history->n_records; i++) {
        const struct trace_record *record = &history->records[i];

        if (record->kind == (uint32_t)kind && record->client == client) {
            ck_assert_int_eq(length, -1);
            ck_assert_uint_eq(record->engine, sched_execution_engine(scene.server->core, 0));
            length = (baton_nsec)record->length;
        }
    }
    return length;
}

static baton_nsec recorded(enum record_kind kind, unsigned peer)
{
    return recorded_of(kind, scene.server->peers[peer]->client);
}

START_TEST(tokens_and_the_waits_for_them_are_recorded)
{
    uint32_t client;

    scene_start(1, 1, OVERRUN_OFF);
    for (unsigned i = 0; i < 2; i++) {
        scene_connect_client(i, "program", 0);
        scene_job(i, JOB_SAID, 0);
        scene_place(i);
    }
    scene_wait_until(NOW + 5 * NSEC_PER_MS);
    scene_job(0, JOB_ENDS, 0);
    ck_assert_int_eq(recorded(RECORD_TOKEN_WAIT, 0), 0);
    ck_assert_int_eq(recorded(RECORD_TOKEN, 0), 5 * NSEC_PER_MS);
    ck_assert_int_eq(recorded(RECORD_TOKEN_WAIT, 1), 5 * NSEC_PER_MS);
    ck_assert_int_eq(recorded(RECORD_TOKEN, 1), -1);
    client = scene.server->peers[1]->client;
    scene_wait_until(NOW + 7 * NSEC_PER_MS);
    (void)server_lost(scene.server, 1, scene.now);
    ck_assert_int_eq(recorded_of(RECORD_TOKEN, client), 2 * NSEC_PER_MS);
    server_free(scene.server);
}
END_TEST

START_TEST(a_waiting_client_that_dies_is_forgotten)
{
    scene_start(1, 1, OVERRUN_OFF);
    for (unsigned i = 0; i < 3; i++) {
        scene_connect_client(i, "program", 0);
        scene_job(i, JOB_SAID, 0);
        scene_place(i);
    }
    (void)server_lost(scene.server, 1, scene.now);
    scene_hear();
    scene_job(0, JOB_ENDS, 0);
    ck_assert_int_eq(scene_placed(2), 0);
    server_free(scene.server);
}
END_TEST

/* ---- several requests of one program ---- */

/*
 * Threads of one program wait for different engines. A lease is not kept while another one of the
 * program waits, also if that one waited before the grant.
 */
START_TEST(every_engine_that_a_program_waits_for_is_granted)
{
    scene_start(1, 1, OVERRUN_OFF);
    scene_connect_client(0, "threads", 0);
    scene_job(0, JOB_INFERRED, 0);
    scene_ask(0, EXECUTION(0));
    scene_ask(0, COPY_IN_OF(0));
    scene_ask(0, COPY_OUT_OF(0));
    ck_assert(scene_has(0, EXECUTION(0)));
    ck_assert(!scene_has(0, COPY_IN_OF(0)) && !scene_has(0, COPY_OUT_OF(0)));
    scene_end(0, EXECUTION(0));
    ck_assert(scene_has(0, COPY_IN_OF(0)) != scene_has(0, COPY_OUT_OF(0)));
    scene_end(0, scene_has(0, COPY_IN_OF(0)) ? COPY_IN_OF(0) : COPY_OUT_OF(0));
    ck_assert(scene_has(0, COPY_IN_OF(0)) != scene_has(0, COPY_OUT_OF(0)));
    server_free(scene.server);
}
END_TEST

/*
 * At a border the holder asks for its engine again. Other engines of the program come first, one
 * after the other, however often the holder asks.
 */
START_TEST(engines_of_a_program_take_turns_at_borders)
{
    scene_start(1, 1, OVERRUN_OFF);
    scene_connect_client(0, "threads", 0);
    scene_job(0, JOB_INFERRED, 0);
    scene_ask(0, EXECUTION(0));
    scene_ask(0, COPY_IN_OF(0));
    scene_ask(0, COPY_OUT_OF(0));
    for (int i = 0; i < 3; i++) {
        unsigned copy = COPY_IN_OF(0);

        ck_assert(scene_has(0, EXECUTION(0)));
        for (int n = 0; n < 2; n++) {
            scene_give(0, n == 0 ? EXECUTION(0) : copy, true);
            copy = scene_has(0, COPY_IN_OF(0)) ? COPY_IN_OF(0) : COPY_OUT_OF(0);
            ck_assert(scene_has(0, copy));
        }
        scene_give(0, copy, true);
    }
    server_free(scene.server);
}
END_TEST

/* The job ends while its request waits for another program: the token goes back all the same. */
START_TEST(a_job_that_ends_before_a_grant_gives_its_token_back)
{
    static const uint32_t ends[] = {JOB_ENDS, JOB_GPU_OVER};

    for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
        scene_start(1, 2, OVERRUN_OFF);
        for (unsigned i = 0; i < 3; i++) {
            scene_connect_client(i, "program", 0);
            scene_job(i, JOB_SAID, 0);
            scene_ask(i, EXECUTION(0));
        }
        ck_assert(scene_has(0, EXECUTION(0)));
        ck_assert_uint_eq(scene.tokens, 2); /* client 1 waits for the engine, client 2 for a token */
        scene_job(1, ends[e], 0);
        scene_end(0, EXECUTION(0));
        ck_assert(scene_has(1, EXECUTION(0)));
        scene_end(1, EXECUTION(0));
        ck_assert_uint_eq(scene.tokens, 3);
        ck_assert(scene_has(2, EXECUTION(0)));
        server_free(scene.server);
    }
}
END_TEST

/*
 * A job that its client infers ends when the program waits for its commands, which a program may
 * never do. Its token goes round all the same; the token of a reported job does not.
 */
START_TEST(the_token_of_a_job_that_never_ends_goes_round)
{
    static const uint32_t kinds[] = {JOB_INFERRED, JOB_ENDS, JOB_SAID}; /* JOB_ENDS: reports nothing */

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        bool keeps = kinds[k] == JOB_SAID;

        scene_start(1, 1, OVERRUN_OFF);
        for (unsigned i = 0; i < 2; i++) {
            scene_connect_client(i, "program", 0);
            if (kinds[k] != JOB_ENDS)
                scene_job(i, kinds[k], 0);
            scene_ask(i, EXECUTION(0));
        }
        scene_end(0, EXECUTION(0)); /* kept, idle */
        ck_assert(!scene_has(1, EXECUTION(0)));
        scene_wait_until(NOW + NSEC_PER_SEC);
        ck_assert(scene_has(1, EXECUTION(0)) != keeps);
        scene_ask(0, COPY_IN_OF(0));
        scene_wait_until(NOW + 2 * NSEC_PER_SEC);
        ck_assert(scene_has(0, COPY_IN_OF(0)) == keeps); /* the other one still computes */
        if (!keeps)
            scene_end(1, EXECUTION(0));
        ck_assert(scene_has(0, COPY_IN_OF(0)));
        server_free(scene.server);
    }
}
END_TEST

/* ---- several GPUs ---- */

/*
 * Another program holds the only token of GPU 1: the kernel there waits, whichever GPUs the first
 * program opened.
 */
START_TEST(every_gpu_of_a_program_is_under_a_token)
{
    scene_start(1, 1, OVERRUN_OFF);
    scene_connect_client(0, "wide", 0);
    scene_connect_client(1, "narrow", 0);
    scene_job(1, JOB_SAID, 0);
    scene_ask(1, EXECUTION(1));
    ck_assert(scene_has(1, EXECUTION(1)));
    scene_job(0, JOB_SAID, 0);
    scene_ask(0, EXECUTION(0));
    ck_assert(scene_has(0, EXECUTION(0)));
    scene_ask(0, EXECUTION(1));
    ck_assert(!scene_has(0, EXECUTION(1)));
    scene_give(0, EXECUTION(0), false);
    ck_assert(!scene_has(0, EXECUTION(1)));
    scene_give(1, EXECUTION(1), false);
    ck_assert(!scene_has(0, EXECUTION(1))); /* the token is the job's until it ends */
    scene_job(1, JOB_ENDS, 0);
    ck_assert(scene_has(0, EXECUTION(1)));
    ck_assert_uint_eq(scene.token_gpu[0], 1);
    server_free(scene.server);
}
END_TEST

/*
 * State that follows a job holds the copy engines of both GPUs (E3): a copy into the job's GPU
 * waits for it.
 */
START_TEST(a_copy_from_another_gpu_holds_both_copy_engines)
{
    unsigned own, other;

    scene_start(2, 1, OVERRUN_OFF);
    scene_connect_client(0, "mover", 0);
    scene_job(0, JOB_SAID, 0);
    scene_place(0);
    own = (unsigned)scene_placed(0);
    other = own ^ 1;
    scene_ask(0, COPY_OUT_OF(other));
    ck_assert(scene_has(0, COPY_OUT_OF(other)));
    ck_assert(!server_engine_free(scene.server, own ? "gpu:1" : "gpu:0", ENGINE_COPY_IN));
    ck_assert(!server_engine_free(scene.server, other ? "gpu:1" : "gpu:0", ENGINE_COPY_OUT));
    scene_give(0, COPY_OUT_OF(other), false);
    ck_assert(server_engine_free(scene.server, own ? "gpu:1" : "gpu:0", ENGINE_COPY_IN));
    ck_assert_uint_eq(scene.tokens, 1);
    server_free(scene.server);
}
END_TEST

/*
 * The ways that data takes, and the migrations whose analysis counts them: copies from GPU to GPU
 * only `p2p` and `ondemand`, copies from the host all but `p2p`.
 */
START_TEST(data_on_a_way_that_no_analysis_counts_ends_the_claim)
{
    static const struct {
        enum migration migration;
        bool between, from_host; /* does this way end the claim? */
    } ways[] = {{MIGRATION_NONE, true, false},
                {MIGRATION_SYSTEM, true, false},
                {MIGRATION_P2P, false, true},
                {MIGRATION_ON_DEMAND, false, false}};

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        for (int host = 0; host < 2; host++) {
            scene_start(2, 1, OVERRUN_OFF);
            scene.server->config.migration = ways[i].migration;
            scene_connect_client(0, "mover", 0);
            scene_job(0, JOB_SAID, 0);
            scene_say(0, (struct frame){.type = FRAME_MOVED,
                                        .moved = {.from = host ? FRAME_NO_LEASE : EXECUTION(0),
                                                  .to = EXECUTION(1),
                                                  .bytes = 1 << 20,
                                                  .length = 1000}});
            ck_assert_int_eq(scene.server->peers[0]->strayed, host ? ways[i].from_host : ways[i].between);
            server_free(scene.server);
        }
    }
}
END_TEST

/* The same for the engines that are asked for, whatever the client reports. */
START_TEST(a_copy_engine_of_another_gpu_is_for_migrations_between_gpus)
{
    for (int m = MIGRATION_NONE; m <= MIGRATION_ON_DEMAND; m++) {
        scene_start(2, 1, OVERRUN_OFF);
        scene.server->config.migration = (enum migration)m;
        scene_connect_client(0, "mover", 0);
        scene_job(0, JOB_SAID, 0);
        scene_place(0);
        scene_ask(0, COPY_OUT_OF((unsigned)scene_placed(0) ^ 1));
        ck_assert_int_eq(scene.server->peers[0]->strayed, m == MIGRATION_NONE || m == MIGRATION_SYSTEM);
        server_free(scene.server);
    }
}
END_TEST

/* ---- budgets: 5 ms of engine time in 20 ms ---- */

static void plan_budget(void)
{
    struct plan_task task = {.name = "greedy",
                             .priority = 50,
                             .gpus = 1,
                             .bound = -1,
                             .period = 20 * NSEC_PER_MS,
                             .deadline = 20 * NSEC_PER_MS,
                             .budget = 5 * NSEC_PER_MS};
    struct plan plan = {.analysis = "gpusync", .profile = "gpusync", .tasks = &task, .n_tasks = 1};

    ck_assert_int_eq(server_set_plan(scene.server, &plan, "plan", scene.now), 0);
}

static void run_past_budget(void)
{
    plan_budget();
    scene_connect_counting(0, "greedy", 20); /* its holds count all the same */
    scene_job(0, JOB_SAID, NOW + 20 * NSEC_PER_MS);
    scene_ask(0, EXECUTION(0));
    ck_assert(scene_has(0, EXECUTION(0)));
    scene_wait_until(NOW + 5 * NSEC_PER_MS);
    ck_assert_uint_eq(scene.overruns, 0);
    scene_wait_until(NOW + 6 * NSEC_PER_MS);
    ck_assert_uint_eq(scene.overruns, 1);
}

/* As CUDA programs do: the lock cannot choose, so the bounds of the cluster do not hold. */
START_TEST(a_program_of_the_plan_that_keeps_its_gpu_is_claimed_only_alone_in_a_cluster)
{
    for (unsigned gpu_cluster = 1; gpu_cluster <= 2; gpu_cluster++) {
        scene_start(gpu_cluster, 1, OVERRUN_OFF);
        plan_budget();
        scene_connect_client(0, "greedy", 20);
        scene_job(0, JOB_SAID, NOW + 20 * NSEC_PER_MS);
        scene_ask(0, EXECUTION(0));
        ck_assert(scene_has(0, EXECUTION(0)));
        ck_assert_int_eq(scene.server->peers[0]->strayed, gpu_cluster > 1);
        server_free(scene.server);
    }
}
END_TEST

/*
 * A request for a token that excludes a GPU of the planned cluster, or names another cluster's: the
 * analysis lets the lock choose among all GPUs of the cluster, and no others.
 */
START_TEST(a_job_that_may_use_other_gpus_than_its_cluster_ends_the_claim)
{
    static const struct {
        unsigned gpu_cluster;
        uint32_t gpus;
        bool strays;
    } cases[] = {{4, 0xf, false}, {4, 0x7, true}, {4, 0x8, true}, {2, 0x3, false},
                 {2, 0xf, false}, {2, 0xc, true}, {2, 0x6, true}, {1, 0xf, false}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scene_start(cases[i].gpu_cluster, 1, OVERRUN_OFF);
        plan_budget();
        scene_connect_client(0, "greedy", 20);
        scene_connect_client(1, "outsider", 20);
        for (unsigned peer = 0; peer < 2; peer++) {
            scene_job(peer, JOB_SAID, NOW + 20 * NSEC_PER_MS);
            scene_place_on(peer, cases[i].gpus);
        }
        ck_assert_int_eq(scene.server->peers[0]->strayed, cases[i].strays);
        ck_assert(!scene.server->peers[1]->strayed);
        server_free(scene.server);
    }
}
END_TEST

START_TEST(a_job_past_its_budget_is_demoted)
{
    scene_start(1, 1, OVERRUN_DEMOTE);
    run_past_budget();
    scene_connect_client(1, "first", 0);
    scene_connect_client(2, "second", 0);
    ck_assert_int_eq(scene.ended, -1);
    ck_assert(!scene_is_asked_to_yield(0, EXECUTION(0)));
    scene_ask(1, EXECUTION(0)); /* waits for the token that the demoted job has: it is never taken by force */
    ck_assert(!scene_has(1, EXECUTION(0)));
    scene_give(0, EXECUTION(0), false);
    scene_job(0, JOB_ENDS, 0);
    ck_assert(scene_has(1, EXECUTION(0)));
    server_free(scene.server);
}
END_TEST

START_TEST(a_throttled_job_goes_on_with_its_next_period)
{
    scene_start(1, 1, OVERRUN_THROTTLE);
    run_past_budget();
    scene_connect_client(1, "other", 0);
    ck_assert(scene_is_asked_to_yield(0, EXECUTION(0)));
    scene_give(0, EXECUTION(0), true); /* at its border; more is to come */
    ck_assert(!scene_has(0, EXECUTION(0)));
    scene_job(1, JOB_SAID, 0);
    scene_ask(1, EXECUTION(0)); /* meanwhile the token is free */
    ck_assert(scene_has(1, EXECUTION(0)));
    scene_give(1, EXECUTION(0), false);
    scene_job(1, JOB_ENDS, 0);
    scene_wait_until(NOW + 19 * NSEC_PER_MS);
    ck_assert(!scene_has(0, EXECUTION(0)));
    scene_wait_until(NOW + 20 * NSEC_PER_MS);
    ck_assert(scene_has(0, EXECUTION(0)));
    scene_wait_until(NOW + 24 * NSEC_PER_MS); /* 4 ms of the next 5 */
    ck_assert_uint_eq(scene.overruns, 1);
    scene_wait_until(NOW + 26 * NSEC_PER_MS);
    ck_assert_uint_eq(scene.overruns, 2);
    server_free(scene.server);
}
END_TEST

/*
 * Its process is ended; the kernel of the other program waits until the GPU has drained, and
 * nothing of it is lost.
 */
START_TEST(an_ended_job_gives_its_gpu_back_when_it_has_drained)
{
    scene_start(1, 1, OVERRUN_END);
    run_past_budget();
    scene_connect_client(1, "other", 0);
    ck_assert_int_eq(scene.ended, 0);
    scene_job(1, JOB_SAID, 0);
    scene_ask(1, EXECUTION(0));
    (void)server_lost(scene.server, 0, scene.now);
    scene_hear();
    ck_assert(!scene_has(1, EXECUTION(0)));
    server_exited(scene.server, 0, scene.now);
    scene_hear();
    ck_assert(scene_has(1, EXECUTION(0)));
    server_free(scene.server);
}
END_TEST

/* Its first commands upload more than a job of the plan may. */
START_TEST(a_program_is_not_ended_for_its_start_up)
{
    for (unsigned inferred = 0; inferred < 2; inferred++) {
        scene_start(1, 1, OVERRUN_END);
        plan_budget();
        scene_connect_client(0, "greedy", 20);
        if (inferred)
            scene_job(0, JOB_INFERRED, NOW + 20 * NSEC_PER_MS);
        scene_ask(0, EXECUTION(0));
        scene_wait_until(NOW + 6 * NSEC_PER_MS);
        ck_assert_uint_eq(scene.overruns, 1);
        ck_assert_int_eq(scene.ended, -1);
        ck_assert(scene_is_asked_to_yield(0, EXECUTION(0)));
        scene_give(0, EXECUTION(0), true);
        ck_assert(!scene_has(0, EXECUTION(0)));
        scene_wait_until(NOW + 20 * NSEC_PER_MS);
        ck_assert(scene_has(0, EXECUTION(0)));
        server_free(scene.server);
    }
}
END_TEST

HARNESS_MAIN("lanes", 30, a_job_is_told_its_gpu_with_its_token, a_job_without_a_token_waits_for_the_answer,
             tokens_and_the_waits_for_them_are_recorded, a_waiting_client_that_dies_is_forgotten,
             every_engine_that_a_program_waits_for_is_granted, engines_of_a_program_take_turns_at_borders,
             a_job_that_ends_before_a_grant_gives_its_token_back,
             the_token_of_a_job_that_never_ends_goes_round, every_gpu_of_a_program_is_under_a_token,
             a_copy_from_another_gpu_holds_both_copy_engines,
             data_on_a_way_that_no_analysis_counts_ends_the_claim,
             a_copy_engine_of_another_gpu_is_for_migrations_between_gpus,
             a_program_of_the_plan_that_keeps_its_gpu_is_claimed_only_alone_in_a_cluster,
             a_job_that_may_use_other_gpus_than_its_cluster_ends_the_claim, a_job_past_its_budget_is_demoted,
             a_throttled_job_goes_on_with_its_next_period,
             an_ended_job_gives_its_gpu_back_when_it_has_drained, a_program_is_not_ended_for_its_start_up)
