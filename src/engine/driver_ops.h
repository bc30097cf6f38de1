/*
 * The table through which the engine reaches a GPU API. Each front has one, gives it to
 * runtime_init() and to its devices, and never changes it. A program may use several APIs: a
 * command and its marks belong to the front of the command's device. Entries marked (optional) may
 * be NULL.
 *
 * Threads: any, at any time. Locks: no lock of the engine is held during a call, unless the entry
 * says otherwise. A front may take its own locks inside. It must not hold them while it calls
 * blocking functions of graph.h, worker.h or engine.h. The one exception is the lock of OpenCL's
 * spread/, which is taken before any engine and held while a thread enters one.
 */
#ifndef ENGINE_DRIVER_OPS_H
#define ENGINE_DRIVER_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/nsec.h"
#include "engine/command.h"

struct device_engine;
struct job_record_command;
struct piece_cut;
struct piece_pipe;

struct driver_ops {
    /* --- marks --- */

    /*
     * The mark's status: COMMAND_COMPLETE, a positive status, or a negative code. May be called
     * under an engine's lock or the recorder's.
     */
    int (*mark_status)(struct mark *mark);
    /* Waits for its end; COMMAND_COMPLETE or a negative code. */
    int (*mark_wait)(struct mark *mark);
    /*
     * Calls listener->run once the mark is over (at once if it already is). The same listener may
     * be registered for several marks. False: the driver cannot notify and run is not called; the
     * engine waits instead.
     */
    bool (*mark_notify)(struct mark *mark, struct mark_listener *listener);
    /* Lets everything in the driver's queue up to this mark begin without further calls. */
    void (*mark_flush)(struct mark *mark);
    /*
     * The times of a complete mark, in the driver's clock; 0: unknown. mark_times fills in started
     * and ended, mark_queued the other two. If a driver does not know those two, mark_queued fills
     * in the start. Both may be called under the recorder's lock.
     */
    void (*mark_times)(struct mark *mark, struct mark_times *ret_times);
    void (*mark_queued)(struct mark *mark, struct mark_times *ret_times);
    /* References. mark_keep may be called under an engine's lock, both under the recorder's. */
    void (*mark_keep)(struct mark *mark);
    void (*mark_drop)(struct mark *mark);
    /*
     * (optional) The mark was seen to be over; called before the drop. The front forgets its notes
     * about the mark.
     */
    void (*mark_over)(struct mark *mark);
    bool host_clock; /* times are instants of CLOCK_MONOTONIC */

    /*
     * --- giving a command to the driver: on the thread that drives its engine and has entered it
     * ---
     */

    /*
     * Is it decided whether and how the command is cut? Waits for the decision until the instant;
     * 0: does not wait. No engine is entered.
     */
    bool (*decided)(struct command *command, baton_nsec until_at);
    /*
     * (optional) Is work before the command in the driver that another engine does and that is not
     * over? Then adds a wait for its end (graph_wait_mark()) and answers true. Nothing can come
     * before the command from then on. No engine is entered.
     */
    bool (*add_wait)(struct command *command);
    /*
     * Gives the whole command to the driver. In one call: sets *ret_mark to a reference. In pieces
     * by pipe_run() (pipe.h): leaves *ret_mark NULL. 0, or a negative code that ends the command.
     */
    int (*issue)(struct piece_pipe *pipe, struct command *command, struct mark **ret_mark);
    /*
     * From pipe_run(): gives units [begin, limit) of the cut to the driver, or fewer from begin on,
     * but at least one. 0 with both results set, or a negative code.
     */
    int (*issue_range)(struct command *command, struct piece_cut *cut, uint64_t begin, uint64_t limit,
                       uint64_t *ret_end, struct mark **ret_mark);
    /*
     * (optional) Replaces the step that measurements suggest; fits: units that fill a piece's time,
     * 0: unknown.
     */
    uint64_t (*bend_step)(const struct command *command, const struct piece_cut *cut, uint64_t step,
                          double fits, uint64_t left);

    /* --- several devices (all optional, together) --- */

    /*
     * May the command involve other devices? Then the engine enters nothing and calls issue_spread
     * first.
     */
    bool (*spreads)(struct command *command);
    /*
     * 0 and *ret_done: all of the command has run; 0 and not *ret_done: go on with issue. Enters
     * engines itself.
     */
    int (*issue_spread)(struct device_engine *engine, struct command *command, bool *ret_done);
    /*
     * No command of the process can involve other devices now, so a waiting thread may drive. Under
     * the graph's lock.
     */
    bool (*spread_idle)(void);

    /* --- the end of a command --- */

    /*
     * (optional) The command is over and its times are read. Its marks still exist, and its end is
     * not visible yet.
     */
    void (*finished)(struct command *command);
    /*
     * Just before the end becomes visible: releases what is needed only until the command has run.
     * Returns callbacks for what this thread must not release (destructors of the program), or
     * NULL.
     */
    struct command_callback *(*ending)(struct command *command);
    /* The end is visible in the graph: tells the API's handle. Before the callbacks. */
    void (*ended)(struct command *command, int status);
    /* The last reference is gone; the marks are dropped. */
    void (*free)(struct command *command);
    int inherited_failure; /* the status of a command whose listed wait failed */

    /* --- records and measurements --- */

    /*
     * Fills in engine, name, bytes, and why the command ran whole; the recorder fills in the times.
     */
    void (*describe)(const struct command *command, struct job_record_command *ret_record);
    /* (optional) Items of that meter ran alone on their device for this time. */
    void (*ran_alone)(struct meter *meter, size_t items, int64_t ns);
    /*
     * References to a meter's owner, for commands in flight that no heap command keeps. meter_keep
     * is called under an engine's lock.
     */
    void (*meter_keep)(struct meter *meter);
    void (*meter_drop)(struct meter *meter);
    /*
     * (optional) A job is about to end, and none of its commands is in flight. On the program's
     * thread; may block.
     */
    void (*job_ending)(void);
    /* (optional) An inferred job has ended (inferred_job.h). */
    void (*job_over)(void);

    /* --- the end of the process --- */

    /* (optional) First: stops the front's issuers of commands. */
    void (*stop_issuers)(void);
    /* (optional) All waits for grants have ended: stops the front's own threads. */
    void (*stop_threads)(void);
    /*
     * How long the end of the process waits for a busy worker of the front's devices; 0: no limit.
     */
    baton_nsec exit_patience;
    /*
     * At exit, when no thread of the engine or the fronts works any more. Ends the program's
     * handles of commands that will never run, so that threads that wait for them go on.
     */
    void (*stopped)(void);
};

#endif
