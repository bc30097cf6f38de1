/* Threads of other processes. */
#ifndef DAEMON_EDGE_THREADS_H
#define DAEMON_EDGE_THREADS_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * Is this a thread of that process, and does it live? tgkill() checks both. Signal 0 sends nothing,
 * and EPERM also proves that the thread exists. /proc would answer the same more slowly, while an
 * urgent client waits.
 */
static inline bool thread_belongs(pid_t pid, pid_t tid)
{
    return tgkill(pid, tid, 0) == 0 || errno == EPERM;
}

#endif
