/* Several leases of one session as one hold. */
#include <time.h>

#include "base/clock.h"
#include "client/lease_private.h"

#define TAKEN_PAUSE (200 * NSEC_PER_US) /* between two attempts to get a used lease */

void lease_group_add(struct lease_group *group, const struct lease *lease)
{
    group->session = lease->session;
    group->leases |= UINT32_C(1) << lease->index;
}

/* The leases whose holders compute while the driver works. Only the reaper ends such holds. */
static uint32_t with_reaper(const struct session *session, uint32_t leases)
{
    uint32_t armed = 0;

    for (; leases; leases &= leases - 1) {
        unsigned index = (unsigned)__builtin_ctz(leases);

        if (atomic_load(&session->protocol.leases[index].tell) & PAGE_TELL_YIELD)
            armed |= UINT32_C(1) << index;
    }
    return armed;
}

static void call_reaper(struct session *session, uint32_t leases)
{
    uint32_t armed = with_reaper(session, leases);

    if (!armed)
        return;
    (void)atomic_fetch_or(&session->local_yields, armed);
    session_wake(session);
}

/* Under the lock: ends the holds of the group that linger. */
static void end_lingering(struct session *session, uint32_t leases)
{
    for (; leases; leases &= leases - 1)
        lease_linger_end(&session->leases[__builtin_ctz(leases)]);
}

int lease_group_request(const struct lease_group *group)
{
    struct session *session = group->session;
    unsigned waiting;
    int answer;

    if (session_forked(session))
        return LEASE_BEGUN;
    pthread_mutex_lock(&session->lock);
    end_lingering(session, group->leases);
    answer = protocol_group_request(&session->protocol, group->leases);
    if (answer == LEASE_BEGUN)
        (void)protocol_group_granted(&session->protocol, group->leases, &waiting);
    session_flush(session);
    pthread_mutex_unlock(&session->lock);
    if (answer == LEASE_TAKEN)
        call_reaper(session, group->leases); /* delivered for the leases that are flagged */
    return answer;
}

int lease_group_wait(const struct lease_group *group, baton_nsec until_at)
{
    struct session *session = group->session;

    if (session_forked(session))
        return LEASE_BEGUN;
    for (;;) {
        lease_word *word = NULL;
        uint64_t seen = 0;
        unsigned waiting = 0;
        unsigned again = 0;
        bool granted;

        pthread_mutex_lock(&session->lock);
        granted = protocol_group_granted(&session->protocol, group->leases, &waiting);
        if (!granted) {
            word = lease_word_of(&session->leases[waiting]);
            seen = atomic_load(word);
            /* Read after the word, so that the sleep cannot miss the grant. */
            granted = protocol_group_granted(&session->protocol, group->leases, &again);
            if (again != waiting)
                word = NULL;
        }
        pthread_mutex_unlock(&session->lock);
        if (granted)
            return LEASE_BEGUN;
        if (until_at != NSEC_MAX && clock_now() >= until_at)
            return LEASE_TIMEOUT;
        if (word)
            lease_sleep(word, seen, until_at);
    }
}

void lease_group_end(const struct lease_group *group)
{
    struct session *session = group->session;
    uint32_t kept;

    if (!session || session_forked(session))
        return;
    pthread_mutex_lock(&session->lock);
    kept = protocol_group_end(&session->protocol, group->leases);
    session_flush(session);
    pthread_mutex_unlock(&session->lock);
    call_reaper(session, kept);
}

/* ---- taking ---- */

static int open_all(struct session *session, const struct lease_group_engine engines[], size_t n,
                    struct lease_group *ret_group)
{
    *ret_group = (struct lease_group){.session = session};
    for (size_t i = 0; i < n; i++) {
        struct lease *lease;
        int result = lease_open(session, engines[i].device, engines[i].engine, &lease);

        if (result == 0 && session_has_tokens(session))
            result = lease_refusal(lease, true);
        if (result) {
            *ret_group = (struct lease_group){0};
            return result;
        }
        lease_group_add(ret_group, lease);
    }
    return 0;
}

int lease_group_take(struct session *session, const struct lease_group_engine engines[], size_t n,
                     struct lease_group *ret_group)
{
    const struct timespec pause = {.tv_nsec = TAKEN_PAUSE};
    int answer;

    *ret_group = (struct lease_group){0};
    if (!session || session_forked(session))
        return LEASE_GROUP_PASSED;
    answer = open_all(session, engines, n, ret_group);
    if (answer)
        return session_online(session) ? answer : LEASE_GROUP_PASSED;
    session_submits(session);
    /*
     * Another thread of this process uses one of the leases. Its command is short, and no message
     * reports its end.
     */
    while ((answer = lease_group_request(ret_group)) == LEASE_TAKEN)
        (void)nanosleep(&pause, NULL);
    if (answer == LEASE_ASK)
        (void)lease_group_wait(ret_group, NSEC_MAX);
    return session_online(session) ? 0 : LEASE_GROUP_PASSED;
}
