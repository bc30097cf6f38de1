/*
 * Which client has a claim to a turn (Q6), as a holder sees it in its lease word, with the real
 * batond and real processes. A holder that always has more to do leaves after a turn if it is asked
 * to; a less urgent client must not be able to ask.
 */
#include <sched.h>

#include "base/clock.h"
#include "fixture.h"
#include "harness.h"

#define DEVICE "test:0"
#define SOON   FIXTURE_LIMIT

static const char config[] = "probe: false\nrealtime: false\n";

struct holder {
    struct fixture fixture;
    struct session *session;
    struct lease *lease; /* execution */
};

static void hold(struct lease *lease)
{
    if (lease_try_begin(lease) == LEASE_BEGUN)
        return;
    ck_assert_int_eq(lease_request(lease), LEASE_ASK);
    ck_assert_int_eq(lease_wait(lease, clock_now() + SOON), LEASE_BEGUN);
}

static struct holder start(int priority, const char *profile)
{
    const char *const extra[] = {"--profile", profile, NULL};
    struct settings settings;
    struct holder holder;

    fixture_start(&holder.fixture, config, extra);
    settings = fixture_settings(&holder.fixture, "holder", priority);
    ck_assert_int_eq(session_open(&settings, NULL, &holder.session), 0);
    ck_assert_int_eq(lease_open(holder.session, DEVICE, ENGINE_EXECUTION, &holder.lease), 0);
    return holder;
}

static void stop(struct holder *holder)
{
    session_close(holder->session);
    fixture_done(&holder->fixture);
}

static bool is_wanted(void *lease)
{
    return lease_wanted(lease);
}

static bool has_turn(void *lease)
{
    return (lease_flags(lease) & LEASE_FLAG_TURN) != 0;
}

START_TEST(a_less_urgent_waiter_has_no_claim_to_a_turn_and_an_equal_has)
{
    struct holder holder = start(50, "priority");
    struct puppet humble = puppet_start(&holder.fixture, "humble", 10, DEVICE);
    struct puppet equal = puppet_start(&holder.fixture, "equal", 50, DEVICE);

    hold(holder.lease);
    puppet_do(&humble, PUPPET_ASK, 'A');
    fixture_wait(is_wanted, holder.lease, "the holder learns that somebody waits");
    ck_assert(!(lease_flags(holder.lease) & LEASE_FLAG_TURN));
    puppet_do(&equal, PUPPET_ASK, 'A');
    fixture_wait(has_turn, holder.lease, "the holder learns that an equal waits");
    ck_assert(!(lease_flags(holder.lease) & LEASE_FLAG_YIELD)); /* not before the end of a command */
    lease_end(holder.lease);
    puppet_do(&equal, PUPPET_WAIT, 'W'); /* the equal, though the other one came first */
    puppet_do(&equal, PUPPET_END, 'E');
    puppet_do(&humble, PUPPET_WAIT, 'W');
    puppet_quit(&equal);
    puppet_quit(&humble);
    stop(&holder);
}
END_TEST

START_TEST(who_is_granted_while_an_equal_waits_knows_it_from_the_beginning)
{
    struct holder holder = start(50, "priority");
    struct puppet first = puppet_start(&holder.fixture, "first", 50, DEVICE);
    struct puppet equal = puppet_start(&holder.fixture, "equal", 50, DEVICE);
    struct puppet humble = puppet_start(&holder.fixture, "humble", 10, DEVICE);

    puppet_do(&first, PUPPET_BEGIN, 'B');
    puppet_do(&humble, PUPPET_ASK, 'A');
    ck_assert_int_eq(lease_request(holder.lease), LEASE_ASK);
    fixture_heard(&holder.fixture);
    puppet_do(&equal, PUPPET_ASK, 'A');
    fixture_heard(&holder.fixture);
    puppet_do(&first, PUPPET_END, 'E');
    ck_assert_int_eq(lease_wait(holder.lease, clock_now() + SOON), LEASE_BEGUN);
    fixture_wait(has_turn, holder.lease, "an equal waited before the grant");
    lease_end(holder.lease);
    puppet_do(&equal, PUPPET_WAIT, 'W');
    ck_assert_int_eq(lease_request(holder.lease), LEASE_ASK); /* behind the equal, before the humble one */
    fixture_heard(&holder.fixture);
    puppet_do(&equal, PUPPET_END, 'E');
    ck_assert_int_eq(lease_wait(holder.lease, clock_now() + SOON), LEASE_BEGUN);
    ck_assert(lease_wanted(holder.lease));
    ck_assert(!(lease_flags(holder.lease) & LEASE_FLAG_TURN)); /* a flag of the hold, gone with it */
    lease_end(holder.lease);
    puppet_do(&humble, PUPPET_WAIT, 'W');
    puppet_quit(&first);
    puppet_quit(&equal);
    puppet_quit(&humble);
    stop(&holder);
}
END_TEST

START_TEST(under_fifo_whoever_waits_has_a_turn)
{
    struct holder holder = start(90, "fifo");
    struct puppet humble = puppet_start(&holder.fixture, "humble", 10, DEVICE);

    hold(holder.lease);
    puppet_do(&humble, PUPPET_ASK, 'A');
    fixture_wait(has_turn, holder.lease, "arrival is the order");
    lease_end(holder.lease);
    puppet_do(&humble, PUPPET_WAIT, 'W');
    puppet_quit(&humble);
    stop(&holder);
}
END_TEST

START_TEST(copies_of_both_directions_of_one_program_take_turns_on_the_bus)
{
    struct holder holder = start(50, "priority");
    struct lease *in, *out;

    ck_assert_int_eq(lease_open(holder.session, DEVICE, ENGINE_COPY_IN, &in), 0);
    ck_assert_int_eq(lease_open(holder.session, DEVICE, ENGINE_COPY_OUT, &out), 0);
    hold(in);
    ck_assert_int_eq(lease_request(out), LEASE_ASK); /* through the daemon: the lease of `in` is busy */
    fixture_wait(has_turn, in, "the other direction waits for the bus");
    lease_end(in);
    ck_assert_int_eq(lease_wait(out, clock_now() + SOON), LEASE_BEGUN);
    ck_assert_int_eq(lease_request(in), LEASE_ASK);
    fixture_wait(has_turn, out, "the first direction waits for the bus");
    lease_end(out);
    ck_assert_int_eq(lease_wait(in, clock_now() + SOON), LEASE_BEGUN);
    ck_assert(!(lease_flags(in) & LEASE_FLAG_TURN));
    lease_end(in);
    hold(out);
    lease_end(out);
    stop(&holder);
}
END_TEST

START_TEST(under_gpusync_a_client_takes_turns_with_itself)
{
    struct holder holder = start(50, "gpusync");
    struct lease *in;

    ck_assert_int_eq(lease_open(holder.session, DEVICE, ENGINE_COPY_IN, &in), 0);
    hold(holder.lease);
    ck_assert(!(lease_flags(holder.lease) & LEASE_FLAG_TURN));
    ck_assert_int_eq(lease_request(in),
                     LEASE_ASK); /* one engine at a time: it waits in the daemon's own queue */
    fixture_wait(has_turn, holder.lease, "another engine of the same client waits");
    lease_end(holder.lease);
    ck_assert_int_eq(lease_wait(in, clock_now() + SOON), LEASE_BEGUN);
    lease_end(in);
    stop(&holder);
}
END_TEST

HARNESS_MAIN("turns", 60, a_less_urgent_waiter_has_no_claim_to_a_turn_and_an_equal_has,
             who_is_granted_while_an_equal_waits_knows_it_from_the_beginning,
             under_fifo_whoever_waits_has_a_turn,
             copies_of_both_directions_of_one_program_take_turns_on_the_bus,
             under_gpusync_a_client_takes_turns_with_itself)
