/*
 * Turns of tokens. An inferred job ends when the program waits for its commands. Some programs
 * never wait: they learn of the end by a callback or by a word in memory. The first job of such a
 * program, and its token, would last as long as the program.
 *
 * So an inferred job gives its token back after a turn if another job waits for that token. It does
 * so as soon as it holds no engine. It asks for a token again with its next request.
 *
 * A job that the program reports (baton_job_begin()) keeps its token until the program says that
 * the job, or its GPU work, is over. The analysis counts that as one critical section. Under a plan
 * only its tasks do so. Otherwise they would wait for as long as another program likes.
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
