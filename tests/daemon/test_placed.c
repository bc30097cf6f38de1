/* Plans that assign GPUs: a bound is claimed only while the task's kernels run there. */
#include <stdio.h>
#include <stdlib.h>

#include "claims_world.h"
#include "daemon/peer.h"
#include "harness.h"
#include "wire/lease_word.h"
#include "wire/notice.h"

enum { GPUS = 3 };

static const char *const pci[GPUS] = {"pci:0000:01:00.0", "pci:0000:02:00.0", "pci:0000:03:00.0"};
/* Two devices of this machine's CPU, and a GPU. */
static const char *const pocl[GPUS] = {"portable-computing-language:0", "portable-computing-language:1",
                                       "pci:0000:03:00.0"};

static void say(struct server *server, unsigned peer, const struct frame *frame)
{
    uint8_t bytes[FRAME_MAX_SIZE];

    ck_assert_int_eq(server_receive(server, peer, bytes, frame_encode(frame, bytes), claims_world.now_at), 0);
}

/*
 * Three GPUs, the good plan with this placement for `eye`, and eye itself, with a lease for the
 * execution engine of each GPU.
 */
static struct server *start_on(const char *const names[GPUS], struct placement placement, unsigned gpus,
                               unsigned *ret_peer)
{
    struct config config = claims_plain_config();
    struct server *server = claims_start(&config);
    struct plan plan = claims_good_plan();
    struct plan_task tasks[2] = {claims_tasks[0], claims_tasks[1]};
    struct frame attach = {.type = FRAME_ATTACH};
    char *text;

    for (int i = 0; i < GPUS; i++)
        ck_assert_int_eq(server_add_device(server, names[i], "test"), 0);
    tasks[0].placement = placement;
    tasks[0].gpus = gpus;
    tasks[0].piece = 0;
    plan.tasks = tasks;
    plan_basis_set(&plan.basis, BASIS_GPUS, "3");
    plan_basis_set(&plan.basis, BASIS_GPU_CLUSTER, "3");
    text = claims_text(&plan);
    claims_give(server, text);
    free(text);
    *ret_peer = claims_join(server, "eye", 0, PERIOD);
    for (unsigned i = 0; i < GPUS; i++) {
        attach.attach.index = i;
        (void)snprintf(attach.attach.device, sizeof attach.attach.device, "%s", names[i]);
        say(server, *ret_peer, &attach);
    }
    return server;
}

static struct server *start(struct placement placement, unsigned gpus, unsigned *ret_peer)
{
    return start_on(pci, placement, gpus, ret_peer);
}

START_TEST(no_bound_is_claimed_for_kernels_outside_the_gpus_of_the_plan)
{
    for (unsigned gpu = 0; gpu < GPUS; gpu++) {
        struct frame request = {.type = FRAME_REQUEST, .request = {.index = gpu, .epoch = 1}};
        unsigned peer;
        struct server *server = start((struct placement){PLACEMENT_FIXED, 6}, 2, &peer);

        ck_assert_int_eq(claims_rule(server), RULE_MET);
        say(server, peer, &request);
        ck_assert_int_eq(claims_rule(server), gpu == 0 ? RULE_PLACEMENT : RULE_MET);
        server_free(server);
    }
}
END_TEST

/*
 * The program goes on with such a device as without batond: its work there is under no rule, also
 * when it has ended all its other work.
 */
START_TEST(no_bound_is_claimed_beside_a_device_that_batond_does_not_manage)
{
    static const bool too_many[] = {false, true};

    for (size_t i = 0; i < sizeof too_many / sizeof *too_many; i++) {
        struct frame attach = {.type = FRAME_ATTACH, .attach = {.index = GPUS, .device = "pci:0000:09:00.0"}};
        unsigned peer;
        struct server *server = start((struct placement){PLACEMENT_FIXED, 6}, 2, &peer);

        server->config.declare = too_many[i];
        server->config.devices = GPUS;
        claims_has_a_job(server, peer);
        ck_assert_int_eq(claims_rule(server), RULE_MET);
        say(server, peer, &attach);
        ck_assert_int_eq(claims_rule(server), RULE_PLACEMENT);
        claims_world.now_at += PERIOD;
        claims_has_a_job(server, peer);
        ck_assert_int_eq(claims_rule(server), RULE_PLACEMENT);
        (void)claims_dies(server, peer);
        claims_has_a_job(server, claims_join(server, "eye", 0, PERIOD));
        ck_assert_int_eq(claims_rule(server), RULE_MET);
        server_free(server);
    }
}
END_TEST

/* It has no lease there, and so no ATTACH: it says so in a notice, its first one or its last. */
START_TEST(no_bound_is_claimed_beside_a_device_that_a_program_has_no_lease_for)
{
    for (unsigned earlier = 0; earlier <= PEER_MAX_NOTICES; earlier += PEER_MAX_NOTICES) {
        struct frame notice = {.type = FRAME_NOTICE};
        unsigned peer;
        struct server *server = start((struct placement){PLACEMENT_FIXED, 6}, 2, &peer);

        notice.notice.notice = NOTICE_SMALL;
        for (unsigned i = 0; i < earlier; i++) {
            (void)snprintf(notice.notice.kernel, sizeof notice.notice.kernel, "kernel %u", i);
            say(server, peer, &notice);
        }
        ck_assert_int_eq(claims_rule(server), RULE_MET);
        notice.notice = (struct frame_notice){.notice = NOTICE_UNMANAGED, .detail = "pci:0000:09:00.0"};
        say(server, peer, &notice);
        ck_assert_int_eq(claims_rule(server), RULE_PLACEMENT);
        server_free(server);
    }
}
END_TEST

/*
 * The program opened GPU 0, and its plan gives it GPU 1: its kernels run there, but each job moves
 * data that no task set counts.
 */
START_TEST(no_bound_is_claimed_for_data_outside_the_gpus_of_the_plan)
{
    for (unsigned home = 0; home < GPUS; home++) {
        struct frame place = {.type = FRAME_PLACE, .place = {.number = 1, .n = 1, .leases = 7, .home = home}};
        unsigned peer;
        struct server *server = start((struct placement){PLACEMENT_FIXED, 2}, 1, &peer);

        ck_assert_int_eq(claims_rule(server), RULE_MET);
        say(server, peer, &place);
        ck_assert_int_eq(claims_rule(server), home == 1 ? RULE_MET : RULE_PLACEMENT);
        server_free(server);
    }
}
END_TEST

/*
 * A GPU that is not there, a number that is not that of the list, and `any`, which is more than the
 * run time does.
 */
START_TEST(no_bound_is_claimed_for_placements_that_cannot_be_kept)
{
    static const struct {
        struct placement placement;
        enum model_rule rule;
    } cases[] = {{{PLACEMENT_FIXED, 8}, RULE_BASIS},
                 {{PLACEMENT_FIXED, 3}, RULE_PLACEMENT},
                 {{PLACEMENT_ANY, 0}, RULE_BASIS},
                 {{PLACEMENT_CHOSEN, 0}, RULE_MET},
                 {{PLACEMENT_FIXED, 4}, RULE_MET}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned peer;
        struct server *server = start(cases[i].placement, 1, &peer);

        ck_assert_msg(claims_rule(server) == cases[i].rule, "case %zu", i);
        server_free(server);
    }
}
END_TEST

/*
 * On PoCL (QUIRK_WIDER_ALONE) a piece may wait for a piece of the same task on another device, with
 * its engine held: no analysis counts that.
 */
START_TEST(no_bound_is_claimed_for_tasks_on_several_devices_of_pocl)
{
    static const struct {
        const char *const *devices;
        struct placement placement;
        unsigned gpus;
        uint64_t requested; /* bit i: the program asks for the execution engine of device i */
        bool differs;
    } cases[] = {
        {pocl, {PLACEMENT_FIXED, 3}, 2, 0, true},  /* split over both */
        {pocl, {PLACEMENT_FIXED, 5}, 2, 5, false}, /* over one of them and the GPU */
        {pci, {PLACEMENT_FIXED, 3}, 2, 3, false},
        {pocl, {PLACEMENT_CHOSEN, 0}, 2, 0, true},
        {pocl, {PLACEMENT_CHOSEN, 0}, 1, 0, false},
        {pocl, {PLACEMENT_CHOSEN, 0}, 1, 1, false},
        {pocl, {PLACEMENT_CHOSEN, 0}, 1, 6, false},
        {pocl, {PLACEMENT_CHOSEN, 0}, 1, 3, true}, /* the program uses both by itself */
        {pci, {PLACEMENT_CHOSEN, 0}, 1, 7, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned peer;
        struct server *server = start_on(cases[i].devices, cases[i].placement, cases[i].gpus, &peer);
        struct frame frame;

        for (unsigned gpu = 0; gpu < GPUS; gpu++) {
            struct frame request = {.type = FRAME_REQUEST, .request = {.index = gpu, .epoch = 1}};

            if (cases[i].requested >> gpu & 1)
                say(server, peer, &request);
        }
        ck_assert_msg(claims_differs(server, "gpus", "eye", &frame) == cases[i].differs, "case %zu", i);
        if (cases[i].differs)
            claims_expect_unclaimed(server, "gpus", "eye");
        server_free(server);
    }
}
END_TEST

HARNESS_MAIN("placed", 10, no_bound_is_claimed_for_data_outside_the_gpus_of_the_plan,
             no_bound_is_claimed_for_kernels_outside_the_gpus_of_the_plan,
             no_bound_is_claimed_beside_a_device_that_batond_does_not_manage,
             no_bound_is_claimed_beside_a_device_that_a_program_has_no_lease_for,
             no_bound_is_claimed_for_placements_that_cannot_be_kept,
             no_bound_is_claimed_for_tasks_on_several_devices_of_pocl)
