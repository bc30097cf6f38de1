/*
 * A command as pieces: ranges of units (work-groups, thread blocks, bytes, rows) that the driver is
 * given one after the other. At most two pieces are in flight; the third waits for the first. Of
 * short pieces of a kernel there may be up to four while the engine is calm (engine_is_calm()), if
 * all take no longer than two pieces should. Then this thread wakes up once for two of them.
 *
 * Between two pieces the engine is given away if the daemon asks. Under an exact plan
 * (policy::exact) that happens only where the next piece would exceed the plan's length. So a
 * command makes no more requests than the plan counts, and each is as short as planned.
 *
 * Functions are called on the thread that drives the engine and has entered it. A pipe lives on
 * that thread's stack.
 */
#ifndef ENGINE_PIPE_H
#define ENGINE_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/session.h"
#include "engine/command.h"
#include "engine/engine.h"
#include "engine/meter.h"

enum { PIPE_EARLIER = 3 };

/* One that is in flight. */
struct pipe_piece {
    struct mark *mark;
    size_t items; /* 0: not to be measured */
};

struct piece_pipe {
    struct device_engine *engine;
    struct command *command;
    /* before the newest, the oldest first; not yet waited for */
    struct pipe_piece earlier[PIPE_EARLIER];
    unsigned n_earlier;
    size_t items;        /* of the newest, whose mark is command->last_mark */
    uint64_t held_units; /* given to the driver since the last border of the plan */
    /*
     * How fast the pieces end. A front may know only when a piece was issued, not that it waited
     * for the one before it.
     */
    struct meter pace;
    uint64_t ended; /* when the newest of those that are over was; 0: none is */
};

/* How a command is cut. A front embeds it beside what issue_range needs. */
struct piece_cut {
    uint64_t step, least;         /* units of the next piece, and of the smallest */
    size_t unit_items;            /* items that command->meter counts, or bytes, in one unit */
    bool by_time;                 /* steps follow the meter; else every piece has `step` units */
    bool to_the_end;              /* go on while the process ends; else stop at the next border */
    enum session_counter counter; /* counts one more per piece */
};

/* The source of the units. */
struct piece_source {
    uint64_t begin, end; /* these first */
    /*
     * Then about this many more; false, or NULL: there are none. Asked as late as possible, since
     * other threads may take them.
     */
    bool (*more)(void *user, uint64_t step, uint64_t *ret_begin, uint64_t *ret_end);
    void *user;
};

/*
 * About how long a piece of a kernel runs. Two pieces must not exceed the plan's length (from
 * `baton profile`: a measured worst case).
 */
static inline int64_t pipe_piece_ns(const struct policy *policy)
{
    baton_nsec planned = policy->piece / 2;

    return planned > 0 && planned < ENGINE_PIECE_NS ? planned : ENGINE_PIECE_NS;
}

void pipe_begin(struct piece_pipe *pipe, struct device_engine *engine, struct command *command);

/*
 * Gives the units to the driver by driver_ops::issue_range, as pieces. The newest piece may still
 * be in flight on return. 0, or the first negative code: earlier pieces have run or are in flight.
 * If the process ends before the last unit was given, driver_ops::inherited_failure.
 */
int pipe_run(struct piece_pipe *pipe, struct piece_cut *cut, struct piece_source source);

/* Call after each piece. Takes over the reference to the mark. */
void pipe_add(struct piece_pipe *pipe, struct mark *mark, size_t items);
/* Waits for what is in flight and reports what ran since the engine was last given away. */
void pipe_report(struct piece_pipe *pipe);
/*
 * Call after the last piece: waits for those before it, so that only the newest may be in flight.
 */
void pipe_finish(struct piece_pipe *pipe);
/* After a failure: waits for what is in flight, and drops it. */
void pipe_abandon(struct piece_pipe *pipe);

/* Issues the whole command by driver_ops::issue, within a pipe of its own. */
int pipe_issue(struct device_engine *engine, struct command *command);

/* --- times --- */

/* Reports what the command ran since its engine was last given away, by the times of its pieces. */
void pipe_report_run(struct device_engine *engine, struct command *command);
/* Fills command->times from its marks, in the driver's clock. */
void pipe_mark_times(struct command *command);
/* The same, and records, reports and measures: the command is over. */
void pipe_read_times(struct device_engine *engine, struct command *command);
/* Waits for the newest piece, then does the same; returns the command's status. */
int pipe_await(struct device_engine *engine, struct command *command);

#endif
