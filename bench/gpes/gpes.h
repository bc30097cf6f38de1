/*
 * The evaluation of GPES (Sec. V and its appendix) repeated with Baton on this machine's OpenCL
 * device and on the CUDA device made of CPU cores. Each figure is a function that measures, prints
 * a table beside what the paper says, and draws it. The programs are ours (tests/workloads), in
 * OpenCL and in CUDA. The baseline is batond's profile `fifo`: kernels and copies in order of
 * arrival, whole, as GPES's baseline Gdev runs them.
 */
#ifndef BENCH_GPES_H
#define BENCH_GPES_H

#include <stdbool.h>
#include <stddef.h>

#include "stage.h"

/*
 * The same programs over one GPU API. A program is argv[0], relative to the build folder, and the
 * words that come first; NULL-terminated.
 */
struct gpes_api {
    const char *name;
    const char *figures; /* what names of figures begin with */
    const char *suffix;  /* of pictures */
    const char *device;  /* --device of `baton run`; NULL: not said */
    const char *workloads[2], *copies[2], *urgent[3], *copy_hog[3];
};

enum { GPES_APIS = 2 };

struct gpes {
    struct stage stage;
    const char *folder;                     /* where the pictures go */
    bool quick;                             /* fewer sizes, fewer jobs */
    bool largest;                           /* Fig. 5, 8 and 9: the largest size only */
    const struct gpes_api *apis[GPES_APIS]; /* those that are measured */
    size_t n_apis;
    const struct gpes_api *api; /* the one that programs are started with now */
};

extern const struct gpes_api gpes_opencl, gpes_cuda;

void gpes_rewriting(struct gpes *gpes); /* Sec. IV-A2 */
void gpes_slicing(struct gpes *gpes);   /* Fig. 5 */
void gpes_chunks(struct gpes *gpes);    /* Fig. 6 */
void gpes_switch(struct gpes *gpes);    /* Fig. 7 */
void gpes_kernels(struct gpes *gpes);   /* Fig. 8 */
void gpes_copies(struct gpes *gpes);    /* Fig. 9 */
void gpes_orders(struct gpes *gpes);    /* Fig. 11 */

/* ---- running the programs ---- */

struct gpes_program {
    const char *name;
    size_t size;
};

enum { GPES_PROGRAMS = 9, GPES_MOST_JOBS = 400 };

/* The nine programs of GPES's Table II. */
extern const char *const gpes_names[GPES_PROGRAMS];

/*
 * stage_start() and stage_run() of one of the API's programs with these options (NULL-terminated)
 * on the API's device.
 */
void gpes_begin(struct gpes *gpes, struct stage_program *run, const struct stage_how *how,
                const char *const program[], const char *const options[]);
void gpes_run(struct gpes *gpes, struct stage_program *run, const struct stage_how *how,
              const char *const program[], const char *const options[]);

/*
 * Jobs one after the other, each stage by itself: the median of the kernels' time in ms. Statistics
 * in *ret_run, if kept.
 */
double gpes_kernel_ms(struct gpes *gpes, const struct stage_how *how, struct gpes_program program,
                      unsigned jobs, struct stage_program *ret_run);
/* A job every period: their response times, ms. */
size_t gpes_responses(struct gpes *gpes, const struct stage_how *how, struct gpes_program program,
                      unsigned period_ms, unsigned jobs, double ret_ms[]);
/* The mean of the plain program's jobs alone: what it occupies the device for, ms. */
double gpes_alone_ms(struct gpes *gpes, struct gpes_program program);
/* Without end, until stage_end(). */
void gpes_start(struct gpes *gpes, struct stage_program *run, const struct stage_how *how,
                struct gpes_program program);
/* Work-groups of a launch, the mean over its launches; 0: it is not sliced. */
double gpes_groups(struct gpes *gpes, struct gpes_program program);

double gpes_mean(const double *values, size_t n);

/* What was measured in several rounds. */
struct gpes_range {
    double least, median, most;
};

enum { GPES_ROUNDS = 3 };
size_t gpes_rounds(const struct gpes *gpes);

/* values: n of them, sorted in place. */
struct gpes_range gpes_range_of(double values[], size_t n);
/*
 * Of a time against the plain program's: prints "1.2 to 1.4" in so many columns, or "-" if the
 * range reaches 1. Such a range is no measurement of the cost: the machine's speed wanders as far.
 */
void gpes_print_ratio(const struct gpes_range *ratio, int width);

/* ---- pictures, as FOLDER/NAME[-API].svg ---- */

struct svg_series;
void gpes_draw_curves(const struct gpes *gpes, const char *name, const char *title, const char *x_label,
                      const char *y_label, bool y_log, const struct svg_series *series, size_t n);
/* Groups of bars side by side: values[group * n_series + series]. */
void gpes_draw_bars(const struct gpes *gpes, const char *name, const char *title, const char *y_label,
                    const char *const groups[], size_t n_groups, const char *const series[], size_t n_series,
                    const double values[]);

#endif
