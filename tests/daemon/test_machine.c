/* What batond sees of the cores, with a scripted /sys and /proc. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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
    ck_assert_int_lt(machine_cores_of(1 << 30, &of_this_process), 0); /* no such process */
}
END_TEST

HARNESS_MAIN("machine", 30, online_allowed_and_isolated_cores_are_read, this_machine_is_read_too)
