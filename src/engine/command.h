/*
 * One command of a program, whatever the API: a node of the graph (graph.h) that occupies an engine
 * (engine.h) once it runs. A front embeds struct command as the first member of its own command.
 * The functions of its driver table (driver_ops.h) get the embedded part and reach the front's part
 * by a cast.
 *
 * Life. The front fills in the fields of the first part. A draft on the stack goes to the driver at
 * once (direct.h). A heap object becomes a node with one reference by command_init().
 * graph_open() adds the graph's own reference, which lasts until the command is complete. The
 * last command_unref() calls driver_ops::free.
 *
 *     QUEUED --(waits are over, a thread takes it)--> SUBMITTED --(engine entered)--> RUNNING
 *        --> COMPLETE, or a negative code of the driver
 *
 * Fields of the second part belong to the engine. runtime.graph.lock guards them unless a comment
 * says otherwise.
 */
#ifndef ENGINE_COMMAND_H
#define ENGINE_COMMAND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/nsec.h"
#include "base/refs.h"
#include "engine/policy.h"
#include "wire/engine_kind.h"

struct command;
struct command_queue;
struct device_engine;
struct driver_ops;
struct meter;

/* Smaller is further. A negative status is the code of the driver or of the front, and is final. */
enum command_status { COMMAND_COMPLETE, COMMAND_RUNNING, COMMAND_SUBMITTED, COMMAND_QUEUED };

/*
 * The driver's own object that says when a command, or a piece of one, is over (an event). The
 * engine never looks inside; a front casts its handle to and from this type.
 */
struct mark;

/* Times in nanoseconds of the driver's clock; 0: unknown. */
struct mark_times {
    uint64_t queued, submitted, started, ended;
    /* the mark covers several commands, or its end was only noticed: no meter learns from it */
    bool shared;
};

/* The listener for the end of a mark. Embedded; it must live until run() has been called. */
struct mark_listener {
    void (*run)(struct mark_listener *listener, int status);
};

/*
 * Program code that is due when a command reaches a status. A front embeds it. run() calls the
 * program, calls worker_came_back(), releases what the callback holds and frees it. It runs with no
 * lock held, on any thread.
 */
struct command_callback {
    struct command_callback *next;
    int at, status; /* the status at which it is due, and the status that it is told */
    void (*run)(struct command_callback *callback);
};

enum edge_kind {
    /* over when the driver has the other command: the driver keeps the order */
    EDGE_AT_ISSUE,
    EDGE_AT_END, /* over when the other command is complete, with or without an error */
    EDGE_LISTED, /* the same, and a failure is inherited */
};

struct command_edge {
    struct command_edge *next;
    struct command *dependent; /* a reference */
    enum edge_kind kind;
};

struct command {
    /* --- filled in by the front; constant from graph_open() on --- */
    struct command_queue *queue; /* kept alive by the front's own part; NULL: a node without work */
    enum engine_kind engine;     /* the kind that it is reported as */
    bool leased;                 /* occupies its engine; markers do not */
    bool barrier;                /* later commands of an out-of-order queue wait for its end */
    bool all_before;             /* it waits for every earlier command of its queue */
    /* an in-order queue's next command waits for its end, not its issue */
    bool next_at_end;
    /* program code runs inside it and may need the program's locks */
    bool calls_program;
    int64_t predicted; /* expected run time in ns, or ENGINE_ALONE (engine.h) */
    /* learns from the command's run times; NULL: none (or its engine's bandwidth) */
    struct meter *meter;
    size_t items; /* items of the command, as the meter counts them */
    size_t bytes; /* bytes that it moves; 0: not a copy */

    /*
     * of its queue's device; command_resolve(), command_init() and pipe_begin() fill it in. The
     * front does so for a node without a queue
     */
    const struct driver_ops *ops;

    /* --- command_resolve() (runtime.h), once per launch --- */
    /*
     * the engine whose worker issues it and whose hold it uses (engine_device_for()); NULL: not
     * resolved
     */
    struct device_engine *runs_on;
    struct policy policy; /* resolved again by the thread that takes the command up */

    /* --- the engine's --- */
    struct refs refs; /* no lock */
    unsigned n_waiting;
    int status;
    bool failed_wait, issued;
    /* it has waited for other engines: nothing comes before it any more (driver_ops::add_wait) */
    bool alone;
    struct list in_queue; /* command_queue::commands */
    uint64_t place;       /* command_queue::n_opened when it was submitted: from 1 */
    struct list in_ready; /* device_engine::ready or device_engine::issued */
    struct command_edge *dependents;
    struct command_callback *callbacks;
    struct mark_listener listener; /* of foreign marks that it waits for */

    /* Of the thread that drives the engine, until the command is complete. */
    bool waited_for;                     /* that thread waits for its end at once */
    bool timed;                          /* `times` is known */
    int piece_status;                    /* status of a piece that failed; 0: none */
    uint32_t run_pieces;                 /* pieces that ended since the engine was given away */
    struct mark *first_mark, *last_mark; /* references: of the first and the newest piece */
    struct mark_times times;             /* of the whole command, once it is complete */
    /* of pieces that are over: the first start, the last end; 0: none is over */
    uint64_t begun, ended;
    /* first start since the engine was given away; end of the reported part */
    uint64_t resumed, reported;
    /* up to here engine time is counted; counted, but not yet reported as used; driver's clock */
    uint64_t used_until, used;
    baton_nsec queued_at, issued_at;
    int64_t lag; /* ns that other devices worked on the command after this one */

    /* recorder.h */
    uint32_t job, n_pieces;
    int64_t longest_piece; /* ns: two consecutive pieces, since both are in flight together */
    int64_t latest_piece;
};

/*
 * How many bytes a chunk of this copy has: the number in the settings, that of the plan, or what
 * its engine moves in engine_chunk_ns().
 */
size_t command_chunk_bytes(const struct command *command);

/*
 * Makes a heap command a node: one reference, QUEUED, nothing waits. The first part stays as it is.
 */
void command_init(struct command *command);

void command_ref(struct command *command);
/* The last call frees. With no lock held, unless the caller knows that it is not the last. */
void command_unref(struct command *command);

/* Drops the references to the command's marks. On the thread that drives, or after the end. */
void command_drop_marks(struct command *command);

#endif
