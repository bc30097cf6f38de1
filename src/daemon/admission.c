#include "daemon/admission.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/peer.h"
#include "daemon/planning.h"
#include "daemon/regain.h"

/* ---- the table ---- */

struct task_entry *admission_find(struct server *server, const char *name, bool make)
{
    struct admission *admission = &server->admission;
    struct task_entry *entry;

    for (unsigned i = 0; i < admission->n; i++) {
        if (strcmp(admission->entries[i].name, name) == 0)
            return &admission->entries[i];
    }
    if (!make || admission->n == ADMISSION_TASKS || strlen(name) >= sizeof entry->name)
        return NULL;
    entry = &admission->entries[admission->n++];
    *entry = (struct task_entry){.in_set = -1};
    memcpy(entry->name, name, strlen(name) + 1);
    return entry;
}

bool admission_present(const struct server *server, const struct task_entry *entry)
{
    return entry->in_set >= 0 || (entry->planned && (server->plan_admits || entry->members));
}

bool admission_applies(const struct server *server, const struct task_entry *entry)
{
    return entry && entry->in_set >= 0 && server->config.admission != ADMISSION_OFF;
}

static unsigned index_of(const struct server *server, const struct task_entry *entry)
{
    return (unsigned)(entry - server->admission.entries);
}

/* ---- answers ---- */

static void answer(struct server *server, struct peer *peer, const struct task_entry *entry,
                   const struct decision *decision)
{
    const struct plan_task *planned =
        server->has_plan && entry ? plan_find(&server->plan, entry->name) : NULL;
    struct frame frame = {.type = FRAME_VERDICT};

    frame.verdict.verdict = decision->verdict;
    frame.verdict.reason = decision->reason;
    frame.verdict.response = (uint64_t)decision->response;
    frame.verdict.limit = (uint64_t)decision->limit;
    frame.verdict.cost = (uint64_t)decision->cost;
    memcpy(frame.verdict.cause, decision->cause, sizeof frame.verdict.cause);
    if (entry && entry->in_set >= 0) {
        const struct task *task = &server->admission.set.tasks[entry->in_set];

        frame.verdict.period = task->no_deadline ? 0 : (uint64_t)task->period;
        frame.verdict.deadline = task->no_deadline ? 0 : (uint64_t)task->deadline;
        frame.verdict.warm = task->profile ? (uint64_t)task->profile->warm : 0;
        /* the plan assumes that jobs are a period apart */
    } else if (planned && !planned->no_deadline) {
        frame.verdict.period = (uint64_t)planned->period;
        frame.verdict.deadline = (uint64_t)planned->deadline;
    }
    if (planned && decision->verdict == VERDICT_ADMITTED) {
        frame.verdict.priority = planned->priority;
        frame.verdict.gpus = planned->gpus;
        frame.verdict.bound = planned->bound > 0 ? (uint64_t)planned->bound : 0;
    }
    peer_put(server, peer, &frame);
}

/*
 * The decision about a task: kept, recorded, and reported to the waiting clients and to the task's
 * clients.
 */
static void decide(struct server *server, struct task_entry *entry, const struct decision *decision)
{
    struct server_report report = {.kind = REPORT_VERDICT,
                                   .name = entry->name,
                                   .other = decision->cause,
                                   .detail = decision->verdict,
                                   .reason = decision->reason,
                                   .response = decision->response,
                                   .limit = decision->limit,
                                   .cost = decision->cost};

    entry->decision = *decision;
    if (decision->verdict != VERDICT_ADMITTED)
        server->admission.rejected++;
    history_add_planned(&server->history, server->now_at - decision->cost, decision->cost,
                        index_of(server, entry), decision->verdict);
    server->host.report(server->host.user, &report);
    for (unsigned i = 0; i < server->config.clients; i++) {
        struct peer *peer = server->peers[i];

        if (!peer || peer->task != entry)
            continue;
        if (peer->awaits_verdict) {
            peer->awaits_verdict = false;
            answer(server, peer, entry, decision);
            if (decision->verdict == VERDICT_REFUSED)
                admission_leave(server, peer);
        } else if (peer->state == PEER_CLIENT) {
            peer_plan_again(server, peer);
        }
    }
}

/* ---- asking ---- */

static bool in_question(const struct admission *admission, unsigned i)
{
    return admission->question[i / 64] >> i % 64 & 1;
}

/* Collects the running set and the candidate; false: there is none. */
static bool form_question(struct admission *admission)
{
    bool any = false;

    memset(admission->question, 0, sizeof admission->question);
    for (unsigned i = 0; i < admission->n; i++) {
        const struct task_entry *entry = &admission->entries[i];

        if (entry->in_set < 0 || ((int)i != admission->candidate &&
                                  (!entry->members || entry->decision.verdict != VERDICT_ADMITTED)))
            continue;
        admission->question[i / 64] |= UINT64_C(1) << i % 64;
        any = true;
    }
    return any;
}

/* The question as a task set of its own, as text; NULL: no memory. */
static char *question_text(const struct admission *admission, size_t *ret_size)
{
    struct task_set part = {.platform = admission->set.platform};
    char *text = NULL;
    FILE *out;

    part.tasks = calloc(admission->set.n_tasks, sizeof *part.tasks);
    out = part.tasks ? open_memstream(&text, ret_size) : NULL;
    for (unsigned i = 0; out && i < admission->n; i++) {
        if (in_question(admission, i))
            part.tasks[part.n_tasks++] = admission->set.tasks[admission->entries[i].in_set];
    }
    if (out) {
        task_set_print(&part, out);
        if (fclose(out) != 0) {
            free(text);
            text = NULL;
        }
    }
    free(part.tasks);
    return text;
}

static int ask(struct server *server)
{
    size_t size = 0;
    char *text = question_text(&server->admission, &size);
    int result =
        text ? server->host.plan(server->host.user, server->admission.set.name, text, size) : -ENOMEM;

    free(text);
    return result;
}

/* The task that has waited longest for its answer; -1: none waits. */
static int next_candidate(const struct admission *admission)
{
    int first = -1;

    for (unsigned i = 0; i < admission->n; i++) {
        const struct task_entry *entry = &admission->entries[i];

        if (entry->decision.verdict == VERDICT_ASKED &&
            (first < 0 || entry->order < admission->entries[first].order))
            first = (int)i;
    }
    return first;
}

static void unanswered(struct server *server, enum reason reason, baton_nsec cost)
{
    struct admission *admission = &server->admission;
    struct server_report report = {.kind = REPORT_UNPLANNED, .reason = reason, .cost = cost};
    struct decision decision = {.verdict = server->config.admission == ADMISSION_REFUSE ? VERDICT_REFUSED
                                                                                        : VERDICT_BEST_EFFORT,
                                .reason = reason,
                                .cost = cost};

    admission->failures++;
    if (admission->candidate >= 0) {
        decide(server, &admission->entries[admission->candidate], &decision);
        return;
    }
    admission->stale = true; /* kept: the plan in force covers more tasks than run now */
    server->host.report(server->host.user, &report);
}

void admission_pump(struct server *server)
{
    struct admission *admission = &server->admission;

    while (admission->has_set && !admission->planning && server->config.admission != ADMISSION_OFF) {
        admission->candidate = next_candidate(admission);
        if (admission->candidate < 0 && !admission->changed)
            return;
        admission->changed = false;
        if (!form_question(admission)) {
            admission->stale = false;
            continue;
        }
        admission->planning = true;
        if (ask(server) == 0)
            return;
        admission->planning = false;
        unanswered(server, REASON_PLANNER, 0);
    }
}

/* ---- the answer ---- */

static void rejected(struct server *server, struct decision *decision)
{
    struct admission *admission = &server->admission;
    struct server_report report = {.kind = REPORT_UNPLANNED,
                                   .reason = decision->reason,
                                   .other = decision->cause,
                                   .response = decision->response,
                                   .limit = decision->limit,
                                   .cost = decision->cost};

    decision->verdict = server->config.admission == ADMISSION_REFUSE ? VERDICT_REFUSED : VERDICT_BEST_EFFORT;
    if (admission->candidate >= 0) {
        decide(server, &admission->entries[admission->candidate], decision);
        return;
    }
    admission->stale = true;
    server->host.report(server->host.user, &report);
}

static void accepted(struct server *server, struct plan *plan, struct decision *decision)
{
    struct admission *admission = &server->admission;
    struct task_entry *entry = admission->candidate >= 0 ? &admission->entries[admission->candidate] : NULL;

    admission->stale = false;
    if (server_set_plan(server, plan, "computed for what runs", server->now_at) < 0) {
        unanswered(server, REASON_PLANNER, decision->cost);
        return;
    }
    server->plan_admits = false;
    decision->verdict = VERDICT_ADMITTED;
    if (entry) {
        decide(server, entry, decision);
    } else {
        struct server_report report = {.kind = REPORT_PLANNED, .cost = decision->cost};

        history_add_planned(&server->history, server->now_at - decision->cost, decision->cost, UINT32_MAX,
                            VERDICT_ADMITTED);
        server->host.report(server->host.user, &report);
    }
}

void server_planned(struct server *server, const struct planning *planning, baton_nsec now_at)
{
    struct admission *admission = &server->admission;
    struct decision decision = {.cost = planning->cost};
    struct plan plan;
    const char *about;

    server->now_at = now_at;
    if (!admission->planning)
        return;
    admission->planning = false;
    admission->cost_last = planning->cost;
    if (planning->cost > admission->cost_max)
        admission->cost_max = planning->cost;
    /* The task set may have changed, or the task of the question may have left. */
    if (admission->superseded ||
        (admission->candidate >= 0 &&
         admission->entries[admission->candidate].decision.verdict != VERDICT_ASKED)) {
        admission->superseded = false;
        admission->changed = true;
        admission_pump(server);
        return;
    }
    about = admission->candidate >= 0 ? admission->entries[admission->candidate].name : "";
    switch (planning_read(planning, about, &plan, &decision)) {
    case 0:
        admission->plans++;
        accepted(server, &plan, &decision);
        plan_done(&plan);
        break;
    case PLANNING_REJECTED:
        admission->plans++;
        rejected(server, &decision);
        break;
    default:
        unanswered(server, planning->late ? REASON_TIME : REASON_PLANNER, planning->cost);
        break;
    }
    admission_pump(server);
    regain_follow(server);
}

/* ---- clients come and go ---- */

static void join(struct peer *peer, struct task_entry *entry)
{
    peer->task = entry;
    if (entry->members++ == 0)
        entry->uid = peer->who.uid;
}

static void ask_about(struct server *server, struct task_entry *entry)
{
    entry->decision = (struct decision){.verdict = VERDICT_ASKED};
    entry->order = ++server->admission.orders;
    admission_pump(server);
}

void admission_hello(struct server *server, struct peer *peer)
{
    struct task_entry *entry = admission_find(server, peer->hello.name, false);
    bool fresh;

    if (!entry)
        return;
    /* A task that another user claims or runs belongs to that user. */
    if (!config_may_run(&server->config, peer->who.uid, entry->name) ||
        (admission_applies(server, entry) && entry->members && entry->uid != peer->who.uid)) {
        peer->foreign = true;
        return;
    }
    fresh = entry->members == 0;
    join(peer, entry);
    if (fresh && admission_applies(server, entry))
        ask_about(server, entry);
}

/* What the plan alone says about a task. */
static void answer_by_plan(struct server *server, struct peer *peer, const struct task_entry *entry)
{
    const struct decision decision = {.verdict = server->plan_admits && entry->planned ? VERDICT_ADMITTED
                                                                                       : VERDICT_UNKNOWN};

    answer(server, peer, entry, &decision);
}

void admission_admit(struct server *server, struct peer *peer, const char *name)
{
    struct task_entry *entry = admission_find(server, name, false);
    struct decision decision = {.verdict = VERDICT_UNKNOWN};

    if (!entry) {
        answer(server, peer, NULL, &decision);
    } else if (!config_may_run(&server->config, peer->who.uid, name)) {
        decision.verdict = VERDICT_REFUSED;
        decision.reason = REASON_USER;
        answer(server, peer, entry, &decision);
    } else if (!admission_applies(server, entry)) {
        answer_by_plan(server, peer, entry);
    } else if (entry->members || peer->task) {
        decision.verdict = VERDICT_REFUSED;
        decision.reason = REASON_RUNNING;
        answer(server, peer, entry, &decision);
    } else {
        join(peer, entry);
        peer->reserves = true;
        peer->awaits_verdict = true;
        ask_about(server, entry);
    }
}

void admission_leave(struct server *server, struct peer *peer)
{
    struct task_entry *entry = peer->task;

    if (!entry)
        return;
    observe_departed(entry, peer, server->now_at);
    peer->task = NULL;
    peer->reserves = false;
    peer->awaits_verdict = false;
    if (--entry->members > 0)
        return;
    if (entry->decision.verdict == VERDICT_ADMITTED && admission_applies(server, entry))
        server->admission.changed = true;
    if (admission_applies(server, entry) && entry->decision.verdict != VERDICT_REFUSED)
        entry->decision.verdict = VERDICT_NONE;
    admission_pump(server);
}

/* ---- files ---- */

/* The task is not in the new set: what the former set decided about it no longer counts. */
static void forget_decision(struct server *server, struct task_entry *entry)
{
    entry->decision = (struct decision){0};
    for (unsigned i = 0; i < server->config.clients; i++) {
        struct peer *peer = server->peers[i];

        if (!peer || peer->task != entry)
            continue;
        if (peer->awaits_verdict) {
            answer_by_plan(server, peer, entry);
            admission_leave(server, peer);
        } else if (peer->state == PEER_CLIENT) {
            peer_plan_again(server, peer);
        }
    }
}

int server_set_tasks(struct server *server, struct task_set *set, const char *path, baton_nsec now_at)
{
    struct admission *admission = &server->admission;

    server->now_at = now_at;
    if (set && set->n_tasks > ADMISSION_SET_SIZE)
        return -E2BIG;
    for (size_t i = 0; set && i < set->n_tasks; i++) {
        if (!admission_find(server, set->tasks[i].name, true))
            return -ENOSPC;
    }
    if (admission->has_set)
        task_set_done(&admission->set);
    admission->has_set = set != NULL;
    for (unsigned i = 0; i < admission->n; i++)
        admission->entries[i].in_set = -1;
    if (set) {
        admission->set = *set;
        *set = (struct task_set){0};
        for (size_t i = 0; i < admission->set.n_tasks; i++)
            admission_find(server, admission->set.tasks[i].name, false)->in_set = (int)i;
    }
    (void)snprintf(admission->path, sizeof admission->path, "%s", set ? path : "");
    admission->superseded = admission->planning;
    admission->changed = admission->has_set;
    admission->stale = admission->stale && admission->has_set;
    for (unsigned i = 0; i < admission->n; i++) {
        if (admission->entries[i].in_set < 0)
            forget_decision(server, &admission->entries[i]);
    }
    /* Asks about the running tasks again, in the order in which they came. */
    for (unsigned i = 0; i < admission->n; i++) {
        struct task_entry *entry = &admission->entries[i];

        if (entry->members && admission_applies(server, entry) && entry->decision.verdict == VERDICT_NONE)
            ask_about(server, entry);
    }
    admission_pump(server);
    regain_follow(server);
    return 0;
}

void server_retire_plan(struct server *server, baton_nsec now_at)
{
    bool serves = false;

    for (unsigned i = 0; i < server->admission.n; i++) {
        const struct task_entry *entry = &server->admission.entries[i];

        serves |= entry->members && entry->planned && admission_applies(server, entry);
    }
    server->plan_admits = false;
    if (server->has_plan && !serves)
        (void)server_set_plan(server, NULL, "", now_at); /* only a plan can be refused */
}
