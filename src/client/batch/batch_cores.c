#include "client/batch/batch_cores.h"

#include <string.h>

void batch_cores_init(struct batch_cores *cores)
{
    memset(cores, 0, sizeof *cores);
    if (sched_getaffinity(0, sizeof cores->allowed, &cores->allowed) != 0)
        CPU_ZERO(&cores->allowed);
}

size_t batch_cores_count(const struct batch_cores *cores)
{
    return (size_t)CPU_COUNT(&cores->allowed);
}

int batch_cores_take(struct batch_cores *cores)
{
    int best = sched_getcpu();

    if (best < 0 || best >= CPU_SETSIZE || !CPU_ISSET(best, &cores->allowed))
        return -1;
    for (int core = 0; core < CPU_SETSIZE && cores->busy[best] > 0; core++) {
        if (CPU_ISSET(core, &cores->allowed) && cores->busy[core] < cores->busy[best])
            best = core;
    }
    cores->busy[best]++;
    return best;
}

void batch_cores_leave(struct batch_cores *cores, int core)
{
    if (core >= 0)
        cores->busy[core]--;
}

void batch_cores_stay(const struct batch_cores *cores, int core)
{
    cpu_set_t there;

    CPU_ZERO(&there);
    if (core >= 0)
        CPU_SET(core, &there);
    if (CPU_COUNT(&cores->allowed) > 0)
        (void)sched_setaffinity(0, sizeof there, core >= 0 ? &there : &cores->allowed);
}

void batch_cores_go(const struct batch_cores *cores, int core)
{
    if (core >= 0 && sched_getcpu() != core)
        batch_cores_stay(cores, core);
    batch_cores_stay(cores, -1);
}

/* The next use without a core, by its begin; n: none. */
static size_t next_use(const struct core_use uses[], size_t n)
{
    size_t next = n;

    for (size_t i = 0; i < n; i++) {
        if (uses[i].core < 0 && uses[i].end > uses[i].begin &&
            (next == n || uses[i].begin < uses[next].begin))
            next = i;
    }
    return next;
}

void batch_cores_assign(const struct batch_cores *cores, size_t limit, struct core_use uses[], size_t n)
{
    baton_nsec free_at[CPU_SETSIZE] = {0};
    size_t next;

    for (size_t i = 0; i < n; i++)
        uses[i].core = -1;
    while ((next = next_use(uses, n)) < n) {
        size_t seen = 0;
        int best = -1;

        /*
         * Prefer the free core that became free last, so that a kernel stays on the core of its
         * copy. If no core is free, take the one that becomes free first.
         */
        for (int core = 0; core < CPU_SETSIZE && seen < limit; core++) {
            bool in_time = free_at[core] <= uses[next].begin;

            if (!CPU_ISSET(core, &cores->allowed))
                continue;
            seen++;
            if (best < 0 || (in_time ? free_at[best] > uses[next].begin || free_at[core] > free_at[best]
                                     : free_at[core] < free_at[best]))
                best = core;
        }
        if (best < 0) /* no core is known, or none is to be used */
            return;
        uses[next].core = best;
        free_at[best] = uses[next].end;
    }
}
