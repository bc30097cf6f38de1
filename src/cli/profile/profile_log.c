#include "cli/profile/profile_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_job(const void *a, const void *b)
{
    const struct job_record_command *x = a;
    const struct job_record_command *y = b;

    return (x->job > y->job) - (x->job < y->job);
}

static int by_begin(const void *a, const void *b)
{
    const struct profile_job *x = a;
    const struct profile_job *y = b;

    return (x->job.begin_at > y->job.begin_at) - (x->job.begin_at < y->job.begin_at);
}

/* Makes room for one more; 0 or -ENOMEM. */
static int grow(void **array, size_t n, size_t size)
{
    void *more;

    if (n & (n - 1)) /* grows at powers of two */
        return 0;
    more = reallocarray(*array, n ? 2 * n : 1, size);
    if (!more)
        return -ENOMEM;
    *array = more;
    return 0;
}

static int take_line(struct profile_log *log, const char *line)
{
    struct job_record_command command;
    struct profile_job job = {0};
    int kind = job_record_parse(line, &command, &job.job);
    int result = 0;

    if (strncmp(line, JOB_RECORD_HEADER, sizeof JOB_RECORD_HEADER - 2) == 0) {
        /* the process executed another program: only that one counts */
        log->n_jobs = log->n_commands = 0;
    } else if (kind == JOB_RECORD_COMMAND) {
        result = grow((void **)&log->commands, log->n_commands, sizeof *log->commands);
        if (!result)
            log->commands[log->n_commands++] = command;
    } else if (kind == JOB_RECORD_JOB) {
        result = grow((void **)&log->jobs, log->n_jobs, sizeof *log->jobs);
        if (!result)
            log->jobs[log->n_jobs++] = job;
    } else {
        log->torn++;
    }
    return result;
}

static int take_lines(struct profile_log *log, const char *text, const char *end)
{
    char line[JOB_RECORD_LINE_SIZE];
    int result = 0;

    while (text < end && !result) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((stop ? stop : end) - text);

        if (!stop || length >= sizeof line) {
            log->torn++; /* the last line is incomplete, so its number may be too */
        } else {
            memcpy(line, text, length);
            line[length] = 0;
            result = take_line(log, line);
        }
        text += length + 1;
    }
    return result;
}

static void join_commands(struct profile_log *log)
{
    size_t kept = 0;

    qsort(log->commands, log->n_commands, sizeof *log->commands, by_job);
    for (size_t i = 0; i < log->n_jobs; i++) {
        struct profile_job *job = &log->jobs[i];
        const struct job_record_command wanted = {.job = job->job.job};
        struct job_record_command *found = NULL;

        if (log->n_commands)
            found = bsearch(&wanted, log->commands, log->n_commands, sizeof *found, by_job);
        while (found && found > log->commands && found[-1].job == wanted.job)
            found--;
        job->commands = found;
        for (job->n_commands = 0;
             found && found < log->commands + log->n_commands && found->job == wanted.job; found++)
            job->n_commands++;
        if (job->n_commands == job->job.commands && job->n_commands > 0)
            log->jobs[kept++] = *job;
        else
            log->incomplete++;
    }
    log->n_jobs = kept;
    if (kept)
        qsort(log->jobs, kept, sizeof *log->jobs, by_begin);
}

int profile_log_read(const char *text, size_t size, struct profile_log *ret_log)
{
    const size_t header = sizeof JOB_RECORD_HEADER - 1;
    struct profile_log log = {0};
    int result;

    if (size < header || memcmp(text, JOB_RECORD_HEADER, header) != 0)
        return -EPROTO;
    result = take_lines(&log, text + header, text + size);
    if (result) {
        profile_log_done(&log);
        return result;
    }
    if (log.n_jobs)
        join_commands(&log);
    *ret_log = log;
    return 0;
}

void profile_log_done(struct profile_log *log)
{
    free(log->jobs);
    free(log->commands);
    *log = (struct profile_log){0};
}
