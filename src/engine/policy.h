/*
 * The settings of `baton run`, the daemon and the plan for this program, in the form that the hot
 * path reads: atomic loads, no lock. Any thread.
 */
#ifndef ENGINE_POLICY_H
#define ENGINE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/nsec.h"
#include "client/session.h"

/*
 * The settings for one command, resolved when it is submitted and again when a thread takes it to
 * issue it. Every decision about the command goes by them, whatever plan comes meanwhile.
 */
struct policy {
    struct session *session; /* NULL: none */
    bool online;             /* a daemon is there */
    bool slicing, chunking;  /* policy_slicing(), policy_chunking() */
    bool tasked;             /* the program is a task of the plan */
    bool exact;              /* policy_exact() */
    baton_nsec piece;        /* the plan's longest piece; 0: no limit */
};

void policy_resolve(struct policy *ret_policy);

/* Adds to a counter, if there is a session. */
static inline void policy_count(const struct policy *policy, enum session_counter counter, uint64_t n)
{
    if (policy->session)
        session_count(policy->session, counter, n);
}

/*
 * Should kernels / copies be cut? Yes if a number was given, or if automatic and a daemon is
 * connected.
 */
bool policy_slicing(void);
bool policy_chunking(void);

/*
 * Does an analysis count every piece and chunk of the plan's length as one request? Then the engine
 * is given away at these borders only, and the driver has one such request at a time.
 */
bool policy_exact(void);

/* The plan's limit: bytes per chunk from or to the device. 0: none. */
int64_t policy_chunk(bool out);
/* How many GPUs the plan gives this program (0: it says nothing), and which (0: any). */
unsigned policy_gpus(uint64_t *ret_set);
/* Is state copied to the host at the end of every job (migration `system`)? */
bool policy_saves_state(void);
/* Does state go directly from GPU to GPU (migration `p2p`)? */
bool policy_peer_copies(void);
/* Grows with every plan that is taken; 0: none was. */
unsigned policy_plan_number(void);

#endif
