/* The rules of docs/protocols.md as checks on a state, written the slow and obvious way. */
#include <stdio.h>
#include <string.h>

#include "world.h"

struct check {
    const struct world *world;
    const struct sched_core *core;
    const struct mirror *mirror;
    char *text;
    size_t size;
};

static bool broke(const struct check *check, const char *rule, unsigned a, unsigned b)
{
    (void)snprintf(check->text, check->size, "%s (%u, %u)", rule, a, b);
    return false;
}

/*
 * Client i has a higher priority than client i + 1, whatever came when. Equals by what they were
 * served (Q6), which no decision shows.
 */
static bool before(const struct check *check, unsigned a, unsigned b)
{
    const struct sched_lane *x = &check->core->lanes[a];
    const struct sched_lane *y = &check->core->lanes[b];

    if (check->world->equals)
        return x->share.tag != y->share.tag ? x->share.tag < y->share.tag : x->seq < y->seq;
    if (check->core->profile->by_priority)
        return a < b;
    return check->mirror->lanes[a].order < check->mirror->lanes[b].order;
}

static bool waits(const struct check *check, unsigned c)
{
    return check->mirror->lanes[c].state == ENGINE_WAITS;
}

static bool holds(const struct check *check, unsigned c, engine_id e)
{
    return check->mirror->lanes[c].state == ENGINE_HOLDS &&
           engine_set_has(&check->mirror->lanes[c].request.engines, e);
}

static bool reserving(const struct check *check, unsigned c)
{
    return check->core->profile->reserve || check->mirror->lanes[c].request.batch;
}

/* Could w start on e if `ignored` did not hold anything? */
static bool available(const struct check *check, unsigned w, engine_id e, unsigned ignored)
{
    if (e == 0 && check->mirror->blocked)
        return false;
    for (unsigned c = 0; c < check->world->clients; c++) {
        if (c != ignored && holds(check, c, e))
            return false;
        if (c != w && waits(check, c) && reserving(check, c) && before(check, c, w) &&
            engine_set_has(&check->mirror->lanes[c].request.engines, e))
            return false;
    }
    return true;
}

static bool startable(const struct check *check, unsigned w, unsigned ignored)
{
    const struct world_request *request = &check->mirror->lanes[w].request;
    bool all = true;
    bool any = false;

    for (engine_id e = 0; e < check->core->n_engines; e++) {
        if (!engine_set_has(&request->engines, e))
            continue;
        if (available(check, w, e, ignored))
            any = true;
        else
            all = false;
    }
    return request->one_of ? any : all;
}

static bool overlap(const struct check *check, unsigned a, unsigned b)
{
    return (check->mirror->lanes[a].request.engines.bits[0] &
            check->mirror->lanes[b].request.engines.bits[0]) != 0;
}

static bool check_engines(const struct check *check)
{
    bool anybody_waits = false;
    bool anybody_holds = check->mirror->blocked > 0;

    for (unsigned w = 0; w < check->world->clients; w++) {
        anybody_holds |= check->mirror->lanes[w].state == ENGINE_HOLDS;
        if (!waits(check, w))
            continue;
        anybody_waits = true;
        if (startable(check, w, UINT32_MAX))
            return broke(check, "lost wake-up: an engine idles while its request waits (Q1)", w, 0);
        for (unsigned g = 0; g < check->world->clients; g++) {
            if (check->mirror->lanes[g].granted_now && before(check, w, g) && overlap(check, w, g) &&
                reserving(check, w))
                return broke(check, "E2: granted an engine that is kept for a group before it", g, w);
            if (check->mirror->lanes[g].granted_now && before(check, w, g) && overlap(check, w, g) &&
                startable(check, w, g))
                return broke(check, "order: granted past a request that stands before it", g, w);
        }
    }
    if (anybody_waits && !anybody_holds)
        return broke(check, "deadlock: all wait, nobody holds", 0, 0);
    return true;
}

/* Q2: exactly the holders that are outranked have been asked since their grant. */
static bool check_yields(const struct check *check)
{
    if (!check->core->profile->pieces || check->world->equals)
        return true;
    for (unsigned h = 0; h < check->world->clients; h++) {
        const struct mirror_lane *lane = &check->mirror->lanes[h];
        bool outranked = false;

        if (lane->state != ENGINE_HOLDS || lane->request.batch || check->mirror->dead[h])
            continue;
        for (unsigned w = 0; w < check->world->clients; w++)
            outranked |= waits(check, w) && before(check, w, h) && overlap(check, w, h);
        if (outranked && !lane->asked_to_yield)
            return broke(check, "not asked to yield although outranked (Q2)", h, 0);
    }
    return true;
}

/*
 * Q6 without yields: exactly the holders for whose engines somebody waits who is not below them
 * know it.
 */
static bool check_turns(const struct check *check)
{
    if (check->core->profile->pieces && !check->world->equals)
        return true; /* priorities are unique here: a job that is not below is above, and Q2 holds */
    for (unsigned h = 0; h < check->world->clients; h++) {
        const struct mirror_lane *lane = &check->mirror->lanes[h];
        bool claimed = false;

        if (lane->state != ENGINE_HOLDS || lane->request.batch || check->mirror->dead[h])
            continue;
        for (unsigned w = 0; w < check->world->clients; w++)
            claimed |= waits(check, w) &&
                       (!check->core->profile->by_priority || check->world->equals || before(check, w, h)) &&
                       overlap(check, w, h);
        if (claimed && !lane->turned && !lane->asked_to_yield)
            return broke(check, "not told of an equal (Q6)", h, 0);
    }
    return true;
}

/* Q6: a hold lasts a turn at most while an equal waits, and X is 0 here: (n - 1) 3 T. */
static bool check_waits(const struct check *check)
{
    for (unsigned w = 0; w < check->world->clients && check->world->bounded; w++) {
        if (check->mirror->lanes[w].waited > 3 * (check->world->clients - 1))
            return broke(check, "waits longer than the bound (Q6)", w, check->mirror->lanes[w].waited);
    }
    return true;
}

/*
 * A holder runs with the best priority of the jobs that wait for its engines; any other job with
 * its own.
 */
static bool check_inheritance(const struct check *check)
{
    if (!check->core->profile->inherit || check->core->profile->tokens || check->world->equals)
        return true;
    for (unsigned h = 0; h < check->world->clients; h++) {
        unsigned best = h;

        if (!check->mirror->released[h] || check->mirror->dead[h])
            continue;
        for (unsigned w = 0; w < check->world->clients; w++) {
            if (check->mirror->lanes[h].state == ENGINE_HOLDS && waits(check, w) && w < best &&
                overlap(check, w, h))
                best = w;
        }
        if (check->mirror->as[h] != best)
            return broke(check, "runs with the wrong priority", h, check->mirror->as[h]);
    }
    return true;
}

/* R2DGLP. */

static bool in_top(const struct check *check, unsigned c)
{
    unsigned above = 0;

    for (unsigned other = 0; other < c; other++)
        above += check->core->lanes[other].token != TOKEN_NONE;
    return above < check->core->config.cpu_cluster;
}

static bool check_queues(const struct check *check, const struct token_cluster *cluster)
{
    unsigned sum = 0;
    unsigned waiting = 0;

    for (unsigned q = 0; q < cluster->k; q++) {
        sum += cluster->lengths[q];
        if (cluster->lengths[q] > cluster->cap)
            return broke(check, "R2DGLP (ii): a queue is longer than CAP", q, cluster->lengths[q]);
        for (unsigned i = 0; i < cluster->lengths[q]; i++) {
            const struct sched_lane *lane = &check->core->lanes[cluster->queues[q][i]];

            if (lane->queue != q || lane->token != (i ? TOKEN_QUEUED : TOKEN_HELD))
                return broke(check, "R2DGLP (i): the head, and only the head, holds the replica", q, i);
            waiting += i > 0;
        }
    }
    for (unsigned q = 0; q < cluster->k; q++) {
        if (cluster->lengths[q] == 0 && waiting)
            return broke(check, "R6: a replica idles while a request waits in a queue", q, 0);
    }
    if (sum != cluster->in_queues || sum > cluster->slots)
        return broke(check, "R2DGLP (ii): more in the queues than F", sum, cluster->slots);
    if ((cluster->n_donors || cluster->n_parked) && sum != cluster->slots)
        return broke(check, "R2DGLP (iii): donors or parked requests beside a free slot", sum,
                     cluster->slots);
    return true;
}

static bool check_donors(const struct check *check)
{
    for (unsigned c = 0; c < check->world->clients; c++) {
        const struct sched_lane *lane = &check->core->lanes[c];

        if (lane->token == TOKEN_PARKED && in_top(check, c))
            return broke(check, "R2DGLP (iv): a top request is parked", c, 0);
        if (lane->token == TOKEN_DONOR) {
            const struct sched_lane *donee = &check->core->lanes[lane->donee];

            if (lane->donor != NO_LANE || donee->donor != c ||
                (donee->token != TOKEN_QUEUED && donee->token != TOKEN_HELD))
                return broke(check, "R7: a broken donor link", c, lane->donee);
            if (!check->mirror->any_death && (!in_top(check, c) || in_top(check, lane->donee)))
                return broke(check, "R2DGLP (v): donors are in the top, donees are not", c, lane->donee);
        }
    }
    return true;
}

/* next(w) once more, from the rule's text. */
static unsigned next_of(const struct check *check, unsigned w)
{
    const struct sched_lane *lane = &check->core->lanes[w];

    if (waits(check, w)) {
        for (unsigned c = 0; c < check->world->clients; c++) {
            if (check->mirror->lanes[c].state == ENGINE_HOLDS && overlap(check, c, w))
                return c;
        }
        for (unsigned c = 0; c < check->world->clients; c++) {
            if (c != w && waits(check, c) && before(check, c, w) && overlap(check, c, w))
                return c;
        }
        return w;
    }
    if (lane->token == TOKEN_DONOR)
        return lane->donee;
    if (lane->token == TOKEN_QUEUED)
        return check->core->clusters[0].queues[lane->queue][0];
    return w;
}

/*
 * A group may push any one of several (E4), so this is checked only where the menu has no groups.
 */
static bool check_chains(const struct check *check)
{
    unsigned best[WORLD_MAX_CLIENTS];

    for (unsigned m = 0; m < check->world->n_menu; m++) {
        if (__builtin_popcountll(check->world->menu[m].engines.bits[0]) > 1)
            return true;
    }
    for (unsigned c = 0; c < check->world->clients; c++)
        best[c] = c;
    for (unsigned w = 0; w < check->world->clients; w++) {
        unsigned at = w;

        if (!check->core->jobs[w].used)
            continue;
        for (unsigned steps = 0; steps < check->world->clients && next_of(check, at) != at; steps++) {
            at = next_of(check, at);
            if (w < best[at])
                best[at] = w;
        }
    }
    for (unsigned c = 0; c < check->world->clients; c++) {
        if (check->mirror->released[c] && !check->mirror->dead[c] && check->mirror->as[c] != best[c])
            return broke(check, "G4: runs with the wrong priority", c, check->mirror->as[c]);
    }
    return true;
}

/* CK-OMLP. */

static bool has_request(const struct check *check, unsigned c)
{
    return check->core->jobs[c].used &&
           (check->core->lanes[c].token == TOKEN_QUEUED || check->core->lanes[c].token == TOKEN_HELD);
}

static unsigned ck_rank(const struct check *check, unsigned c)
{
    unsigned rank = 0;

    for (unsigned other = 0; other < c; other++)
        rank +=
            check->core->jobs[other].used && check->world->cpu_cluster[other] == check->world->cpu_cluster[c];
    return rank;
}

static bool check_ck_job(const struct check *check, unsigned c)
{
    const struct job *job = &check->core->jobs[c];
    unsigned cpus = check->core->config.cpu_cluster;
    bool donor = job->ck_donee != SCHED_NO_JOB;

    if (has_request(check, c) && ck_rank(check, c) >= cpus && job->ck_donor == SCHED_NO_JOB)
        return broke(check, "P1: an incomplete request below the c highest has no donor", c, 0);
    if (donor && (has_request(check, c) || job->ck_donor != SCHED_NO_JOB || ck_rank(check, c) >= cpus))
        return broke(check, "C2: a donor is among the c highest, without request or donor of its own", c, 0);
    if (donor && check->core->jobs[job->ck_donee].ck_donor != c)
        return broke(check, "C1: donor and donee do not match", c, job->ck_donee);
    if (check->core->lanes[c].token == TOKEN_PARKED && !donor && ck_rank(check, c) < cpus && !job->dead)
        return broke(check, "C6(iv): a request that may be issued is parked", c, 0);
    if (check->mirror->ended[c] && !donor)
        return broke(check, "C5: a deferred end without a donation", c, 0);
    if (donor && !check->mirror->ended[c] && !job->dead) {
        const struct mirror_lane *donee = &check->mirror->lanes[job->ck_donee];
        bool ready = donee->has_token && donee->state == ENGINE_NONE && !check->mirror->dead[job->ck_donee];

        if (check->mirror->suspended[c] != ready)
            return broke(check, "C2: a donor is suspended exactly while its donee is ready", c,
                         job->ck_donee);
    }
    if (!donor && check->mirror->suspended[c])
        return broke(check, "C2: suspended without being a donor", c, 0);
    return true;
}

static bool check_ck(const struct check *check)
{
    const struct token_cluster *cluster = &check->core->clusters[0];
    unsigned incomplete[WORLD_MAX_CLIENTS] = {0};
    unsigned free_tokens = 0;

    for (unsigned c = 0; c < check->world->clients; c++) {
        if (!check->core->jobs[c].used)
            continue;
        incomplete[check->world->cpu_cluster[c]] += has_request(check, c);
        if (!check_ck_job(check, c))
            return false;
    }
    for (unsigned x = 0; x < check->core->n_cpu_clusters; x++) {
        if (incomplete[x] > check->core->config.cpu_cluster)
            return broke(check, "P2: more than c incomplete requests in a CPU cluster", x, incomplete[x]);
    }
    for (unsigned g = 0; g < cluster->g; g++)
        free_tokens += cluster->free_tokens[g];
    if (free_tokens && cluster->lengths[0])
        return broke(check, "C3: a token is free while KQ waits", free_tokens, cluster->lengths[0]);
    return true;
}

static bool check_tokens(const struct check *check)
{
    for (unsigned c = 0; c < check->world->clients; c++) {
        const struct mirror_lane *lane = &check->mirror->lanes[c];

        if (lane->has_token != (check->core->lanes[c].token == TOKEN_HELD))
            if (!check->mirror->dead[c])
                return broke(check, "a token was granted and not told, or told and not granted", c, 0);
    }
    if (check->core->config.lock == LOCK_CK_OMLP)
        return check_ck(check);
    return check_queues(check, &check->core->clusters[0]) && check_donors(check) && check_chains(check);
}

bool world_check(const struct world *world, const struct sched_core *core, const struct mirror *mirror,
                 char *text, size_t size)
{
    struct check check = {world, core, mirror, text, size};

    return check_engines(&check) && check_yields(&check) && check_turns(&check) && check_waits(&check) &&
           check_inheritance(&check) && (!core->profile->tokens || check_tokens(&check));
}
