/*
 * Where a command goes. The calling thread gives it to the driver (engine/direct.h) under two
 * conditions. Its engine is free for it, and nothing that it must not overtake is held back. Else
 * it is held back in the engine's graph. A call that reports its work's end (synchronous copies)
 * waits for it here, and does the engine's work meanwhile.
 *
 * What a call must report at once is the driver's to say. So arguments that are not surely valid
 * (validate.h) wait until the call can go to the driver directly.
 */
#ifndef CUDA_SUBMIT_H
#define CUDA_SUBMIT_H

#include "cuda/cuda_command.h"

/*
 * A draft of a call on that stream, with the reference to the stream taken over: submit() drops it.
 * engine, leased, bytes and the union are the handler's to fill in.
 */
void submit_draft(struct cuda_command *ret_draft, const struct call *call, struct stream_record *stream);

/*
 * A draft of a call of our own that has a stream and, before or behind it, an event (NULL: none).
 * No gate (context_gates.h) is before it.
 */
void submit_draft_own(struct cuda_command *ret_draft, unsigned index, struct stream_record *stream,
                      CUevent event);

/*
 * blocking: the caller wants to know the end. copies: size bytes behind `pointer`, which the
 * command's argument number `argument` names, are copied if the command is held back; NULL: none.
 */
struct submit_copied {
    const void *memory;
    size_t size;
    int argument;
};

CUresult submit(struct cuda_command *draft, bool blocking, const struct submit_copied *copied);

/* The same for a command behind which the stream waits until the host has acted. */
CUresult submit_fenced(struct cuda_command *draft, const struct submit_copied *copied);

/* Waits for its turn, then calls the driver on this thread, whole, with the engine entered. */
CUresult submit_at_once(struct cuda_command *draft, bool blocking);

/* A heap copy with one reference; NULL: no memory. */
struct cuda_command *submit_adopt(const struct cuda_command *draft, const struct submit_copied *copied);
/* Puts a heap command into the graph behind what it must wait for. */
void submit_to_graph(struct cuda_command *command);
/*
 * The order of its stream; the command does not begin before graph_close(). submit_open_locked():
 * under cuda_front.order.
 */
void submit_enter(struct cuda_command *command);
void submit_open_locked(struct cuda_command *command);

#endif
