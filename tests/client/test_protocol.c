/*
 * The client's half of the protocol alone: what other threads may still do to a word that the
 * machine has left.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/lease.h"
#include "client/protocol.h"
#include "harness.h"

#define GENERATION 7

struct stage {
    struct protocol protocol;
    struct page *own, *shared;
};

static struct page *new_page(void)
{
    struct page *page = aligned_alloc(64, PAGE_SIZE_BYTES);

    ck_assert_ptr_nonnull(page);
    memset(page, 0, PAGE_SIZE_BYTES);
    return page;
}

static struct page *give_page(void *user, size_t size)
{
    struct stage *stage = user;

    ck_assert_uint_eq(size, PAGE_SIZE_BYTES);
    return stage->shared;
}

static void wake_nobody(void *user, lease_word *word)
{
    (void)user;
    (void)word;
}

/* Welcomed, with one lease whose word is in this state. */
static lease_word *stage_begin(struct stage *stage, enum lease_state state)
{
    struct protocol_host host = {stage, give_page, wake_nobody};
    struct frame_hello hello = {.priority = 50, .name = "test"};
    struct frame welcome = {
        .type = FRAME_WELCOME,
        .welcome = {
            .version = FRAME_VERSION, .generation = GENERATION, .client = 1, .page_size = PAGE_SIZE_BYTES}};
    uint8_t bytes[FRAME_MAX_SIZE];
    unsigned index;

    stage->own = new_page();
    stage->shared = new_page();
    page_init(stage->shared, GENERATION, 1);
    protocol_init(&stage->protocol, &hello, stage->own, &host);
    protocol_connected(&stage->protocol);
    ck_assert_int_eq(protocol_receive(&stage->protocol, bytes, frame_encode(&welcome, bytes)), 0);
    ck_assert_int_eq(protocol_attach(&stage->protocol, "test:0", 0, &index), 0);
    ck_assert_uint_eq(index, 0);
    atomic_store(stage->protocol.leases[0].word, lease_word_make(state, 0, GENERATION, 0));
    return stage->protocol.leases[0].word;
}

/* By the next daemon. */
static void welcome_again(struct stage *stage)
{
    struct frame welcome = {.type = FRAME_WELCOME,
                            .welcome = {.version = FRAME_VERSION,
                                        .generation = GENERATION + 1,
                                        .client = 1,
                                        .page_size = PAGE_SIZE_BYTES}};
    uint8_t bytes[FRAME_MAX_SIZE];

    protocol_connected(&stage->protocol);
    ck_assert_int_eq(protocol_receive(&stage->protocol, bytes, frame_encode(&welcome, bytes)), 0);
}

static void hear(struct stage *stage, const struct frame *frame, int expected)
{
    uint8_t bytes[FRAME_MAX_SIZE];

    ck_assert_int_eq(protocol_receive(&stage->protocol, bytes, frame_encode(frame, bytes)), expected);
}

static void stage_end(struct stage *stage)
{
    free(stage->own);
    free(stage->shared);
}

START_TEST(a_thread_that_looked_before_the_loss_cannot_begin_after_it)
{
    static struct stage stage;
    lease_word *old = stage_begin(&stage, LEASE_STATE_IDLE);
    uint64_t seen;

    protocol_lost(&stage.protocol);
    ck_assert(!lease_word_begin(old, &seen));
    ck_assert_ptr_ne(stage.protocol.leases[0].word, old);
    ck_assert(lease_word_begin(stage.protocol.leases[0].word, &seen));
    stage_end(&stage);
}
END_TEST

START_TEST(a_thread_that_looked_before_the_loss_cannot_end_quietly_after_it)
{
    static struct stage stage;
    lease_word *old = stage_begin(&stage, LEASE_STATE_BUSY);
    uint64_t seen;

    protocol_lost(&stage.protocol);
    ck_assert(!lease_word_keep(old));
    ck_assert(!lease_word_begin(stage.protocol.leases[0].word, &seen)); /* carried over */
    protocol_end(&stage.protocol, 0);
    ck_assert_int_eq(lease_word_state(atomic_load(old)), LEASE_STATE_NONE); /* given up there too */
    ck_assert(lease_word_begin(stage.protocol.leases[0].word, &seen));
    stage_end(&stage);
}
END_TEST

/* A futex compares the low half of the word with what the sleeper saw. */
START_TEST(a_thread_that_looked_before_the_loss_cannot_fall_asleep_after_it)
{
    static struct stage stage;
    lease_word *old = stage_begin(&stage, LEASE_STATE_NONE);
    uint64_t seen;

    ck_assert_int_eq(protocol_request(&stage.protocol, 0), LEASE_ASK);
    seen = atomic_load(old);
    protocol_lost(&stage.protocol);
    ck_assert_uint_ne((uint32_t)atomic_load(old), (uint32_t)seen);
    ck_assert_int_eq(lease_word_state(atomic_load(old)),
                     LEASE_STATE_NONE); /* as far as the old daemon can see */
    ck_assert(protocol_granted(&stage.protocol, 0));
    stage_end(&stage);
}
END_TEST

/* Flagged by ourselves in both moves, so the daemons have nothing to tell. */
START_TEST(whoever_keeps_a_command_in_flight_is_called_when_its_hold_moves)
{
    static struct stage stage;
    struct protocol_event event;

    (void)stage_begin(&stage, LEASE_STATE_BUSY);
    protocol_tell(&stage.protocol, 0, PAGE_TELL_YIELD, true);
    while (protocol_event(&stage.protocol, &event)) {
    }
    protocol_lost(&stage.protocol);
    ck_assert(protocol_event(&stage.protocol, &event));
    ck_assert_int_eq(event.kind, PROTOCOL_YIELD);
    welcome_again(&stage);
    ck_assert(protocol_event(&stage.protocol, &event));
    ck_assert_int_eq(event.kind, PROTOCOL_YIELD);
    ck_assert_uint_eq(event.lease, 0);
    stage_end(&stage);
}
END_TEST

START_TEST(a_word_of_the_time_without_a_daemon_is_left_when_one_comes)
{
    static struct stage stage;
    lease_word *alone;
    uint64_t seen;

    (void)stage_begin(&stage, LEASE_STATE_IDLE);
    protocol_lost(&stage.protocol);
    alone = stage.protocol.leases[0].word;
    welcome_again(&stage);
    ck_assert(!lease_word_begin(alone, &seen));
    ck_assert(!lease_word_begin(stage.protocol.leases[0].word, &seen)); /* the daemon has granted nothing */
    stage_end(&stage);
}
END_TEST

/*
 * A peer that takes back a lease in use is not batond: the hold goes on, and the session hangs up.
 */
START_TEST(a_hold_whose_word_was_taken_away_goes_on)
{
    struct stage stage;
    lease_word *word = stage_begin(&stage, LEASE_STATE_BUSY);

    atomic_store(word, lease_word_make(LEASE_STATE_NONE, LEASE_FLAG_YIELD, GENERATION, 0));
    ck_assert_int_eq(protocol_yield(&stage.protocol, 0), LEASE_BEGUN);
    ck_assert(stage.protocol.broken);
    protocol_lost(&stage.protocol);
    protocol_end(&stage.protocol, 0);
    ck_assert_int_eq(protocol_request(&stage.protocol, 0), LEASE_BEGUN);
    stage_end(&stage);
}
END_TEST

START_TEST(what_one_daemon_says_about_an_engine_is_not_what_the_next_one_says)
{
    const struct frame managed = {.type = FRAME_MANAGED, .managed = {.index = 0}};
    const struct frame refused = {.type = FRAME_REFUSED, .refused = {.index = 0, .reason = ENOSPC}};
    const struct frame unknown = {.type = FRAME_MANAGED, .managed = {.index = 1}};
    static struct stage stage;
    const struct protocol_lease *lease = &stage.protocol.leases[0];

    (void)stage_begin(&stage, LEASE_STATE_IDLE);
    ck_assert(!lease->answered);
    hear(&stage, &managed, 0);
    ck_assert(lease->answered && lease->refused == 0);
    protocol_lost(&stage.protocol);
    welcome_again(&stage);
    ck_assert(!lease->answered);
    hear(&stage, &refused, 0);
    ck_assert(lease->answered);
    ck_assert_int_eq(lease->refused, -ENOSPC);
    protocol_lost(&stage.protocol);
    ck_assert_int_eq(lease->refused, 0);
    welcome_again(&stage);
    ck_assert(!lease->answered && lease->refused == 0);
    hear(&stage, &unknown, -EPROTO);
    stage_end(&stage);
}
END_TEST

HARNESS_MAIN("protocol", 10, a_thread_that_looked_before_the_loss_cannot_begin_after_it,
             a_thread_that_looked_before_the_loss_cannot_end_quietly_after_it,
             a_thread_that_looked_before_the_loss_cannot_fall_asleep_after_it,
             whoever_keeps_a_command_in_flight_is_called_when_its_hold_moves,
             a_word_of_the_time_without_a_daemon_is_left_when_one_comes,
             a_hold_whose_word_was_taken_away_goes_on,
             what_one_daemon_says_about_an_engine_is_not_what_the_next_one_says)
