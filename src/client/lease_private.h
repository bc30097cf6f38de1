/* What lease.c (begin, end, wait), lease_linger.c and lease_group.c share. "Locked": under the session's lock. */
#ifndef CLIENT_LEASE_PRIVATE_H
#define CLIENT_LEASE_PRIVATE_H

#include "client/session_private.h"

static inline lease_word *lease_word_of(const struct lease *lease)
{
    return atomic_load_explicit(&lease->session->protocol.leases[lease->index].word, memory_order_acquire);
}

static inline bool lease_rides(const struct lease *lease)
{
    return atomic_load(&lease->rides) != NULL;
}

static inline bool lease_grouped(const struct lease *lease)
{
    return atomic_load(&lease->session->protocol.leases[lease->index].grouped);
}

/* Locked: somebody rides on this one, which its own user wants. As the daemon would: the rider gives it back at its end. */
void lease_want_back(struct lease *lease);

/* Sleeps until the word is another one than was seen, or until the instant, or perhaps earlier. */
void lease_sleep(lease_word *word, uint64_t seen, baton_nsec until_at);

/* ---- lingering: held by nobody for a moment, because the program is expected back (linger.h) ---- */

/* Locked: the hold of this word by that user, itself or a rider, has ended, and somebody waits. True: it lingers. */
bool lease_linger_begin(struct lease *lease, struct lease *user);

/* Locked: the program is back and begins where it lingers. False: it does not linger, or somebody no less urgent waits by now. */
bool lease_linger_resume(struct lease *lease);

/* Locked: the program wants the engine, or the bus in either direction. */
void lease_linger_back(struct lease *lease);

/* Locked: no more, if it does. */
void lease_linger_end(struct lease *lease);

#endif
