/*
 * Planning, in a child process: `baton plan - --json -o /dev/fd/3`. The child reads the task set
 * from its standard input, and answers on two pipes. Its working folder is that of the task set's
 * file, since the set names files relative to it. The child runs at low priority. The loop is told
 * of its output and its end, and kills it after a limit. One child at a time.
 */
#ifndef DAEMON_EDGE_PLANNER_CHILD_H
#define DAEMON_EDGE_PLANNER_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/nsec.h"
#include "daemon/server.h"

#define PLANNER_OUTPUT (256 * 1024) /* of each pipe; more is not an answer */
#define PLANNER_PIPES  2            /* standard output, and the plan */

struct planner_child {
    pid_t pid;              /* 0: none runs */
    int pidfd;              /* readable when it has ended */
    int fds[PLANNER_PIPES]; /* read ends, not blocking; -1: closed */
    char text[PLANNER_PIPES][PLANNER_OUTPUT];
    size_t n[PLANNER_PIPES];
    bool overflow, late;
    baton_nsec begun_at, until_at; /* until_at NSEC_MAX: none runs */
};

void planner_init(struct planner_child *planner);

/* The question for the planner. Strings are borrowed during planner_start(). */
struct planner_question {
    const char *program;  /* path of `baton`; "": beside this program, else in PATH */
    const char *analysis; /* its name */
    const char *file;     /* of the task set */
    const char *set;      /* the task set as text */
    size_t size;
    baton_nsec limit;
};

/*
 * The limit also applies to the child's CPU time, with a second of grace. 0 with pidfd and fds to
 * watch, or -errno.
 */
int planner_start(struct planner_child *planner, const struct planner_question *question, baton_nsec now_at);

/* Reads the pipe's content; closes it at its end. */
void planner_read(struct planner_child *planner, unsigned pipe);

/* The limit has passed: kills the child. Its end is still reported by pidfd. */
void planner_expire(struct planner_child *planner);

/* The child has ended: its whole output. The texts are borrowed until the next start. */
struct planning planner_end(struct planner_child *planner, baton_nsec now_at);

/* Kills and reaps the child if it runs. */
void planner_stop(struct planner_child *planner);

#endif
