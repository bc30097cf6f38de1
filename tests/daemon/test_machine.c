/* What batond sees of the cores, with a scripted /sys and /proc. */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "daemon/edge/machine.h"
#include "harness.h"

static void put(const char *root, const char *path, const char *text)
{
    char whole[256];

    (void)snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = 0;
        ck_assert(mkdir(whole, 0755) == 0 || errno == EEXIST);
        *at = '/';
    }
    ck_assert_int_eq(file_write_atomic(whole, text, strlen(text)), 0);
}

static void shows(const struct core_set *set, const char *expected)
{
    char text[64];

    core_set_print(set, text, sizeof text);
    ck_assert_str_eq(text, expected);
}

START_TEST(online_allowed_and_isolated_cores_are_read)
{
    struct machine machine;
    char root[64];

    harness_folder(root);
    ck_assert_int_lt(machine_look(root, &machine), 0); /* nothing is known */
    put(root, "/sys/devices/system/cpu/online", "0-3\n");
    ck_assert_int_lt(machine_look(root, &machine), 0);
    put(root, "/proc/self/status",
        "Name:\tbatond\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\nMems_allowed:\t1\n");
    ck_assert_int_eq(machine_look(root, &machine), 0);
    shows(&machine.online, "0-3");
    shows(&machine.allowed, "0-1");
    shows(&machine.isolated, "none");
    put(root, "/sys/devices/system/cpu/isolated", "2\n"); /* isolcpus=2 */
    put(root, "/sys/fs/cgroup/cpuset.cpus.isolated", "3\n");
    ck_assert_int_eq(machine_look(root, &machine), 0);
    shows(&machine.isolated, "2-3");
    put(root, "/sys/devices/system/cpu/online", "0-1\n"); /* two cores were taken offline */
    ck_assert_int_eq(machine_look(root, &machine), 0);
    shows(&machine.online, "0-1");
    put(root, "/sys/devices/system/cpu/isolated", "\n");
    ck_assert_int_eq(machine_look(root, &machine), 0);
    shows(&machine.isolated, "3");
    put(root, "/sys/devices/system/cpu/online", "all of them\n");
    ck_assert_int_lt(machine_look(root, &machine), 0);
}
END_TEST

static void limited(const char *root, pid_t pid, size_t i, size_t n, baton_nsec runtime, baton_nsec period)
{
    struct rt_limit limits[RT_LIMITS];

    ck_assert_uint_eq(machine_limits_of(root, pid, limits), n);
    if (n == 0)
        return;
    ck_assert_int_eq(limits[i].runtime, runtime);
    ck_assert_int_eq(limits[i].period, period);
}

START_TEST(limits_on_real_time_programs_are_read)
{
    char root[64];

    harness_folder(root);
    limited(root, 0, 0, 1, 0, NSEC_PER_SEC); /* unknown: nothing fits */
    put(root, "/proc/sys/kernel/sched_rt_runtime_us", "950000\n");
    put(root, "/proc/sys/kernel/sched_rt_period_us", "1000000\n");
    limited(root, 0, 0, 1, 950 * NSEC_PER_MS, NSEC_PER_SEC);
    put(root, "/proc/sys/kernel/sched_rt_runtime_us", "-1\n");
    limited(root, 0, 0, 1, 0, 0);
    put(root, "/proc/sys/kernel/sched_rt_runtime_us", "1000000\n");
    limited(root, 0, 0, 1, 0, 0);
    limited(root, 7, 0, 0, 0, 0); /* a kernel without limits of groups */
    put(root, "/sys/fs/cgroup/cpu/cpu.rt_runtime_us", "950000\n");
    limited(root, 7, 0, 1, 0, NSEC_PER_SEC); /* the process has ended */
    put(root, "/proc/7/cgroup", "3:cpuset:/x\n2:cpuacct,cpu:/a/b\n1:name=systemd:/\n0::/\n");
    limited(root, 7, 0, 3, 0, NSEC_PER_SEC); /* its group does not say */
    put(root, "/sys/fs/cgroup/cpu/cpu.rt_period_us", "1000000\n");
    put(root, "/sys/fs/cgroup/cpu/a/cpu.rt_runtime_us", "200000\n");
    put(root, "/sys/fs/cgroup/cpu/a/cpu.rt_period_us", "500000\n");
    put(root, "/sys/fs/cgroup/cpu/a/b/cpu.rt_runtime_us", "0\n");
    put(root, "/sys/fs/cgroup/cpu/a/b/cpu.rt_period_us", "1000000\n");
    limited(root, 7, 0, 3, 0, NSEC_PER_SEC);
    limited(root, 7, 1, 3, 200 * NSEC_PER_MS, 500 * NSEC_PER_MS);
    limited(root, 7, 2, 3, 950 * NSEC_PER_MS, NSEC_PER_SEC);
    put(root, "/proc/7/cgroup", "2:cpu:/\n");
    limited(root, 7, 0, 1, 950 * NSEC_PER_MS, NSEC_PER_SEC);
    put(root, "/proc/7/cgroup", "2:cpu:/../other\n"); /* outside of what this process sees */
    limited(root, 7, 0, 1, 0, NSEC_PER_SEC);
    put(root, "/proc/7/cgroup", "2:cpu:/1/2/3/4/5/6/7/8/9\n");
    limited(root, 7, 0, RT_LIMITS, 0, NSEC_PER_SEC);
}
END_TEST

/* A sanitizer may have a thread of its own. */
static unsigned threads_of_this_process(void)
{
    DIR *threads = opendir("/proc/self/task");
    unsigned n = 0;

    ck_assert_ptr_nonnull(threads);
    for (struct dirent *each; (each = readdir(threads));)
        n += each->d_name[0] != '.';
    closedir(threads);
    return n;
}

START_TEST(this_machine_is_read_too)
{
    struct core_set of_this_process;
    struct machine machine;
    struct core_set offline;

    ck_assert_int_eq(machine_look("", &machine), 0);
    ck_assert_uint_ge(core_set_count(&machine.online), 1);
    ck_assert_int_eq(machine_cores_of(getpid(), &of_this_process), 0);
    ck_assert_int_eq(memcmp(&of_this_process, &machine.allowed, sizeof of_this_process), 0);
    offline = core_set_without(&of_this_process, &machine.online);
    ck_assert_uint_eq(core_set_count(&offline), 0);
    ck_assert_uint_eq(machine_threads_on(getpid(), &machine.allowed), threads_of_this_process());
    ck_assert_uint_eq(machine_threads_on(getpid(), &offline), 0);
    ck_assert(!machine_is_realtime(getpid()));
    ck_assert_int_lt(machine_cores_of(1 << 30, &of_this_process), 0); /* no such process */
}
END_TEST

/* What sched_setattr() takes; some headers lack it. */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice_value;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

START_TEST(real_time_priorities_are_those_of_each_thread)
{
    const struct sched_param low = {.sched_priority = 7};
    struct attributes attributes = {.size = sizeof attributes,
                                    .policy = SCHED_DEADLINE,
                                    .flags = 1, /* reset on fork */
                                    .runtime = 1000000,
                                    .deadline = 100000000,
                                    .period = 100000000};

    ck_assert_int_eq(machine_rank_of(gettid()), 0);
    if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &low) < 0)
        return; /* not permitted here */
    ck_assert_int_eq(machine_rank_of(gettid()), 7);
    if (syscall(SYS_sched_setattr, 0, &attributes, 0) == 0)
        ck_assert_int_eq(machine_rank_of(gettid()), 100); /* above all others */
    ck_assert(machine_is_realtime(getpid()));
    ck_assert_int_lt(machine_rank_of(1 << 30), 0);
}
END_TEST

HARNESS_MAIN("machine", 30, real_time_priorities_are_those_of_each_thread,
             online_allowed_and_isolated_cores_are_read, limits_on_real_time_programs_are_read,
             this_machine_is_read_too)
