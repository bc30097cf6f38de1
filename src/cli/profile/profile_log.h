/*
 *  The log of a profiled program (client/job_record.h), as jobs with their commands. Pure code over
 *  text.
 */
#ifndef CLI_PROFILE_PROFILE_LOG_H
#define CLI_PROFILE_PROFILE_LOG_H

#include <stddef.h>

#include "client/job_record.h"

#define PROFILE_LOG_LIMIT ((size_t)512 << 20)

struct profile_job {
    struct job_record_job job;
    struct job_record_command *commands; /* borrowed from the log's commands, in its order */
    size_t n_commands;
};

struct profile_log {
    struct profile_job *jobs; /* owned; only complete ones, in the order of their begin */
    size_t n_jobs;
    size_t incomplete; /* jobs that lost commands */
    /* lines that are no records: after a crash, or output of another program */
    size_t torn;
    struct job_record_command *commands; /* owned; by job */
    size_t n_commands;
};

/* 0, -EPROTO (not such a log) or -ENOMEM. The caller calls profile_log_done(). */
int profile_log_read(const char *text, size_t size, struct profile_log *ret_log);
void profile_log_done(struct profile_log *log);

#endif
