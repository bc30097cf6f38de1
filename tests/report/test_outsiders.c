/* Programs outside of Baton, found in a made-up /proc. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/outsiders.h"
#include "harness.h"

static char proc[64];

/* A process with one open file beside two that every process has. */
static void make_process(unsigned pid, const char *name, const char *open_file)
{
    char path[128];
    FILE *comm;

    (void)snprintf(path, sizeof path, "%s/%u", proc, pid);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/%u/comm", proc, pid);
    comm = fopen(path, "we");
    ck_assert_ptr_nonnull(comm);
    (void)fprintf(comm, "%s\n", name);
    ck_assert_int_eq(fclose(comm), 0);
    (void)snprintf(path, sizeof path, "%s/%u/fd", proc, pid);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/%u/fd/0", proc, pid);
    ck_assert_int_eq(symlink("/dev/null", path), 0);
    (void)snprintf(path, sizeof path, "%s/%u/fd/1", proc, pid);
    ck_assert_int_eq(symlink("/a/very/long/path/that/does/not/fit/into/the/name/of/any/device/file", path),
                     0);
    (void)snprintf(path, sizeof path, "%s/%u/fd/2", proc, pid);
    ck_assert_int_eq(symlink(open_file, path), 0);
}

START_TEST(device_files_of_gpus_are_known)
{
    static const char *const gpus[] = {"/dev/nvidia0", "/dev/nvidia12", "/dev/dri/renderD128", "/dev/kfd",
                                       "/dev/mali0"};
    static const char *const others[] = {"/dev/nvidiactl",
                                         "/dev/nvidia-uvm",
                                         "/dev/dri/card0",
                                         "/dev/null",
                                         "/dev/kfd2",
                                         "/tmp/dev/nvidia0",
                                         ""};

    for (size_t i = 0; i < sizeof gpus / sizeof gpus[0]; i++)
        ck_assert_msg(outsiders_is_gpu(gpus[i]), "%s", gpus[i]);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        ck_assert_msg(!outsiders_is_gpu(others[i]), "%s", others[i]);
}
END_TEST

START_TEST(programs_that_are_no_clients_are_found)
{
    static const uint32_t clients[] = {20, 5};
    struct outsiders outsiders;
    char path[128];

    harness_folder(proc);
    make_process(10, "trainer", "/dev/nvidia1");
    make_process(20, "camera", "/dev/nvidia1");    /* a client */
    make_process(30, "monitor", "/dev/nvidiactl"); /* looks at the GPU, does not use it */
    make_process(40, "browser", "/dev/dri/renderD128");
    (void)snprintf(path, sizeof path, "%s/self", proc);
    ck_assert_int_eq(symlink("10", path), 0); /* no number: not looked at a second time */
    (void)snprintf(path, sizeof path, "%s/50", proc);
    ck_assert_int_eq(mkdir(path, 0700), 0); /* ended meanwhile: nothing in it */
    ck_assert_int_eq(outsiders_find(proc, clients, 2, &outsiders), 0);
    ck_assert_uint_eq(outsiders.n, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct outsider *found = &outsiders.all[i];
        bool trainer = found->pid == 10;

        ck_assert(trainer || found->pid == 40);
        ck_assert_str_eq(found->name, trainer ? "trainer" : "browser");
        ck_assert_str_eq(found->device, trainer ? "/dev/nvidia1" : "/dev/dri/renderD128");
        ck_assert_uint_eq(found->uid, getuid());
    }
    ck_assert(!outsiders.partial);
}
END_TEST

START_TEST(more_than_there_is_room_for_are_counted)
{
    struct outsiders outsiders;

    harness_folder(proc);
    for (unsigned i = 0; i < OUTSIDERS_MAX + 3; i++)
        make_process(100 + i, "many", "/dev/kfd");
    ck_assert_int_eq(outsiders_find(proc, NULL, 0, &outsiders), 0);
    ck_assert_uint_eq(outsiders.n, OUTSIDERS_MAX);
    ck_assert_uint_eq(outsiders.more, 3);
    ck_assert_int_lt(outsiders_find("/nowhere", NULL, 0, &outsiders), 0);
}
END_TEST

HARNESS_MAIN("outsiders", 10, device_files_of_gpus_are_known, programs_that_are_no_clients_are_found,
             more_than_there_is_room_for_are_counted)
