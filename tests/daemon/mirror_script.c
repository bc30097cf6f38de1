/* Scripts: random task sets for every profile, lock, policy and organisation into clusters. */
#include <stdarg.h>
#include <stdio.h>

#include "mirror_private.h"

static unsigned pick(struct random_state *random, unsigned low, unsigned high)
{
    return (unsigned)random_between(random, low, high);
}

static void put(struct mirror *mirror, size_t *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void put(struct mirror *mirror, size_t *at, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    *at += (size_t)vsnprintf(mirror->text + *at, sizeof mirror->text - *at, format, arguments);
    va_end(arguments);
}

static void put_kernel(struct mirror *mirror, size_t *at, struct random_state *random, double ms)
{
    unsigned pieces = pick(random, 1, 3);

    put(mirror, at, ", {kernel_ms: %.3f", ms);
    if (pieces > 1)
        put(mirror, at, ", piece_ms: %.3f", ms / pieces);
    put(mirror, at, "}");
}

/* Lengths in whole microseconds, so that instants meet often. */
static double length(struct random_state *random, unsigned most)
{
    return (double)pick(random, 1, most * 4) / 4;
}

static void put_task(struct mirror *mirror, size_t *at, struct random_state *random, unsigned index,
                     int fixed)
{
    bool state = mirror->profile == PROFILE_GPUSYNC && pick(random, 0, 2) == 0;

    put(mirror, at, "  - {name: t%u, period_ms: %u", index, pick(random, 5, 40));
    if (fixed >= 0)
        put(mirror, at, ", placement: [%d]", fixed);
    if (state)
        put(mirror, at, ", state: %u", pick(random, 1, 3) * 4096);
    put(mirror, at, ", segments: [{cpu_ms: %.3f}", length(random, 4));
    if (pick(random, 0, 4)) {
        put(mirror, at, ", {copy_in_ms: %.3f}", length(random, 1));
        put_kernel(mirror, at, random, length(random, 5));
        if (pick(random, 0, 1)) {
            put(mirror, at, ", {cpu_ms: %.3f}", length(random, 2));
            put_kernel(mirror, at, random, length(random, 2));
        }
        if (pick(random, 0, 1))
            put(mirror, at, ", {copy_out_ms: %.3f}", length(random, 1));
        if (pick(random, 0, 1))
            put(mirror, at, ", {cpu_ms: %.3f}", length(random, 2));
    }
    put(mirror, at, "]}\n");
}

static void put_platform(struct mirror *mirror, size_t *at, struct random_state *random, unsigned gpus,
                         unsigned cluster)
{
    static const char *const migrations[] = {"none", "system", "p2p", "ondemand"};
    unsigned cpu_cluster = pick(random, 1, 3);
    unsigned cpu_clusters = pick(random, 1, 3);
    bool tokens = mirror->profile == PROFILE_GPUSYNC;

    if (!tokens)
        cpu_clusters = 1;
    put(mirror, at, "platform: {cpus: %u, cpu_cluster: %u, gpus: %u, copy_engines: %u",
        cpu_cluster * cpu_clusters, cpu_cluster, gpus, pick(random, 1, 2));
    if (tokens) {
        put(mirror, at, ", gpu_cluster: %u", cluster);
        if (pick(random, 0, 5))
            put(mirror, at, ", tokens_per_gpu: %u", pick(random, 1, 3));
        else
            put(mirror, at, ", tokens_per_gpu: inf");
        put(mirror, at, ", chunk_in: 4 KiB, chunk_out: 4 KiB, migration: %s",
            cluster > 1 ? migrations[pick(random, 1, 3)] : migrations[0]);
        if (pick(random, 0, 1)) { /* every GPU cluster is shared by all CPU clusters */
            put(mirror, at, ", attach: [");
            for (unsigned q = 0; q < gpus / cluster; q++) {
                put(mirror, at, "%s[", q ? ", " : "");
                for (unsigned x = 0; x < cpu_clusters; x++)
                    put(mirror, at, "%s%u", x ? ", " : "", x);
                put(mirror, at, "]");
            }
            put(mirror, at, "]");
        }
        put(mirror, at,
            ", overheads: {copies: [{direction: in, bytes: 4 KiB, us: 250}, {direction: out, "
            "bytes: 4 KiB, "
            "us: 250}, {direction: p2p, bytes: 4 KiB, us: 250}]}");
    }
    put(mirror, at, "}\ntasks:\n");
}

void mirror_script(struct mirror *mirror, struct random_state *random)
{
    static const enum sched_policy_id policies[] = {POLICY_FIXED, POLICY_EDF, POLICY_FAIR_LATENESS};
    unsigned kind = pick(random, 0, 7);
    unsigned cluster = pick(random, 1, 3);
    unsigned tasks = pick(random, 2, 8);
    unsigned gpus = cluster * pick(random, 1, 2);
    bool fixed;
    size_t at = 0;

    mirror->profile = kind == 0   ? PROFILE_PRIORITY
                      : kind == 1 ? PROFILE_FIFO
                      : kind == 2 ? PROFILE_PRIORITY_WHOLE
                                  : PROFILE_GPUSYNC;
    mirror->policy = mirror->profile == PROFILE_GPUSYNC ? policies[pick(random, 0, 2)] : POLICY_FIXED;
    mirror->lock =
        (enum sched_lock_id)pick(random, 0, SCHED_LOCKS); /* SCHED_LOCKS: as the attachment needs */
    mirror->deaths = pick(random, 0, 2) == 0;
    mirror->ties = pick(random, 0, 1);
    /* mirror.h: what is left out */
    fixed = mirror->profile != PROFILE_GPUSYNC && (mirror->deaths || pick(random, 0, 1));
    put_platform(mirror, &at, random, gpus, cluster);
    mirror->has_budgets = pick(random, 0, 2) == 0;
    mirror->overrun = (enum sched_overrun)pick(random, SCHED_OVERRUN_TELL,
                                               mirror->profile == PROFILE_GPUSYNC ? SCHED_OVERRUN_DEMOTE
                                                                                  : SCHED_OVERRUN_THROTTLE);
    for (unsigned i = 0; i < tasks; i++)
        mirror->budgets[i] = pick(random, 0, 3) ? (baton_nsec)pick(random, 1, 12) * NSEC_PER_MS / 2 : 0;
    for (unsigned i = 0; i < tasks; i++)
        put_task(mirror, &at, random, i, fixed ? (int)pick(random, 0, gpus - 1) : -1);
}
