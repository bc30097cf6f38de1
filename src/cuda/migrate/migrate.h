/*
 * A CUDA program whose jobs run on the GPU of their token (profile `gpusync`, GPU clusters of
 * several GPUs, a migration other than `none`; docs/gpusync.md). The program opens one device, its
 * home, and sees that device only. Before the first command of a job the daemon is asked for the
 * GPU. If it is another one than that of the job before, the program's memory moves there.
 *
 * Memory keeps its address: what cuMemAlloc returns is an address range of the front's own, and
 * moving replaces the physical memory behind it (moved_memory.h). Kernels are loaded on the other
 * GPU when they are first launched there (code.h). Commands go to a stream of the front's own on
 * that GPU, and the engine's thread waits for the end of each. So nothing of the program's streams
 * is in flight elsewhere: its events, queries and waits stay at home, in the order of the graph.
 *
 * What cannot follow keeps the program at home from then on. It is the first call of a name that
 * follows.def does not have, a module with variables that kernels write, or a second context. The
 * memory returns first. Every failure of a move has the same end. `stays-home` is then a notice
 * with the reason, and batond claims no bound, because the program does not ask for its GPU.
 *
 * Nothing of this is active for any other program: its calls do not come by here.
 *
 * Threads: a command is `inside` from migrate_enter() to migrate_leave(). A move needs all others
 * outside, an empty graph and nothing in flight; at the first command of a job that is so.
 */
#ifndef CUDA_MIGRATE_H
#define CUDA_MIGRATE_H

#include "cuda/cuda_command.h"
#include "cuda/front.h"

/* Is the program's memory the front's own? True from the first context to the end. */
static inline bool migrate_on(void)
{
    return atomic_load_explicit(&cuda_front.migrate.on, memory_order_relaxed);
}

/* The program has made or opened a context: the first one is where it is at home. */
void migrate_context_made(CUcontext context);
/* It has ended a context, and with it all memory there. */
void migrate_context_ended(CUcontext context);

/*
 * The program does something that cannot follow. CUDA_SUCCESS: it is at home with all its memory;
 * any other: it could not return, and the call gets this answer.
 */
CUresult migrate_stay_home(const char *reason);

/*
 * Around a command that is given to the driver or to the graph. Enter asks for the GPU of a new
 * job, and points the command at its GPU: draft->on, and the call. Not CUDA_SUCCESS: the call's
 * answer. Leave may be called twice.
 */
CUresult migrate_enter(struct cuda_command *draft);
void migrate_leave(struct cuda_command *draft);

/* Does the command run on another GPU than the program's own? */
static inline bool migrate_is_away(const struct cuda_command *command)
{
    return command->on != command->stream;
}

/* Waits until what the driver was given of a command on another GPU is over. */
CUresult migrate_await(const struct cuda_command *command, CUresult code);

/* For driver_ops. */
void migrate_job_ending(void);
void migrate_job_over(void);

/* The process ends: from now on no thread waits for a GPU. */
void migrate_stop(void);
/* From then on: is memory still to be freed and described by the front, since it made it? */
bool migrate_serves(void);

/*
 * What a stub whose name passes or drains does first: the driver's function, or one of ours that
 * answers.
 */
void *migrate_before(unsigned index, void *genuine);

#endif
