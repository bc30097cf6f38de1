/*
 * A stage for measurements with real processes: a folder of its own with a batond on a private
 * socket. It starts OpenCL programs plain or through `baton run` and keeps their output. Everything
 * started here is ended by its process id and the folder removed by stage_close(), also when the
 * measuring program is interrupted between two steps.
 *
 * Programs are found beside the running one: build/bench/X or build/tests/.../X -> build/. A
 * failure that makes the measurement pointless ends the program with exit status 3 and one line on
 * standard error.
 */
#ifndef BENCH_STAGE_H
#define BENCH_STAGE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct stage {
    char build[PATH_MAX];
    char folder[64];
    char socket[128];
    pid_t daemon;  /* 0: none */
    bool realtime; /* SCHED_FIFO is permitted */
    unsigned n_outputs;
};

/* devices: POCL_DEVICES, unless the environment already says something else. */
void stage_open(struct stage *stage, const char *devices);
void stage_close(struct stage *stage);

/* Starts batond with this profile and policy (NULL: its own default) and waits until it listens. */
void stage_daemon_start(struct stage *stage, const char *profile, const char *policy);
/* SIGTERM and wait. */
void stage_daemon_stop(struct stage *stage);
/* SIGKILL and wait. */
void stage_daemon_kill(struct stage *stage);

struct stage_how {
    bool baton;                /* through `baton run` */
    unsigned priority;         /* 1..99; 0: not said */
    bool adaptive;             /* --priority adaptive */
    const char *name;          /* NULL: the program's file name */
    const char *device;        /* --device; NULL: not said */
    const char *slice, *chunk; /* NULL: auto */
    bool stats;                /* keep them, for stage_stat() */
    bool realtime;             /* under SCHED_FIFO, where permitted ... */
    bool humble;               /* ... below those that are not, by SCHED_RR: such programs may never sleep */
    bool quiet;                /* its standard error goes to its output */
    unsigned core;             /* 1 + the core that it and its children may use; 0: any */
};

struct stage_program {
    pid_t pid;
    char output[128], stats[128];
};

/* argv[0] is relative to the build folder, NULL-terminated. Does not wait. */
void stage_start(struct stage *stage, struct stage_program *program, const struct stage_how *how,
                 const char *const argv[]);
/*
 * Waits until the program has printed a line that begins with the word; false: it ended, or ms
 * passed.
 */
bool stage_await(struct stage_program *program, const char *word, int ms);
/* Waits for its end (after the signal, unless 0): the exit status, or 128 + signal. */
int stage_end(struct stage_program *program, int signal_number);
/* stage_start() and stage_end(); a status other than 0 ends the measuring program. */
void stage_run(struct stage *stage, struct stage_program *program, const struct stage_how *how,
               const char *const argv[]);

/* The number after this name on the last line of its output; NAN: not there. */
double stage_value(const struct stage_program *program, const char *name);
/* The number at this path of the statistics ("pending_ms", "jobs.n"); NAN: not there. */
double stage_stat(const struct stage_program *program, const char *path);

/*
 * The response times of a `workloads --json` run of one program, ms, in the order of its jobs: how
 * many, at most `most`.
 */
size_t stage_responses(const struct stage_program *program, double ret_ms[], size_t most);

/* One line for a figure that must hold: what, measured, floor or ceiling, met or not. */
void stage_claim(const char *what, double measured, bool at_least, double limit, const char *unit);

/* Seconds of all cores since the machine started; stolen: by the host of a virtual machine. */
struct stage_cpu {
    double stolen, all;
};
struct stage_cpu stage_cpu(void);

/* A child on every core that computes at the lowest rank, until told to stop. */
void stage_spinners(bool on);

/* Of n values, sorted here: the one at this fraction. */
double stage_quantile(double *values, size_t n, double fraction);

#endif
