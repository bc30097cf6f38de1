/*
 * Bounds and the cores of a scripted machine: a partition that is not there, cores that go,
 * programs that may run elsewhere.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "claims_world.h"
#include "daemon/peer.h"
#include "harness.h"

#define POCL "portable-computing-language:0"

/* Devices are cores: 2 and 3 are set apart for one of them, programs have 0 and 1. */
static struct config partitioned(void)
{
    struct config config = claims_plain_config();

    claims_world.cores = (struct machine){claims_cores("0-3"), claims_cores("0-1"), claims_cores("2-3")};
    config.partitioned = true;
    config.device_cores = claims_cores("2-3");
    config.program_cores = claims_cores("0-1");
    return config;
}

static struct server *start_pocl(const struct config *config)
{
    struct server *server = claims_start(config);
    struct plan plan = claims_good_plan();
    char *text = claims_text(&plan);

    ck_assert_int_eq(server_add_device(server, POCL, "a core"), 0);
    claims_give(server, text);
    free(text);
    return server;
}

START_TEST(cores_that_do_not_exist_are_no_partition)
{
    static const char yaml[] = "partition: {devices: [0], programs: [99]}\n";
    struct config config = partitioned();
    struct input_error error;
    struct server *server = start_pocl(&config);
    struct frame frame;

    ck_assert_int_eq(claims_rule(server), RULE_MET);
    server_free(server);
    ck_assert_int_eq(config_read(&config, "c", yaml, sizeof yaml - 1, &error), 0);
    claims_world.cores =
        (struct machine){claims_cores("0-1"), claims_cores("0-1"), claims_cores("")}; /* two cores */
    server = start_pocl(&config);
    claims_expect_unclaimed(server, "partition.programs", "");
    ck_assert(claims_differs(server, "partition.programs", "", &frame));
    ck_assert_str_eq(frame.about_difference.planned, "core 99");
    ck_assert_str_eq(frame.about_difference.found, "not online");
    ck_assert(claims_differs(server, "partition.devices", "", &frame));
    ck_assert_ptr_nonnull(strstr(frame.about_difference.found, "not isolated"));
    server_free(server);
}
END_TEST

START_TEST(a_partition_is_compared_without_a_plan)
{
    static const char yaml[] = "partition: {devices: [0], programs: [99]}\n";
    struct config config = partitioned();
    struct input_error error;
    struct server *server;
    struct frame frame;

    ck_assert_int_eq(config_read(&config, "c", yaml, sizeof yaml - 1, &error), 0);
    claims_world.cores = (struct machine){claims_cores("0-1"), claims_cores("0-1"), claims_cores("0")};
    server = claims_start(&config);
    server_look(server, NSEC_PER_SEC);
    ck_assert(claims_differs(server, "partition.programs", "", &frame));
    ck_assert_str_eq(frame.about_difference.found, "not online");
    claims_world.cores.online = claims_cores("0-1,99"); /* the core comes, and batond looks every second */
    claims_world.cores.allowed = claims_cores("0-1,99");
    server_tick(server, 3 * NSEC_PER_SEC);
    ck_assert(!claims_differs(server, "partition.programs", "", &frame));
    server_free(server);
}
END_TEST

/* Linux moves no thread between core 1 and core 2 here: a program may wait beside an idle core. */
START_TEST(cores_of_programs_are_isolated_all_or_none)
{
    static const struct {
        const char *isolated;
        bool claimed;
    } cases[] = {{"2-3", true}, {"0-3", true}, {"1-3", false}, {"0,2-3", false}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config config = partitioned();
        struct server *server = start_pocl(&config);
        struct frame frame;

        claims_world.cores.isolated = claims_cores(cases[i].isolated);
        ck_assert_msg((claims_rule(server) == RULE_MET) == cases[i].claimed, "case %zu", i);
        ck_assert(claims_differs(server, "partition.programs", "", &frame) != cases[i].claimed);
        server_free(server);
    }
}
END_TEST

/*
 * The machine changes while batond runs: noticed by the next look, at the latest a second later,
 * and before a claim is reported.
 */
START_TEST(a_claim_follows_the_machine)
{
    const struct machine good = {claims_cores("0-3"), claims_cores("0-1"), claims_cores("2-3")};
    const struct {
        struct machine machine;
        const char *field;
    } changes[] = {
        {{claims_cores("0-2"), claims_cores("0-1"), claims_cores("2-3")},
         "partition.devices"}, /* a device's core goes offline */
        {{claims_cores("0,2-3"), claims_cores("0-1"), claims_cores("2-3")},
         "partition.programs"}, /* a program's */
        {{claims_cores("0-3"), claims_cores("0"), claims_cores("2-3")},
         "partition.programs"}, /* the cpuset shrinks */
        {{claims_cores("0-3"), claims_cores("0-1"), claims_cores("3")},
         "partition.devices"}, /* no longer isolated */
    };
    struct config config = partitioned();
    struct server *server = start_pocl(&config);

    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        baton_nsec before_at = claims_world.now_at;

        ck_assert_int_eq(claims_rule(server), RULE_MET);
        claims_world.cores = changes[i].machine;
        claims_world.logged[0] = 0;
        claims_expect_unclaimed(server, changes[i].field, ""); /* asked: looked at before it is answered */
        claims_world.cores = good;
        ck_assert_int_eq(claims_rule(server), RULE_MET);
        claims_world.cores = changes[i].machine;
        claims_world.logged[0] = 0;
        while (!strstr(claims_world.logged, changes[i].field) &&
               claims_world.now_at < before_at + 10 * NSEC_PER_SEC) {
            claims_world.now_at = server_next_at(server); /* without a question */
            server_tick(server, claims_world.now_at);
        }
        ck_assert_msg(strstr(claims_world.logged, changes[i].field), "%s was not noticed", changes[i].field);
        claims_world.cores = good;
        ck_assert_int_eq(claims_rule(server), RULE_MET);
        ck_assert_ptr_nonnull(strstr(claims_world.logged, "agrees\n"));
    }
    server_free(server);
}
END_TEST

START_TEST(devices_that_are_cores_have_a_core_each)
{
    struct config config = partitioned();
    struct plan plan = claims_good_plan();
    struct server *server;
    char *text;

    config.device_cores = claims_cores("2");
    server = claims_start(&config);
    plan_basis_set(&plan.basis, BASIS_GPUS, "2");
    plan_basis_set(&plan.basis, BASIS_GPU_CLUSTER, "2");
    text = claims_text(&plan);
    ck_assert_int_eq(server_add_device(server, POCL, "a core"), 0);
    ck_assert_int_eq(server_add_device(server, "portable-computing-language:1", "a core"), 0);
    claims_give(server, text);
    claims_expect_unclaimed(server, "partition.devices", "");
    free(text);
    server_free(server);
}
END_TEST

START_TEST(a_program_has_its_period_and_the_cores_of_the_programs)
{
    static const struct {
        baton_nsec period;
        const char *cores;
        enum model_rule rule;
    } cases[] = {{PERIOD, "0-1", RULE_MET}, {PERIOD + 1, "0-1", RULE_MET}, {PERIOD - 1, "0-1", RULE_PERIOD},
                 {0, "0-1", RULE_PERIOD},   {PERIOD, "0", RULE_AFFINITY},  {PERIOD, "0-2", RULE_AFFINITY}};
    struct config config = partitioned();

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct server *server = start_pocl(&config);

        claims_world.of_program = claims_cores(cases[i].cores);
        (void)claims_join(server, "eye", HELLO_TASK, cases[i].period);
        ck_assert_int_eq(claims_rule(server), cases[i].rule);
        server_free(server);
    }
}
END_TEST

/* A device that is a core works in threads of the program that uses it. */
START_TEST(threads_of_devices_are_on_the_cores_of_devices)
{
    struct frame attach = {.type = FRAME_ATTACH, .attach = {.engine = ENGINE_EXECUTION, .epoch = 1}};
    struct config config = partitioned();
    struct server *server = start_pocl(&config);
    unsigned eye = claims_join(server, "eye", HELLO_TASK, PERIOD);

    memcpy(attach.attach.device, POCL, sizeof POCL);
    claims_world.device_threads = 0;
    ck_assert_int_eq(claims_rule(server), RULE_MET); /* it uses no device yet */
    claims_say(server, eye, &attach);
    ck_assert_int_eq(claims_rule(server), RULE_AFFINITY);
    claims_world.device_threads = 1;
    ck_assert_int_ne(claims_rule(server), RULE_AFFINITY);
    server_free(server);
}
END_TEST

START_TEST(settings_that_go_before_the_plan_take_the_claim_away)
{
    struct config config = partitioned();
    struct server *server = start_pocl(&config);

    (void)claims_join(server, "eye", HELLO_TASK | HELLO_OWN, PERIOD);
    ck_assert_int_eq(claims_rule(server), RULE_OWN);
    server_free(server);
}
END_TEST

/*
 * eye (20) and ear (10) on one core, and on two. A program without a real-time priority shares its
 * core with all other programs of the machine.
 */
START_TEST(the_programs_of_a_plan_need_an_order_on_the_cpus)
{
    static const struct {
        const char *cores;
        int eye, ear;
        enum model_rule rule;
    } cases[] = {{"0", 20, 10, RULE_MET},   {"0", 10, 20, RULE_ORDER},   {"0", 15, 15, RULE_ORDER},
                 {"0", 0, 0, RULE_ORDER},   {"0-1", 0, 0, RULE_ORDER},   {"0-1", 15, 15, RULE_MET},
                 {"0-1", 20, 10, RULE_MET}, {"0-1", 10, 20, RULE_ORDER}, {"0-1", 0, 1, RULE_ORDER},
                 {"0-1", 1, 1, RULE_MET},   {"0-1", 1, 0, RULE_ORDER},   {"0", 2, 0, RULE_ORDER}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config config = claims_plain_config();
        struct plan plan = claims_good_plan();
        struct server *server;
        unsigned cpus;
        char *text;

        claims_world.cores.online = claims_world.of_program = claims_cores(cases[i].cores);
        cpus = core_set_count(&claims_world.of_program);
        claims_world.ranks[0] = cases[i].eye;
        claims_world.ranks[1] = cases[i].ear;
        plan_basis_set_count(&plan.basis, BASIS_CPUS, cpus);
        plan_basis_set_count(&plan.basis, BASIS_CPU_CLUSTER, cpus);
        text = claims_text(&plan);
        server = claims_start(&config);
        ck_assert_int_eq(server_add_device(server, GPU, "a GPU"), 0);
        claims_give(server, text);
        (void)claims_join(server, "eye", HELLO_TASK, PERIOD);
        (void)claims_join(server, "ear", HELLO_TASK, PERIOD);
        ck_assert_msg(claims_rule(server) == cases[i].rule, "case %zu", i);
        free(text);
        server_free(server);
    }
}
END_TEST

/*
 * eye (20) and ear (10) on one core. Each has named one thread, which works for its jobs. ear's
 * main thread is not real-time; it works for ear's jobs only when the named thread has ended.
 */
START_TEST(each_thread_that_a_program_names_counts)
{
    static const struct {
        int eye, ear;
        const char *cores;
        enum model_rule rule;
    } cases[] = {{20, 10, "0", RULE_MET},      {11, 0, "0", RULE_ORDER},     {10, 10, "0", RULE_ORDER},
                 {0, 10, "0", RULE_ORDER},     {20, 20, "0", RULE_ORDER},    {-ESRCH, 10, "0", RULE_MET},
                 {20, 10, "1", RULE_AFFINITY}, {20, -ESRCH, "0", RULE_ORDER}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config config = claims_plain_config();
        struct plan plan = claims_good_plan();
        struct server *server;
        char *text;

        claims_world.cores.online = claims_world.of_program = claims_cores("0");
        claims_world.of_thread = claims_cores(cases[i].cores);
        claims_world.ranks[0] = 20;
        claims_world.ranks[1] = 0;
        claims_world.thread_ranks[1] = cases[i].eye;
        claims_world.thread_ranks[2] = cases[i].ear;
        plan_basis_set_count(&plan.basis, BASIS_CPUS, 1);
        plan_basis_set_count(&plan.basis, BASIS_CPU_CLUSTER, 1);
        text = claims_text(&plan);
        server = claims_start(&config);
        ck_assert_int_eq(server_add_device(server, GPU, "a GPU"), 0);
        claims_give(server, text);
        claims_names_thread(server, claims_join(server, "eye", HELLO_TASK, PERIOD), 1);
        claims_names_thread(server, claims_join(server, "ear", HELLO_TASK, PERIOD), 2);
        ck_assert_msg(claims_rule(server) == cases[i].rule, "case %zu", i);
        free(text);
        server_free(server);
    }
}
END_TEST

/* The threads that ear has named before have ended. */
START_TEST(a_thread_counts_however_many_have_ended)
{
    for (int urgent = 0; urgent < 2; urgent++) {
        struct config config = claims_plain_config();
        struct plan plan = claims_good_plan();
        struct server *server;
        unsigned ear;
        char *text = claims_text(&plan);

        server = claims_start(&config);
        claims_world.ranks[0] = 20;
        claims_world.ranks[1] = 10;
        claims_world.thread_ranks[1] = urgent ? 30 : 10;
        ck_assert_int_eq(server_add_device(server, GPU, "a GPU"), 0);
        claims_give(server, text);
        (void)claims_join(server, "eye", HELLO_TASK, PERIOD);
        ear = claims_join(server, "ear", HELLO_TASK, PERIOD);
        for (uint32_t tid = 100; tid < 100 + 2 * PEER_MAX_THREADS; tid++)
            claims_names_thread(server, ear, tid);
        claims_names_thread(server, ear, 1);
        ck_assert_int_eq(claims_rule(server), urgent ? RULE_ORDER : RULE_MET);
        free(text);
        server_free(server);
    }
}
END_TEST

START_TEST(lists_of_cores_are_read_as_the_kernel_writes_them)
{
    static const char *const bad[] = {"x", "1-", "-1", "3-1", "1,,2", "1024", "0 1"};
    struct core_set set = claims_cores(" 0-1,4,63-65\n");
    char text[32];

    ck_assert_uint_eq(core_set_count(&set), 6);
    core_set_print(&set, text, sizeof text);
    ck_assert_str_eq(text, "0-1,4,63-65");
    set = claims_cores("\n");
    core_set_print(&set, text, sizeof text);
    ck_assert_str_eq(text, "none");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(core_set_parse(bad[i], &set) < 0, "'%s' was read", bad[i]);
}
END_TEST

HARNESS_MAIN("cores", 30, cores_that_do_not_exist_are_no_partition, a_partition_is_compared_without_a_plan,
             a_claim_follows_the_machine, cores_of_programs_are_isolated_all_or_none,
             devices_that_are_cores_have_a_core_each, a_program_has_its_period_and_the_cores_of_the_programs,
             threads_of_devices_are_on_the_cores_of_devices,
             settings_that_go_before_the_plan_take_the_claim_away,
             the_programs_of_a_plan_need_an_order_on_the_cpus, each_thread_that_a_program_names_counts,
             a_thread_counts_however_many_have_ended, lists_of_cores_are_read_as_the_kernel_writes_them)
