/* baton status: who holds, who waits, and how everybody has fared. `baton reload`: read limits and plan again. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/nsec.h"
#include "cli/command.h"
#include "cli/monitor.h"
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
        "{s:i, s:s, s:s, s:i, s:f, s:s, s:s, s:s, s:b, s:b, s:b, s:b, s:i, s:I, s:I, s:I, s:I, s:I}", "pid",
        (int)about->pid, "version", about->version, "socket", path, "generation", (int)about->generation,
        "uptime_ms", ms(about->now_at - about->started_at), "profile", about->profile, "policy",
        about->policy, "plan", about->plan, "realtime", (about->flags & ABOUT_REALTIME) != 0, "memory_locked",
        (about->flags & ABOUT_LOCKED) != 0, "boosts", (about->flags & ABOUT_BOOSTS) != 0, "settling",
        (about->flags & ABOUT_SETTLING) != 0, "reloads", (int)about->reloads, "grants",
        (json_int_t)about->grants, "yields", (json_int_t)about->yields, "taken_back",
        (json_int_t)about->taken_back, "dropped", (json_int_t)about->drops, "overdue",
        (json_int_t)about->overdue);
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
                  (json_int_t)about->yields, "overdue", (int)about->overdue, "counters", counters);
    if (client && about->period)
        (void)json_object_set_new(client, "period_ms", json_real(ms(about->period)));
    return client;
}

/* ---- as text ---- */

static void print_daemon(const struct frame_about_daemon *about, const char *path)
{
    printf("batond %s, pid %u, generation %u, on %s\n", about->version, about->pid, about->generation, path);
    printf("profile %s, policy %s%s%s%s\n", about->profile, about->policy, about->plan[0] ? ", plan " : "",
           about->plan, about->flags & ABOUT_SETTLING ? ", settling" : "");
    printf("real-time %s, memory %s; up %.1f s, %llu grants, %llu yields, %llu taken back, %llu overdue\n\n",
           about->flags & ABOUT_REALTIME ? "yes" : "no (no bound is claimed)",
           about->flags & ABOUT_LOCKED ? "locked" : "not locked",
           ms(about->now_at - about->started_at) / 1000, (unsigned long long)about->grants,
           (unsigned long long)about->yields, (unsigned long long)about->taken_back,
           (unsigned long long)about->overdue);
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
    for (unsigned i = 0; i < PAGE_COUNTER_N; i++) {
        if (strncmp(page_counter_names[i], "unsliced:", 9) == 0 && about->counters[i])
            printf("       %llu launches ran whole: %s\n", (unsigned long long)about->counters[i],
                   page_counter_names[i] + 9);
    }
}

/* ---- asking ---- */

struct status {
    struct monitor monitor;
    json_t *json; /* NULL: text */
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
        index = frame.type == FRAME_ABOUT_CLIENT ? frame.about_client.next : index + 1;
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
    (void)status;
    if (list)
        (void)json_array_append_new(list, client_json(&frame->about_client));
    else
        print_client(&frame->about_client);
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
    return result;
}

static int run_status(const struct cli_args *args)
{
    struct status status = {.json = cli_has(args, "json") ? json_object() : NULL};
    int result = monitor_open(&status.monitor, cli_value(args, "socket", NULL));

    if (result) {
        json_decref(status.json);
        return cli_fail_environment(args, result, "no batond answers");
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

static int run_reload(const struct cli_args *args)
{
    struct frame question = {.type = FRAME_RELOAD};
    struct monitor monitor;
    struct frame answer;
    int result = monitor_open(&monitor, cli_value(args, "socket", NULL));

    if (result)
        return cli_fail_environment(args, result, "no batond answers");
    result = monitor_ask(&monitor, &question, &answer);
    monitor_close(&monitor);
    if (result || answer.type != FRAME_DONE)
        return cli_fail_environment(args, result ? result : EPROTO, "batond");
    if (answer.done.reason)
        return cli_fail_usage(args, "%s", answer.done.text);
    printf("%s\n", answer.done.text);
    return CLI_YES;
}

static const struct cli_option status_options[] = {
    {"json", 0, NULL, "print one JSON object"},
    {"socket", 0, "PATH", "of the daemon; otherwise as for `baton run`"},
    {NULL, 0, NULL, NULL},
};

const struct cli_command command_status = {
    .name = "status",
    .summary = "show devices, who holds which engine, and how programs fare",
    .arguments = "",
    .options = status_options,
    .example = "baton status --json    # one object for scripts",
    .run = run_status,
};

static const struct cli_option reload_options[] = {
    {"socket", 0, "PATH", "of the daemon; otherwise as for `baton run`"},
    {NULL, 0, NULL, NULL},
};

const struct cli_command command_reload = {
    .name = "reload",
    .summary = "make batond read user limits and the plan again",
    .arguments = "",
    .options = reload_options,
    .example = "baton reload    # after editing the plan that batond runs with",
    .run = run_reload,
};
