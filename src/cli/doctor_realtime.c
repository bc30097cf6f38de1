/*
 * baton doctor: real-time programs that batond does not schedule. They take cores from the programs
 * of a plan, whose bounds do not count them.
 */
#include <glob.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/doctor.h"
#include "cli/monitor.h"
#include "cli/profile/throttle.h"

enum {
    KERNEL_THREAD = 0x00200000, /* PF_KTHREAD in the flags of /proc/PID/stat */
    DEADLINE = 6,               /* SCHED_DEADLINE, which old headers do not know */
    MOST_CLIENTS = 1024,
    MOST_STAT = 4096,
};

/* The processes that the daemon schedules. */
struct scheduled {
    uint32_t pids[MOST_CLIENTS];
    size_t n;
};

/* A thread as its stat file describes it. */
struct thread_stat {
    char name[64];
    unsigned long flags;
    int priority, policy;
};

static void list_scheduled(struct scheduled *ret)
{
    struct monitor monitor;
    struct frame frame;

    ret->n = 0;
    if (monitor_open(&monitor, NULL) != 0)
        return;
    for (uint32_t index = 0;
         ret->n < MOST_CLIENTS && monitor_query(&monitor, QUERY_CLIENT, index, 0, &frame) == 0 &&
         frame.type == FRAME_ABOUT_CLIENT;
         index = frame.about_client.next)
        ret->pids[ret->n++] = frame.about_client.pid;
    monitor_close(&monitor);
}

static bool is_scheduled(const struct scheduled *scheduled, uint32_t pid)
{
    for (size_t i = 0; i < scheduled->n; i++)
        if (scheduled->pids[i] == pid)
            return true;
    return false;
}

/* proc(5). The name is in brackets and may contain any character. */
static bool read_stat(const char *path, struct thread_stat *ret)
{
    char *text, *open, *close, *field, *rest = NULL;
    size_t size;

    if (file_read(path, MOST_STAT, &text, &size) != 0) /* it has just ended */
        return false;
    *ret = (struct thread_stat){.policy = SCHED_OTHER};
    open = strchr(text, '(');
    close = strrchr(text, ')');
    if (open && close && open < close) {
        (void)snprintf(ret->name, sizeof ret->name, "%.*s", (int)(close - open - 1), open + 1);
        for (char *at = ret->name; *at; at++) /* JSON takes only UTF-8, and a terminal obeys */
            *at = *at < ' ' || *at > '~' ? '?' : *at;
        field = strtok_r(close + 1, " ", &rest);
        for (int i = 3; field; i++, field = strtok_r(NULL, " ", &rest)) {
            if (i == 9)
                ret->flags = strtoul(field, NULL, 10);
            if (i == 40)
                ret->priority = (int)strtol(field, NULL, 10);
            if (i == 41)
                ret->policy = (int)strtol(field, NULL, 10);
        }
    }
    free(text);
    return true;
}

static const char *name_of(int policy)
{
    return policy == SCHED_FIFO ? "SCHED_FIFO" : policy == SCHED_RR ? "SCHED_RR" : "SCHED_DEADLINE";
}

static bool is_foreign(const struct thread_stat *thread)
{
    bool realtime = thread->policy == SCHED_FIFO || thread->policy == SCHED_RR || thread->policy == DEADLINE;

    return realtime && !(thread->flags & KERNEL_THREAD) && strcmp(thread->name, "batond") != 0;
}

void doctor_realtime_limit(struct doctor_report *report)
{
    struct throttle throttle;
    char detail[128];

    throttle_open(&throttle);
    if (!throttle.stop) {
        doctor_find(report, DOCTOR_WORKS, "limit on real-time programs", "none", NULL);
        return;
    }
    (void)snprintf(detail, sizeof detail,
                   "Linux stops them for %.0f ms of each period once they have run for the rest",
                   nsec_to_ms(throttle.stop));
    doctor_find(report, DOCTOR_LIMITED, "limit on real-time programs", detail,
                "`sysctl kernel.sched_rt_runtime_us=-1` lifts the limit: until then batond claims bounds "
                "only for programs that never need so much of a core. Without the limit, a program that "
                "never sleeps keeps its core");
}

void doctor_other_realtime(struct doctor_report *report)
{
    struct scheduled scheduled;
    char *detail = NULL;
    size_t size = 0, programs = 0;
    uint32_t last = 0;
    glob_t found;
    FILE *out;

    if (glob("/proc/[0-9]*/task/[0-9]*/stat", 0, NULL, &found) != 0)
        return;
    out = open_memstream(&detail, &size);
    if (!out) {
        globfree(&found);
        return;
    }
    list_scheduled(&scheduled);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        uint32_t pid = (uint32_t)strtoul(found.gl_pathv[i] + strlen("/proc/"), NULL, 10);
        struct thread_stat thread;

        if (pid == last || is_scheduled(&scheduled, pid) || !read_stat(found.gl_pathv[i], &thread) ||
            !is_foreign(&thread))
            continue;
        last = pid; /* its threads follow each other */
        (void)fprintf(out, "%s%s (process %u, %s %d)", programs ? ", " : "", thread.name, pid,
                      name_of(thread.policy), thread.priority);
        programs++;
    }
    (void)fclose(out);
    globfree(&found);
    if (programs == 0)
        doctor_find(report, DOCTOR_WORKS, "other real-time programs", "none", NULL);
    else
        doctor_find(report, DOCTOR_LIMITED, "other real-time programs", detail,
                    "keep them off the cores of a plan's programs (taskset, a cpuset), or below their "
                    "priorities: bounds do not count them, and batond claims none beside them");
    free(detail);
}
