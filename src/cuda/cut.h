/*
 * Which launches and copies are cut, and how their pieces are given to the driver. A piece of a
 * launch is a range of its blocks on the kernel's sibling (function.h). A chunk of a copy is a
 * range of its bytes.
 */
#ifndef CUDA_CUT_H
#define CUDA_CUT_H

#include "client/session.h"
#include "cuda/cuda_command.h"

/* Should the launch go through the engine's workers, to run in pieces? */
bool cut_wants_launch(const struct cuda_command *command);

/* Why a launch runs whole; COUNTER_PIECES: it does not. */
enum session_counter cut_why_whole(const struct cuda_command *command);
/* Counts it as a launch that runs whole. */
void cut_count_whole(const struct cuda_command *command, enum session_counter why);

/* Are there more bytes than a chunk has? */
bool cut_wants_copy(const struct cuda_command *command);

/* Are there several rows, and more bytes than a chunk has? */
bool cut_wants_rows(const struct cuda_command *command);

/* Bytes of a chunk; SIZE_MAX: it is not cut. */
size_t cut_chunk(const struct cuda_command *command);

/*
 * The driver's calls of one command, in pieces (*ret_cut) or whole. On the thread that drives the
 * engine.
 */
CUresult cut_launch(struct piece_pipe *pipe, struct cuda_command *command, bool *ret_cut);
CUresult cut_copy(struct piece_pipe *pipe, struct cuda_command *command, bool *ret_cut);
CUresult cut_rows(struct piece_pipe *pipe, struct cuda_command *command, bool *ret_cut);

/* The driver's calls of units [begin, limit) of such a command. On the same thread. */
CUresult cut_launch_range(struct cuda_command *command, struct piece_cut *base, uint64_t begin,
                          uint64_t limit);
CUresult cut_copy_range(struct cuda_command *command, struct piece_cut *cut, uint64_t begin, uint64_t limit);
CUresult cut_rows_range(struct cuda_command *command, struct piece_cut *cut, uint64_t begin, uint64_t limit);

#endif
