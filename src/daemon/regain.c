#include "daemon/regain.h"

#include "daemon/cpus.h"
#include "daemon/observe.h"
#include "daemon/releases.h"

void regain_lose_until_idle(struct server *server)
{
    struct claims *claims = &server->claims;

    if (claims->none)
        return;
    claims->none = claims->lost = true;
    claims->unconfirmed = false;
    for (unsigned i = 0; i < server->admission.n; i++)
        server->admission.entries[i].claimed = false;
}

void regain_lose(struct server *server)
{
    server->claims.calm_from = 0;
    regain_lose_until_idle(server);
}

bool regain_covers(const struct task_entry *entry, baton_nsec release_at)
{
    return entry->claimed && release_at >= entry->claimed_from;
}

/* ---- idle instants ---- */

static bool holds_nothing(const struct server *server, const struct peer *peer)
{
    if (server->profile->tokens &&
        (peer->job != JOB_NONE || peer->token != PEER_TOKEN_NONE || peer->engaged >= 0 || peer->queue))
        return false;
    for (unsigned i = 0; i < PAGE_LEASES; i++) {
        const struct hold *hold = &peer->holds[i];

        /* a lease that is merely kept returns when another client asks */
        if (hold->state == HOLD_WAITING || hold->state == HOLD_DECLARED ||
            (hold->state == HOLD_HELD &&
             lease_word_state(atomic_load(&peer->page->leases[i].word)) == LEASE_STATE_BUSY))
            return false;
    }
    return true;
}

/* The mark of the client's jobs (struct page) if this client is idle, else 0. */
static uint64_t idle_mark(const struct server *server, const struct peer *peer, const struct plan_task *task)
{
    uint64_t mark = atomic_load_explicit(&peer->page->job_mark, memory_order_acquire);
    baton_nsec released_at = atomic_load_explicit(&peer->page->released_at, memory_order_relaxed);

    return mark % 2 == 0 && released_at <= server->now_at && server->now_at - released_at < task->period &&
                   holds_nothing(server, peer)
               ? mark
               : 0;
}

/*
 * The most urgent priority of a client that is not idle; -1: all are. *ret_marks: a sum that has
 * changed if a job began since.
 */
static int most_urgent_pending(const struct server *server, uint64_t *ret_marks)
{
    int most = -1;

    *ret_marks = 0;
    for (unsigned i = 0; i < server->config.clients; i++) {
        const struct peer *peer = server->peers[i];
        const struct plan_task *task = peer && peer->page && peer->task ? peer->task->planned : NULL;
        uint64_t mark;

        if (!task)
            continue;
        mark = idle_mark(server, peer, task);
        *ret_marks += mark;
        if (!mark && (int)task->priority > most)
            most = (int)task->priority;
    }
    return most;
}

/* ---- claims return ---- */

/*
 * The instant of a look is after now_at, which was read before it. A later reading of the clock is
 * after that instant: jobs that are released from then on are covered.
 */
static void confirm(struct server *server)
{
    if (!server->claims.unconfirmed || server->now_at <= server->claims.regained_at)
        return;
    server->claims.unconfirmed = false;
    for (unsigned i = 0; i < server->admission.n; i++) {
        struct task_entry *entry = &server->admission.entries[i];

        if (entry->claimed && entry->claimed_from == NSEC_MAX)
            entry->claimed_from = server->now_at;
    }
}

/*
 * Linux limits real-time programs: the instant must follow another idle one by a period of the
 * limit (rt_limit.h).
 */
static bool is_calm(struct server *server)
{
    struct claims *claims = &server->claims;

    if (claims->calm_from == 0)
        claims->calm_from = server->now_at;
    return server->now_at - claims->calm_from > claims->rt_period;
}

/*
 * Must this task be idle before any claim returns? Under tokens each one must. Under a limit on
 * real-time programs a late job can stop all others, so each one with a bound must.
 */
static bool all_wait_for(const struct server *server, int priority)
{
    if (server->profile->tokens)
        return true;
    for (size_t i = 0; server->claims.rt_period && i < server->plan.n_tasks; i++) {
        if (server->plan.tasks[i].bound >= 0 && (int)server->plan.tasks[i].priority <= priority)
            return true;
    }
    return false;
}

/* The most urgent priority of a lost claim; -1: none is lost. */
static int most_urgent_lost(const struct server *server)
{
    int most = -1;

    for (unsigned i = 0; i < server->admission.n; i++) {
        const struct task_entry *entry = &server->admission.entries[i];

        if (entry->planned && entry->planned->bound > 0 && !entry->claimed &&
            (int)entry->planned->priority > most)
            most = (int)entry->planned->priority;
    }
    return most;
}

/*
 * Clients write their pages at any time: no job began between two looks with the same marks. The
 * rules hold between them. A thread that was not ordered at that instant is found after it, and
 * keeps the claim away until the next look.
 *
 * Asking the operating system takes batond, which runs above all programs, longer than all the
 * rest. So it is asked only when a claim can return.
 */
static void look_for_idle(struct server *server, bool rules_hold)
{
    struct claims *claims = &server->claims;
    uint64_t first;
    uint64_t second;
    uint32_t who;
    int lost = most_urgent_lost(server);
    int pending = most_urgent_pending(server, &first);

    claims->lost = lost >= 0;
    if (lost <= pending || (pending >= 0 && all_wait_for(server, pending)) ||
        (!rules_hold && observe_model(server, true, &who) != RULE_MET) ||
        most_urgent_pending(server, &second) != pending || first != second || cpus_look(server) ||
        (claims->rt_period && !is_calm(server)))
        return;
    claims->lost = false;
    for (unsigned i = 0; i < server->admission.n; i++) {
        struct task_entry *entry = &server->admission.entries[i];

        if (!entry->planned || entry->planned->bound <= 0 || entry->claimed)
            continue;
        if ((int)entry->planned->priority <= pending) {
            claims->lost = true;
            continue;
        }
        entry->claimed = true;
        entry->claimed_from = NSEC_MAX;
        claims->regained_at = server->now_at;
        claims->unconfirmed = true;
        claims->none = false;
    }
}

static void follow(struct server *server, bool all_rules)
{
    enum model_rule rule;
    uint32_t who;

    if (!server->has_plan)
        return;
    releases_look(server);
    if (all_rules)
        job_costs_look(server);
    rule = observe_model(server, all_rules, &who);
    if (rule == RULE_LATE)
        regain_lose_until_idle(server);
    else if (rule != RULE_MET)
        regain_lose(server);
    if (rule != RULE_MET)
        return;
    confirm(server);
    if (!server->claims.lost)
        return;
    look_for_idle(server, all_rules);
    if (server->claims.lost)
        server_arm(server, server->now_at + REGAIN_EVERY);
}

void regain_follow(struct server *server)
{
    bool looked = server->claims.looked;

    server->claims.looked = false;
    follow(server, looked);
}

void regain_follow_all(struct server *server)
{
    server->claims.looked = false;
    follow(server, true);
}
