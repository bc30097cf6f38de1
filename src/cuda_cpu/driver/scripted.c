#include "cuda_cpu/driver/scripted.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda_cpu/driver/driver_state.h"

int scripted_read(const char *script, baton_nsec ret_lengths[SCRIPTED_KINDS])
{
    static const char *const names[SCRIPTED_KINDS] = {"block", "in", "out"};
    baton_nsec lengths[SCRIPTED_KINDS] = {0};

    while (*script) {
        char name[8];
        long long ns;
        int used = 0;
        int kind = 0;

        if (sscanf(script, "%7[a-z]:%lld%n", name, &ns, &used) != 2 || ns < 0 || ns > 3600 * NSEC_PER_SEC)
            return -EINVAL;
        while (kind < SCRIPTED_KINDS && strcmp(names[kind], name) != 0)
            kind++;
        script += used;
        if (kind == SCRIPTED_KINDS || (*script && *script != ','))
            return -EINVAL;
        lengths[kind] = ns;
        script += *script == ',';
    }
    memcpy(ret_lengths, lengths, sizeof lengths);
    return 0;
}

static void read_environment(void)
{
    const char *script = getenv("BATON_CUDA_CPU_TIMES");

    if (script && scripted_read(script, driver.script.lengths) < 0)
        fprintf(stderr, "baton-cuda-cpu: BATON_CUDA_CPU_TIMES: expected block|in|out:NS,..., found '%s'\n",
                script);
    else
        driver.script.any = script != NULL;
}

bool scripted_any(void)
{
    pthread_once(&driver.script.once, read_environment);
    return driver.script.any;
}

void scripted_spend(enum scripted_kind kind, uint64_t n, baton_nsec begin_at)
{
    baton_nsec end_at;
    struct timespec until;

    if (!scripted_any() || driver.script.lengths[kind] == 0)
        return;
    end_at = begin_at + driver.script.lengths[kind] * (baton_nsec)n;
    until = (struct timespec){end_at / NSEC_PER_SEC, end_at % NSEC_PER_SEC};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}
