/*
 * The log of a profiled program (`baton profile`): one text line per command and per job. The front
 * writes it at the end of each job; the command line reads it. A line that a crash has cut short
 * does not count; the lines before it do.
 *
 *     baton-jobs 1
 *     c JOB ENGINE CALL RETURN QUEUED START END SEEN BYTES PIECES LONGEST WHY NAME
 *     j JOB BEGIN END EXPLICIT COMMANDS
 *
 * Commands may come before or after the line of their job. Pure code over text: it opens no file.
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
    /*
     * CLOCK_MONOTONIC: when the driver's enqueue call began and returned, and when the command was
     * seen to be complete.
     */
    baton_nsec call_at, return_at, seen_at;
    /*
     * The driver's clock. The driver stamps `queued` between call and return, which relates the two
     * clocks. queued = -1: start and end are instants of CLOCK_MONOTONIC.
     */
    int64_t queued, start, end;
    int64_t bytes;                   /* of a copy; 0: unknown */
    uint32_t pieces;                 /* 1: ran whole */
    baton_nsec longest_piece;        /* two pieces in a row (in flight together); 0: whole */
    char why[JOB_RECORD_WHY_SIZE];   /* why a kernel ran whole; "": it was cut */
    char name[JOB_RECORD_NAME_SIZE]; /* the kernel's; "" for a copy */
};

struct job_record_job {
    uint32_t job;
    baton_nsec begin_at, end_at; /* CLOCK_MONOTONIC */
    bool explicit_job;           /* reported by the program, not inferred */
    uint32_t commands;           /* enqueued in the job; a log with fewer lines for it has lost some */
};

/*
 * Writes one line with its newline and answers its length. Unsafe characters of a name become '?'.
 */
size_t job_record_print_command(const struct job_record_command *command,
                                char ret_line[JOB_RECORD_LINE_SIZE]);
size_t job_record_print_job(const struct job_record_job *job, char ret_line[JOB_RECORD_LINE_SIZE]);

enum job_record_kind { JOB_RECORD_COMMAND = 1, JOB_RECORD_JOB };

/* Parses a line without its newline. Answers which output was filled (> 0), or -EINVAL. */
int job_record_parse(const char *line, struct job_record_command *ret_command,
                     struct job_record_job *ret_job);

#endif
