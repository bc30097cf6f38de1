#include "daemon/edge/machine.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define FILE_LIMIT ((size_t)64 << 10)
#define ALLOWED    "\nCpus_allowed_list:"

/* What cannot be read is taken for a limit that no program fits into. */
static const struct rt_limit unknown_limit = {.runtime = 0, .period = NSEC_PER_SEC};

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

/* Reads one number from the file of this name in the folder. */
static bool read_number(const char *folder, const char *name, int64_t *ret_number)
{
    char path[4096];
    char *text = NULL;
    char *end = NULL;
    size_t size;
    bool found = (size_t)snprintf(path, sizeof path, "%s/%s", folder, name) < sizeof path &&
                 file_read(path, FILE_LIMIT, &text, &size) == 0;

    if (found)
        *ret_number = strtoll(text, &end, 10);
    found = found && end != text && (*end == '\n' || *end == 0);
    free(text);
    return found;
}

/*
 * The limit that two files say, in microseconds. A runtime of -1, or of the whole period, is none.
 */
static struct rt_limit read_limit(const char *folder, const char *runtime_file, const char *period_file)
{
    int64_t runtime;
    int64_t period;

    if (!read_number(folder, runtime_file, &runtime) || !read_number(folder, period_file, &period) ||
        period <= 0 || period > NSEC_MAX / NSEC_PER_US)
        return unknown_limit;
    if (runtime < 0 || runtime >= period)
        return (struct rt_limit){0};
    return (struct rt_limit){.runtime = runtime * NSEC_PER_US, .period = period * NSEC_PER_US};
}

/* The path of the process in the hierarchy of the controller `cpu`, or NULL. Changes the text. */
static char *cpu_group(char *text)
{
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;

        if (!path)
            continue;
        *path++ = 0;
        for (char *names = controllers + 1, *name; (name = strsep(&names, ","));) {
            if (strcmp(name, "cpu") == 0)
                return path;
        }
    }
    return NULL;
}

/*
 * The folder of the hierarchy in whose groups real-time programs are limited; false: there is none.
 */
static bool find_groups(const char *root, char *ret_folder, size_t size)
{
    static const char *const names[] = {"cpu", "cpu,cpuacct", "cpuacct,cpu"};
    int64_t number;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if ((size_t)snprintf(ret_folder, size, "%s/sys/fs/cgroup/%s", root, names[i]) < size &&
            read_number(ret_folder, "cpu.rt_runtime_us", &number))
            return true;
    }
    return false;
}

/* The limits of this group (a path from the top, "/" or "/a/b") and of those around it. */
static size_t limits_of_groups(char *folder, size_t size, const char *group, struct rt_limit *ret_limits)
{
    size_t top = strlen(folder);
    size_t n = 0;

    if (strstr(group, "/..") || strlen(group) >= size - top) {
        ret_limits[0] = unknown_limit;
        return 1;
    }
    (void)snprintf(folder + top, size - top, "%s", strcmp(group, "/") == 0 ? "" : group);
    for (;;) {
        if (n == RT_LIMITS) {
            ret_limits[0] = unknown_limit;
            return n;
        }
        ret_limits[n++] = read_limit(folder, "cpu.rt_runtime_us", "cpu.rt_period_us");
        if (strlen(folder) <= top)
            return n;
        *strrchr(folder, '/') = 0;
    }
}

size_t machine_limits_of(const char *root, pid_t pid, struct rt_limit ret_limits[RT_LIMITS])
{
    char folder[4096];
    char path[4096];
    char *text = NULL;
    const char *group;
    size_t size;
    size_t n;

    if (pid == 0) {
        (void)snprintf(folder, sizeof folder, "%s/proc/sys/kernel", root);
        ret_limits[0] = read_limit(folder, "sched_rt_runtime_us", "sched_rt_period_us");
        return 1;
    }
    if (!find_groups(root, folder, sizeof folder))
        return 0;
    (void)snprintf(path, sizeof path, "%s/proc/%d/cgroup", root, (int)pid);
    group = file_read(path, FILE_LIMIT, &text, &size) == 0 ? cpu_group(text) : NULL;
    n = limits_of_groups(folder, sizeof folder, group ? group : "/..", ret_limits);
    free(text);
    return n;
}

/* The next thread in /proc/PID/task; 0: there is none. */
static pid_t next_thread(DIR *threads)
{
    struct dirent *entry;

    while (threads && (entry = readdir(threads))) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

        if (tid > 0)
            return tid;
    }
    return 0;
}

static DIR *open_threads(pid_t pid)
{
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    return opendir(path);
}

bool machine_is_realtime(pid_t pid)
{
    DIR *threads = open_threads(pid);
    bool found = false;
    pid_t tid;

    while (!found && (tid = next_thread(threads)))
        found = machine_rank_of(tid) > 0;
    if (threads)
        (void)closedir(threads);
    return found;
}

size_t machine_threads_on(pid_t pid, const struct core_set *cores)
{
    DIR *threads = open_threads(pid);
    size_t n = 0;
    pid_t tid;

    while ((tid = next_thread(threads))) {
        struct core_set its;
        struct core_set more;

        if (machine_cores_of(tid, &its) < 0)
            continue;
        more = core_set_without(&its, cores);
        n += core_set_count(&more) == 0;
    }
    if (threads)
        (void)closedir(threads);
    return n;
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

int machine_cores_of(pid_t tid, struct core_set *ret_cores)
{
    struct core_set cores = {0};
    cpu_set_t set;

    CPU_ZERO(&set);
    if (sched_getaffinity(tid, sizeof set, &set) < 0)
        return -errno;
    for (unsigned core = 0; core < CORES_MAX && core < CPU_SETSIZE; core++) {
        if (CPU_ISSET(core, &set))
            core_set_add(&cores, core);
    }
    *ret_cores = cores;
    return 0;
}

int machine_rank_of(pid_t tid)
{
    struct sched_param parameters;
    int policy = sched_getscheduler(tid);

    if (policy < 0 || sched_getparam(tid, &parameters) < 0)
        return -errno;
    policy &= ~SCHED_RESET_ON_FORK;
    if (policy == SCHED_DEADLINE)
        return 100;
    return policy == SCHED_FIFO || policy == SCHED_RR ? parameters.sched_priority : 0;
}
