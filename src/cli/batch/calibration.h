/* What `baton batch calibrate` measures, and how it is printed and written. */
#ifndef CLI_BATCH_CALIBRATION_H
#define CLI_BATCH_CALIBRATION_H

#include <stdint.h>
#include <stdio.h>

#include "cli/batch/batch_measure.h"
#include "model/topology.h"

#define MAX_DEVICES      16
#define MAX_ROUTES       (2 * MAX_DEVICES)
#define MAX_COMBINATIONS 1024
#define MAX_REPEAT       1000
#define MAX_SIZES        32

struct combination {
    uint64_t routes;           /* bits: 2 * device + (1: out) */
    double median[MAX_ROUTES]; /* GB/s, by ascending bit */
    double lowest[MAX_ROUTES];
    size_t n;
    double graph; /* what the graph predicts for the sum */
};

struct calibration {
    const struct cli_args *args;
    struct batch_machine machine;
    size_t n_devices, n_routes;
    struct measured_route routes[MAX_ROUTES];
    struct combination combinations[MAX_COMBINATIONS];
    size_t n_combinations;
    /* speed of single commands, relative to those of `bytes` */
    struct topology_size sizes[MAX_SIZES];
    size_t n_sizes;
    size_t n_samples, n_disturbed; /* of combinations; how many of them other programs disturbed */
    size_t repeat;
    size_t shown; /* percent of the combinations, as the user knows */
    baton_nsec window;
    int64_t bytes;
    struct topology topology; /* the result, after reading it back */
    double change;            /* percent against the old file; NAN: there was none */
    char changed[64];
};

/* Bits of all routes in one direction. */
uint64_t calibration_direction(size_t n_routes, bool out);

/* The host's cores if all devices run on them; otherwise 0. */
size_t calibration_cores(const struct calibration *it);

/*
 * sample.c: the first fills combinations, the second sizes. 0, or an exit status after a message to
 * the user.
 */
int calibration_measure_combinations(struct calibration *it);
int calibration_measure_sizes(struct calibration *it);

int calibration_compare_double(const void *a, const void *b);

/* The topology as YAML. */
void calibration_write(const struct calibration *it, baton_nsec setup, FILE *out);

/* Records the largest change of any link against the file to be replaced. */
void calibration_compare(struct calibration *it, const char *path);

/* Graph against measured throughput for each direction and for both (Batch, sec. 4.4). */
void calibration_report(const struct calibration *it, const char *path);
void calibration_report_json(const struct calibration *it, const char *path);

#endif
