#include "hand_log.h"

#include <stdio.h>
#include <string.h>

#include "harness.h"

void begin_log(struct log_text *log)
{
    memset(log, 0, sizeof *log);
    log->used = (size_t)snprintf(log->text, sizeof log->text, "%s", JOB_RECORD_HEADER);
}

void command(struct log_text *log, uint32_t job, enum engine_kind engine, const char *name, int64_t start_us,
             int64_t end_us)
{
    struct job_record_command c = {.job = job,
                                   .engine = engine,
                                   .call_at = start_us * US - 100,
                                   .return_at = end_us * US + 100,
                                   .seen_at = end_us * US + 100,
                                   .queued = start_us * US - 100 + log->skew,
                                   .start = start_us * US + log->skew,
                                   .end = end_us * US + log->skew,
                                   .bytes = engine == ENGINE_EXECUTION ? 0 : 4096,
                                   .pieces = 1};

    (void)snprintf(c.name, sizeof c.name, "%s", name);
    log->used += job_record_print_command(&c, log->text + log->used);
}

void job(struct log_text *log, uint32_t number, int64_t begin_us, int64_t end_us, uint32_t commands)
{
    struct job_record_job j = {
        .job = number, .begin_at = begin_us * US, .end_at = end_us * US, .commands = commands};

    log->used += job_record_print_job(&j, log->text + log->used);
}

void frame(struct log_text *log, uint32_t number, int64_t begin_us, int64_t kernel_us)
{
    command(log, number, ENGINE_COPY_IN, "", begin_us + 10, begin_us + 15);
    command(log, number, ENGINE_EXECUTION, "blur", begin_us + 25, begin_us + 25 + kernel_us);
    command(log, number, ENGINE_COPY_OUT, "", begin_us + 35 + kernel_us, begin_us + 38 + kernel_us);
    job(log, number, begin_us, begin_us + 48 + kernel_us, 3);
}

void align(const struct log_text *text, size_t warm, struct profile_log *log, struct profile_task *task)
{
    ck_assert_int_eq(profile_log_read(text->text, text->used, log), 0);
    ck_assert_int_eq(profile_align(log, warm, task), 0);
}
