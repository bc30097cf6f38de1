/*
 * Turns of tokens. A job that its client infers ends when the program waits for its commands. A
 * program that learns of their end in another way, by a callback or a word in memory, never waits,
 * so its first job and the token would last as long as the program. Therefore a token that a job
 * has without a reported begin goes back after a turn if another job waits for it: as soon as the
 * job holds no engine. The job asks for a token again with its next request.
 *
 * A job that the program reports (baton_job_begin()) keeps its token until the program says that
 * the job, or its GPU work, is over: the analysis counts one critical section.
 */
#ifndef DAEMON_TOKEN_TURNS_H
#define DAEMON_TOKEN_TURNS_H

#include "daemon/peer.h"

#define TOKEN_TURN_NS (50 * NSEC_PER_MS) /* from the later of the grant and the other's request */

/* The client has asked for a token, or was granted one: looks again after a turn. */
void token_turns_began(struct server *server, struct peer *peer);
/* Ends the turns that are over. Arms the next look. */
void token_turns_tick(struct server *server);

#endif
