#include "daemon/edge/processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/edge/machine.h"

#define KERNEL_THREAD 0x00200000ul /* PF_KTHREAD in the flags of /proc/PID/stat */

void processes_init(struct processes *processes)
{
    *processes = (struct processes){.folder = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
}

void processes_done(struct processes *processes)
{
    if (processes->folder >= 0)
        close(processes->folder);
    processes->folder = -1;
}

pid_t processes_next(struct processes *processes)
{
    for (;;) {
        const struct dirent64 *entry = (const void *)(processes->bytes + processes->at);
        pid_t pid;

        if (processes->at >= processes->n) {
            processes->at = 0;
            processes->n = processes->folder < 0
                               ? 0
                               : getdents64(processes->folder, processes->bytes, sizeof processes->bytes);
            if (processes->n > 0)
                continue;
            if (processes->folder >= 0)
                (void)lseek(processes->folder, 0, SEEK_SET);
            return 0;
        }
        processes->at += entry->d_reclen;
        pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0)
            return pid;
    }
}

/* The thread's priority if it is real-time and may run on one of these cores, else 0. */
static int rank_on(pid_t tid, const struct core_set *cores)
{
    int rank = machine_rank_of(tid);
    struct core_set its;

    if (rank <= 0 || machine_cores_of(tid, &its) < 0)
        return 0;
    its = core_set_both(&its, cores);
    return core_set_count(&its) > 0 ? rank : 0;
}

/* Its most urgent thread; *ret_rank 0: none is real-time on these cores. */
static pid_t most_urgent(pid_t pid, const struct core_set *cores, int *ret_rank)
{
    struct stat about;
    struct dirent *entry;
    char path[64];
    DIR *threads = NULL;
    pid_t found = pid;
    unsigned n = 0;

    *ret_rank = rank_on(pid, cores);
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    if (stat(path, &about) == 0 && about.st_nlink > 3) /* a link for each thread, and two */
        threads = opendir(path);
    while (threads && n++ < PROCESSES_THREADS + 2 && (entry = readdir(threads))) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        int rank = tid > 0 ? rank_on(tid, cores) : 0;

        if (rank <= *ret_rank)
            continue;
        *ret_rank = rank;
        found = tid;
    }
    if (threads)
        (void)closedir(threads);
    return found;
}

/*
 * Reads /proc/PID/stat of a thread: its name, in brackets, which may contain any character, and its
 * flags. False: it has ended.
 */
static bool read_stat(pid_t tid, unsigned long *ret_flags, char *ret_name, size_t size)
{
    char text[512];
    char path[64];
    char *open, *close;
    size_t n;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)tid);
    file = fopen(path, "re");
    if (!file)
        return false;
    n = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[n] = 0;
    open = strchr(text, '(');
    close = strrchr(text, ')');
    if (!open || !close || close < open)
        return false;
    (void)snprintf(ret_name, size, "%.*s", (int)(close - open - 1), open + 1);
    return sscanf(close + 1, " %*c %*d %*d %*d %*d %*d %lu", ret_flags) == 1;
}

bool processes_realtime(pid_t pid, const struct core_set *cores, struct realtime_thread *ret_thread)
{
    struct realtime_thread thread;
    unsigned long flags;
    pid_t tid = most_urgent(pid, cores, &thread.rank);

    if (thread.rank == 0 || !read_stat(tid, &flags, thread.name, sizeof thread.name) || flags & KERNEL_THREAD)
        return false;
    *ret_thread = thread;
    return true;
}
