/* Runs a program by itself under a daemon of its own, and reads its log. */
#ifndef CLI_PROFILE_RUN_H
#define CLI_PROFILE_RUN_H

#include <sys/types.h>

#include "cli/profile/align.h"

struct profile_place {
    char folder[64]; /* private, for the socket and the logs */
    char socket[96];
    pid_t daemon;
};

/*
 * Creates the folder and starts batond in it. 0 or -errno; after success the caller calls
 * profile_place_done().
 */
int profile_place_open(struct profile_place *ret_place);
/* How many GPUs its daemon knows: it found them, or programs named them. 0 or -errno. */
int profile_place_gpus(const struct profile_place *place, unsigned *ret_gpus);
/* Stops the daemon and removes everything. */
void profile_place_done(struct profile_place *place);

struct profile_run {
    char *const *command;
    const char *name;
    const char *device; /* of `baton run`; NULL: not given */
    unsigned gpus;
    unsigned repeated; /* how often this run has been repeated */
    size_t jobs, warm; /* jobs 0: until the program ends by itself */
};

struct profile_outcome {
    int status;   /* exit status as a shell reports it: 128 + signal */
    bool stopped; /* ended by the profiler after enough jobs */
    /* how long Linux stopped its real-time threads (cli/profile/throttle.h); 0: no stop seen */
    baton_nsec throttled;
    size_t programs;        /* processes that recorded jobs; the log belongs to the busiest */
    struct profile_log log; /* the caller calls profile_log_done() */
};

/* 0 or -errno; -ENODATA: the program ended (ret_outcome->status is valid) without a job. */
int profile_run(const struct profile_place *place, const struct profile_run *run,
                struct profile_outcome *ret_outcome);

#endif
