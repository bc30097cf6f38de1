#include "daemon/claims.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/driver_quirks.h"
#include "base/fingerprint.h"
#include "daemon/cpus.h"
#include "daemon/regain.h"
#include "daemon/rt_limit.h"
#include "wire/device_name.h"

/* ---- the list ---- */

static struct difference *add(struct server *server, const char *field)
{
    struct claims *claims = &server->claims;
    struct difference *difference =
        claims->n < CLAIMS_MAX ? &claims->differences[claims->n++] : &claims->beyond;

    *difference = (struct difference){0};
    (void)snprintf(difference->field, sizeof difference->field, "%s", field);
    return difference;
}

static void planned(struct difference *difference, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void planned(struct difference *difference, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(difference->planned, sizeof difference->planned, format, arguments);
    va_end(arguments);
}

static void found(struct difference *difference, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void found(struct difference *difference, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(difference->found, sizeof difference->found, format, arguments);
    va_end(arguments);
}

static void compare(struct server *server, const char *field, const char *in_plan, const char *here)
{
    struct difference *difference;

    if (strcmp(in_plan, here) == 0)
        return;
    difference = add(server, field);
    planned(difference, "%s", in_plan[0] ? in_plan : "not said");
    found(difference, "%s", here);
}

/* ---- what this daemon enforces ---- */

bool claims_is_this_cpu(const char *device)
{
    unsigned quirks = driver_quirks_named(device);

    return driver_quirks_have(quirks, QUIRK_ON_CORES) || driver_quirks_have(quirks, QUIRK_THREADS_ON_CORES);
}

struct core_set claims_program_cores(const struct server *server)
{
    const struct machine *machine = &server->claims.machine;

    return core_set_both(&machine->online,
                         server->config.partitioned ? &server->config.program_cores : &machine->allowed);
}

/* Is every priority point of the plan the task's deadline? Then EDF is fair lateness. */
static bool points_are_deadlines(const struct server *server)
{
    for (size_t i = 0; i < server->plan.n_tasks; i++) {
        const struct plan_task *task = &server->plan.tasks[i];

        if (!task->has_point || task->point != task->deadline)
            return false;
    }
    return server->profile->tokens && server->plan.n_tasks > 0;
}

/*
 * Fair lateness needs the plan's priority points. `adaptive` ranks a program with a task by its
 * priority.
 */
static const char *enforced_policy(const struct server *server)
{
    enum sched_policy_id policy = server->config.policy;

    if (policy == POLICY_ADAPTIVE)
        policy = POLICY_FIXED;
    for (size_t i = 0; policy == POLICY_FAIR_LATENESS && i < server->plan.n_tasks; i++) {
        if (!server->profile->tokens || !server->plan.tasks[i].has_point)
            policy = POLICY_EDF;
    }
    if (server->config.policy == POLICY_EDF && points_are_deadlines(server))
        policy = POLICY_FAIR_LATENESS;
    return sched_policies[policy].name;
}

/* The core counts with the number of CPUs at its start, so the number now must be the same. */
static void set_cpus(const struct server *server, struct plan_basis *basis)
{
    struct core_set cores = claims_program_cores(server);
    const struct sched_config *core = sched_core_config(server->core);
    unsigned cpus = core_set_count(&cores);

    if (!server->claims.machine_known) {
        plan_basis_set(basis, BASIS_CPUS, "unknown");
        plan_basis_set(basis, BASIS_CPU_CLUSTER, "unknown");
        return;
    }
    plan_basis_set_count(basis, BASIS_CPUS, cpus);
    plan_basis_set_count(basis, BASIS_CPU_CLUSTER, server->profile->tokens ? core->cpu_cluster : cpus);
    if (server->profile->tokens && core->cpus != cpus)
        (void)snprintf(basis->values[BASIS_CPUS], PLAN_VALUE_SIZE, "%u, and %u in clusters", cpus,
                       core->cpus);
}

static void set_copy_engines(const struct server *server, struct plan_basis *basis)
{
    unsigned least = server->config.copy_engines;
    unsigned most = server->n_devices ? 0 : least;

    for (unsigned i = 0; i < server->n_devices; i++) {
        unsigned n = server->devices[i].copy_engines;

        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    if (least == most)
        plan_basis_set_count(basis, BASIS_COPY_ENGINES, least);
    else
        plan_basis_set(basis, BASIS_COPY_ENGINES, "1 or 2");
}

static const char *enforced_migration(const struct server *server, unsigned gpu_cluster)
{
    if (!server->profile->tokens || gpu_cluster == 1)
        return migration_name(MIGRATION_NONE);
    return migration_name(server->config.migration);
}

static void enforced_basis(const struct server *server, struct plan_basis *ret_basis)
{
    bool tokens = server->profile->tokens;
    unsigned gpu_cluster = tokens ? sched_core_config(server->core)->gpu_cluster : server->n_devices;

    *ret_basis = (struct plan_basis){0};
    plan_basis_set(ret_basis, BASIS_POLICY, enforced_policy(server));
    plan_basis_set(ret_basis, BASIS_LOCK, tokens ? sched_locks[server->config.lock].name : "none");
    plan_basis_set(ret_basis, BASIS_DONATION, cpus_ordered(server) ? "cpus" : "none");
    plan_basis_set_tokens(ret_basis, tokens ? server->config.tokens_per_gpu : TOKENS_UNLIMITED);
    set_cpus(server, ret_basis);
    plan_basis_set_count(ret_basis, BASIS_GPUS, server->n_devices);
    plan_basis_set_count(ret_basis, BASIS_GPU_CLUSTER, gpu_cluster);
    set_copy_engines(server, ret_basis);
    plan_basis_set_count(ret_basis, BASIS_BUSES, server->config.buses);
    plan_basis_set(ret_basis, BASIS_MIGRATION, enforced_migration(server, gpu_cluster));
    plan_basis_set(ret_basis, BASIS_SHARED_MEMORY, "no");
    plan_basis_set(ret_basis, BASIS_OVERHEADS,
                   server->config.overheads_seal[0] ? server->config.overheads_seal : "none");
}

/* ---- the plan ---- */

/* Fields that differ from what `baton plan` wrote. */
static void compare_seals(struct server *server)
{
    const struct plan *plan = &server->plan;

    for (size_t i = 0; i < PLAN_FIELDS; i++) {
        if (plan->changed >> i & 1) {
            struct difference *difference = add(server, plan_field_key(i));

            planned(difference, "as `baton plan` wrote it");
            found(difference, "edited since then");
        }
    }
    for (size_t t = 0; t < plan->n_tasks; t++) {
        for (size_t i = 0; i < plan_n_task_fields; i++) {
            if (plan->tasks[t].changed >> i & 1) {
                struct difference *difference = add(server, plan_task_fields[i].key);

                (void)snprintf(difference->task, sizeof difference->task, "%.64s", plan->tasks[t].name);
                planned(difference, "as `baton plan` wrote it");
                found(difference, "edited since then");
            }
        }
    }
}

void claims_add(struct server *server, const char *task, const char *field, const char *in_plan,
                const char *here)
{
    struct difference *difference = add(server, field);

    (void)snprintf(difference->task, sizeof difference->task, "%.64s", task);
    planned(difference, "%s", in_plan);
    found(difference, "%s", here);
}

static void task_differs(struct server *server, const struct plan_task *task, const char *field,
                         const char *in_plan, const char *here)
{
    claims_add(server, task->name, field, in_plan, here);
}

/* What the run time cannot do for a task, whatever the plan asks for. */
static void compare_task(struct server *server, const struct plan_task *task)
{
    const struct sched_config *core = sched_core_config(server->core);
    char text[32];

    /*
     * A kernel waits for the GPU that was chosen before its upload, and does not start on the first
     * free one. Under tokens the token decides the GPU for both placements.
     */
    if (task->placement.kind == PLACEMENT_ANY && server->n_devices > 1 && !server->profile->tokens)
        task_differs(server, task, "placement", "any", "chosen: the GPU is fixed before the upload");
    if (task->placement.kind == PLACEMENT_FIXED && server->n_devices < PLATFORM_MAX_GPUS &&
        task->placement.gpus >> server->n_devices)
        task_differs(server, task, "placement", "GPUs that the plan numbers", "not all of them are here");
    if (task->cpu_cluster >= core->cpus / core->cpu_cluster ||
        (task->cpu_cluster && !server->profile->tokens)) {
        (void)snprintf(text, sizeof text, "%u", task->cpu_cluster);
        task_differs(server, task, "cpu_cluster", text, "not one of the clusters here");
    }
    if (task->gpu_cluster * core->gpu_cluster >= server->n_devices ||
        (task->gpu_cluster && !server->profile->tokens)) {
        (void)snprintf(text, sizeof text, "%u", task->gpu_cluster);
        task_differs(server, task, "gpu_cluster", text, "not one of the clusters here");
    }
    if (server->profile->tokens && !task->requests.said)
        task_differs(server, task, "requests", "not said",
                     "any number of requests: make the plan again with `baton plan`");
    if (server->profile->tokens && task->cost <= 0)
        task_differs(server, task, "cost_ms", "not said",
                     "jobs of any length: make the plan again with `baton plan`");
    if (task->period <= 0 && !task->no_deadline)
        task_differs(server, task, "period_ms", "not said", "jobs that may come at any rate");
}

/* Devices where a wider piece waits for others (claims_computes()). */
static uint64_t widening_devices(const struct server *server)
{
    uint64_t set = 0;

    for (unsigned i = 0; i < server->n_devices; i++)
        set |= (uint64_t)driver_quirks_have(driver_quirks_named(server->devices[i].name), QUIRK_WIDER_ALONE)
               << i;
    return set;
}

static bool has_several(uint64_t set)
{
    return (set & (set - 1)) != 0;
}

static const struct peer *peer_of(const struct server *server, const struct plan_task *task)
{
    for (unsigned i = 0; i < server->config.clients; i++) {
        const struct peer *peer = server->peers[i];

        if (peer && peer->task && !peer->reserves && !strcmp(peer->task->name, task->name) &&
            has_several(peer->computed_on & widening_devices(server)))
            return peer;
    }
    return NULL;
}

/* Does a piece of the task wait for pieces on another device (claims_computes())? */
static void compare_widening(struct server *server, const struct plan_task *task)
{
    uint64_t may = task->placement.kind == PLACEMENT_FIXED ? task->placement.gpus : UINT64_MAX;

    if ((task->gpus > 1 && has_several(may & widening_devices(server))) || peer_of(server, task))
        task_differs(server, task, "gpus", "a piece waits for pieces of its own device only",
                     "a wider piece also waits for the task's pieces on other devices of its driver");
}

static void compare_plan(struct server *server)
{
    const struct plan *plan = &server->plan;
    struct plan_basis here;

    compare(server, "profile", plan->profile, server->profile->name);
    if (!plan->sealed) {
        struct difference *difference = add(server, "seal");

        planned(difference, "not said");
        found(difference,
              "a plan that does not say what its bounds rest on: make it again with `baton plan`");
        return;
    }
    compare(server, "analysis", plan->analysis,
            server->profile->analysis ? server->profile->analysis : "none");
    enforced_basis(server, &here);
    for (size_t i = 0; i < PLAN_BASIS_FIELDS; i++)
        compare(server, plan_basis_keys[i], plan->basis.values[i], here.values[i]);
    for (size_t i = 0; i < plan->n_tasks; i++) {
        compare_task(server, &plan->tasks[i]);
        compare_widening(server, &plan->tasks[i]);
    }
    compare_seals(server);
}

/* ---- the machine ---- */

static void compare_cores(struct server *server, const char *field, const struct core_set *wrong,
                          const char *what)
{
    struct difference *difference;
    char list[40];

    if (core_set_count(wrong) == 0)
        return;
    difference = add(server, field);
    core_set_print(wrong, list, sizeof list);
    planned(difference, "%s %s", core_set_count(wrong) > 1 ? "cores" : "core", list);
    found(difference, "%s", what);
}

/* The partition that the configuration declares, against the machine. */
static void compare_partition(struct server *server)
{
    const struct machine *machine = &server->claims.machine;
    const struct config *config = &server->config;
    struct core_set online;
    struct core_set wrong;
    unsigned devices = 0;

    if (!config->partitioned || !server->claims.machine_known)
        return;
    online = core_set_both(&config->device_cores, &machine->online);
    wrong = core_set_without(&config->device_cores, &machine->online);
    compare_cores(server, "partition.devices", &wrong, "not online");
    wrong = core_set_without(&online, &machine->isolated);
    compare_cores(server, "partition.devices", &wrong, "not isolated: other programs may run there");
    online = core_set_both(&config->program_cores, &machine->online);
    wrong = core_set_without(&config->program_cores, &machine->online);
    compare_cores(server, "partition.programs", &wrong, "not online");
    wrong = core_set_without(&online, &machine->allowed);
    compare_cores(server, "partition.programs", &wrong, "not allowed by batond's own affinity or cpuset");
    for (unsigned i = 0; i < server->n_devices; i++)
        devices += claims_is_this_cpu(server->devices[i].name);
    if (devices > core_set_count(&config->device_cores)) {
        struct difference *difference = add(server, "partition.devices");

        planned(difference, "a core for each of %u devices", devices);
        found(difference, "%u", core_set_count(&config->device_cores));
    }
}

/*
 * Every analysis takes the cores of a cluster for one set: a ready thread takes any core that a
 * less urgent one has. Linux moves no thread between isolated cores and others.
 */
static void compare_isolation(struct server *server, const struct core_set *cores)
{
    struct core_set isolated = core_set_both(cores, &server->claims.machine.isolated);

    if (core_set_count(&isolated) < core_set_count(cores))
        compare_cores(server, server->config.partitioned ? "partition.programs" : "cpus", &isolated,
                      "isolated, unlike others: threads of programs cannot move between them");
}

/* The clusters of CPUs that programs are pinned to, or all program cores. */
static void compare_clusters(struct server *server)
{
    const struct sched_config *core = sched_core_config(server->core);
    struct core_set cores = claims_program_cores(server);

    if (!server->claims.machine_known)
        return;
    if (!cpus_ordered(server))
        compare_isolation(server, &cores);
    for (unsigned i = 0; cpus_ordered(server) && i < core->cpus / core->cpu_cluster; i++) {
        if (cpus_of_cluster(server, i, &cores))
            compare_isolation(server, &cores);
    }
}

static void look(struct server *server)
{
    struct claims *claims = &server->claims;

    claims->looked_at = server->now_at;
    claims->machine_known =
        server->host.machine && server->host.machine(server->host.user, &claims->machine) == 0;
}

/* ---- reporting ---- */

static uint64_t fingerprint_of(const struct claims *claims)
{
    uint64_t print = claims->n ? FINGERPRINT_START : 0;

    for (unsigned i = 0; i < claims->n; i++)
        print = fingerprint(print, &claims->differences[i], sizeof claims->differences[i]);
    return print;
}

static void say(struct server *server)
{
    struct claims *claims = &server->claims;
    uint64_t print = fingerprint_of(claims);
    struct server_report report = {.kind = REPORT_AGREES};

    if (print == claims->reported)
        return;
    claims->reported = print;
    if (!claims->n && server->has_plan)
        server->host.report(server->host.user, &report);
    for (unsigned i = 0; i < claims->n; i++) {
        report = (struct server_report){.kind = REPORT_DIFFERS,
                                        .detail = server->has_plan,
                                        .count = i,
                                        .difference = &claims->differences[i]};
        server->host.report(server->host.user, &report);
    }
}

/* Is there anything to compare? A declared partition is compared without a plan, too. */
static bool concerned(const struct server *server)
{
    return server->has_plan || server->config.partitioned;
}

void claims_check(struct server *server)
{
    struct claims *claims = &server->claims;

    claims->n = 0;
    claims->looked = true;
    if (concerned(server))
        look(server);
    if (server->has_plan) {
        (void)cpus_look(server);
        compare_plan(server);
        compare_clusters(server);
        foreign_compare(server);
        if (rt_limit_compare(server))
            regain_lose(server);
    }
    compare_partition(server);
    if (server->has_plan && server->settle_at != NSEC_MAX) {
        struct difference *difference = add(server, "settle_ms");

        planned(difference, "engines that are granted");
        found(difference, "a daemon that waits for clients of its predecessor");
    }
    claims->next_at = concerned(server) ? server->now_at + CLAIMS_EVERY : NSEC_MAX;
    if (concerned(server))
        server_arm(server, claims->next_at);
    say(server);
}

void claims_refresh(struct server *server)
{
    if (concerned(server) && server->now_at - server->claims.looked_at >= CLAIMS_FRESH)
        claims_check(server);
}

void server_look(struct server *server, baton_nsec now_at)
{
    server->now_at = now_at;
    claims_refresh(server);
    regain_follow_all(server);
}

void claims_tick(struct server *server)
{
    if (server->claims.next_at <= server->now_at)
        claims_check(server);
    else if (server->claims.next_at != NSEC_MAX)
        server_arm(server, server->claims.next_at);
}

void claims_computes(struct server *server, struct peer *peer, unsigned device)
{
    uint64_t before = peer->computed_on;

    peer->computed_on |= UINT64_C(1) << device;
    if (peer->computed_on != before && has_several(peer->computed_on))
        claims_check(server);
}
