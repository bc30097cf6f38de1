#include "daemon/edge/words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "wire/frame.h"
#include "wire/notice.h"
#include "wire/page.h"

static void reason(const struct server_report *report, char *ret_text, size_t size)
{
    switch (report->reason) {
    case REASON_DEADLINE:
        if (report->response)
            (void)snprintf(ret_text, size, "%s would take %.3f ms at worst, its deadline is %.3f ms",
                           report->other, nsec_to_ms(report->response), nsec_to_ms(report->limit));
        else
            (void)snprintf(ret_text, size, "%s cannot be shown to meet its deadline of %.3f ms",
                           report->other, nsec_to_ms(report->limit));
        break;
    case REASON_RUNNING:
        (void)snprintf(ret_text, size, "it runs already");
        break;
    case REASON_PLANNER:
        (void)snprintf(ret_text, size, "the planner failed");
        break;
    case REASON_TIME:
        (void)snprintf(ret_text, size, "the planner took too long and was stopped");
        break;
    case REASON_USER:
        (void)snprintf(ret_text, size, "the task belongs to another user");
        break;
    case REASON_TARDY:
        (void)snprintf(ret_text, size,
                       "bounded tardiness: %s may take %.3f ms, later than its deadline of %.3f ms",
                       report->other, nsec_to_ms(report->response), nsec_to_ms(report->limit));
        break;
    case REASON_NONE:
        (void)snprintf(ret_text, size, "every deadline is met");
        break;
    }
}

static void verdict(const struct server_report *report, char *ret_text, size_t size)
{
    const char *what = report->detail == VERDICT_ADMITTED      ? "is admitted"
                       : report->detail == VERDICT_BEST_EFFORT ? "runs as best effort"
                                                               : "is refused";
    char why[256];

    reason(report, why, sizeof why);
    (void)snprintf(ret_text, size, "task %s %s: %s; planned in %.1f ms", report->name, what, why,
                   nsec_to_ms(report->cost));
}

static void late(const struct server_report *report, char *ret_text, size_t size)
{
    (void)snprintf(
        ret_text, size, "%s: a job took %.3f ms, past its %s of %.3f ms (%llu such jobs since the last line)",
        report->name, nsec_to_ms(report->response), report->detail & LATE_MISSED ? "deadline" : "bound",
        nsec_to_ms(report->limit), (unsigned long long)report->count);
}

enum log_level words_level(const struct server_report *report)
{
    switch (report->kind) {
    case REPORT_SETTLED:
    case REPORT_PLANNED:
    case REPORT_AGREES:
    case REPORT_NOTICE:
    case REPORT_KINDS:
        return LOG_LEVEL_INFO;
    case REPORT_VERDICT:
        return report->detail == VERDICT_ADMITTED ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING;
    case REPORT_BAD_FRAME:
    case REPORT_SLOW:
    case REPORT_LATE_YIELD:
    case REPORT_REFUSED:
    case REPORT_VERSION:
    case REPORT_TURNED_AWAY:
    case REPORT_UNDRAINED:
    case REPORT_LATE:
    case REPORT_UNPLANNED:
    case REPORT_DIFFERS:
    case REPORT_OVERRUN:
    case REPORT_REQUESTS:
    case REPORT_EARLY:
    case REPORT_COST:
        break;
    }
    return LOG_LEVEL_WARNING;
}

/* What a client did, or did not do; "" for any other report. */
static void client_report(const struct server_report *report, char *ret_text, size_t size)
{
    switch (report->kind) {
    case REPORT_BAD_FRAME:
        (void)snprintf(ret_text, size, "the client in slot %u sent an invalid message; it is disconnected",
                       report->peer);
        break;
    case REPORT_SLOW:
        (void)snprintf(ret_text, size, "the client in slot %u does not read its messages; it is disconnected",
                       report->peer);
        break;
    case REPORT_LATE_YIELD:
        (void)snprintf(ret_text, size, "the client in slot %u does not yield engine %u", report->peer,
                       (unsigned)report->detail);
        break;
    case REPORT_REFUSED:
        (void)snprintf(ret_text, size, "a device of the client in slot %u is not managed: %s", report->peer,
                       strerror((int)report->detail));
        break;
    case REPORT_VERSION:
        (void)snprintf(ret_text, size,
                       "the client in slot %u uses version %u of the protocol, batond version %u; the client "
                       "is disconnected",
                       report->peer, (unsigned)report->detail, FRAME_VERSION);
        break;
    case REPORT_TURNED_AWAY:
        (void)snprintf(ret_text, size,
                       "process %u was refused as client %u, and is not scheduled: %s; no bound is claimed "
                       "while it runs",
                       (unsigned)report->count, (unsigned)report->limit,
                       report->detail == EUSERS ? "too many connections" : strerror((int)report->detail));
        break;
    case REPORT_UNDRAINED:
        if (report->detail == 0)
            (void)snprintf(ret_text, size,
                           "the process of slot %u cannot be watched; its GPU work is assumed to have ended",
                           report->peer);
        break;
    default:
        break;
    }
}

static void requests(const struct server_report *report, char *ret_text, size_t size)
{
    static const char *const kinds[REQUEST_KINDS] = {"execution engine", "copy engine, host to GPU",
                                                     "copy engine, GPU to host", "copy engines, GPU to GPU"};
    const char *kind = kinds[report->detail % REQUEST_KINDS];

    if (report->response)
        (void)snprintf(ret_text, size,
                       "%s: a request (%s) kept others waiting for %.3f ms, longer than the plan counts; no "
                       "bound is claimed",
                       report->name, kind, nsec_to_ms(report->response));
    else
        (void)snprintf(ret_text, size,
                       "%s: a job made more than the %llu requests (%s) that the plan counts; no bound is "
                       "claimed",
                       report->name, (unsigned long long)report->count, kind);
}

static const char until[] = "no bound is claimed until the tasks are idle";

static void early(const struct server_report *report, char *ret_text, size_t size)
{
    if (report->response == PAGE_BEGAN_LATE)
        (void)snprintf(ret_text, size,
                       "%s: a job began when its bound had passed, and may delay others more than the plan "
                       "counts; %s",
                       report->name, until);
    else if (report->response < 0)
        (void)snprintf(ret_text, size,
                       "%s: GPU commands outside of its jobs, or in its warm-up, which the plan does "
                       "not count; %s",
                       report->name, until);
    else
        (void)snprintf(ret_text, size,
                       "%s: a job came %.3f ms after the one before, and the plan counts on %.3f ms; %s",
                       report->name, nsec_to_ms(report->response), nsec_to_ms(report->limit), until);
}

void words_report(const struct server_report *report, char *ret_text, size_t size)
{
    char why[640];

    ret_text[0] = 0;
    client_report(report, ret_text, size);
    switch (report->kind) {
    case REPORT_SETTLED:
        (void)snprintf(ret_text, size,
                       "the wait for clients of the predecessor is over; they declared %u engines busy",
                       (unsigned)report->detail);
        break;
    case REPORT_OVERRUN:
        (void)snprintf(ret_text, size, "%s: a job used more than its budget of %.3f ms engine time",
                       report->name, nsec_to_ms((baton_nsec)report->detail));
        break;
    case REPORT_REQUESTS:
        requests(report, ret_text, size);
        break;
    case REPORT_EARLY:
        early(report, ret_text, size);
        break;
    case REPORT_COST:
        (void)snprintf(ret_text, size,
                       "%s: a job was among the most urgent of its cores for %.3f ms, and the plan counts "
                       "%.3f ms; %s",
                       report->name, nsec_to_ms(report->response), nsec_to_ms(report->limit), until);
        break;
    case REPORT_LATE:
        late(report, ret_text, size);
        break;
    case REPORT_VERDICT:
        verdict(report, ret_text, size);
        break;
    case REPORT_PLANNED:
        (void)snprintf(ret_text, size, "a task has left; the others were planned again in %.1f ms",
                       nsec_to_ms(report->cost));
        break;
    case REPORT_UNPLANNED:
        reason(report, why, sizeof why);
        (void)snprintf(ret_text, size, "the running tasks could not be planned again, the plan stays: %s",
                       why);
        break;
    case REPORT_DIFFERS:
        (void)snprintf(ret_text, size, "no bound %s: %s%s%s: planned %s, found %s",
                       report->detail ? "of the plan is claimed" : "can be claimed",
                       report->difference->field, report->difference->task[0] ? " of " : "",
                       report->difference->task, report->difference->planned, report->difference->found);
        break;
    case REPORT_AGREES:
        (void)snprintf(ret_text, size, "every assumption of the plan holds here again");
        break;
    case REPORT_NOTICE:
        notice_line((enum notice)report->detail, report->other, report->more, why, sizeof why);
        (void)snprintf(ret_text, size, "%s: %s", report->name, why);
        break;
    default:
        break;
    }
}
