/*
 * Is the program back in a moment? A job that copies in, computes for 0.3 ms and copies out needs the bus twice. Whoever is less urgent and waits for it
 * would get it in between, and the job would have to wait for a piece of theirs to get it back. So a hold whose program came back
 * soon the last times lingers for about as long, if only less urgent ones wait.
 *
 * What they lose by that is bounded: a hold lingers for no more than LINGER_MOST, which is two pieces, and for no more than one
 * LINGER_SHARE-th of the time in the long run. Pure: no clock, no lock.
 */
#ifndef CLIENT_LINGER_H
#define CLIENT_LINGER_H

#include "base/nsec.h"

#define LINGER_MOST   NSEC_PER_MS
#define LINGER_SHARE  8
#define LINGER_CREDIT (4 * LINGER_MOST) /* what can be saved up */

struct lingering {
    baton_nsec
        left_at; /* the end of the last hold that somebody waited for; 0: none, or the program is back */
    baton_nsec
        away[2];      /* how long the program stayed away after the last ones, the newest first; 0: unknown */
    baton_nsec spent; /* of the credit, that has not grown back */
    baton_nsec grown_at;
    baton_nsec promised; /* what the last one lingers for */
};

/* A hold ends while somebody less urgent waits: for how long should it linger? 0: not at all. */
baton_nsec linger_for(struct lingering *linger, baton_nsec now_at);

/* It ends, and will not linger. */
void linger_left(struct lingering *linger, baton_nsec now_at);

/* The program wants the engine again. */
void linger_back(struct lingering *linger, baton_nsec now_at);

#endif
