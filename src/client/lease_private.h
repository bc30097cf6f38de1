/*
 * What lease.c (begin, end, wait), lease_linger.c and lease_group.c share. "Locked": under the
 * session's lock.
 */
#ifndef CLIENT_LEASE_PRIVATE_H
#define CLIENT_LEASE_PRIVATE_H

#include "client/session_private.h"

static inline lease_word *lease_word_of(const struct lease *lease)
{
    return atomic_load_explicit(&lease->session->protocol.leases[lease->index].word, memory_order_acquire);
}

static inline bool lease_grouped(const struct lease *lease)
{
    return atomic_load(&lease->session->protocol.leases[lease->index].grouped);
}

/* Sleeps until the word differs from `seen` or the instant has come, or perhaps shorter. */
void lease_sleep(lease_word *word, uint64_t seen, baton_nsec until_at);

/* ---- lingering: a hold kept for a program that is expected back soon (linger.h) ---- */

/*
 * Locked: a command of the kind `last` has ended the hold, and a client waits. True: the hold
 * lingers.
 */
bool lease_linger_begin(struct lease *lease, enum engine_kind last);

/*
 * Locked: the program is back and begins on the lingering hold. False: the hold does not linger, or
 * a client that is no less urgent waits by now.
 */
bool lease_linger_resume(struct lease *lease);

/* Locked: the program wants the engine again. */
void lease_linger_back(struct lease *lease);

/* Locked: ends the hold if it lingers. */
void lease_linger_end(struct lease *lease);

#endif
