/*
 * Chooses the GPU for the next job (placement `chosen`, docs/protocols.md M1). Call once per job,
 * before its data is uploaded. One round trip to the daemon, which knows what the other clients
 * announced. For worker threads: it blocks. Under the profile `gpusync` it blocks until the job
 * holds a token of the chosen GPU; under the others never for long.
 *
 *     place_choose(session, leases, n, &request, &chosen);
 *     ... move the data, place_moved(), run ...
 *     place_end(session);
 */
#ifndef CLIENT_PLACE_H
#define CLIENT_PLACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/nsec.h"
#include "client/lease.h"

#define PLACE_NOWHERE SIZE_MAX
#define PLACE_PASSED                                                                                         \
    1 /* no choice was made: no daemon, no answer in time, or the daemon does not choose among these GPUs */

struct place_request {
    unsigned gpus;       /* how many; 0 counts as 1 */
    size_t home;         /* index of the candidate whose GPU has the data; PLACE_NOWHERE: none has */
    uint64_t bytes;      /* bytes that would have to be moved away from home */
    baton_nsec work;     /* GPU time of the job; 0: unknown */
    baton_nsec patience; /* how long the answer may take; 0: 20 ms, beyond which waiting does not pay */
};

/*
 * candidates: one lease per GPU, all of this session, at most 32. *ret_chosen: bit i is
 * candidates[i], as many as requested. 0, or PLACE_PASSED. After PLACE_PASSED the choice is home
 * (else the first candidate) and those after it. -EINVAL: no or too many candidates. A session has
 * one placement at a time: a new choice ends the previous one. One thread at a time.
 */
int place_choose(struct session *session, struct lease *const candidates[], size_t n,
                 const struct place_request *request, uint32_t *ret_chosen);

/* The process ends: a wait for an answer returns at once. */
void place_leave(struct session *session);

/* The job is over; its announced work is withdrawn. Never blocks. */
void place_end(struct session *session);

/*
 * Reports a movement of data, from which the daemon learns the cost. from NULL: from the host.
 * Never blocks.
 */
void place_moved(struct session *session, const struct lease *from, const struct lease *to, uint64_t bytes,
                 baton_nsec length);

#endif
