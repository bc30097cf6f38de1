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
        (void)snprintf(ret_text, size, "it runs already, and a task runs once");
        break;
    case REASON_PLANNER:
        (void)snprintf(ret_text, size, "it could not be analysed, the planner failed");
        break;
    case REASON_TIME:
        (void)snprintf(ret_text, size, "it could not be analysed, the planner took too long");
        break;
    case REASON_USER:
        (void)snprintf(ret_text, size, "it belongs to another user (users: in batond's baton.yaml)");
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
    static const char *const names[RULES] = {"met",       "no-bound", "basis",    "realtime", "partition",
                                             "outsider",  "ceiling",  "twice",    "whole",    "changing",
                                             "stale",     "period",   "affinity", "order",    "own",
                                             "placement", "jobs",     "overrun"};

    return rule < RULES ? names[rule] : "?";
}

void task_rule_words(uint32_t rule, uint32_t who, char *ret_text, size_t size)
{
    switch (rule) {
    case RULE_MET:
        (void)snprintf(ret_text, size, "model met");
        break;
    case RULE_NO_BOUND:
        (void)snprintf(ret_text, size, "the plan claims no bound");
        break;
    case RULE_BASIS:
        (void)snprintf(ret_text, size,
                       "model not met: the plan's bounds rest on something else than what runs here");
        break;
    case RULE_REALTIME:
        (void)snprintf(ret_text, size, "model not met: batond may not use real-time scheduling (R3)");
        break;
    case RULE_PARTITION:
        (void)snprintf(
            ret_text, size,
            "model not met: gpu%u is this machine's CPU, and no partition of its cores is declared (R3, R5)",
            who);
        break;
    case RULE_OUTSIDER:
        (void)snprintf(ret_text, size, "model not met: client %u is not in the plan (R1)", who);
        break;
    case RULE_CEILING:
        (void)snprintf(ret_text, size,
                       "model not met: client %u has not the priority that the plan gives it (R1)", who);
        break;
    case RULE_TWICE:
        (void)snprintf(ret_text, size, "model not met: client %u is a second process of its task (R1)", who);
        break;
    case RULE_WHOLE:
        (void)snprintf(ret_text, size,
                       "model not met: client %u ran kernels whole that the plan cuts (R7, R8)", who);
        break;
    case RULE_CHANGING:
        (void)snprintf(ret_text, size, "model not met: client %u has not taken the newest plan yet (R1)",
                       who);
        break;
    case RULE_STALE:
        (void)snprintf(ret_text, size, "model not met: the tasks that run could not be planned again");
        break;
    case RULE_PERIOD:
        (void)snprintf(ret_text, size,
                       "model not met: client %u has no period, or a shorter one than the plan's (R2)", who);
        break;
    case RULE_AFFINITY:
        (void)snprintf(ret_text, size,
                       "model not met: client %u may not run on exactly the cores of the programs (R3)", who);
        break;
    case RULE_ORDER:
        (void)snprintf(ret_text, size,
                       "model not met: the CPUs do not put client %u before less urgent ones: it may not be "
                       "moved, or there are more programs than cores or levels (R3)",
                       who);
        break;
    case RULE_OWN:
        (void)snprintf(
            ret_text, size,
            "model not met: client %u has pieces, chunks, GPUs or a placement of its own (--slice, "
            "--chunk, --gpus, --placement) instead of the plan's (R7)",
            who);
        break;
    case RULE_PLACEMENT:
        (void)snprintf(
            ret_text, size,
            "model not met: kernels of client %u do not run on the GPUs that the plan gives it (R5)", who);
        break;
    case RULE_JOBS:
        (void)snprintf(
            ret_text, size,
            "model not met: client %u does not say where its jobs begin (baton_job_begin), so CPU work "
            "before its first command belongs to none",
            who);
        break;
    case RULE_OVERRUN:
        (void)snprintf(ret_text, size,
                       "model not met: client %u used more engine time than the plan gives a job (R8)", who);
        break;
    default:
        (void)snprintf(ret_text, size, "model not met");
        break;
    }
}
