/*
 * Giving a command to the driver: the front's half of driver_ops, and what is decided about a
 * command before. A launch or copy that wants to be cut goes through the engine's workers. The
 * cutting itself is in cut.c, on the thread that drives the engine.
 */
#ifndef CUDA_ISSUE_H
#define CUDA_ISSUE_H

#include "cuda/cuda_command.h"
#include "engine/driver_ops.h"

extern const struct driver_ops issue_ops;

/* The driver's call, whole, and what of ours goes with it. On any thread. */
CUresult issue_call(const struct cuda_command *command);

/* Expected nanoseconds on its engine. */
int64_t issue_predict(const struct cuda_command *draft);

/*
 * Is it longer than a piece, and can it be cut? Then the calling thread does not give it to the
 * driver.
 */
bool issue_wants_cut(const struct cuda_command *draft);

/* Counts a launch that goes to the driver whole. */
void issue_count_whole(const struct cuda_command *draft);

/* --- for the rows of kinds: functions of the columns of cuda_kinds.h --- */

/* adopt */
bool issue_adopt_launch(struct cuda_command *command);
/* keep, drop */
void issue_keep_launch(struct cuda_command *command);
void issue_drop_launch(struct cuda_command *command);
void issue_keep_recording(struct cuda_command *command);
void issue_drop_recording(struct cuda_command *command);
/* give */
CUresult launch_ex_give(const struct cuda_command *command); /* route_launch.c */
CUresult issue_free(const struct cuda_command *command);
CUresult issue_destroy(const struct cuda_command *command);
/* issue */
CUresult issue_record(struct piece_pipe *pipe, struct cuda_command *command, bool *ret_cut);
CUresult issue_wait_event(struct piece_pipe *pipe, struct cuda_command *command, bool *ret_cut);
CUresult issue_callback(struct piece_pipe *pipe, struct cuda_command *command, bool *ret_cut);
CUresult issue_nothing(struct piece_pipe *pipe, struct cuda_command *command, bool *ret_cut);

#endif
