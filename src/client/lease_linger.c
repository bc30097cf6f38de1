/*
 * A lingering hold is BUSY although no thread uses it. Why this is safe:
 *
 * - `lingers` is set by the thread that ends the hold. It is cleared, once, by the thread that
 *   begins the hold again or gives it back. Both happen under the session's lock.
 * - The hold ends by the session's alarm, which is set under the same lock, at most LINGER_MOST
 *   after it began to linger.
 * - A client arrives that is no less urgent: the daemon flags the word and, as requested, sends a
 *   frame. The session's thread gives the lease back.
 * - The connection is lost: the word moves to the private page as BUSY and flagged. So the next
 *   user ends the hold, or else the alarm does. A new daemon is told that the lease is busy, and
 *   the flags, which are set from the beginning, end the hold.
 * - A group of the same process ends the hold first.
 */
#include <sys/timerfd.h>

#include "base/clock.h"
#include "client/lease_private.h"

static bool called(const struct lease *lease)
{
    return (atomic_load(lease_word_of(lease)) & (LEASE_FLAG_TURN | LEASE_FLAG_YIELD)) != 0;
}

static void set_alarm(const struct session *session)
{
    baton_nsec at = 0;
    struct itimerspec alarm = {0};

    for (unsigned i = 0; i < session->protocol.n_leases; i++) {
        const struct lease *lease = &session->leases[i];

        if (atomic_load(&lease->lingers) && (!at || lease->lingers_until < at))
            at = lease->lingers_until;
    }
    alarm.it_value = (struct timespec){at / NSEC_PER_SEC, at % NSEC_PER_SEC};
    (void)timerfd_settime(session->alarm, TFD_TIMER_ABSTIME, &alarm, NULL);
}

/* Under the lock: the lingering hold becomes the caller's, to use or to end. */
static void take_lingering(struct lease *lease)
{
    atomic_store(&lease->lingers, false);
    if (!lease->was_told)
        protocol_tell(&lease->session->protocol, lease->index, PAGE_TELL_YIELD, false);
    set_alarm(lease->session);
}

void lease_linger_end(struct lease *lease)
{
    if (!atomic_load(&lease->lingers))
        return;
    take_lingering(lease);
    protocol_end(&lease->session->protocol, lease->index);
}

bool lease_linger_begin(struct lease *lease, enum engine_kind last)
{
    struct protocol *protocol = &lease->session->protocol;
    baton_nsec now_at = clock_now();
    baton_nsec wish;

    linger_grow(&lease->linger_credit, now_at, atomic_exchange(&lease->worked, 0));
    if (!(protocol->plan.flags & PLAN_LINGER) || lease->session->never_lingers ||
        !atomic_load(&protocol->leases[lease->index].shared) || lease_grouped(lease) || called(lease)) {
        linger_left(&lease->linger[last], now_at);
        return false;
    }
    wish = linger_for(&lease->linger[last], &lease->linger_credit, now_at);
    if (!wish)
        return false;
    lease->lingers_until = now_at + wish;
    lease->was_told = (atomic_load(&protocol->leases[lease->index].tell) & PAGE_TELL_YIELD) != 0;
    atomic_store(&lease->lingers, true);
    set_alarm(lease->session);
    /*
     * As in lease_arm_reaper(): the daemon flags the word, then reads `tell`; the client sets
     * `tell`, then reads the flags.
     */
    protocol_tell(protocol, lease->index, PAGE_TELL_YIELD, true);
    if (called(lease))
        lease_linger_end(lease);
    return true;
}

void lease_linger_back(struct lease *lease)
{
    baton_nsec now_at = clock_now();

    for (int kind = 0; kind < ENGINE_N; kind++)
        linger_back(&lease->linger[kind], &lease->linger_credit, now_at);
}

bool lease_linger_resume(struct lease *lease)
{
    if (!atomic_load(&lease->lingers))
        return false;
    if (called(lease)) {
        lease_linger_end(lease);
        return false;
    }
    lease_linger_back(lease);
    take_lingering(lease);
    return true;
}

void lease_linger_due(struct session *session)
{
    baton_nsec now_at = clock_now();

    pthread_mutex_lock(&session->lock);
    for (unsigned i = 0; i < session->protocol.n_leases; i++) {
        struct lease *lease = &session->leases[i];

        if (lease->lingers_until <= now_at)
            lease_linger_end(lease);
    }
    session_flush(session);
    pthread_mutex_unlock(&session->lock);
}

bool lease_linger_called(struct lease *lease)
{
    struct session *session = lease->session;
    bool lingers;

    pthread_mutex_lock(&session->lock);
    lingers = atomic_load(&lease->lingers);
    if (called(lease))
        lease_linger_end(lease);
    session_flush(session);
    pthread_mutex_unlock(&session->lock);
    return lingers;
}
