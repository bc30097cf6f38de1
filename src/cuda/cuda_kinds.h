/*
 * What differs between the kinds of CUDA commands, in one table (cuda_kinds.c): one row per kind.
 * Code that handles commands reads the row; it does not compare kinds.
 */
#ifndef CUDA_KINDS_H
#define CUDA_KINDS_H

#include "cuda/cuda_command.h"

struct cuda_kind {
    bool launch; /* a kernel: u.launch is in use */
    bool copy;   /* a range of bytes: u.copy is in use */
    bool fence;  /* the driver gets nothing of it */

    /* Is the draft surely valid (validate.h)? NULL: always. */
    bool (*validate)(const struct cuda_command *draft);
    /* Is it longer than a piece, and can it be cut? NULL: it is never cut. */
    bool (*wants_cut)(const struct cuda_command *draft);
    /* Gives [begin, limit) of a cut command to the driver. NULL: it is never cut. */
    CUresult (*range)(struct cuda_command *command, struct piece_cut *cut, uint64_t begin, uint64_t limit);

    /*
     * The driver's call, whole, and what of ours goes with it. On any thread. NULL: the call as it
     * is.
     */
    CUresult (*give)(const struct cuda_command *command);
    /*
     * The same for a command that was held back; it may go in pieces instead (*ret_cut). On the
     * thread that drives the engine. NULL: as `give`.
     */
    CUresult (*issue)(struct piece_pipe *pipe, struct cuda_command *command, bool *ret_cut);

    /*
     * Copies what the arguments of a command on the heap point at. False: no memory. NULL: the
     * handler has named what is to be copied (submit.h), or nothing is.
     */
    bool (*adopt)(struct cuda_command *command);
    /* A command on the heap takes its references, and drops them at its end. NULL: none. */
    void (*keep)(struct cuda_command *command);
    void (*drop)(struct cuda_command *command);
    /* From graph_open() until graph_close(), with no lock held. NULL: submit_enter(). */
    void (*enter)(struct cuda_command *command);
};

extern const struct cuda_kind cuda_kinds[CUDA_KINDS];

static inline const struct cuda_kind *cuda_kind_of(const struct cuda_command *command)
{
    return &cuda_kinds[command->kind];
}

#endif
