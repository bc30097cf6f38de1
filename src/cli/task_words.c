#include "cli/task_words.h"

#include <stdio.h>

#include "base/nsec.h"

static double ms(uint64_t nsec)
{
    return nsec_to_ms((baton_nsec)nsec);
}

const char *task_verdict_word(uint32_t verdict)
{
    static const char *const words[] = {"-",           "being planned", "admitted",
                                        "best effort", "refused",       "unknown"};

    return verdict < sizeof words / sizeof words[0] ? words[verdict] : "?";
}

void task_reason_words(uint32_t reason, const char *cause, uint64_t response, uint64_t limit, char *ret_text,
                       size_t size)
{
    switch (reason) {
    case REASON_DEADLINE:
        if (response)
            (void)snprintf(ret_text, size, "%s would take %.3f ms at worst, its deadline is %.3f ms", cause,
                           ms(response), ms(limit));
        else
            (void)snprintf(ret_text, size,
                           "beside the tasks that run, %s cannot be shown to meet its deadline of %.3f ms",
                           cause, ms(limit));
        break;
    case REASON_RUNNING:
        (void)snprintf(ret_text, size, "the task runs already, and a task runs once");
        break;
    case REASON_PLANNER:
        (void)snprintf(ret_text, size, "it could not be analysed, the planner failed");
        break;
    case REASON_TIME:
        (void)snprintf(ret_text, size, "it could not be analysed, the planner took too long");
        break;
    case REASON_USER:
        (void)snprintf(ret_text, size, "the task belongs to another user (users: in batond's baton.yaml)");
        break;
    case REASON_TARDY:
        (void)snprintf(ret_text, size,
                       "bounded tardiness: %s may take %.3f ms, later than its deadline of %.3f ms", cause,
                       ms(response), ms(limit));
        break;
    default:
        (void)snprintf(ret_text, size, "no reason was given");
        break;
    }
}

void task_difference_words(const struct frame_about_difference *about, char *ret_text, size_t size)
{
    (void)snprintf(ret_text, size, "%s%s%s: planned %s, found %s", about->field, about->task[0] ? " of " : "",
                   about->task, about->planned, about->found);
}

const char *task_rule_name(uint32_t rule)
{
    static const char *const names[RULES] = {
        "met",   "no-bound", "basis",    "realtime", "partition", "outsider", "ceiling", "twice",
        "whole", "changing", "stale",    "period",   "affinity",  "order",    "own",     "placement",
        "jobs",  "overrun",  "requests", "draining", "idle",      "late",     "batch"};

    return rule < RULES ? names[rule] : "?";
}

/* The sentence about each rule. The number of a client or GPU goes between the two parts. */
static const struct {
    const char *before;
    const char *after; /* NULL: the sentence has no number */
} rule_sentences[RULES] = {
    [RULE_MET] = {"model met", NULL},
    [RULE_NO_BOUND] = {"the plan claims no bound", NULL},
    [RULE_BASIS] = {"the plan's bounds rest on something other than what runs here", NULL},
    [RULE_REALTIME] = {"batond may not use real-time scheduling", NULL},
    [RULE_PARTITION] = {"gpu", " is this machine's CPU, and no partition of its cores is declared"},
    [RULE_OUTSIDER] = {"client ", " is not in the plan"},
    [RULE_CEILING] = {"client ", " does not have the priority that the plan gives it"},
    [RULE_TWICE] = {"client ", " is a second process of its task"},
    [RULE_WHOLE] = {"client ", " ran kernels whole that the plan cuts"},
    [RULE_CHANGING] = {"client ", " has not taken the newest plan yet"},
    [RULE_STALE] = {"the tasks that run could not be planned again", NULL},
    [RULE_PERIOD] = {"client ", " has no period, or a shorter one than the plan's"},
    [RULE_AFFINITY] = {"client ", " may not run on exactly the cores of the programs, or its device has no "
                                  "thread on the cores of the devices"},
    [RULE_ORDER] = {"the CPUs do not put client ",
                    " before other work: it has no real-time priority or may not be moved, or there are more "
                    "programs than cores or levels"},
    [RULE_OWN] = {"client ", " has pieces, chunks, GPUs or a placement of its own (--slice, "
                             "--chunk, --gpus, --placement) instead of the plan's"},
    [RULE_PLACEMENT] = {"kernels of client ", " do not run on the GPUs that the plan gives it"},
    [RULE_JOBS] = {"client ", " does not say where its jobs begin (baton_job_begin), so CPU "
                              "work before its first command belongs to none"},
    [RULE_OVERRUN] = {"client ", " used more engine time than the plan gives a job"},
    [RULE_REQUESTS] = {"client ", " made more or longer engine requests than the plan counts for a job"},
    [RULE_DRAINING] = {"client ", " has gone or connected again, and its earlier work still holds an engine"},
    [RULE_IDLE] = {"the model is met again; waiting for an idle instant, since jobs from before may be late",
                   NULL},
    [RULE_LATE] = {"client ", " was asked to yield an engine, and did not in time"},
    [RULE_BATCH] = {"client ", " runs a batch, and no bound counts how long it holds engines"},
};

void task_rule_words(uint32_t rule, uint32_t who, char *ret_text, size_t size)
{
    char number[16] = "";
    char broken[48] = "";

    if (rule >= RULES || !rule_sentences[rule].before) {
        (void)snprintf(ret_text, size, "model not met");
        return;
    }
    if (rule != RULE_MET && rule != RULE_NO_BOUND && rule != RULE_IDLE)
        (void)snprintf(broken, sizeof broken, "model not met (rule %s): ", task_rule_name(rule));
    if (rule_sentences[rule].after)
        (void)snprintf(number, sizeof number, "%u", who);
    (void)snprintf(ret_text, size, "%s%s%s%s", broken, rule_sentences[rule].before, number,
                   number[0] ? rule_sentences[rule].after : "");
}
