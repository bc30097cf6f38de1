#include "daemon/edge/machine.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define FILE_LIMIT ((size_t)64 << 10)
#define ALLOWED    "\nCpus_allowed_list:"

/* Reads a list of cores from a file; key: the beginning of its line, NULL: the first line. */
static int read_list(const char *root, const char *path, const char *key, struct core_set *ret_set)
{
    char whole[4096];
    char *text;
    size_t size;
    const char *at;
    int result;

    if ((size_t)snprintf(whole, sizeof whole, "%s%s", root, path) >= sizeof whole)
        return -ENAMETOOLONG;
    result = file_read(whole, FILE_LIMIT, &text, &size);
    if (result)
        return result;
    at = key ? strstr(text, key) : text;
    result = at ? core_set_parse(at + (key ? strlen(key) : 0), ret_set) : -EINVAL;
    free(text);
    return result;
}

int machine_look(const char *root, struct machine *ret_machine)
{
    static const char *const isolated[] = {"/sys/devices/system/cpu/isolated",
                                           "/sys/fs/cgroup/cpuset.cpus.isolated"};
    struct machine machine = {0};
    int result = read_list(root, "/sys/devices/system/cpu/online", NULL, &machine.online);

    if (!result)
        result = read_list(root, "/proc/self/status", ALLOWED, &machine.allowed);
    for (size_t i = 0; i < sizeof isolated / sizeof isolated[0] && !result; i++) {
        struct core_set set = {0};

        (void)read_list(root, isolated[i], NULL, &set);
        for (unsigned core = 0; core < CORES_MAX; core++) {
            if (core_set_has(&set, core))
                core_set_add(&machine.isolated, core);
        }
    }
    if (!result)
        *ret_machine = machine;
    return result;
}

int machine_cores_of(pid_t pid, struct core_set *ret_cores)
{
    struct core_set cores = {0};
    cpu_set_t set;

    CPU_ZERO(&set);
    if (sched_getaffinity(pid, sizeof set, &set) < 0)
        return -errno;
    for (unsigned core = 0; core < CORES_MAX && core < CPU_SETSIZE; core++) {
        if (CPU_ISSET(core, &set))
            core_set_add(&cores, core);
    }
    *ret_cores = cores;
    return 0;
}

int machine_rank_of(pid_t pid)
{
    struct sched_param parameters;
    int policy = sched_getscheduler(pid);

    if (policy < 0 || sched_getparam(pid, &parameters) < 0)
        return -errno;
    policy &= ~SCHED_RESET_ON_FORK;
    return policy == SCHED_FIFO || policy == SCHED_RR ? parameters.sched_priority : 0;
}
