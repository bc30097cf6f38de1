/* Several leases of one session as one hold. */
#include "base/clock.h"
#include "client/lease_private.h"

void lease_group_add(struct lease_group *group, const struct lease *lease)
{
    group->session = lease->session;
    group->leases |= UINT32_C(1) << lease->index;
}

/* Those whose holders compute while the driver works, and whom only the reaper brings to an end. */
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

/* Under the lock: the leases that members of the group ride on, asked back. Nothing lingers any more. */
static uint32_t want_riders_back(struct session *session, uint32_t leases)
{
    uint32_t ridden_on = 0;

    for (; leases; leases &= leases - 1) {
        struct lease *lease = &session->leases[__builtin_ctz(leases)];

        lease_linger_end(lease);
        if (lease->other)
            lease_linger_end(lease->other);
        if (!lease_rides(lease))
            continue;
        lease_want_back(lease->other);
        ridden_on |= UINT32_C(1) << lease->other->index;
    }
    return ridden_on;
}

int lease_group_request(const struct lease_group *group)
{
    struct session *session = group->session;
    uint32_t ridden_on;
    unsigned waiting;
    int answer;

    if (session_forked(session))
        return LEASE_BEGUN;
    pthread_mutex_lock(&session->lock);
    ridden_on = want_riders_back(session, group->leases);
    answer = ridden_on ? LEASE_TAKEN : protocol_group_request(&session->protocol, group->leases);
    if (answer == LEASE_BEGUN)
        (void)protocol_group_granted(&session->protocol, group->leases, &waiting);
    session_flush(session);
    pthread_mutex_unlock(&session->lock);
    if (answer == LEASE_TAKEN)
        call_reaper(session, group->leases | ridden_on); /* delivered for those that are flagged */
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
            /* Looked at after the word was read, so that the sleep cannot miss its grant. */
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

    if (session_forked(session))
        return;
    pthread_mutex_lock(&session->lock);
    kept = protocol_group_end(&session->protocol, group->leases);
    session_flush(session);
    pthread_mutex_unlock(&session->lock);
    call_reaper(session, kept);
}
