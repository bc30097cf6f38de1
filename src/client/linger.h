/*
 * Decides whether a hold lingers. A job that copies in, computes for 0.3 ms and copies out needs
 * the bus twice. A less urgent waiting client would get the bus in between, and the job would then
 * wait for a piece of that client. So a hold lingers if its program came back soon the last times
 * and only less urgent clients wait.
 *
 * What the waiting clients lose is bounded. A hold lingers for at most LINGER_MOST, which is two
 * pieces. In the long run the holds of an engine linger for at most one LINGER_SHARE-th of the
 * time, and for no longer than the program's own work takes on that engine, as its front reports
 * it, plus one LINGER_SPARE-th of the time. So a job of a few small copies does not keep the bus
 * from others for long, however often it comes. Pure: no clock, no lock.
 */
#ifndef CLIENT_LINGER_H
#define CLIENT_LINGER_H

#include "base/nsec.h"

#define LINGER_MOST   NSEC_PER_MS
#define LINGER_SHARE  8
#define LINGER_SPARE  64
#define LINGER_CREDIT (4 * LINGER_MOST) /* the most credit that can be saved */

/* What the holds of an engine have lingered, less what has grown back since. */
struct linger_credit {
    baton_nsec spent_of_time; /* grows back with time */
    baton_nsec spent_of_work; /* grows back with work, and a little with time */
    baton_nsec grown_at;
};

/* The habit of a program after the holds that end with commands of one kind. */
struct lingering {
    baton_nsec
        left_at; /* the end of the last hold that a client waited for; 0: none, or the program is back */
    baton_nsec away[2];  /* lengths of the last two absences, the newest first; 0: unknown */
    baton_nsec promised; /* how long the last hold lingers */
};

/* Until now the program worked for this much longer on the engine. */
void linger_grow(struct linger_credit *credit, baton_nsec now_at, baton_nsec worked);

/*
 * A hold ends while a less urgent client waits: how long should it linger? 0: not at all. The
 * credit has grown.
 */
baton_nsec linger_for(struct lingering *linger, struct linger_credit *credit, baton_nsec now_at);

/* A hold ends and does not linger. */
void linger_left(struct lingering *linger, baton_nsec now_at);

/* The program wants the engine again. */
void linger_back(struct lingering *linger, struct linger_credit *credit, baton_nsec now_at);

#endif
