#include "client/lease.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/client_process.h"
#include "client/lease_private.h"

int lease_open(struct session *session, const char *device, enum engine_kind engine, struct lease **ret_lease)
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

int lease_refusal(struct lease *lease, bool wait)
{
    struct session *session = lease->session;
    struct protocol *protocol = &session->protocol;
    const struct protocol_lease *state = &protocol->leases[lease->index];
    baton_nsec until_at = clock_now() + session_patience(session);
    struct timespec until = {until_at / NSEC_PER_SEC, until_at % NSEC_PER_SEC};
    int reason = 0;

    if (session_forked(session))
        return 0;
    pthread_mutex_lock(&session->lock);
    while (wait && reason == 0 && protocol->state == PROTOCOL_ONLINE && (protocol->flags & WELCOME_TOKENS) &&
           !state->answered)
        reason = -pthread_cond_timedwait(&session->welcomed, &session->lock, &until);
    if (reason == 0)
        reason = state->refused;
    pthread_mutex_unlock(&session->lock);
    return reason;
}

void lease_on_cores(struct lease *lease)
{
    atomic_store_explicit(&lease->on_cores, true, memory_order_relaxed);
}

/* Begins within the group that holds the lease. */
static bool nest(struct lease *lease)
{
    struct session *session = lease->session;
    bool nested;

    if (!lease_grouped(lease))
        return false;
    pthread_mutex_lock(&session->lock);
    nested = protocol_nest(&session->protocol, lease->index);
    pthread_mutex_unlock(&session->lock);
    return nested;
}

/* ---- begin and end ---- */

/* Begins on the hold that lingers, if it does. */
static bool begin_lingering(struct lease *lease)
{
    struct session *session = lease->session;
    bool begun;

    if (!atomic_load(&lease->lingers))
        return false;
    pthread_mutex_lock(&session->lock);
    begun = lease_linger_resume(lease);
    session_flush(session);
    pthread_mutex_unlock(&session->lock);
    return begun;
}

int lease_try_begin(struct lease *lease)
{
    uint64_t seen;

    if (session_forked(lease->session) || lease_word_begin(lease_word_of(lease), &seen) || nest(lease) ||
        begin_lingering(lease))
        return LEASE_BEGUN;
    return lease_word_state(seen) == LEASE_STATE_BUSY && !atomic_load(&lease->lingers) ? LEASE_TAKEN
                                                                                       : LEASE_ASK;
}

int lease_request(struct lease *lease)
{
    struct session *session = lease->session;
    int answer;

    if (session_forked(session))
        return LEASE_BEGUN;
    pthread_mutex_lock(&session->lock);
    answer = lease_linger_resume(lease) ? LEASE_BEGUN : protocol_request(&session->protocol, lease->index);
    if (answer == LEASE_ASK)
        lease_linger_back(lease);
    session_flush(session);
    pthread_mutex_unlock(&session->lock);
    return answer;
}

void lease_sleep(lease_word *word, uint64_t seen, baton_nsec until_at)
{
    struct timespec until = {until_at / NSEC_PER_SEC, until_at % NSEC_PER_SEC};

    (void)syscall(SYS_futex, page_futex(word), FUTEX_WAIT_BITSET, (uint32_t)seen,
                  until_at == NSEC_MAX ? NULL : &until, NULL, FUTEX_BITSET_MATCH_ANY);
}

/*
 * Until when a waiter stays awake. A holder that is asked to yield does so after one or two pieces,
 * which takes about that long. A sleeping thread wakes up to 0.1 ms late in a virtual machine. Only
 * threads with a real-time policy stay awake: their latency is worth a core, and other threads wait
 * longer anyway. With only one core, the holder and the daemon need that core.
 */
static baton_nsec awake_until(void)
{
    int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;

    if (policy != SCHED_FIFO && policy != SCHED_RR)
        return 0;
    if (atomic_load_explicit(&client_process.n_cores, memory_order_relaxed) == 0) {
        cpu_set_t allowed;

        atomic_store_explicit(&client_process.n_cores,
                              sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1,
                              memory_order_relaxed);
    }
    return atomic_load_explicit(&client_process.n_cores, memory_order_relaxed) > 1 ? clock_now() + NSEC_PER_MS
                                                                                   : 0;
}

/* Spins or sleeps until the word differs from `seen`, or perhaps shorter. */
static void await_change(lease_word *word, uint64_t seen, baton_nsec awake_until_at, baton_nsec until_at)
{
    while (atomic_load_explicit(word, memory_order_relaxed) == seen) {
        if (clock_now() >= awake_until_at) {
            lease_sleep(word, seen, until_at);
            return;
        }
    }
}

int lease_wait(struct lease *lease, baton_nsec until_at)
{
    struct session *session = lease->session;
    baton_nsec awake = 0;

    if (session_forked(session))
        return LEASE_BEGUN;
    for (bool first = true;; first = false) {
        lease_word *word;
        uint64_t seen;
        bool granted;

        pthread_mutex_lock(&session->lock);
        word = lease_word_of(lease);
        seen = atomic_load(word);
        granted = protocol_granted(&session->protocol, lease->index);
        pthread_mutex_unlock(&session->lock);
        if (granted)
            return LEASE_BEGUN;
        if (until_at != NSEC_MAX && clock_now() >= until_at)
            return LEASE_TIMEOUT;
        /*
         * Under tokens the holder may need this very core: it runs with the waiter's rank, behind
         * the waiter.
         */
        if (first && !(session->protocol.flags & WELCOME_TOKENS) &&
            !atomic_load_explicit(&lease->on_cores, memory_order_relaxed))
            awake = awake_until();
        await_change(word, seen, awake, until_at);
    }
}

int lease_yield(struct lease *lease)
{
    struct session *session = lease->session;
    int answer;

    if (session_forked(session))
        return LEASE_BEGUN;
    pthread_mutex_lock(&session->lock);
    answer = protocol_yield(&session->protocol, lease->index);
    session_flush(session);
    pthread_mutex_unlock(&session->lock);
    if (answer == LEASE_ASK)
        session_count(session, COUNTER_YIELDS, 1);
    return answer;
}

void lease_end_as(struct lease *lease, enum engine_kind last)
{
    struct session *session = lease->session;

    if (session_forked(session) || (!lease_grouped(lease) && lease_word_keep(lease_word_of(lease))))
        return;
    pthread_mutex_lock(&session->lock);
    if (!lease_linger_begin(lease, last))
        protocol_end(&session->protocol, lease->index);
    session_flush(session);
    pthread_mutex_unlock(&session->lock);
}

void lease_end(struct lease *lease)
{
    lease_end_as(lease, lease->session->protocol.leases[lease->index].engine);
}

void lease_arm_reaper(struct lease *lease, bool armed)
{
    struct session *session = lease->session;

    if (session_forked(session))
        return;
    protocol_tell(&session->protocol, lease->index, PAGE_TELL_YIELD, armed);
    /*
     * The daemon flags the word, then reads `tell`; the client sets `tell`, then reads the word. At
     * least one of them sees the other's write.
     */
    if (armed && !lease_grouped(lease) && (atomic_load(lease_word_of(lease)) & LEASE_FLAGS)) {
        (void)atomic_fetch_or(&session->local_yields, UINT32_C(1) << lease->index);
        session_wake(session);
    }
}

/* Under jobs_lock. */
static void use(struct lease *lease, struct page *page, baton_nsec begin_at, baton_nsec end_at)
{
    struct session *session = lease->session;
    const struct jobs *jobs = &session->jobs;

    if (end_at > begin_at)
        (void)atomic_fetch_add_explicit(&lease->worked, end_at - begin_at, memory_order_relaxed);
    begin_at = begin_at > jobs->begin_at ? begin_at : jobs->begin_at;
    if (!jobs->running || !jobs_counting(jobs) || end_at <= begin_at)
        return;
    session->used += end_at - begin_at;
    if (page)
        atomic_store_explicit(&page->used_ns, (uint64_t)session->used, memory_order_relaxed);
}

void lease_used(struct lease *lease, baton_nsec begin_at, baton_nsec end_at)
{
    struct session *session = lease->session;

    if (session_forked(session))
        return;
    pthread_mutex_lock(&session->jobs_lock);
    use(lease, atomic_load(&session->protocol.page), begin_at, end_at);
    pthread_mutex_unlock(&session->jobs_lock);
}

void lease_ran(struct lease *lease, baton_nsec begin_at, baton_nsec end_at, const struct lease_work *work)
{
    const struct lease_work unknown = {0};
    struct session *session = lease->session;
    struct page *page = atomic_load(&session->protocol.page);
    bool copy = session->protocol.leases[lease->index].engine != ENGINE_EXECUTION;

    if (session_forked(session) || end_at < begin_at)
        return;
    work = work ? work : &unknown;
    pthread_mutex_lock(&session->jobs_lock);
    if (page)
        page_ran(page, &(struct page_entry){.lease = lease->index,
                                            .job = atomic_load(&session->job_number),
                                            .begin_at = begin_at,
                                            .end_at = end_at,
                                            .size = work->size,
                                            .kernel = work->kernel ? page_kernel(page, work->kernel) : 0,
                                            .pieces = work->pieces});
    if (!work->counted)
        use(lease, page, begin_at, end_at);
    jobs_ran(&session->jobs, copy, begin_at, end_at);
    pthread_mutex_unlock(&session->jobs_lock);
}
