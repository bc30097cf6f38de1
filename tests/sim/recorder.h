/*
 * Keeps what an observed simulation did, to be compared with a schedule that was worked out by
 * hand.
 */
#ifndef TESTS_SIM_RECORDER_H
#define TESTS_SIM_RECORDER_H

#include "sim/sim.h"

struct recorded_span {
    size_t row, task;
    long long from, to; /* ms */
};

#define RECORDER_MAX 4096

struct recorder {
    struct recorded_span spans[RECORDER_MAX];
    size_t n;
    size_t marks[8]; /* by enum sim_mark */
    struct sim_observer observer;
};

void recorder_init(struct recorder *recorder);

/*
 * Reads the text, runs it to the horizon (worst case, these offsets in ms or NULL) and fails the
 * test on any error.
 */
struct scene {
    struct task_set set;
    struct sim *sim;
    struct sim_result result;
    struct recorder recorder;
};

void scene_run(struct scene *scene, const char *text, const struct sim_options *options, long long horizon_ms,
               const long long *offsets_ms);
void scene_done(struct scene *scene);

/* Fails unless exactly these spans happened, in any order. */
void recorder_expect(const struct recorder *recorder, const struct recorded_span *spans, size_t n);

#endif
