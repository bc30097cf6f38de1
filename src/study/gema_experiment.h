/*
 * The simulation of GPU-SPARC Sec. IV-D as a library call: how many random task sets each policy makes schedulable, with the analysis as
 * printed and with the sound one, on the same sets.
 */
#ifndef STUDY_GEMA_EXPERIMENT_H
#define STUDY_GEMA_EXPERIMENT_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/plan/planner.h"

#define GEMA_POLICIES 4 /* by enum plan_policy */

enum gema_curve {
    CURVE_PRINTED, /* the analysis as printed */
    CURVE_SOUND, /* sound, single mode on any free GPU with its data everywhere for free: the printed premise */
    CURVE_SOUND_PLACED, /* sound, and `any` pays for the replicated upload: placement is part of the choice */
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
