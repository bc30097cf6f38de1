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

bool batch_cores_idle(const struct batch_cores *cores)
{
    for (int core = 0; core < CPU_SETSIZE; core++) {
        if (CPU_ISSET(core, &cores->allowed) && cores->busy[core] == 0)
            return true;
    }
    return false;
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

void batch_cores_go(const struct batch_cores *cores, int core)
{
    cpu_set_t there;

    if (core < 0 || sched_getcpu() == core)
        return;
    CPU_ZERO(&there);
    CPU_SET(core, &there);
    if (sched_setaffinity(0, sizeof there, &there) == 0)
        (void)sched_setaffinity(0, sizeof cores->allowed, &cores->allowed);
}
