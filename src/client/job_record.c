#include "client/job_record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Kernel names are C identifiers. Any character that could end a word or a line becomes '?'. */
static void clean(const char *from, size_t size, char *ret_text)
{
    size_t n = 0;

    for (; from[n] && n + 1 < size; n++)
        ret_text[n] = from[n] > ' ' && from[n] < 0x7f ? from[n] : '?';
    ret_text[n] = 0;
}

size_t job_record_print_command(const struct job_record_command *c, char ret_line[JOB_RECORD_LINE_SIZE])
{
    char name[JOB_RECORD_NAME_SIZE];
    char why[JOB_RECORD_WHY_SIZE];

    clean(c->name[0] ? c->name : "-", sizeof name, name);
    clean(c->why[0] ? c->why : "-", sizeof why, why);
    return (size_t)snprintf(ret_line, JOB_RECORD_LINE_SIZE,
                            "c %" PRIu32 " %d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
                            " %" PRId64 " %" PRId64 " %" PRIu32 " %" PRId64 " %s %s\n",
                            c->job, (int)c->engine, c->call_at, c->return_at, c->queued, c->start, c->end,
                            c->seen_at, c->bytes, c->pieces, c->longest_piece, why, name);
}

size_t job_record_print_job(const struct job_record_job *j, char ret_line[JOB_RECORD_LINE_SIZE])
{
    return (size_t)snprintf(ret_line, JOB_RECORD_LINE_SIZE,
                            "j %" PRIu32 " %" PRId64 " %" PRId64 " %d %" PRIu32 "\n", j->job, j->begin_at,
                            j->end_at, j->explicit_job ? 1 : 0, j->commands);
}

static int parse_command(const char *line, struct job_record_command *ret_command)
{
    struct job_record_command c = {0};
    int engine = -1;
    int end = -1;

    if (sscanf(line,
               "c %" SCNu32 " %d %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64
               " %" SCNd64 " %" SCNu32 " %" SCNd64 " %31s %127s%n",
               &c.job, &engine, &c.call_at, &c.return_at, &c.queued, &c.start, &c.end, &c.seen_at, &c.bytes,
               &c.pieces, &c.longest_piece, c.why, c.name, &end) != 13 ||
        end < 0 || line[end])
        return -EINVAL;
    if (engine < 0 || engine >= ENGINE_N || c.job == 0 || c.end < c.start || c.pieces == 0 || c.bytes < 0 ||
        c.longest_piece < 0)
        return -EINVAL;
    c.engine = (enum engine_kind)engine;
    if (strcmp(c.why, "-") == 0)
        c.why[0] = 0;
    if (strcmp(c.name, "-") == 0)
        c.name[0] = 0;
    *ret_command = c;
    return JOB_RECORD_COMMAND;
}

static int parse_job(const char *line, struct job_record_job *ret_job)
{
    struct job_record_job j = {0};
    int explicit_job = -1;
    int end = -1;

    if (sscanf(line, "j %" SCNu32 " %" SCNd64 " %" SCNd64 " %d %" SCNu32 "%n", &j.job, &j.begin_at, &j.end_at,
               &explicit_job, &j.commands, &end) != 5 ||
        end < 0 || line[end])
        return -EINVAL;
    if (j.job == 0 || j.end_at < j.begin_at || (explicit_job != 0 && explicit_job != 1))
        return -EINVAL;
    j.explicit_job = explicit_job;
    *ret_job = j;
    return JOB_RECORD_JOB;
}

int job_record_parse(const char *line, struct job_record_command *ret_command, struct job_record_job *ret_job)
{
    if (line[0] == 'c')
        return parse_command(line, ret_command);
    if (line[0] == 'j')
        return parse_job(line, ret_job);
    return -EINVAL;
}
