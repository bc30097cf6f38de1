/*
 * The right to put work on one engine. A process asks once and keeps the engine until somebody else wants it.
 *
 *      lease_try_begin                   lease_end                       (daemon)
 *   IDLE ----------------> BUSY ----------------------> IDLE ------------------------> NONE
 *                            |  somebody waits: WANTED     taken back, no message         |
 *                            |  no less urgent: TURN too                                  |
 *                            |  more urgent: YIELD too                                    | lease_request: message
 *                            +--- lease_end / lease_yield: message ---> NONE ------------>+---> BUSY (granted)
 *
 * The process holds a lease as a whole, one hold at a time: BUSY also keeps the other threads of the process out. Whoever
 * began (or was granted) ends. While there is no daemon the same calls work on a private word that nobody else wants.
 *
 * Copies of one device in both directions go over one bus, and whoever holds a copy lease holds that bus too (where the daemon says
 * so, WELCOME_BUS). So a process that keeps one of the two idle may copy in the other direction at once: the second lease then
 * rides on the first. Otherwise every job that copies in and out would take the bus from itself, with two messages each.
 *
 * The way of a command:
 *     if (lease_try_begin(lease) != LEASE_BEGUN) { lease_request(lease); lease_wait(lease, NSEC_MAX); }
 *     for each piece: run it, wait for it;  if (lease_yield_asked(lease) && more) { lease_yield(lease); lease_wait(...); }
 *     lease_end(lease);
 */
#ifndef CLIENT_LEASE_H
#define CLIENT_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/nsec.h"
#include "client/session.h"

enum lease_engine {
    LEASE_EXECUTION, /* kernels */
    LEASE_COPY_IN,   /* host to device (and its bus) */
    LEASE_COPY_OUT,  /* device to host; the same engine as COPY_IN on a device with one copy engine */
};

enum lease_answer {
    LEASE_BEGUN = 0,   /* held: BUSY */
    LEASE_ASK = 1,     /* not held: lease_request() it */
    LEASE_TAKEN = 2,   /* another thread of this process is in it, or asks for it */
    LEASE_TIMEOUT = 3, /* lease_wait: not granted by then; the request stands */
};

/*
 * The lease for one engine of a device. device: the stable name from wire/device_name.h; asking twice for the same
 * engine gives the same lease. At most 32 per session: -ENOSPC. Devices that the daemon does not know are declared to it;
 * one that it refuses to manage passes through. Valid until session_close().
 */
int lease_open(struct session *session, const char *device, enum lease_engine engine,
               struct lease **ret_lease);

/* LEASE_BEGUN (one compare-and-swap, no message), LEASE_ASK or LEASE_TAKEN. Never blocks. */
int lease_try_begin(struct lease *lease);

/*
 * Asks the daemon; never blocks. LEASE_BEGUN: the engine was free after all. LEASE_ASK: the request is
 * under way, and exactly one grant follows, which lease_wait() sees. LEASE_TAKEN: another thread of
 * this process holds the lease or asks for it; that thread's turn comes first.
 */
int lease_request(struct lease *lease);

/*
 * Sleeps until the request of lease_request() or lease_yield() is granted: LEASE_BEGUN; or until the instant:
 * LEASE_TIMEOUT. For worker threads and for callers that are about to block anyway.
 */
int lease_wait(struct lease *lease, baton_nsec until_at);

/* One atomic load: should the holder give way at the next piece border? */
bool lease_yield_asked(const struct lease *lease);

/* One atomic load: does somebody wait who is no less urgent, so that the hold should end soon even though more is to come? */
bool lease_turn_asked(const struct lease *lease);

/* Does anybody at all wait for the engine (also less urgent ones)? One atomic load. */
bool lease_wanted(const struct lease *lease);

/*
 * The work of the hold has drained and more is to come: gives the engine up and queues again in one message, so that
 * nothing of lower priority slips in between (docs/protocols.md Q3). LEASE_ASK: wait for the grant, as after
 * lease_request(). LEASE_BEGUN: nobody waits any more, go on.
 */
int lease_yield(struct lease *lease);

/*
 * The work of the hold has drained. Keeps the lease IDLE, or gives it back with one message if somebody waits: at once, or, where only
 * less urgent ones wait and the program was back within a moment the last times, after that moment (linger.h).
 */
void lease_end(struct lease *lease);

/*
 * Several leases of one session as one hold: granted together, never asked to yield, kept until the end (docs/protocols.md M2). What this
 * process keeps idle of them is given back first; a lease that another thread is in is waited for, and that thread is told that
 * somebody waits. While the group is held, the calls above work within it: lease_try_begin() and lease_request() answer LEASE_BEGUN
 * to one holder at a time, without a message, so that a batch whose commands pass through the layer does not wait for
 * itself. Whoever is still in a lease when the group ends keeps it alone until lease_end().
 */
struct lease_group {
    struct session *session;
    uint32_t leases; /* bit i: lease i */
};

void lease_group_add(struct lease_group *group, const struct lease *lease);

/* Never blocks. LEASE_BEGUN: held. LEASE_ASK: lease_group_wait(). LEASE_TAKEN: ask again soon. */
int lease_group_request(const struct lease_group *group);

/* Sleeps until all are granted: LEASE_BEGUN; or until the instant: LEASE_TIMEOUT, and the request stands. */
int lease_group_wait(const struct lease_group *group, baton_nsec until_at);

void lease_group_end(const struct lease_group *group);

/*
 * For the time in which the program computes while the driver works: on_yield is called (on the session's thread) when
 * somebody comes to wait, or at once if somebody already does. Disarm before touching the hold from another thread.
 */
void lease_arm_reaper(struct lease *lease, bool armed);

/* What ran, for readers of traces. */
struct lease_work {
    const char *kernel; /* borrowed for the call; NULL: a copy, or unknown */
    uint64_t size;      /* work-items of the whole launch, or bytes of the copy; 0: unknown */
    uint32_t pieces;    /* of this run; 0: unknown */
};

/*
 * Records one run on the engine (driver's start and end, CLOCK_MONOTONIC) for `baton trace` and the
 * occupying times. A few stores; call it per piece or per command. work: NULL if it is not known.
 */
void lease_ran(struct lease *lease, baton_nsec begin_at, baton_nsec end_at, const struct lease_work *work);

#endif
