/*
 * Profiles with tokens (`gpusync`): what one client does between the release of a job and its end.
 * The client has one lane: one job, one token, one engine at a time.
 *
 *            JOB begins, or a request           JOB ends              nothing is held
 *   JOB_NONE ------------------------> JOB_RUNS --------> JOB_OVER ----------------> JOB_ENDING
 *      ^                                                                                  |
 *      +--- the core has ended the job (CK-OMLP defers the end of a donor, C5) <----------+
 *
 *   PEER_TOKEN_NONE --PLACE, or a request for an engine--> PEER_TOKEN_ASKED
 *   PEER_TOKEN_ASKED --SCHED_TOKEN--> PEER_TOKEN_OURS
 *   PEER_TOKEN_OURS --job ends, or no longer needs a GPU, or its turn is over--> PEER_TOKEN_NONE
 *
 * A token belongs to one GPU. The client learns which (PLACED), and its engine requests name that
 * GPU's engines. Some clients ask for an engine of another GPU. Their kernels may run only where
 * the program opened them, or the program has queues on several GPUs. Such a client exchanges the
 * token for one of that GPU while it holds no engine. So every GPU that a program uses is under a
 * token. No analysis counts the exchange: the client has strayed, and no bound is claimed. So has a
 * program that asks for some of the GPUs of its planned cluster only, or for GPUs outside of it.
 *
 * Some programs do not ask which GPU, for example a CUDA program that stays on the device it
 * opened. Such a program gets a token of its device. In a cluster of several GPUs the analysis
 * assumes that the lock chooses the GPU, so this client has strayed as well.
 *
 * A copy that moves a job's state from a GPU of the same cluster needs no exchange. It holds that
 * GPU's copy engine and the job's own, as a peer copy does (E3, M4).
 *
 * Budgets: daemon/budgets.h. A throttled job gives the token back at its next border, and goes on
 * with a new budget one period after its release.
 */
#ifndef DAEMON_LANES_H
#define DAEMON_LANES_H

#include "daemon/peer.h"

/*
 * A client joins the core with its first GPU (gpu) or its first job (SCHED_NO_GPU). It joins in the
 * clusters that the plan gives it, else in the cluster of that GPU.
 */
void lanes_join(struct server *server, struct peer *peer, unsigned gpu);

void lanes_job_begins(struct server *server, struct peer *peer, baton_nsec deadline_at);
void lanes_job_ends(struct server *server, struct peer *peer);
/* The job needs no GPU any more: its token is released when its engine is free. */
void lanes_gpu_over(struct server *server, struct peer *peer);
/* The client's priority or place in the plan has changed. */
void lanes_rerank(struct server *server, struct peer *peer);
/* The core handled JOB_DONE, or ended a deferred job. */
void lanes_job_ended(struct server *server, struct peer *peer);

/* PLACE: which GPU for the job? Answered when its token is granted. */
void lanes_place(struct server *server, struct peer *peer, const struct frame_place *frame, uint64_t gpus);
/* The client has left and its GPUs have drained: its token is free again. */
void lanes_left(struct server *server, const struct peer *peer);
void lanes_token_granted(struct server *server, struct peer *peer, unsigned gpu);

/* Takes the next step: asks for the token or an engine, gives the token back, or ends the job. */
void lanes_pump(struct server *server, struct peer *peer);

/*
 * The flags that the holder of the client's engine must get, at its grant or later. Until the
 * engine is free, another request of the client or its next budget may wait. So may the end of its
 * job, of its GPU work, or of its turn with the token. The core does not know of these waits, so no
 * decision of the core tells the holder.
 */
uint64_t lanes_flags(const struct server *server, const struct peer *peer);

/* The engines of a request, which may be a copy from another GPU of the cluster. */
struct engine_set lanes_engines(const struct server *server, const struct peer *peer, unsigned lease,
                                struct engine_set engines);

/* The job has used up its budget: it gives its engine and its token back at its next border. */
void lanes_throttle(struct server *server, struct peer *peer);
/* Has the job used up its budget, and is its next budget not yet due? */
bool lanes_throttled(const struct server *server, const struct peer *peer);
/* A throttled job goes on if its next budget is due. */
void lanes_go_on(struct server *server, struct peer *peer);

#endif
