#include "client/lease.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/session_private.h"

static lease_word *word_of(const struct lease *lease)
{
    return atomic_load_explicit(&lease->session->protocol.leases[lease->index].word, memory_order_acquire);
}

int lease_open(struct session *session, const char *device, enum lease_engine engine,
               struct lease **ret_lease)
{
    unsigned index = 0;
    int result;

    if (session_forked(session))
        return -ECHILD;
    pthread_mutex_lock(&session->lock);
    result = protocol_attach(&session->protocol, device, engine, &index);
    session_flush(session);
    pthread_mutex_unlock(&session->lock);
    if (result == 0)
        *ret_lease = &session->leases[index];
    return result;
}

int lease_try_begin(struct lease *lease)
{
    uint64_t seen;

    if (session_forked(lease->session) || lease_word_begin(word_of(lease), &seen))
        return LEASE_BEGUN;
    return lease_word_state(seen) == LEASE_STATE_BUSY ? LEASE_TAKEN : LEASE_ASK;
}

int lease_request(struct lease *lease, unsigned flags)
{
    struct session *session = lease->session;
    int answer;

    if (session_forked(session))
        return LEASE_BEGUN;
    pthread_mutex_lock(&session->lock);
    answer = protocol_request(&session->protocol, lease->index, flags & LEASE_NOTIFY);
    session_flush(session);
    pthread_mutex_unlock(&session->lock);
    return answer;
}

static void sleep_on(lease_word *word, uint64_t seen, baton_nsec until_at)
{
    struct timespec until = {until_at / NSEC_PER_SEC, until_at % NSEC_PER_SEC};

    (void)syscall(SYS_futex, page_futex(word), FUTEX_WAIT_BITSET, (uint32_t)seen,
                  until_at == NSEC_MAX ? NULL : &until, NULL, FUTEX_BITSET_MATCH_ANY);
}

int lease_wait(struct lease *lease, baton_nsec until_at)
{
    struct session *session = lease->session;

    if (session_forked(session))
        return LEASE_BEGUN;
    for (;;) {
        lease_word *word;
        uint64_t seen;
        bool granted;

        pthread_mutex_lock(&session->lock);
        word = word_of(lease);
        seen = atomic_load(word);
        granted = protocol_granted(&session->protocol, lease->index);
        pthread_mutex_unlock(&session->lock);
        if (granted)
            return LEASE_BEGUN;
        if (until_at != NSEC_MAX && clock_now() >= until_at)
            return LEASE_TIMEOUT;
        sleep_on(word, seen, until_at);
    }
}

bool lease_yield_asked(const struct lease *lease)
{
    return !session_forked(lease->session) &&
           (atomic_load_explicit(word_of(lease), memory_order_relaxed) & LEASE_FLAG_YIELD);
}

bool lease_wanted(const struct lease *lease)
{
    return !session_forked(lease->session) &&
           (atomic_load_explicit(word_of(lease), memory_order_relaxed) & LEASE_FLAGS);
}

int lease_yield(struct lease *lease, unsigned flags)
{
    struct session *session = lease->session;
    int answer;

    if (session_forked(session))
        return LEASE_BEGUN;
    pthread_mutex_lock(&session->lock);
    answer = protocol_yield(&session->protocol, lease->index, flags & LEASE_NOTIFY);
    session_flush(session);
    pthread_mutex_unlock(&session->lock);
    if (answer == LEASE_ASK)
        session_count(session, COUNTER_YIELDS, 1);
    return answer;
}

void lease_end(struct lease *lease)
{
    struct session *session = lease->session;

    if (session_forked(session) || lease_word_keep(word_of(lease)))
        return;
    pthread_mutex_lock(&session->lock);
    protocol_end(&session->protocol, lease->index);
    session_flush(session);
    pthread_mutex_unlock(&session->lock);
}

void lease_arm_reaper(struct lease *lease, bool armed)
{
    struct session *session = lease->session;

    if (session_forked(session))
        return;
    protocol_tell(&session->protocol, lease->index, PAGE_TELL_YIELD, armed);
    /* The daemon looks at `tell` after it has flagged the word, we look at the word after we have set `tell`: one of us sees it. */
    if (armed && (atomic_load(word_of(lease)) & LEASE_FLAGS)) {
        (void)atomic_fetch_or(&session->local_yields, UINT32_C(1) << lease->index);
        session_wake(session);
    }
}

void lease_ran(struct lease *lease, baton_nsec begin_at, baton_nsec end_at)
{
    struct session *session = lease->session;
    struct page *page = atomic_load(&session->protocol.page);
    bool copy = session->protocol.leases[lease->index].engine != FRAME_ENGINE_EXECUTION;

    if (session_forked(session) || end_at < begin_at)
        return;
    if (page)
        page_ran(page, lease->index, atomic_load(&session->job_number), begin_at, end_at);
    pthread_mutex_lock(&session->jobs_lock);
    jobs_ran(&session->jobs, copy, end_at - begin_at);
    pthread_mutex_unlock(&session->jobs_lock);
}
