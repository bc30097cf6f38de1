/*
 * The evaluation of GPES (Sec. V and its appendix) repeated with Baton on this machine's OpenCL
 * devices: each figure is a function that measures, prints a table beside what the paper says, and
 * draws it. The programs are ours (tests/workloads), the baseline is batond's profile `fifo`:
 * kernels and copies in order of arrival, whole, as GPES's baseline Gdev runs them.
 */
#ifndef BENCH_GPES_H
#define BENCH_GPES_H

#include <stdbool.h>
#include <stddef.h>

#include "stage.h"

struct gpes {
    struct stage stage;
    const char *folder; /* where the pictures go */
    bool quick;         /* fewer sizes, fewer jobs */
};

void gpes_slicing(struct gpes *gpes); /* Fig. 5 */
void gpes_chunks(struct gpes *gpes);  /* Fig. 6 */
void gpes_switch(struct gpes *gpes);  /* Fig. 7 */
void gpes_kernels(struct gpes *gpes); /* Fig. 8 */
void gpes_copies(struct gpes *gpes);  /* Fig. 9 */
void gpes_orders(struct gpes *gpes);  /* Fig. 11 */

/* ---- running the programs ---- */

struct gpes_program {
    const char *name;
    size_t size;
};

enum { GPES_MOST_JOBS = 400 };

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

/* ---- pictures, as FOLDER/NAME.svg ---- */

struct svg_series;
void gpes_draw_curves(const struct gpes *gpes, const char *name, const char *title, const char *x_label,
                      const char *y_label, bool y_log, const struct svg_series *series, size_t n);
/* Groups of bars side by side: values[group * n_series + series]. */
void gpes_draw_bars(const struct gpes *gpes, const char *name, const char *title, const char *y_label,
                    const char *const groups[], size_t n_groups, const char *const series[], size_t n_series,
                    const double values[]);

#endif
