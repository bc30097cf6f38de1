/* Kernel launches: how long one will take, whether it is cut, and the pieces. */
#ifndef OPENCL_GRAPH_LAUNCH_H
#define OPENCL_GRAPH_LAUNCH_H

#include "client/session.h"
#include "opencl/graph/opencl_command.h"
#include "opencl/graph/opencl_issue.h"
#include "opencl/opencl_objects.h"
#include "opencl/quirks/variant.h"
#include "translate/piece.h"
#include "translate/translate.h"

/* Work-groups of a launch with a given local size; 0: the driver chooses it. */
size_t launch_groups(const struct opencl_launch *launch);

static inline size_t launch_items(const struct opencl_launch *launch)
{
    size_t n = 1;

    for (cl_uint d = 0; d < launch->dim && d < 3; d++)
        n *= launch->global[d];
    return n;
}

/*
 * May this launch go to the driver at once and whole? False: a worker decides, maybe with pieces.
 */
bool launch_direct(const struct opencl_command *draft);

/* Why a launch goes to the driver whole: a counter of wire/counters.def. */
enum session_counter launch_why_whole(const struct opencl_command *command);

/* Counts a launch that goes to the driver whole, from the calling thread, with the reason. */
void launch_count_direct(const struct opencl_command *draft);

/*
 * On a worker, before it enters the engine: is it known whether the kernel can be cut? Waits until
 * the instant for the rewritten program; building takes tens of milliseconds, in which others shall
 * have the engine.
 */
bool launch_decided(const struct opencl_command *command, baton_nsec until_at);

/*
 * Gives a launch to the driver whole, as its rewritten twin, from a draft or a queued command, with
 * no enqueue call begun. False: the driver has taken nothing, and the launch goes to it as it is. A
 * kernel that is ever cut runs as its twin even when it runs whole: a driver that compiles at the
 * first launch would otherwise compile twice, the second time in the middle of the program's work.
 */
bool launch_give_rewritten(const struct opencl_command *command, cl_uint n, const cl_event *waits,
                           cl_event *event);

/*
 * On a thread that has entered the engine: the whole launch, or its pieces. Only once
 * launch_decided(). *ret_event: of the whole.
 */
cl_int launch_issue(struct piece_pipe *pipe, struct opencl_command *command, cl_event *ret_event);

/* A launch as flattened groups, and how it is cut into pieces: a unit is a work-group. */
struct opencl_cut {
    struct piece_cut base;
    struct piece_launch launch;
    struct piece piece;
    struct variant_launch shape; /* the local size again, and the number of groups */
    /* of the rewritten program, with its arguments set; while pieces run */
    cl_kernel kernel;
    struct variants *variants; /* borrowed; NULL: not minded */
};

/*
 * False: it cannot be expressed as a range of equal groups. base is left to the caller, but for
 * unit_items.
 */
bool launch_geometry(const struct opencl_launch *launch, const struct translate_kernel *about,
                     struct opencl_cut *ret_cut);

/*
 * Groups of it on the pipe's command's queue, piece by piece, with cut->kernel. What was issued
 * last is still in flight when it returns; at exit it stops between pieces.
 */
cl_int launch_pieces(struct piece_pipe *pipe, struct opencl_cut *cut, struct piece_source source);

/* kind::issue_range and driver_ops::bend_step of a launch that is cut. */
cl_int launch_issue_range(struct opencl_command *command, struct piece_cut *cut, uint64_t begin,
                          uint64_t limit, uint64_t *ret_end, cl_event *ret_event);
uint64_t launch_bend_step(const struct opencl_command *command, const struct piece_cut *cut, uint64_t step,
                          double fits, uint64_t left);

/*
 * What the driver calls a task: it may report a launch, and the event of a queued task must say the
 * same.
 */
cl_command_type launch_task_type(void);
void launch_task_seen(cl_event driver_event);

#endif
