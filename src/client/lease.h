/*
 * The right to put work on one engine. A process asks once and keeps the engine until another
 * client wants it.
 *
 *      lease_try_begin               lease_end                (daemon)
 *   IDLE ----------------> BUSY -----------------> IDLE --------------------> NONE
 *                           |  a client waits: WANTED   reclaimed, no message  |
 *                           |  no less urgent: TURN too                        |
 *                           |  more urgent: YIELD too                          | lease_request
 *                           +-- lease_end / lease_yield: message --> NONE ---->+--> BUSY (granted)
 *
 * The process has one hold of a lease at a time: BUSY also keeps the other threads of the process
 * out. The thread that began, or that was granted the lease, ends the hold. Without a daemon the
 * same calls work on a private word that no other client wants.
 *
 * Copies of one device in both directions go over one bus, and a copy lease includes that bus where
 * the daemon says so (WELCOME_BUS). Copies in both directions then need one lease only, that of
 * ENGINE_COPY_IN (lease_on_one_bus()). With two, a job that copies in and out would take the bus
 * from itself, with two messages each time.
 *
 * The calls of a command:
 *     if (lease_try_begin(lease) != LEASE_BEGUN)
 *         { lease_request(lease); lease_wait(lease, NSEC_MAX); }
 *     for each piece: run it, wait for it;
 *         if (more && lease_flags(lease) & LEASE_FLAG_YIELD)
 *             { lease_yield(lease); lease_wait(lease, NSEC_MAX); }
 *     lease_end(lease);
 */
#ifndef CLIENT_LEASE_H
#define CLIENT_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/nsec.h"
#include "client/session.h"
#include "wire/device_name.h"
#include "wire/engine_kind.h"
#include "wire/lease_word.h"

/* What every launch reads of a lease, without a call. The lease begins with it. */
struct lease_view {
    lease_word *_Atomic *word;
    _Atomic bool *grouped, *one_bus;
};

static inline const struct lease_view *lease_view(const struct lease *lease)
{
    return (const struct lease_view *)(const void *)lease;
}

enum lease_answer {
    LEASE_BEGUN = 0,   /* held: BUSY */
    LEASE_ASK = 1,     /* not held: lease_request() it */
    LEASE_TAKEN = 2,   /* another thread of this process uses it, or asks for it */
    LEASE_TIMEOUT = 3, /* lease_wait: not granted by then; the request remains queued */
};

/*
 * The lease for one engine of a device. device: the stable name from wire/device_name.h. Asking
 * twice for the same engine gives the same lease. At most 32 per session: -ENOSPC. A device that
 * the daemon does not know is declared to it; one that it refuses to manage passes through
 * (lease_refusal()). Valid until session_close().
 */
int lease_open(struct session *session, const char *device, enum engine_kind engine,
               struct lease **ret_lease);

/*
 * Why the daemon does not manage the engine. 0: it does, or there is none. -ENODEV: it does not
 * know the GPU, and programs may not declare any. -ENOSPC: it manages as many GPUs as it may.
 *
 * wait: for the daemon's answer, under tokens, where a program may use no such engine. -ETIMEDOUT:
 * there was none for as long as session_open() waits for the welcome.
 */
int lease_refusal(struct lease *lease, bool wait);

/*
 * The engine is a thread that runs on the cores of this machine. From now on lease_wait() sleeps at
 * once: a thread that stays awake may keep the core that the holder's work needs.
 */
void lease_on_cores(struct lease *lease);

/*
 * Of a lease for ENGINE_COPY_OUT: does the device's lease for ENGINE_COPY_IN cover these copies
 * now? True while the daemon arbitrates their bus, unless a group holds this lease. The answer
 * changes with the daemon; a command asks once. Two atomic loads.
 */
static inline bool lease_on_one_bus(const struct lease *lease)
{
    const struct lease_view *view = lease_view(lease);

    return atomic_load_explicit(view->one_bus, memory_order_relaxed) && !atomic_load(view->grouped);
}

/* LEASE_BEGUN (one compare-and-swap, no message), LEASE_ASK or LEASE_TAKEN. Never blocks. */
int lease_try_begin(struct lease *lease);

/*
 * Asks the daemon; never blocks. LEASE_BEGUN: the engine was free. LEASE_ASK: the request is under
 * way, and exactly one grant follows, which lease_wait() sees. LEASE_TAKEN: another thread of this
 * process holds the lease or asks for it, and goes first.
 */
int lease_request(struct lease *lease);

/*
 * Sleeps until the request of lease_request() or lease_yield() is granted (LEASE_BEGUN), or until
 * the instant (LEASE_TIMEOUT). For worker threads and for callers that are about to block anyway.
 */
int lease_wait(struct lease *lease, baton_nsec until_at);

/*
 * What the daemon asks of the holder: LEASE_FLAG_* (wire/lease_word.h), 0 while a group holds the
 * lease. Three atomic loads, one in a group. Of interest only between begin and end.
 */
static inline uint64_t lease_flags(const struct lease *lease)
{
    const struct lease_view *view = lease_view(lease);

    if (atomic_load(view->grouped))
        return 0;
    return atomic_load_explicit(atomic_load_explicit(view->word, memory_order_acquire),
                                memory_order_relaxed) &
           LEASE_FLAGS;
}

/* Does any client wait for the engine, even a less urgent one? */
static inline bool lease_wanted(const struct lease *lease)
{
    return lease_flags(lease) != 0;
}

/*
 * The work of the hold has drained and more is to come. Gives the engine back and requests it again
 * in one message, so that no client of lower priority runs in between (docs/protocols.md Q3).
 * LEASE_ASK: wait for the grant, as after lease_request(). LEASE_BEGUN: no client waits; continue.
 */
int lease_yield(struct lease *lease);

/*
 * The work of the hold has drained. Keeps the lease IDLE, or gives it back with one message if a
 * client waits. If only less urgent clients wait and the program has recently come back soon, the
 * hold lingers first (linger.h).
 */
void lease_end(struct lease *lease);
/*
 * The same. last: the kind of the last command, on which the time until the program is back
 * depends.
 */
void lease_end_as(struct lease *lease, enum engine_kind last);

/*
 * Several leases of one session as one hold: granted together, never asked to yield, kept until the
 * end (docs/protocols.md M2). Those that this process keeps idle are given back first. If another
 * thread uses one, the group waits for that thread, which is told so. The daemon adds the buses.
 *
 * While the group is held, the calls above work within it. lease_try_begin() and lease_request()
 * answer LEASE_BEGUN to one holder at a time, without a message. So a batch whose commands pass
 * through the layer does not wait for itself. A command that still uses a lease when the group ends
 * keeps that lease alone until lease_end().
 */
struct lease_group {
    struct session *session; /* NULL: nothing is held */
    uint32_t leases;         /* bit i: lease i */
};

/* One engine of a group. */
struct lease_group_engine {
    char device[DEVICE_NAME_SIZE];
    enum engine_kind engine;
};

#define LEASE_GROUP_PASSED 1 /* there is no daemon, so no other client is kept out */

/*
 * Holds all these engines; blocks. 0: the daemon granted them. LEASE_GROUP_PASSED: there is no
 * daemon. -errno: nothing is held (-ENOSPC: more engines than a session has leases; or, under
 * tokens, the answer of lease_refusal()). session: NULL passes. After 0 and LEASE_GROUP_PASSED:
 * lease_group_end().
 */
int lease_group_take(struct session *session, const struct lease_group_engine engines[], size_t n,
                     struct lease_group *ret_group);
void lease_group_end(const struct lease_group *group);

/* The steps of lease_group_take(). */
void lease_group_add(struct lease_group *group, const struct lease *lease);
/* Never blocks. LEASE_BEGUN: held. LEASE_ASK: lease_group_wait(). LEASE_TAKEN: ask again soon. */
int lease_group_request(const struct lease_group *group);
/*
 * Sleeps until all are granted (LEASE_BEGUN), or until the instant (LEASE_TIMEOUT: the request
 * remains queued).
 */
int lease_group_wait(const struct lease_group *group, baton_nsec until_at);

/*
 * For the time in which the program computes while the driver works. on_yield is called on the
 * session's thread as soon as a client waits. Disarm before another thread touches the hold.
 */
void lease_arm_reaper(struct lease *lease, bool armed);

/* What ran, for readers of traces. */
struct lease_work {
    const char *kernel; /* borrowed for the call; NULL: a copy, or unknown */
    uint64_t size;      /* work-items of the whole launch, or bytes of the copy; 0: unknown */
    uint32_t pieces;    /* of this run; 0: unknown */
    bool counted;       /* lease_used() has counted its engine time */
};

/*
 * Records one run on the engine (the driver's start and end, CLOCK_MONOTONIC) for `baton trace` and
 * the occupying times. A few stores; call it per piece or per command. work: NULL if it is not
 * known.
 */
void lease_ran(struct lease *lease, baton_nsec begin_at, baton_nsec end_at, const struct lease_work *work);

/*
 * The driver worked on a command of this process in this time: engine time of the running job,
 * which its budget counts. Of what began before the job only the part inside counts, and warm-up
 * jobs count nothing, because the plan does not provide for them.
 */
void lease_used(struct lease *lease, baton_nsec begin_at, baton_nsec end_at);

#endif
