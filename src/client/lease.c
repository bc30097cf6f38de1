/*
 * Why riding is safe. Say O rides on I: O's command is in flight, and what keeps others away is that I's word is BUSY.
 *
 * - O begins to ride under the session's lock, while O's own word is NONE, no request of O is under way and I's word is the daemon's. From then
 *   on O's word stays NONE: nothing but a request of O could change it, and lease_request() answers TAKEN while O rides. So at any time
 *   one of the two words is held, by one command, and the daemon knows who holds the bus.
 * - The connection is lost, or the device refused: every word moves to the private page, I's as BUSY (carried over), O's as IDLE. O's
 *   word could now be begun by somebody else. Whoever begins looks at `rides` afterwards, and leaves again if it is set: the move
 *   happens under the lock, after O began to ride, and the word that was begun was read after the move.
 * - A new daemon: I is declared busy, O attached as free. The rider's end gives I back, as the end of any declared hold.
 * - The rider ends: `rides` is cleared first, then I's word is kept or given. In between, somebody may ask the daemon for O; it calls I in, and
 *   the end takes the slow path. Whoever only tries finds I BUSY and asks.
 * - The rider yields: I is given back and asked for again, so the grant is I's; lease_wait() waits there, and an event is
 *   delivered to O (lease_user).
 * - A group that names either of them waits for the rider like for any holder.
 * - A forked child never gets here: everything answers before it touches `rides`.
 */
#include "client/lease.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/session_private.h"

static lease_word *word_of(const struct lease *lease)
{
    return atomic_load_explicit(&lease->session->protocol.leases[lease->index].word, memory_order_acquire);
}

/* The lease whose word is held when this one is. */
static struct lease *ridden(const struct lease *lease)
{
    struct lease *rides = atomic_load_explicit(&lease->rides, memory_order_relaxed);

    return rides ? rides : (struct lease *)lease;
}

struct lease *lease_user(struct lease *held)
{
    return held->other && ridden(held->other) == held ? held->other : held;
}

static bool is_riding(const struct lease *lease)
{
    return atomic_load(&lease->rides) != NULL;
}

/* Under the lock: both directions of one device know each other. */
static void pair(struct session *session, unsigned index)
{
    const struct protocol_lease *all = session->protocol.leases, *mine = &all[index];

    if (mine->engine == FRAME_ENGINE_EXECUTION)
        return;
    for (unsigned i = 0; i < session->protocol.n_leases; i++) {
        if (all[i].engine == FRAME_ENGINE_EXECUTION || all[i].engine == mine->engine ||
            strcmp(all[i].device, mine->device) != 0)
            continue;
        session->leases[i].other = &session->leases[index];
        session->leases[index].other = &session->leases[i];
    }
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
    if (result == 0)
        pair(session, index);
    session_flush(session);
    pthread_mutex_unlock(&session->lock);
    if (result == 0)
        *ret_lease = &session->leases[index];
    return result;
}

static bool grouped(const struct lease *lease)
{
    return atomic_load(&lease->session->protocol.leases[lease->index].grouped);
}

/* Begins within the group that holds the lease. */
static bool nest(struct lease *lease)
{
    struct session *session = lease->session;
    bool nested;

    if (!grouped(lease))
        return false;
    pthread_mutex_lock(&session->lock);
    nested = protocol_nest(&session->protocol, lease->index);
    pthread_mutex_unlock(&session->lock);
    return nested;
}

/* ---- lingering: held by nobody for a moment, because the program is expected back; all under the lock ---- */

static bool called(const struct lease *lease)
{
    return (atomic_load(word_of(lease)) & (LEASE_FLAG_TURN | LEASE_FLAG_YIELD)) != 0;
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

/* Whoever lingers is begun by the caller, or ended. */
static void linger_no_more(struct lease *lease)
{
    atomic_store(&lease->lingers, false);
    if (!lease->was_told)
        protocol_tell(&lease->session->protocol, lease->index, PAGE_TELL_YIELD, false);
    set_alarm(lease->session);
}

static void end_lingering(struct lease *lease)
{
    linger_no_more(lease);
    protocol_end(&lease->session->protocol, lease->index);
}

/* The hold of this word by that user, itself or a rider, has ended, and somebody waits. True: it lingers. */
static bool begin_lingering(struct lease *lease, struct lease *user)
{
    struct protocol *protocol = &lease->session->protocol;
    baton_nsec now_at = clock_now();
    baton_nsec wish;

    if (!(protocol->plan.flags & PLAN_LINGER) || protocol->state != PROTOCOL_ONLINE ||
        !atomic_load(&protocol->leases[lease->index].shared) || grouped(lease) || called(lease)) {
        linger_left(&user->linger, now_at);
        return false;
    }
    wish = linger_for(&user->linger, now_at);
    if (!wish)
        return false;
    lease->lingers_until = now_at + wish;
    lease->was_told = (atomic_load(&protocol->leases[lease->index].tell) & PAGE_TELL_YIELD) != 0;
    atomic_store(&lease->lingers, true);
    set_alarm(lease->session);
    /* As in lease_arm_reaper(): the daemon flags, then looks whether to tell; we ask to be told, then look at the flags. */
    protocol_tell(protocol, lease->index, PAGE_TELL_YIELD, true);
    if (called(lease))
        end_lingering(lease);
    return true;
}

/* The program wants the engine, or the bus in either direction. */
static void note_back(struct lease *lease)
{
    baton_nsec now_at = clock_now();

    linger_back(&lease->linger, now_at);
    if (lease->other)
        linger_back(&lease->other->linger, now_at);
}

/* The program is back: it begins where it lingers. False: it does not linger, or somebody no less urgent waits by now. */
static bool resume(struct lease *lease)
{
    if (!atomic_load(&lease->lingers))
        return false;
    if (called(lease)) {
        end_lingering(lease);
        return false;
    }
    note_back(lease);
    linger_no_more(lease);
    return true;
}

void lease_linger_due(struct session *session)
{
    baton_nsec now_at = clock_now();

    pthread_mutex_lock(&session->lock);
    for (unsigned i = 0; i < session->protocol.n_leases; i++) {
        struct lease *lease = &session->leases[i];

        if (atomic_load(&lease->lingers) && lease->lingers_until <= now_at)
            end_lingering(lease);
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
    if (lingers && called(lease))
        end_lingering(lease);
    session_flush(session);
    pthread_mutex_unlock(&session->lock);
    return lingers;
}

/* ---- begin and end ---- */

/* Under the lock: may the lease ride on the other one, if that is idle? */
static bool may_ride(const struct lease *lease)
{
    const struct protocol *protocol = &lease->session->protocol;

    return protocol->state == PROTOCOL_ONLINE && (protocol->flags & WELCOME_BUS) &&
           atomic_load(&protocol->leases[lease->other->index].shared) &&
           !protocol->leases[lease->index].asked && !is_riding(lease) &&
           lease_word_state(atomic_load(word_of(lease))) == LEASE_STATE_NONE;
}

/* Under the lock: begins on the idle lease of the other direction, or where that lingers: it holds the same bus. */
static bool ride(struct lease *lease)
{
    uint64_t seen;

    if (!lease->other || !may_ride(lease))
        return false;
    if (!resume(lease->other) && !lease_word_begin(word_of(lease->other), &seen))
        return false;
    atomic_store(&lease->rides, lease->other);
    return true;
}

/* Begins what this process holds in some other way. */
static bool begin_held(struct lease *lease)
{
    struct session *session = lease->session;
    bool begun;

    if (!lease->other && !atomic_load(&lease->lingers))
        return false;
    pthread_mutex_lock(&session->lock);
    begun = resume(lease) || ride(lease);
    session_flush(session);
    pthread_mutex_unlock(&session->lock);
    return begun;
}

/* The end of a hold of this very word, by itself or by a rider. */
static void end_word(struct lease *lease, struct lease *user)
{
    struct session *session = lease->session;

    if (!grouped(lease) && lease_word_keep(word_of(lease)))
        return;
    pthread_mutex_lock(&session->lock);
    if (!begin_lingering(lease, user))
        protocol_end(&session->protocol, lease->index);
    session_flush(session);
    pthread_mutex_unlock(&session->lock);
}

int lease_try_begin(struct lease *lease)
{
    uint64_t seen;

    if (session_forked(lease->session))
        return LEASE_BEGUN;
    if (lease_word_begin(word_of(lease), &seen)) {
        if (!is_riding(lease))
            return LEASE_BEGUN;
        end_word(lease, lease); /* the rider has outlived its connection */
        return LEASE_TAKEN;
    }
    if (nest(lease))
        return LEASE_BEGUN;
    if (lease_word_state(seen) == LEASE_STATE_BUSY && !atomic_load(&lease->lingers))
        return LEASE_TAKEN;
    if (begin_held(lease))
        return LEASE_BEGUN;
    return is_riding(lease) ? LEASE_TAKEN : LEASE_ASK;
}

/* Under the lock: somebody rides on this one, which its own user wants. As the daemon would: the rider gives it back at its end. */
static void want_back(struct lease *lease)
{
    lease_word *word = word_of(lease);
    uint64_t seen = atomic_load(word);

    if (lease->other && atomic_load(&lease->other->rides) == lease &&
        lease_word_state(seen) == LEASE_STATE_BUSY)
        (void)atomic_compare_exchange_strong(word, &seen, seen | LEASE_ASK_TURN);
}

/* Under the lock. */
static int ask_for(struct lease *lease, bool notify)
{
    int answer;

    if (is_riding(lease))
        return LEASE_TAKEN;
    if (resume(lease) || (lease->other && atomic_load(&lease->other->lingers) && ride(lease)))
        return LEASE_BEGUN;
    answer = protocol_request(&lease->session->protocol, lease->index, notify);
    if (answer == LEASE_ASK)
        note_back(lease);
    return answer;
}

int lease_request(struct lease *lease, unsigned flags)
{
    struct session *session = lease->session;
    int answer;

    if (session_forked(session))
        return LEASE_BEGUN;
    pthread_mutex_lock(&session->lock);
    answer = ask_for(lease, flags & LEASE_NOTIFY);
    if (answer == LEASE_TAKEN)
        want_back(lease);
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

/*
 * Until when a waiter stays awake: a holder that is asked to yield does so after a piece or two, about that long; and a sleeper wakes late, by 0.1 ms in a
 * virtual machine. Only threads with a real-time policy: they said that they are worth a core, and others wait longer than that anyway. Not where
 * there is only one core, which the holder and the daemon need.
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

/* Awake, or asleep: until the word is another one, or perhaps earlier. */
static void await_change(lease_word *word, uint64_t seen, baton_nsec awake_until_at, baton_nsec until_at)
{
    while (atomic_load_explicit(word, memory_order_relaxed) == seen) {
        if (clock_now() >= awake_until_at) {
            sleep_on(word, seen, until_at);
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
    lease = ridden(lease);
    for (bool first = true;; first = false) {
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
        if (first)
            awake = awake_until();
        await_change(word, seen, awake, until_at);
    }
}

bool lease_yield_asked(const struct lease *lease)
{
    lease = ridden(lease);
    return !session_forked(lease->session) && !grouped(lease) &&
           (atomic_load_explicit(word_of(lease), memory_order_relaxed) & LEASE_FLAG_YIELD);
}

bool lease_turn_asked(const struct lease *lease)
{
    lease = ridden(lease);
    return !session_forked(lease->session) && !grouped(lease) &&
           (atomic_load_explicit(word_of(lease), memory_order_relaxed) & LEASE_FLAG_TURN);
}

bool lease_wanted(const struct lease *lease)
{
    lease = ridden(lease);
    return !session_forked(lease->session) && !grouped(lease) &&
           (atomic_load_explicit(word_of(lease), memory_order_relaxed) & LEASE_FLAGS);
}

int lease_yield(struct lease *lease, unsigned flags)
{
    struct session *session = lease->session;
    int answer;

    if (session_forked(session))
        return LEASE_BEGUN;
    lease = ridden(lease);
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
    struct lease *held = ridden(lease);

    if (session_forked(lease->session))
        return;
    if (held != lease)
        atomic_store(&lease->rides, NULL);
    end_word(held, lease);
}

/* ---- groups ---- */

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

        if (atomic_load(&lease->lingers))
            end_lingering(lease);
        if (lease->other && atomic_load(&lease->other->lingers))
            end_lingering(lease->other);
        if (!is_riding(lease))
            continue;
        want_back(lease->other);
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
            word = word_of(&session->leases[waiting]);
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
            sleep_on(word, seen, until_at);
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

void lease_arm_reaper(struct lease *lease, bool armed)
{
    struct session *session = lease->session;

    if (session_forked(session))
        return;
    lease = ridden(lease);
    protocol_tell(&session->protocol, lease->index, PAGE_TELL_YIELD, armed);
    /* The daemon looks at `tell` after it has flagged the word, we look at the word after we have set `tell`: one of us sees it. */
    if (armed && !grouped(lease) && (atomic_load(word_of(lease)) & LEASE_FLAGS)) {
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
