/*
 * The log that a profiled program leaves (`baton profile`): one text line per command and per job, written by the layer at the
 * end of each job and read by the command line. A line that a crash has cut short is not a line; what stands before it counts.
 *
 *     baton-jobs 1
 *     c JOB ENGINE CALL RETURN QUEUED START END SEEN BYTES PIECES LONGEST WHY NAME
 *     j JOB BEGIN END EXPLICIT COMMANDS
 *
 * Commands may stand before or after their job. Pure code over text: no file is opened here.
 */
#ifndef CLIENT_JOB_RECORD_H
#define CLIENT_JOB_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/nsec.h"
#include "wire/engine_kind.h"

#define JOB_RECORD_HEADER    "baton-jobs 1\n"
#define JOB_RECORD_LINE_SIZE 512 /* of the longest line, with its end and its 0 */
#define JOB_RECORD_NAME_SIZE 128 /* longer names are cut */
#define JOB_RECORD_WHY_SIZE  32

struct job_record_command {
    uint32_t job; /* from 1 */
    enum engine_kind engine;
    /* CLOCK_MONOTONIC: the driver's enqueue call began and ended, and the command was seen to be complete. */
    baton_nsec call_at, return_at, seen_at;
    /*
     * The driver's clock. In between call and return it stamped `queued`, so that both clocks can be laid over each other;
     * queued = -1: start and end are of CLOCK_MONOTONIC.
     */
    int64_t queued, start, end;
    int64_t bytes;                   /* of a copy; 0: unknown */
    uint32_t pieces;                 /* 1: ran whole */
    baton_nsec longest_piece;        /* two in a row, which are in flight together; 0: ran whole */
    char why[JOB_RECORD_WHY_SIZE];   /* why a kernel ran whole; "": it did not */
    char name[JOB_RECORD_NAME_SIZE]; /* the kernel's; "" for a copy */
};

struct job_record_job {
    uint32_t job;
    baton_nsec begin_at, end_at; /* CLOCK_MONOTONIC */
    bool explicit_job;           /* said by the program, not inferred */
    uint32_t commands;           /* enqueued in it; a log that has fewer lines of it has lost some */
};

/* One line with its end; the length. A name's odd characters become '?'. */
size_t job_record_print_command(const struct job_record_command *command,
                                char ret_line[JOB_RECORD_LINE_SIZE]);
size_t job_record_print_job(const struct job_record_job *job, char ret_line[JOB_RECORD_LINE_SIZE]);

enum job_record_kind { JOB_RECORD_COMMAND = 1, JOB_RECORD_JOB };

/* A line without its end: which of the two was filled (> 0), or -EINVAL. */
int job_record_parse(const char *line, struct job_record_command *ret_command,
                     struct job_record_job *ret_job);

#endif
