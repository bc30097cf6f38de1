/*
 * Decides whether a hold lingers. A job that copies in, computes for 0.3 ms and copies out needs
 * the bus twice. A less urgent waiting client would get the bus in between, and the job would then
 * wait for a piece of that client. So a hold lingers if its program came back soon the last times
 * and only less urgent clients wait.
 *
 * What the waiting clients lose is bounded. A hold lingers for at most LINGER_MOST, which is two
 * pieces, and in the long run for at most one LINGER_SHARE-th of the time. Pure: no clock, no lock.
 */
#ifndef CLIENT_LINGER_H
#define CLIENT_LINGER_H

#include "base/nsec.h"

#define LINGER_MOST   NSEC_PER_MS
#define LINGER_SHARE  8
#define LINGER_CREDIT (4 * LINGER_MOST) /* the most credit that can be saved */

struct lingering {
    baton_nsec
        left_at; /* the end of the last hold that a client waited for; 0: none, or the program is back */
    baton_nsec away[2]; /* lengths of the last two absences, the newest first; 0: unknown */
    baton_nsec spent;   /* the part of the credit that has not grown back */
    baton_nsec grown_at;
    baton_nsec promised; /* how long the last hold lingers */
};

/* A hold ends while a less urgent client waits: how long should it linger? 0: not at all. */
baton_nsec linger_for(struct lingering *linger, baton_nsec now_at);

/* A hold ends and does not linger. */
void linger_left(struct lingering *linger, baton_nsec now_at);

/* The program wants the engine again. */
void linger_back(struct lingering *linger, baton_nsec now_at);

#endif
