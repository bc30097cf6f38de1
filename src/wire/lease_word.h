/*
 * The lease word: 64 bits in a page shared by the daemon and one client. All its transitions are
 * here. tests/model_check/lease.pml is the same protocol for spin, with crashes of either side.
 *
 *   bits 0-1 state | 2 YIELD | 3 WANTED | 4 TURN | 5 LEFT | 8-31 generation of the daemon |
 *   32-63 epoch: the client's request number
 *
 *            client                                  daemon
 *   IDLE  -> BUSY        begin                IDLE -> NONE            call_in: reclaimed
 *   BUSY  -> IDLE        end, none waits      BUSY -> BUSY + flags    call_in: asked
 *   BUSY+ -> NONE        end, then RELEASE    NONE -> BUSY [+WANTED]  grant, after REQUEST
 *
 * A group of leases is granted with WANTED in every word, so that no member ever becomes IDLE.
 *
 * The low half changes with every transition that a thread sleeps for, so it serves as the futex
 * word. The word is a hint: the daemon keeps its own state, and nothing that a client writes here
 * can harm another client.
 */
#ifndef WIRE_LEASE_WORD_H
#define WIRE_LEASE_WORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef _Atomic uint64_t lease_word;

enum lease_state { LEASE_STATE_NONE = 0, LEASE_STATE_IDLE = 1, LEASE_STATE_BUSY = 2 };

#define LEASE_STATE_MASK      UINT64_C(3)
#define LEASE_FLAG_YIELD      UINT64_C(4)  /* a more urgent client waits: yield at the next piece border */
#define LEASE_FLAG_WANTED     UINT64_C(8)  /* a client waits: give back at the end, do not keep it IDLE */
#define LEASE_FLAG_TURN       UINT64_C(16) /* ... and is no less urgent: end with the turn */
#define LEASE_FLAG_LEFT       UINT64_C(32) /* the client has moved to another page: sleep there */
#define LEASE_ASK_TURN        (LEASE_FLAG_WANTED | LEASE_FLAG_TURN)
#define LEASE_FLAGS           (LEASE_FLAG_YIELD | LEASE_FLAG_WANTED | LEASE_FLAG_TURN)
#define LEASE_GENERATION_MASK UINT32_C(0xffffff)

/*
 * A turn, in nanoseconds: how long a hold may last, from its beginning, while TURN is set. Then it
 * ends at the next border (Q6).
 */
#define LEASE_TURN_NS INT64_C(5000000)

static inline uint64_t lease_word_make(enum lease_state state, uint64_t flags, uint32_t generation,
                                       uint32_t epoch)
{
    return (uint64_t)state | flags | (uint64_t)(generation & LEASE_GENERATION_MASK) << 8 |
           (uint64_t)epoch << 32;
}

static inline enum lease_state lease_word_state(uint64_t value)
{
    return (enum lease_state)(value & LEASE_STATE_MASK);
}

static inline uint32_t lease_word_generation(uint64_t value)
{
    return (uint32_t)(value >> 8) & LEASE_GENERATION_MASK;
}

static inline uint32_t lease_word_epoch(uint64_t value)
{
    return (uint32_t)(value >> 32);
}

/* Client: IDLE -> BUSY. False: not idle; *ret_seen is the word. */
static inline bool lease_word_begin(lease_word *word, uint64_t *ret_seen)
{
    uint64_t seen = atomic_load_explicit(word, memory_order_relaxed);

    if ((seen & (LEASE_STATE_MASK | LEASE_FLAGS)) == LEASE_STATE_IDLE &&
        atomic_compare_exchange_strong_explicit(word, &seen, seen ^ (LEASE_STATE_IDLE ^ LEASE_STATE_BUSY),
                                                memory_order_acquire, memory_order_relaxed))
        return true;
    *ret_seen = seen;
    return false;
}

/* Client: BUSY -> IDLE without a message. False: a client waits, use lease_word_give(). */
static inline bool lease_word_keep(lease_word *word)
{
    uint64_t seen = atomic_load_explicit(word, memory_order_relaxed);

    return (seen & (LEASE_STATE_MASK | LEASE_FLAGS)) == LEASE_STATE_BUSY &&
           atomic_compare_exchange_strong_explicit(word, &seen, seen ^ (LEASE_STATE_IDLE ^ LEASE_STATE_BUSY),
                                                   memory_order_release, memory_order_relaxed);
}

/* Client: BUSY with any flags -> NONE; a RELEASE for the epoch must follow. */
static inline void lease_word_give(lease_word *word)
{
    (void)atomic_fetch_and_explicit(word, ~(LEASE_STATE_MASK | LEASE_FLAGS), memory_order_release);
}

/*
 * Client: will not read this word again. A thread that has read it and is about to sleep finds it
 * changed.
 */
static inline void lease_word_leave(lease_word *word)
{
    (void)atomic_fetch_or_explicit(word, LEASE_FLAG_LEFT, memory_order_release);
}

/* Daemon: NONE -> BUSY for the client's request `epoch`. */
static inline void lease_word_grant(lease_word *word, uint64_t flags, uint32_t generation, uint32_t epoch)
{
    atomic_store_explicit(word, lease_word_make(LEASE_STATE_BUSY, flags, generation, epoch),
                          memory_order_release);
}

enum lease_called {
    LEASE_CALLED_BUSY,  /* held; now flagged, so a RELEASE will come */
    LEASE_CALLED_TAKEN, /* was idle: reclaimed, no thread uses it */
    LEASE_CALLED_GONE,  /* the client has already given it up; its RELEASE is under way */
};

/*
 * Daemon: wants the engine back. One atomic OR decides, so a client that writes to the word all the
 * time cannot keep the daemon in a loop. A flagged BUSY must be given back with a message; a
 * flagged IDLE cannot begin.
 */
static inline enum lease_called lease_word_call_in(lease_word *word, uint64_t flags)
{
    uint64_t seen = atomic_fetch_or_explicit(word, flags, memory_order_acq_rel);

    if (lease_word_state(seen) == LEASE_STATE_BUSY)
        return LEASE_CALLED_BUSY;
    (void)atomic_fetch_and_explicit(word, ~(LEASE_STATE_MASK | LEASE_FLAGS), memory_order_acq_rel);
    return lease_word_state(seen) == LEASE_STATE_IDLE ? LEASE_CALLED_TAKEN : LEASE_CALLED_GONE;
}

#endif
