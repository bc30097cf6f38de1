#include "daemon/exposition.h"

#include <inttypes.h>

#include "daemon/observe.h"
#include "version.h"

static void head(FILE *out, const char *name, const char *type, const char *help)
{
    (void)fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void number(FILE *out, const char *name, const char *type, const char *help, uint64_t value)
{
    head(out, name, type, help);
    (void)fprintf(out, "%s %" PRIu64 "\n", name, value);
}

/* A client chooses its name. The name must not forge a line or make the text invalid UTF-8. */
static void label(FILE *out, const char *key, const char *text)
{
    (void)fprintf(out, "%s=\"", key);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            (void)fputc('\\', out);
        (void)fputc(*text >= ' ' && *text < 127 ? *text : '?', out);
    }
    (void)fputc('"', out);
}

static double seconds(uint64_t nsec)
{
    return (double)nsec / (double)NSEC_PER_SEC;
}

/* ---- engines ---- */

enum engine_value { ENGINE_HELD, ENGINE_WAITING, ENGINE_GRANTS, ENGINE_YIELDS };

static uint64_t engine_value(const struct server *server, engine_id engine, enum engine_value value)
{
    switch (value) {
    case ENGINE_HELD:
        return server->holders[engine] != NULL;
    case ENGINE_WAITING:
        return sched_core_waiting(server->core, engine);
    case ENGINE_GRANTS:
        return server->engines[engine].grants;
    case ENGINE_YIELDS:
    default:
        return server->engines[engine].yields;
    }
}

static void write_engines(const struct server *server, FILE *out)
{
    static const struct {
        enum engine_value value;
        const char *name, *type, *help;
    } metrics[] = {
        {ENGINE_HELD, "baton_engine_held", "gauge", "1 while a program holds the engine, idle or busy"},
        {ENGINE_WAITING, "baton_engine_waiting", "gauge", "requests that wait for the engine"},
        {ENGINE_GRANTS, "baton_engine_grants_total", "counter", "grants of the engine"},
        {ENGINE_YIELDS, "baton_engine_yields_total", "counter", "times its holder was asked to yield"},
    };

    for (size_t m = 0; m < sizeof metrics / sizeof metrics[0]; m++) {
        head(out, metrics[m].name, metrics[m].type, metrics[m].help);
        for (engine_id e = 0; e < sched_engines(server->core); e++) {
            unsigned gpu = sched_engine_gpu(server->core, e);
            char name[33];

            if (gpu != SCHED_NO_GPU && gpu >= server->n_devices)
                continue; /* room for a device that does not exist */
            sched_engine_name(server->core, e, name, sizeof name);
            (void)fprintf(out, "%s{", metrics[m].name);
            label(out, "engine", name);
            (void)fprintf(out, "} %" PRIu64 "\n", engine_value(server, e, metrics[m].value));
        }
    }
}

/* ---- departed and connected programs together ---- */

/* The tally of departed clients, with the pages of those that are connected added. */
static void tally_now(const struct server *server, struct tally *ret_tally)
{
    *ret_tally = server->tally;
    for (unsigned i = 0; i < server->config.clients; i++) {
        const struct peer *peer = server->peers[i];
        struct history_engines engines;

        if (!peer || !peer->page)
            continue;
        for (unsigned l = 0; l < PAGE_LEASES; l++)
            engines.of_lease[l] = peer_engine(peer, l);
        tally_keep(ret_tally, peer->hello.name, peer->page, &engines);
    }
}

static void write_busy(const struct server *server, const struct tally *tally, FILE *out)
{
    head(out, "baton_engine_busy_seconds_total", "counter",
         "Time that commands of programs ran on the engine.");
    for (engine_id e = 0; e < sched_engines(server->core); e++) {
        unsigned gpu = sched_engine_gpu(server->core, e);
        char name[33];

        if (gpu == SCHED_NO_GPU || gpu >= server->n_devices)
            continue; /* runs are counted for a device's engines, not for its bus */
        sched_engine_name(server->core, e, name, sizeof name);
        (void)fputs("baton_engine_busy_seconds_total{", out);
        label(out, "engine", name);
        (void)fprintf(out, "} %.9f\n", seconds(tally->busy_ns[e]));
    }
}

static void write_histogram(FILE *out, const char *name, const char *program, const struct tally_times *times)
{
    uint64_t below = 0;

    for (unsigned i = 0; i < PAGE_CLASSES; i++) {
        below += times->classes[i];
        (void)fprintf(out, "%s_bucket{", name);
        label(out, "program", program);
        if (i < PAGE_CLASSES - 1)
            (void)fprintf(out, ",le=\"%g\"} %" PRIu64 "\n", seconds((uint64_t)page_class_limits[i]), below);
        else
            (void)fprintf(out, ",le=\"+Inf\"} %" PRIu64 "\n", below);
    }
    (void)fprintf(out, "%s_sum{", name);
    label(out, "program", program);
    (void)fprintf(out, "} %.9f\n%s_count{", seconds(times->sum_ns), name);
    label(out, "program", program);
    (void)fprintf(out, "} %" PRIu64 "\n", below);
}

static void write_programs(const struct tally *tally, FILE *out)
{
    head(out, "baton_program_response_seconds", "histogram",
         "Response times of the jobs of all programs of this name.");
    for (unsigned i = 0; i < tally->n; i++)
        write_histogram(out, "baton_program_response_seconds", tally->programs[i].name,
                        &tally->programs[i].responses);
    head(out, "baton_program_pending_seconds", "histogram",
         "Response times less the time on engines, of the same jobs.");
    for (unsigned i = 0; i < tally->n; i++)
        write_histogram(out, "baton_program_pending_seconds", tally->programs[i].name,
                        &tally->programs[i].pendings);
}

static void write_build(FILE *out)
{
    head(out, "baton_build_info", "gauge", "Always 1; the version of this batond is its label.");
    (void)fputs("baton_build_info{", out);
    label(out, "version", BATON_VERSION);
    (void)fputs("} 1\n", out);
}

/* ---- clients ---- */

static void write_clients(const struct server *server, FILE *out)
{
    static const struct {
        enum page_counter counter;
        bool time;
        const char *name, *type, *help;
    } metrics[] = {
        {PAGE_COUNTER_JOBS, false, "baton_client_jobs_total", "counter", "jobs done"},
        {PAGE_COUNTER_MISSES, false, "baton_client_misses_total", "counter", "deadlines missed"},
        {PAGE_COUNTER_RESPONSE_NS, true, "baton_client_response_seconds_total", "counter",
         "response times of all jobs together"},
        {PAGE_COUNTER_PENDING_NS, true, "baton_client_pending_seconds_total", "counter",
         "response times less the time on engines"},
        {PAGE_COUNTER_RESPONSE_MAX_NS, true, "baton_client_response_max_seconds", "gauge",
         "worst response time"},
        {PAGE_COUNTER_PIECES, false, "baton_client_pieces_total", "counter", "kernel pieces"},
        {PAGE_COUNTER_YIELDS, false, "baton_client_yields_total", "counter", "times it yielded"},
    };

    for (size_t m = 0; m < sizeof metrics / sizeof metrics[0]; m++) {
        head(out, metrics[m].name, metrics[m].type, metrics[m].help);
        for (unsigned i = 0; i < server->config.clients; i++) {
            const struct peer *peer = server->peers[i];
            uint64_t value;

            if (!peer || !peer->page)
                continue;
            value = atomic_load_explicit(&peer->page->counters[metrics[m].counter], memory_order_relaxed);
            (void)fprintf(out, "%s{client=\"%" PRIu32 "\",", metrics[m].name, peer->client);
            label(out, "name", peer->hello.name);
            if (metrics[m].time)
                (void)fprintf(out, "} %.9f\n", seconds(value));
            else
                (void)fprintf(out, "} %" PRIu64 "\n", value);
        }
    }
}

/* ---- tasks ---- */

enum task_value {
    TASK_ADMITTED,
    TASK_BOUND,
    TASK_CLAIMED,
    TASK_OBSERVED,
    TASK_JOBS,
    TASK_MISSES,
    TASK_EXCEEDED,
    TASK_BROKEN
};

static double task_value(const struct server *server, const struct task_entry *entry, enum task_value value)
{
    const struct plan_task *task = server->has_plan ? plan_find(&server->plan, entry->name) : NULL;
    struct observation seen = observe_task(server, entry);
    uint32_t who;

    switch (value) {
    case TASK_ADMITTED:
        return entry->decision.verdict == VERDICT_ADMITTED;
    case TASK_BOUND:
        return task && task->bound > 0 ? seconds((uint64_t)task->bound) : 0;
    case TASK_CLAIMED:
        return observe_rule(server, entry, &who) == RULE_MET;
    case TASK_OBSERVED:
        return seconds((uint64_t)seen.response_max);
    case TASK_JOBS:
        return (double)seen.jobs;
    case TASK_MISSES:
        return (double)seen.misses;
    case TASK_EXCEEDED:
        return (double)entry->exceeded;
    case TASK_BROKEN:
    default:
        return (double)(entry->exceeded - entry->unclaimed);
    }
}

static void write_tasks(const struct server *server, FILE *out)
{
    static const struct {
        enum task_value value;
        const char *name, *type, *help;
    } metrics[] = {
        {TASK_ADMITTED, "baton_task_admitted", "gauge", "1 while the analysis has admitted it"},
        {TASK_BOUND, "baton_task_bound_seconds", "gauge", "the plan's bound on its response time; 0: none"},
        {TASK_CLAIMED, "baton_task_bound_claimed", "gauge", "1 while the bound is claimed"},
        {TASK_OBSERVED, "baton_task_response_max_seconds", "gauge", "worst response time seen"},
        {TASK_JOBS, "baton_task_jobs_total", "counter", "jobs done"},
        {TASK_MISSES, "baton_task_misses_total", "counter", "deadlines missed"},
        {TASK_EXCEEDED, "baton_task_bound_exceeded_total", "counter", "jobs that took longer than the bound"},
        {TASK_BROKEN, "baton_task_claimed_bound_exceeded_total", "counter",
         "those of them whose bound was claimed from release to end"},
    };

    for (size_t m = 0; m < sizeof metrics / sizeof metrics[0]; m++) {
        head(out, metrics[m].name, metrics[m].type, metrics[m].help);
        for (unsigned i = 0; i < server->admission.n; i++) {
            const struct task_entry *entry = &server->admission.entries[i];

            if (!admission_present(server, entry))
                continue;
            (void)fprintf(out, "%s{", metrics[m].name);
            label(out, "task", entry->name);
            (void)fprintf(out, "} %.9g\n", task_value(server, entry, metrics[m].value));
        }
    }
}

void exposition_write(const struct server *server, FILE *out)
{
    const struct admission *admission = &server->admission;
    struct tally tally;
    uint64_t clients = 0;

    tally_now(server, &tally);
    write_build(out);
    for (unsigned i = 0; i < server->config.clients; i++)
        clients += server->peers[i] && server->peers[i]->page;
    number(out, "baton_clients", "gauge", "programs that are connected or drain", clients);
    number(out, "baton_devices", "gauge", "GPUs that are known", server->n_devices);
    number(out, "baton_grants_total", "counter", "grants of engines", server->grants);
    number(out, "baton_yields_total", "counter", "times a holder was asked to yield", server->yields);
    number(out, "baton_leases_ended_total", "counter", "idle leases that another client ended",
           server->leases_ended);
    number(out, "baton_dropped_total", "counter", "connections dropped", server->drops);
    number(out, "baton_late_yields_total", "counter", "holders that did not yield in time",
           server->late_yields);
    number(out, "baton_late_jobs_total", "counter", "jobs that missed a deadline or exceeded a bound",
           server->late);
    number(out, "baton_plans_total", "counter", "answers of the planner", admission->plans);
    number(out, "baton_plan_failures_total", "counter", "questions that the planner did not answer",
           admission->failures);
    number(out, "baton_rejected_total", "counter", "tasks that were not admitted", admission->rejected);
    head(out, "baton_planning_seconds", "gauge", "how long the last planning took");
    (void)fprintf(out, "baton_planning_seconds %.9f\n", seconds((uint64_t)admission->cost_last));
    write_engines(server, out);
    write_busy(server, &tally, out);
    write_programs(&tally, out);
    write_clients(server, out);
    write_tasks(server, out);
}
