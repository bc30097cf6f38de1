/*
 * Copies of one device in both directions share one bus, so a copy in direction O may use the lease
 * I of the other direction. Why this is safe: while O's command is in flight, I's word is BUSY,
 * which keeps other clients away.
 *
 * - O begins to use I under the session's lock. At that time O's word is NONE, O has no request
 *   under way, and the daemon manages I's word. From then on O's word stays NONE: only a request
 *   for O could change it, and lease_request() answers TAKEN while O uses I. So one command holds
 *   one of the two words, and the daemon knows which client holds the bus.
 * - The connection is lost, or the daemon refuses the device: every word moves to the private page,
 *   I's as BUSY and O's as IDLE. Another thread could now begin on O's word. A thread that begins
 *   reads `via` afterwards and leaves again if it is set. This suffices: the move happens under the
 *   lock after O began to use I, and that thread read the word after the move.
 * - A new daemon: I is declared busy, O attached as free. The end of O's command gives I back, like
 *   the end of any declared hold.
 * - O's command ends: `via` is cleared first, then I's word is kept or given back. In between,
 *   another thread may ask the daemon for O. The daemon then flags I, and the end takes the slow
 *   path. A thread that only tries finds I BUSY and asks the daemon.
 * - O's command yields: I is given back and requested again, so the grant is for I; lease_wait()
 *   waits there.
 * - A group that names either lease waits for O's command as for any holder.
 * - A forked child never gets here: every function returns before it touches `via`.
 */
#include "client/lease.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/lease_private.h"

/* The lease whose word is held while this lease is in use. */
static struct lease *held_lease(const struct lease *lease)
{
    struct lease *via = atomic_load_explicit(&lease->via, memory_order_relaxed);

    return via ? via : (struct lease *)lease;
}

/* Under the lock: links the two copy directions of one device. */
static void pair(struct session *session, unsigned index)
{
    const struct protocol_lease *all = session->protocol.leases, *mine = &all[index];

    if (mine->engine == ENGINE_EXECUTION)
        return;
    for (unsigned i = 0; i < session->protocol.n_leases; i++) {
        if (all[i].engine == ENGINE_EXECUTION || all[i].engine == mine->engine ||
            strcmp(all[i].device, mine->device) != 0)
            continue;
        session->leases[i].other = &session->leases[index];
        session->leases[index].other = &session->leases[i];
    }
}

int lease_open(struct session *session, const char *device, enum engine_kind engine, struct lease **ret_lease)
{
    unsigned index = 0;
    int result;

    if (session_forked(session))
        return -ECHILD;
    pthread_mutex_lock(&session->lock);
    result = protocol_attach(&session->protocol, device, engine, &index);
    if (result == 0)
        pair(session, index);
    session_flush(session);
    pthread_mutex_unlock(&session->lock);
    if (result == 0)
        *ret_lease = &session->leases[index];
    return result;
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

/* Under the lock: may this lease use the other direction's lease, if that one is idle? */
static bool may_use_other(const struct lease *lease)
{
    const struct protocol *protocol = &lease->session->protocol;

    return protocol->state == PROTOCOL_ONLINE && (protocol->flags & WELCOME_BUS) &&
           atomic_load(&protocol->leases[lease->other->index].shared) &&
           !protocol->leases[lease->index].asked && !lease_uses_other(lease) &&
           lease_word_state(atomic_load(lease_word_of(lease))) == LEASE_STATE_NONE;
}

/*
 * Under the lock: begins on the other direction's lease, which is idle or lingers and holds the
 * same bus.
 */
static bool use_other(struct lease *lease)
{
    uint64_t seen;

    if (!lease->other || !may_use_other(lease))
        return false;
    if (!lease_linger_resume(lease->other) && !lease_word_begin(lease_word_of(lease->other), &seen))
        return false;
    atomic_store(&lease->via, lease->other);
    return true;
}

/* Begins on what this process holds already: a lingering hold or the other direction's lease. */
static bool begin_held(struct lease *lease)
{
    struct session *session = lease->session;
    bool begun;

    if (!lease->other && !atomic_load(&lease->lingers))
        return false;
    pthread_mutex_lock(&session->lock);
    begun = lease_linger_resume(lease) || use_other(lease);
    session_flush(session);
    pthread_mutex_unlock(&session->lock);
    return begun;
}

/*
 * Ends the hold of this word. user: the lease that used it, itself or that of the other direction.
 */
static void end_word(struct lease *lease, struct lease *user)
{
    struct session *session = lease->session;

    if (!lease_grouped(lease) && lease_word_keep(lease_word_of(lease)))
        return;
    pthread_mutex_lock(&session->lock);
    if (!lease_linger_begin(lease, user))
        protocol_end(&session->protocol, lease->index);
    session_flush(session);
    pthread_mutex_unlock(&session->lock);
}

int lease_try_begin(struct lease *lease)
{
    uint64_t seen;

    if (session_forked(lease->session))
        return LEASE_BEGUN;
    if (lease_word_begin(lease_word_of(lease), &seen)) {
        if (!lease_uses_other(lease))
            return LEASE_BEGUN;
        end_word(lease, lease); /* a command that outlived its connection */
        return LEASE_TAKEN;
    }
    if (nest(lease))
        return LEASE_BEGUN;
    if (lease_word_state(seen) == LEASE_STATE_BUSY && !atomic_load(&lease->lingers))
        return LEASE_TAKEN;
    if (begin_held(lease))
        return LEASE_BEGUN;
    return lease_uses_other(lease) ? LEASE_TAKEN : LEASE_ASK;
}

void lease_reclaim(struct lease *lease)
{
    lease_word *word = lease_word_of(lease);
    uint64_t seen = atomic_load(word);

    if (lease->other && atomic_load(&lease->other->via) == lease &&
        lease_word_state(seen) == LEASE_STATE_BUSY)
        (void)atomic_compare_exchange_strong(word, &seen, seen | LEASE_ASK_TURN);
}

/* Under the lock. */
static int ask_for(struct lease *lease)
{
    int answer;

    if (lease_uses_other(lease))
        return LEASE_TAKEN;
    if (lease_linger_resume(lease) ||
        (lease->other && atomic_load(&lease->other->lingers) && use_other(lease)))
        return LEASE_BEGUN;
    answer = protocol_request(&lease->session->protocol, lease->index);
    if (answer == LEASE_ASK)
        lease_linger_back(lease);
    return answer;
}

int lease_request(struct lease *lease)
{
    struct session *session = lease->session;
    int answer;

    if (session_forked(session))
        return LEASE_BEGUN;
    pthread_mutex_lock(&session->lock);
    answer = ask_for(lease);
    if (answer == LEASE_TAKEN)
        lease_reclaim(lease);
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
 * threads with a real-time policy stay awake: for them a core is worth it, and other threads wait
 * longer anyway. With only one core the holder and the daemon need that core.
 */
static baton_nsec awake_until(void)
{
    static atomic_int n_cores;
    int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;

    if (policy != SCHED_FIFO && policy != SCHED_RR)
        return 0;
    if (atomic_load_explicit(&n_cores, memory_order_relaxed) == 0) {
        cpu_set_t allowed;

        atomic_store_explicit(&n_cores,
                              sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1,
                              memory_order_relaxed);
    }
    return atomic_load_explicit(&n_cores, memory_order_relaxed) > 1 ? clock_now() + NSEC_PER_MS : 0;
}

/* Awake or asleep: until the word differs from `seen`, or perhaps earlier. */
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
    lease = held_lease(lease);
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
        if (first && !(session->protocol.flags & WELCOME_TOKENS))
            awake = awake_until();
        await_change(word, seen, awake, until_at);
    }
}

bool lease_yield_asked(const struct lease *lease)
{
    lease = held_lease(lease);
    return !session_forked(lease->session) && !lease_grouped(lease) &&
           (atomic_load_explicit(lease_word_of(lease), memory_order_relaxed) & LEASE_FLAG_YIELD);
}

bool lease_turn_asked(const struct lease *lease)
{
    lease = held_lease(lease);
    return !session_forked(lease->session) && !lease_grouped(lease) &&
           (atomic_load_explicit(lease_word_of(lease), memory_order_relaxed) & LEASE_FLAG_TURN);
}

bool lease_wanted(const struct lease *lease)
{
    lease = held_lease(lease);
    return !session_forked(lease->session) && !lease_grouped(lease) &&
           (atomic_load_explicit(lease_word_of(lease), memory_order_relaxed) & LEASE_FLAGS);
}

int lease_yield(struct lease *lease)
{
    struct session *session = lease->session;
    int answer;

    if (session_forked(session))
        return LEASE_BEGUN;
    lease = held_lease(lease);
    pthread_mutex_lock(&session->lock);
    answer = protocol_yield(&session->protocol, lease->index);
    session_flush(session);
    pthread_mutex_unlock(&session->lock);
    if (answer == LEASE_ASK)
        session_count(session, COUNTER_YIELDS, 1);
    return answer;
}

void lease_end(struct lease *lease)
{
    struct lease *held = held_lease(lease);

    if (session_forked(lease->session))
        return;
    if (held != lease)
        atomic_store(&lease->via, NULL);
    end_word(held, lease);
}

void lease_arm_reaper(struct lease *lease, bool armed)
{
    struct session *session = lease->session;

    if (session_forked(session))
        return;
    lease = held_lease(lease);
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
    jobs_ran(&session->jobs, copy, begin_at, end_at);
    pthread_mutex_unlock(&session->jobs_lock);
}
