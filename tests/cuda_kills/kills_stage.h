/*
 * A folder with a batond, CUDA programs on the CPU device, and what a test of kills does to them.
 * Every process that is started here knows the folder by BATON_SOCKET in its environment, and has
 * the folder's TMPDIR, cache and file of engines. So what dead processes leave is found.
 *
 * A function that finds a defect fails the running case (Check). Times are deadlines for what
 * hangs.
 */
#ifndef TESTS_CUDA_KILLS_STAGE_H
#define TESTS_CUDA_KILLS_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { KILLS_WORDS = 24, KILLS_PATH = 160, KILLS_LINE = 2048 };

struct kills_stage {
    char build[256], source[256];
    char folder[64];
    char config[KILLS_PATH]; /* of the next daemon; empty: none */
    unsigned gpus;
    pid_t daemon;        /* 0: none */
    bool daemon_stopped; /* by SIGSTOP */
    unsigned n_outputs;
};

struct kills_program {
    pid_t pid; /* 0: none */
    bool stopped;
    char command[KILLS_LINE]; /* for messages */
    char output[KILLS_PATH];
};

/* How a program is started: plain, or by `baton run`. */
struct kills_way {
    bool baton;
    const char *variable; /* NAME=VALUE; NULL: none */
    const char *options;  /* of `baton run`, by spaces; NULL: none */
};

/* Arguments, as execvp() takes them, and what they were made of. */
struct kills_words {
    char *argv[KILLS_WORDS + 1];
    size_t n, used;
    char text[KILLS_LINE];
};
void kills_put(struct kills_words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* gpus: devices of the CPU device. */
void kills_open(struct kills_stage *stage, unsigned gpus);
/* Ends what is left. */
void kills_close(struct kills_stage *stage);

/* migration: under profile gpusync, all GPUs in one cluster; NULL: the usual profile. */
void kills_configure(struct kills_stage *stage, const char *migration);
void kills_daemon_start(struct kills_stage *stage);
void kills_daemon_signal(struct kills_stage *stage, int signal_number);
/* SIGKILL or SIGTERM, and waits for its end. */
void kills_daemon_end(struct kills_stage *stage, int signal_number);

/* The program is relative to the build folder. */
void kills_start(struct kills_stage *stage, struct kills_program *program, struct kills_way way,
                 const struct kills_words *arguments);
void kills_signal(struct kills_program *program, int signal_number);
void kills_kill(struct kills_program *program);
/* False: it runs. True: it has ended, rightly. */
bool kills_ended(struct kills_program *program);
/* SIGKILL for a baton-cut of a program of this stage, if one runs: that kernel runs whole. */
void kills_kill_translator(struct kills_stage *stage);
/* Waits for its right end. */
void kills_await(struct kills_stage *stage, struct kills_program *program);

/* What must be true when no program runs. */
void kills_nothing_held(struct kills_stage *stage); /* by batond, and in the device's queues */
void kills_nothing_left(struct kills_stage *stage); /* processes and files of dead programs */

/* Random damage to one entry of the cache of compiled and rewritten kernels, or to all. */
void kills_spoil_cache(struct kills_stage *stage, uint64_t random);

void kills_pause(unsigned ms);

#endif
