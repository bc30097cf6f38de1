/*
 * Planning, in a process of its own: `baton plan - --json -o /dev/fd/3`, the task set on its standard input, the answer on two
 * pipes, its working folder that of the task set's file, since files that the set names are found from there. It runs at low priority beside the loop, which hears of output and of its end; after a limit it is killed. One at a time.
 */
#ifndef DAEMON_EDGE_PLANNER_H
#define DAEMON_EDGE_PLANNER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/nsec.h"
#include "daemon/server.h"

#define PLANNER_OUTPUT (256 * 1024) /* of each pipe; more is no answer */
#define PLANNER_PIPES  2            /* standard output, and the plan */

struct planner {
    pid_t pid;              /* 0: none runs */
    int pidfd;              /* readable when it has ended */
    int fds[PLANNER_PIPES]; /* read ends, not blocking; -1: closed */
    char text[PLANNER_PIPES][PLANNER_OUTPUT];
    size_t n[PLANNER_PIPES];
    bool overflow, late;
    baton_nsec begun_at, until_at; /* until_at NSEC_MAX: none runs */
};

void planner_init(struct planner *planner);

/* What to plan, and how. Strings are borrowed during planner_start(). */
struct planner_question {
    const char *program;  /* path of `baton`; "": beside this program, else in PATH */
    const char *analysis; /* its name */
    const char *file;     /* of the task set */
    const char *set;      /* the task set as text */
    size_t size;
    baton_nsec limit;
};

/*
 * The child has no more than limit (and a
 * second of grace) of CPU time too. 0 with pidfd and fds to watch, or -errno.
 */
int planner_start(struct planner *planner, const struct planner_question *question, baton_nsec now_at);

/* Takes what a pipe has; closes it at its end. */
void planner_read(struct planner *planner, unsigned pipe);

/* It is too late: kills it. Its end is still to be heard of. */
void planner_expire(struct planner *planner);

/* It has ended: everything it said. The texts are borrowed until the next start. */
struct planning planner_end(struct planner *planner, baton_nsec now_at);

/* Kills and reaps it if it runs. */
void planner_stop(struct planner *planner);

#endif
