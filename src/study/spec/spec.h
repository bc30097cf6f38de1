/*
 * A study: read from a YAML file and constant afterwards. There are two kinds. `gpusync` (Elliott
 * and Anderson, RTSS 2014, Sec. V) covers configurations x parameter combinations x overhead sets x
 * utilisations. `gema` (GPU-SPARC Sec. IV-D) covers policies over GPU utilisation or over the share
 * of dependent kernels. docs/studies.md describes the file.
 *
 * A unit is the work that one thread or process takes at a time. For gpusync it is one parameter
 * combination under one overhead set: all configurations, all utilisations in ascending order. For
 * gema it is one point.
 */
#ifndef STUDY_SPEC_H
#define STUDY_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/gpusync/gpusync.h"
#include "base/arena.h"
#include "base/input_error.h"
#include "model/platform.h"

#define STUDY_MAX_CONFIGURATIONS 64
#define STUDY_MAX_CHOICES        16 /* values of one parameter */
#define STUDY_MAX_OVERHEADS      16
#define STUDY_MAX_POINTS         4096
#define STUDY_MAX_TASKS          4096 /* of one set: the largest / the lowest utilisation */

enum study_kind { STUDY_GPUSYNC, STUDY_GEMA };

/* The distributions of a task (Sec. V). Each is uniform between low and high. */
enum study_parameter {
    PARAMETER_UTILISATION, /* of one task */
    PARAMETER_PERIOD,      /* us */
    PARAMETER_KERNEL,      /* part of the execution time spent in kernels */
    PARAMETER_DATA,        /* bytes, half in, half out */
    PARAMETER_STATE,       /* part of the data that stays on the GPU */
    PARAMETER_SHARE,       /* part of the tasks that use a GPU; a constant */
    STUDY_PARAMETERS,
};

extern const char *const study_parameter_names[]; /* as in the file, NULL-ended */

struct study_distribution {
    const char *name;
    double low, high;
};

struct study_choices {
    struct study_distribution values[STUDY_MAX_CHOICES];
    size_t n;
};

/*
 * The organisation of CPUs decides which overheads of a set apply: partitioned, clustered, global.
 */
enum study_organisation {
    ORGANISATION_PARTITIONED,
    ORGANISATION_CLUSTERED,
    ORGANISATION_GLOBAL,
    STUDY_ORGANISATIONS
};

extern const char *const study_organisation_names[]; /* "P", "C", "G", NULL-ended */

struct study_overheads {
    const char *name; /* "WC/L" */
    bool worst_case, loaded;
    struct overheads sets[STUDY_ORGANISATIONS];
};

struct study_configuration {
    const char *name; /* "(C,P,inf)" */
    struct platform platform;
    enum study_organisation organisation;
};

/*
 * Testing stops after `least` sets when the confidence interval of the fraction is no wider than
 * `interval`, or after `most` sets.
 */
struct study_stopping {
    uint32_t least, most;
    double interval; /* full width, at 95 % */
    uint32_t cut;    /* a curve ends after this many points at 0; 0: never */
};

struct study_gema {
    double *utilisation, *dependent; /* the points: n_utilisation x n_dependent */
    size_t n_utilisation, n_dependent;
    uint32_t sets;
};

struct study_spec {
    struct arena arena;
    const char *text; /* the file itself, for provenance */
    size_t size;
    enum study_kind kind;
    uint64_t seed;
    /* gpusync: */
    const char *analysis; /* "gpusync" or "gpusync-printed" */
    struct gpusync_options options;
    struct study_configuration configurations[STUDY_MAX_CONFIGURATIONS];
    size_t n_configurations;
    struct study_overheads overheads[STUDY_MAX_OVERHEADS];
    size_t n_overheads;
    struct study_choices choices[STUDY_PARAMETERS];
    double step; /* of the utilisation grid: step, 2 step, ... */
    size_t n_points;
    struct study_stopping stopping;
    struct study_gema gema;
    size_t n_units;
};

/*
 *  Reads and checks the file; 0, -errno or INPUT_REJECTED. On success the caller calls
 *  study_spec_done().
 */
int study_spec_read(const char *path, struct study_spec *ret_spec, struct input_error *ret_error);
void study_spec_done(struct study_spec *spec);

/* One value of each parameter, and the overhead set: together they define a unit. */
struct study_combination {
    const struct study_distribution *values[STUDY_PARAMETERS];
    size_t choice[STUDY_PARAMETERS];
    size_t overheads;
};

void study_combination(const struct study_spec *spec, size_t unit, struct study_combination *ret_combination);

/* How many rows (configurations, or curves x policies) a unit's points have. */
size_t study_rows(const struct study_spec *spec);

/* Reads overhead sets from a file (`sets:`, as `baton measure` writes it); for the reader above. */
struct document;
struct node;
int study_overheads_read(const struct document *document, const struct node *list, struct arena *arena,
                         struct study_overheads ret_sets[STUDY_MAX_OVERHEADS], size_t *ret_n,
                         struct input_error *ret_error);
/* The same from a separate file; its text stays in the arena. */
int study_overheads_read_file(const char *path, struct arena *arena,
                              struct study_overheads ret_sets[STUDY_MAX_OVERHEADS], size_t *ret_n,
                              struct input_error *ret_error);

#endif
