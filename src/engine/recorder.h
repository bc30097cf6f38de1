/*
 * Records the commands of every job, with the driver's own times, for `baton profile`. On only when
 * the variable BATON_PROFILE names a folder, where each process writes a file named by its id.
 * Otherwise each hook is one load. Lines are appended at the end of each job (client/job_record.h),
 * so a program that crashes loses at most its last job. Memory is bounded: beyond RECORDER_PENDING
 * commands in flight, or RECORDER_FILE_LIMIT bytes of log, records are dropped, and the reader sees
 * that they are missing.
 *
 * Any thread may call. Under the recorder's lock the driver is asked about marks (mark_status,
 * mark_times, mark_queued, mark_keep, mark_drop), and no lock of the engine is taken.
 */
#ifndef ENGINE_RECORDER_H
#define ENGINE_RECORDER_H

#include <pthread.h>

#include "client/job_record.h"
#include "engine/command.h"

#define RECORDER_VARIABLE   "BATON_PROFILE"
#define RECORDER_PENDING    4096
#define RECORDER_FILE_LIMIT ((int64_t)256 << 20)

struct recorder_pending;

struct recorder {
    bool on; /* written once, before any other entry point runs */
    pthread_mutex_t lock;
    int file;
    int64_t written;
    bool full;                        /* the file or the disk is full: no more lines */
    struct job_record_job job;        /* the running job; number 0: none */
    struct recorder_pending *pending; /* RECORDER_PENDING of them */
    size_t n_pending;
    char text[1 << 16]; /* lines not yet written */
    size_t used;
};

/* Opens the file; a file that cannot be opened leaves the recorder off. Again in a forked child. */
void recorder_init(void);
/* recorder_on() is in runtime.h. */
/* At exit: writes the complete commands. */
void recorder_stop(void);

/* struct session_listener::on_job. */
void recorder_on_job(void *user, bool begins, bool explicit_job, uint32_t number, baton_nsec at);

/*
 * A leased command is about to be queued: counts it, and returns the number of its job; 0: no job
 * runs.
 */
uint32_t recorder_enter(void);

/*
 * A leased command went to the driver from the calling thread, in a call that began at that
 * instant. Keeps a reference of its own to the mark.
 */
void recorder_direct(const struct command *draft, baton_nsec call_at, struct mark *mark);

/*
 * One piece of a queued command is over; then the whole command, with the driver's times in
 * command->times.
 */
void recorder_piece(struct command *command, int64_t length);
void recorder_queued(struct command *command);

/*
 * A launch over several devices is over, with all its copies: from that instant until now, in the
 * host's clock.
 */
void recorder_spread(struct command *command, baton_nsec begin_at);

/* A copy that the caller waited for, without a mark (maps). */
void recorder_copy(enum engine_kind engine, size_t bytes, baton_nsec begin_at, baton_nsec end_at);

#endif
