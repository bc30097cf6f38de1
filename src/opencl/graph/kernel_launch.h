/* Kernel launches: how long a launch will take, whether it is cut, and its pieces. */
#ifndef OPENCL_GRAPH_LAUNCH_H
#define OPENCL_GRAPH_LAUNCH_H

#include "client/session.h"
#include "opencl/graph/opencl_command.h"
#include "opencl/graph/opencl_issue.h"
#include "opencl/opencl_objects.h"
#include "opencl/quirks/variant.h"
#include "translate/piece.h"
#include "translate/translate.h"

/* Work-groups of a launch with a given local size; 0: the driver chooses the local size. */
size_t launch_groups(const struct opencl_launch *launch);

static inline size_t launch_items(const struct opencl_launch *launch)
{
    size_t n = 1;

    for (cl_uint d = 0; d < launch->dim && d < 3; d++)
        n *= launch->global[d];
    return n;
}

/* May this launch go to the driver at once and whole? False: a worker decides, and may cut it. */
bool launch_direct(const struct opencl_command *draft);

/* Why a launch goes to the driver whole: a counter of wire/counters.def. */
enum session_counter launch_why_whole(const struct opencl_command *command);

/* Counts a launch that goes to the driver whole, from the calling thread, with the reason. */
void launch_count_direct(const struct opencl_command *draft);

/*
 * On a worker, before it enters the engine: is it known whether the kernel can be cut? Waits until
 * the instant for the rewritten program. Building takes tens of milliseconds, during which other
 * clients should have the engine.
 */
bool launch_decided(const struct opencl_command *command, baton_nsec until_at);

/*
 * Gives a launch to the driver whole, as its rewritten twin, from a draft or a queued command. No
 * enqueue call may be in progress. False: the driver has taken nothing, and the caller issues the
 * launch unchanged.
 *
 * A kernel that is ever cut runs as its twin even when it runs whole. Otherwise a driver that
 * compiles at the first launch would compile twice, the second time in the middle of the program's
 * work.
 */
bool launch_give_rewritten(const struct opencl_command *command, cl_uint n, const cl_event *waits,
                           cl_event *event);

/*
 * On a thread that has entered the engine: issues the whole launch, or its pieces. Call only after
 * launch_decided(). *ret_event: of the whole.
 */
cl_int launch_issue(struct piece_pipe *pipe, struct opencl_command *command, cl_event *ret_event);

/* A launch as a flat range of work-groups, and how it is cut. A unit is a work-group. */
struct opencl_cut {
    struct piece_cut base;
    struct piece_launch launch;
    struct piece piece;
    struct variant_launch shape; /* the local size, and the number of groups */
    /* of the rewritten program, with its arguments set; while pieces run */
    cl_kernel kernel;
    struct variants *variants; /* borrowed; NULL: the driver does not have the quirk */
};

/*
 * False: the launch cannot be expressed as a range of equal groups. Leaves `base` to the caller,
 * except for unit_items.
 */
bool launch_geometry(const struct opencl_launch *launch, const struct translate_kernel *about,
                     struct opencl_cut *ret_cut);

/*
 * Issues groups on the queue of the pipe's command, piece by piece, with cut->kernel. The last
 * pieces are still in flight on return. At exit it stops between pieces.
 */
cl_int launch_pieces(struct piece_pipe *pipe, struct opencl_cut *cut, struct piece_source source);

/* kind::issue_range and driver_ops::bend_step of a launch that is cut. */
cl_int launch_issue_range(struct opencl_command *command, struct piece_cut *cut, uint64_t begin,
                          uint64_t limit, uint64_t *ret_end, cl_event *ret_event);
uint64_t launch_bend_step(const struct opencl_command *command, const struct piece_cut *cut, uint64_t step,
                          double fits, uint64_t left);

/*
 * The event type that the driver reports for a task. It may be that of a launch, and the event of a
 * queued task must report the same.
 */
cl_command_type launch_task_type(void);
void launch_task_seen(cl_event driver_event);

#endif
