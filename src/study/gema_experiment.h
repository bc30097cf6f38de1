/*
 * The simulation of GPU-SPARC Sec. IV-D as a library call: how many random task sets each policy
 * makes schedulable. The analysis as printed and the sound one are applied to the same sets.
 */
#ifndef STUDY_GEMA_EXPERIMENT_H
#define STUDY_GEMA_EXPERIMENT_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/plan/planner.h"

#define GEMA_POLICIES 4 /* by enum plan_policy */

enum gema_curve {
    CURVE_PRINTED, /* the analysis as printed */
    /* sound; single mode on any free GPU, its data on all GPUs at no cost: the printed premise */
    CURVE_SOUND,
    /* sound; `any` pays for the replicated upload, so placement is part of the choice */
    CURVE_SOUND_PLACED,
    GEMA_CURVES
};

struct gema_point {
    double utilisation; /* target U_G */
    double dependent;   /* P_D */
    size_t sets;
    size_t schedulable[GEMA_CURVES][GEMA_POLICIES];
};

/* Fills one point: `sets` sets from (seed, stream). 0 or -ENOMEM. */
int gema_experiment(double utilisation, double dependent, size_t sets, uint64_t seed, uint64_t stream,
                    struct gema_point *ret_point);

#endif
