/*
 * One device or several? The decision of `--gpus auto`, per kernel, from measurements. Pure:
 * nanoseconds and counts in, a choice out.
 *
 * A launch on several devices costs its shares, the copies of their data and the merge. The merge
 * comes later but is charged to the launch that made it necessary. If launches of about this size
 * have been tried often enough, the medians of the total times decide. For any other size the lines
 * of growth.h predict each part.
 *
 * What trials may cost: the way that is not the present choice is tried only within a budget. Its
 * expected loss and all losses of earlier trials must stay within DECIDE_BUDGET of the time spent
 * on this kernel. The first trials of a size come before that: at most DECIDE_TRIALS after a
 * warm-up, or only one if it is hopeless.
 */
#ifndef SPREAD_DECIDE_H
#define SPREAD_DECIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spread/growth.h"

enum {
    DECIDE_KNOWN =
        /* launches on one device, after a warm-up, before the first trial */
    GROWTH_ENOUGH,
    DECIDE_TRIALS = GROWTH_ENOUGH, /* split launches of a size before their median counts */
    DECIDE_AGAIN = 64,             /* fewest launches on one device between two trials */
    DECIDE_POWERS = 64,
};

#define DECIDE_LEAST 1000000 /* ns: a shorter launch is never split */
/* several devices must be this much better to be chosen, and as good to stay chosen */
#define DECIDE_GAIN     0.95
#define DECIDE_HOPELESS 1.5  /* this much worse than one device: no further trial */
#define DECIDE_BUDGET   0.01 /* of the time spent on the kernel */

/* What is known of one kernel. */
struct split_decision {
    struct growth one;     /* whole launches on one device, over work-items */
    struct growth shares;  /* the slowest share of a split launch */
    struct growth several; /* split launches with their copies and their merge */
    bool warm_one, warm_several;
    bool never;                   /* must not be split, whatever it costs */
    uint64_t chosen;              /* bit p: launches of 2^p items and more are split */
    uint64_t doubted;             /* bit p: a prediction, to be tested later, was against several devices */
    uint32_t rest[DECIDE_POWERS]; /* launches on one device before the next decision, which is costly */
    unsigned pending;             /* split launches that have not been reported yet */
    double spent, lost;           /* ns on this kernel; ns lost by trials */
};

struct decision_costs {
    struct growth move, merge; /* over bytes */
};

struct decision_case {
    size_t items;
    size_t move_bytes, merge_bytes; /* of this launch, if split */
    unsigned devices;
};

/* Predicted ns for so many bytes; without a measurement, at 4 GB/s. */
double decide_bytes(const struct growth *growth, size_t bytes);

/*
 * Is the time on one device known well enough (measured, or by the line of other sizes) and long
 * enough to consider several? Cheap, before anything is prepared.
 */
bool decide_worth_it(const struct split_decision *decision, size_t items);

/* True: the caller splits this launch and reports it by one of the following. */
bool decide_split(struct split_decision *decision, const struct decision_costs *costs,
                  const struct decision_case *launch);

/* A launch ran on one device. */
void decide_ran_alone(struct split_decision *decision, size_t items, int64_t ns);

/* A split launch is over: the time of its shares, and its total time. */
void decide_ran_split(struct split_decision *decision, size_t items, int64_t shares, int64_t all);
/*
 * The launch failed, or did not take place: nothing is learnt, and the next launches use one
 * device.
 */
void decide_void(struct split_decision *decision, size_t items);

#endif
