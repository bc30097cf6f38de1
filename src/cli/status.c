/* baton status: which clients hold and wait, and the statistics of every client. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/nsec.h"
#include "cli/subcommand.h"
#include "cli/monitor.h"
#include "cli/notice_lines.h"
#include "cli/task_words.h"
#include "wire/lease_word.h"
#include "wire/page.h"

static double ms(uint64_t nsec)
{
    return nsec_to_ms((baton_nsec)nsec);
}

/* ---- as JSON ---- */

static json_t *daemon_json(const struct frame_about_daemon *about, const char *path)
{
    return json_pack(
        "{s:i, s:s, s:s, s:i, s:f, s:s, s:s, s:s, s:b, s:b, s:b, s:b, s:b, s:i, s:I, s:I, s:I, s:I, s:I}",
        "pid", (int)about->pid, "version", about->version, "socket", path, "generation",
        (int)about->generation, "uptime_ms", ms(about->now_at - about->started_at), "profile", about->profile,
        "policy", about->policy, "plan", about->plan, "realtime", (about->flags & ABOUT_REALTIME) != 0,
        "memory_locked", (about->flags & ABOUT_LOCKED) != 0, "boosts", (about->flags & ABOUT_BOOSTS) != 0,
        "cores_awake", (about->flags & ABOUT_AWAKE) != 0, "settling", (about->flags & ABOUT_SETTLING) != 0,
        "reloads", (int)about->reloads, "grants", (json_int_t)about->grants, "yields",
        (json_int_t)about->yields, "leases_ended", (json_int_t)about->leases_ended, "dropped",
        (json_int_t)about->drops, "late_yields", (json_int_t)about->late_yields);
}

static const char *lease_text(uint32_t state)
{
    return state == LEASE_STATE_BUSY ? "busy" : state == LEASE_STATE_IDLE ? "idle" : "none";
}

static json_t *engine_json(const struct frame_about_engine *about)
{
    return json_pack("{s:s, s:o, s:o, s:s, s:i, s:I, s:I}", "name", about->name, "device",
                     about->device == UINT32_MAX ? json_null() : json_integer(about->device), "holder",
                     about->holder ? json_integer(about->holder) : json_null(), "lease",
                     about->holder ? lease_text(about->holder_state) : "none", "waiting", (int)about->waiting,
                     "grants", (json_int_t)about->grants, "yields", (json_int_t)about->yields);
}

static json_t *client_json(const struct frame_about_client *about)
{
    json_t *counters = json_object();
    json_t *client;

    for (unsigned i = 0; i < PAGE_COUNTER_N; i++)
        (void)json_object_set_new(counters, page_counter_names[i],
                                  json_integer((json_int_t)about->counters[i]));
    client =
        json_pack("{s:i, s:s, s:i, s:i, s:i, s:i, s:s, s:I, s:I, s:I, s:i, s:o}", "client",
                  (int)about->client, "name", about->name, "pid", (int)about->pid, "uid", (int)about->uid,
                  "priority", (int)about->priority, "asked_priority", (int)about->asked_priority, "state",
                  about->state == CLIENT_DRAINING ? "draining" : "connected", "requests",
                  (json_int_t)about->requests, "grants", (json_int_t)about->grants, "yields",
                  (json_int_t)about->yields, "late_yields", (int)about->late_yields, "counters", counters);
    if (client && about->period)
        (void)json_object_set_new(client, "period_ms", json_real(ms(about->period)));
    return client;
}

static json_t *ms_or_null(uint64_t nsec)
{
    return nsec ? json_real(ms(nsec)) : json_null();
}

/* Is there a reason to print besides the admission? */
static bool has_reason(const struct frame_about_task *about)
{
    return about->state == VERDICT_REFUSED || about->state == VERDICT_BEST_EFFORT ||
           (about->state == VERDICT_ADMITTED && about->reason == REASON_TARDY);
}

static json_t *task_json(const struct frame_about_task *about)
{
    bool rejected = has_reason(about);
    char why[256];
    char rule[256];
    json_t *task;

    task_reason_words(about->reason, about->cause, about->cause_response, about->cause_limit, why,
                      sizeof why);
    task_rule_words(about->rule, about->who, rule, sizeof rule);
    task = json_pack("{s:s, s:s, s:o, s:i, s:b, s:i, s:i, s:i, s:i}", "name", about->name, "decision",
                     task_verdict_word(about->state), "reason", rejected ? json_string(why) : json_null(),
                     "processes", (int)about->members, "planned", (int)about->planned, "priority",
                     (int)about->priority, "gpus", (int)about->gpus, "gpu_cluster", (int)about->gpu_cluster,
                     "cpu_cluster", (int)about->cpu_cluster);
    if (!task)
        return NULL;
    (void)json_object_set_new(task, "planning_ms", ms_or_null(about->cost));
    (void)json_object_set_new(task, "deadline_ms", ms_or_null(about->deadline));
    (void)json_object_set_new(task, "bound_ms", ms_or_null(about->bound));
    (void)json_object_set_new(task, "bound_claimed", json_boolean(about->rule == RULE_MET));
    (void)json_object_set_new(task, "model_rule", json_string(task_rule_name(about->rule)));
    (void)json_object_set_new(task, "model", json_string(rule));
    (void)json_object_set_new(task, "observed_ms",
                              about->response_max ? json_real(ms(about->response_max)) : json_null());
    (void)json_object_set_new(task, "jobs", json_integer((json_int_t)about->jobs));
    (void)json_object_set_new(task, "misses", json_integer((json_int_t)about->misses));
    (void)json_object_set_new(task, "bound_exceeded", json_integer((json_int_t)about->exceeded));
    (void)json_object_set_new(task, "claimed_bound_exceeded",
                              json_integer((json_int_t)(about->exceeded - about->unclaimed)));
    return task;
}

static const char *admission_word(uint32_t mode)
{
    return mode == ADMISSION_REFUSE ? "refuse" : mode == ADMISSION_BEST_EFFORT ? "best-effort" : "off";
}

static json_t *admission_json(const struct frame_about_admission *about)
{
    return json_pack("{s:s, s:s, s:b, s:b, s:i, s:I, s:I, s:I, s:f, s:f, s:I, s:I}", "mode",
                     admission_word(about->mode), "tasks", about->tasks, "planning", (int)about->planning,
                     "stale", (int)about->stale, "pending", (int)about->pending, "plans",
                     (json_int_t)about->plans, "failures", (json_int_t)about->failures, "rejected",
                     (json_int_t)about->rejected, "planning_ms", ms(about->cost_last), "planning_max_ms",
                     ms(about->cost_max), "late_jobs", (json_int_t)about->late, "conditions",
                     (json_int_t)about->conditions);
}

/* ---- as text ---- */

static void print_daemon(const struct frame_about_daemon *about, const char *path)
{
    printf("batond %s, pid %u, generation %u, on %s\n", about->version, about->pid, about->generation, path);
    printf("profile %s, policy %s%s%s%s\n", about->profile, about->policy, about->plan[0] ? ", plan " : "",
           about->plan, about->flags & ABOUT_SETTLING ? ", settling" : "");
    printf("real-time %s, memory %s; up %.1f s, %llu grants, %llu yields, %llu leases ended, %llu late "
           "yields\n\n",
           about->flags & ABOUT_REALTIME ? "yes" : "no (no bound is claimed)",
           about->flags & ABOUT_LOCKED ? "locked" : "not locked",
           ms(about->now_at - about->started_at) / 1000, (unsigned long long)about->grants,
           (unsigned long long)about->yields, (unsigned long long)about->leases_ended,
           (unsigned long long)about->late_yields);
}

static void print_client(const struct frame_about_client *about)
{
    uint64_t jobs = about->counters[PAGE_COUNTER_JOBS];

    printf("%6u %-20.20s %8u %4u %-10s %8llu %7llu", about->client, about->name, about->pid, about->priority,
           about->state == CLIENT_DRAINING ? "draining" : "connected", (unsigned long long)about->grants,
           (unsigned long long)about->yields);
    if (jobs)
        printf(" %7llu %7llu %10.3f", (unsigned long long)jobs,
               (unsigned long long)about->counters[PAGE_COUNTER_MISSES],
               ms(about->counters[PAGE_COUNTER_RESPONSE_NS]) / (double)jobs);
    printf("\n");
    for (unsigned i = 0; i < PAGE_COUNTER_N; i++)
        if (strncmp(page_counter_names[i], "unsplit:", 8) == 0 && about->counters[i])
            printf("       %llu launches ran on one GPU: %s\n", (unsigned long long)about->counters[i],
                   page_counter_names[i] + 8);
}

static void print_admission(const struct frame_about_admission *about)
{
    if (about->conditions)
        printf("bounds are conditional: the plan rests on %llu condition%s that `baton plan` names\n\n",
               (unsigned long long)about->conditions, about->conditions == 1 ? "" : "s");
    if (about->mode == ADMISSION_OFF)
        return;
    printf("admission %s, tasks %s%s%s; plans %llu, the last in %.1f ms, %llu failed, %llu rejected",
           admission_word(about->mode), about->tasks, about->planning ? ", planning now" : "",
           about->stale ? ", the plan is not one for what runs" : "", (unsigned long long)about->plans,
           ms(about->cost_last), (unsigned long long)about->failures, (unsigned long long)about->rejected);
    if (about->pending)
        printf("; %u client%s still at the old plan", about->pending, about->pending == 1 ? "" : "s");
    printf("\n\n");
}

static void print_task(const struct frame_about_task *about)
{
    char observed[32] = "-";
    char bound[32] = "-";
    char why[256];

    if (about->response_max) /* 0: no job has ended, or none since `baton reset` */
        (void)snprintf(observed, sizeof observed, "%.3f", ms(about->response_max));
    if (about->bound) /* in brackets: not claimed */
        (void)snprintf(bound, sizeof bound, about->rule == RULE_MET ? "%.3f" : "(%.3f)", ms(about->bound));
    printf("%-20.20s %4u %4u %-13s %7llu %7llu %10s %11s %7llu\n", about->name, about->priority, about->gpus,
           task_verdict_word(about->state), (unsigned long long)about->jobs,
           (unsigned long long)about->misses, observed, bound, (unsigned long long)about->exceeded);
    if (has_reason(about)) {
        task_reason_words(about->reason, about->cause, about->cause_response, about->cause_limit, why,
                          sizeof why);
        printf("       %s (%.1f ms of planning)\n", why, ms(about->cost));
    }
    if (about->bound && about->rule != RULE_MET) {
        task_rule_words(about->rule, about->who, why, sizeof why);
        printf("       bound not claimed; %s\n", why);
    }
    if (about->exceeded > about->unclaimed)
        printf("       %llu of the jobs beyond the bound ran while it was claimed\n",
               (unsigned long long)(about->exceeded - about->unclaimed));
}

/* ---- asking ---- */

struct status {
    struct monitor monitor;
    json_t *json;   /* NULL: text */
    bool has_tasks; /* the table of tasks has begun */
};

/* Calls each with every answer of one kind; 0 or -errno. */
static int each(struct status *status, enum query_what what, const char *key,
                void (*show)(struct status *status, const struct frame *frame, json_t *list))
{
    json_t *list = status->json ? json_array() : NULL;
    uint32_t index = 0;
    struct frame frame;
    int result = 0;

    for (;;) {
        result = monitor_query(&status->monitor, what, index, 0, &frame);
        if (result || frame.type == FRAME_NOTHING)
            break;
        show(status, &frame, list);
        index = monitor_next(&frame, index);
    }
    if (list)
        (void)json_object_set_new(status->json, key, list);
    return result;
}

static void show_device(struct status *status, const struct frame *frame, json_t *list)
{
    const struct frame_about_device *about = &frame->about_device;

    (void)status;
    if (list)
        (void)json_array_append_new(list,
                                    json_pack("{s:s, s:s, s:i, s:i, s:b}", "name", about->name, "description",
                                              about->description, "copy_engines", (int)about->copy_engines,
                                              "bus", (int)about->bus, "discovered", (int)about->discovered));
    else
        printf("gpu%u  %s  %s, %u copy engine%s, bus %u\n", about->index, about->name, about->description,
               about->copy_engines, about->copy_engines == 1 ? "" : "s", about->bus);
}

static void show_engine(struct status *status, const struct frame *frame, json_t *list)
{
    const struct frame_about_engine *about = &frame->about_engine;

    (void)status;
    if (list)
        (void)json_array_append_new(list, engine_json(about));
    else if (about->holder || about->waiting)
        printf("%-12s held by client %u (%s), %u waiting, %llu grants, %llu yields\n", about->name,
               about->holder, lease_text(about->holder_state), about->waiting,
               (unsigned long long)about->grants, (unsigned long long)about->yields);
}

static void show_client(struct status *status, const struct frame *frame, json_t *list)
{
    json_t *client = list ? client_json(&frame->about_client) : NULL;

    if (client) {
        (void)json_object_set_new(client, "notices", notices_json(&status->monitor, &frame->about_client));
        (void)json_array_append_new(list, client);
    } else if (!list) {
        print_client(&frame->about_client);
        (void)notices_print(&status->monitor, &frame->about_client);
    }
}

static void show_task(struct status *status, const struct frame *frame, json_t *list)
{
    if (frame->about_task.state == VERDICT_UNKNOWN)
        return;
    if (list) {
        (void)json_array_append_new(list, task_json(&frame->about_task));
        return;
    }
    if (!status->has_tasks)
        printf("%-20s %4s %4s %-13s %7s %7s %10s %11s %7s\n", "task", "prio", "gpus", "decision", "jobs",
               "misses", "worst ms", "bound ms", "over");
    status->has_tasks = true;
    print_task(&frame->about_task);
}

/* The differences because of which no bound of the plan is claimed, field by field. */
static void show_difference(struct status *status, const struct frame *frame, json_t *list)
{
    const struct frame_about_difference *about = &frame->about_difference;
    char words[320];

    (void)status;
    if (list) {
        (void)json_array_append_new(list, json_pack("{s:s, s:o, s:s, s:s}", "field", about->field, "task",
                                                    about->task[0] ? json_string(about->task) : json_null(),
                                                    "planned", about->planned, "found", about->found));
        return;
    }
    if (about->index == 0 && strncmp(about->field, "partition.", strlen("partition.")) == 0)
        printf("no bound can be claimed, since the declared partition is not there:\n");
    else if (about->index == 0)
        printf("no bound of the plan is claimed, since it assumes another system than the one that runs:\n");
    task_difference_words(about, words, sizeof words);
    printf("  %s\n", words);
}

static int ask_admission(struct status *status)
{
    struct frame frame;
    int result = monitor_query(&status->monitor, QUERY_ADMISSION, 0, 0, &frame);

    if (!result && frame.type != FRAME_ABOUT_ADMISSION)
        result = -EPROTO;
    if (result)
        return result;
    if (status->json)
        (void)json_object_set_new(status->json, "admission", admission_json(&frame.about_admission));
    else
        print_admission(&frame.about_admission);
    result = each(status, QUERY_DIFFERENCE, "differences", show_difference);
    return result ? result : each(status, QUERY_TASK, "tasks", show_task);
}

static int ask_all(struct status *status)
{
    struct frame frame;
    int result = monitor_query(&status->monitor, QUERY_DAEMON, 0, 0, &frame);

    if (result)
        return result;
    if (frame.type != FRAME_ABOUT_DAEMON)
        return -EPROTO;
    if (status->json)
        (void)json_object_set_new(status->json, "daemon",
                                  daemon_json(&frame.about_daemon, status->monitor.path));
    else
        print_daemon(&frame.about_daemon, status->monitor.path);
    result = each(status, QUERY_DEVICE, "devices", show_device);
    if (!result)
        result = each(status, QUERY_ENGINE, "engines", show_engine);
    if (!result && !status->json)
        printf("\n%6s %-20s %8s %4s %-10s %8s %7s %7s %7s %10s\n", "client", "name", "pid", "prio", "state",
               "grants", "yields", "jobs", "misses", "mean ms");
    if (!result)
        result = each(status, QUERY_CLIENT, "clients", show_client);
    if (!result && !status->json)
        printf("\n");
    if (!result)
        result = ask_admission(status);
    return result;
}

static int run_status(const struct cli_args *args)
{
    struct status status = {.json = cli_has(args, "json") ? json_object() : NULL};
    int result = monitor_open(&status.monitor, cli_value(args, "socket", NULL));

    if (result) {
        json_decref(status.json);
        return monitor_fail_absent(args, cli_value(args, "socket", NULL), result);
    }
    result = ask_all(&status);
    monitor_close(&status.monitor);
    if (!result && status.json) {
        (void)json_dumpf(status.json, stdout, JSON_INDENT(2));
        printf("\n");
    }
    json_decref(status.json);
    return result ? cli_fail_environment(args, result, "batond") : CLI_YES;
}

static const struct cli_option status_options[] = {
    {"json", 0, NULL, "print one JSON object"},
    {"socket", 0, "PATH", "of the daemon; otherwise as for `baton run`"},
    {NULL, 0, NULL, NULL},
};

const struct cli_command command_status = {
    .name = "status",
    .summary = "show devices, the holder of each engine, and how programs fare",
    .arguments = "",
    .options = status_options,
    .example = "baton status --json    # one object for scripts",
    .run = run_status,
};
