/*
 * One device or several? The decision of `--gpus auto`, per kernel, by what was measured. Pure:
 * nanoseconds and counts in, a choice out.
 *
 * A launch on several devices costs its shares, the copies that bring their data and the merge,
 * which comes later but is charged to the launch that made it necessary. Where launches of about
 * the size have been tried often enough, the medians of the whole decide; for a size that has not,
 * the lines of growth.h say what each part will take.
 *
 * What trying may cost: the way that is not the present choice is taken again only when what that
 * will presumably lose, and all that trying has lost so far, stay within DECIDE_BUDGET of the time
 * spent on this kernel; the first trials of a size come before that, at most DECIDE_TRIALS after
 * one that warms up, and one is enough when it is hopeless.
 */
#ifndef SPREAD_DECIDE_H
#define SPREAD_DECIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spread/growth.h"

enum {
    DECIDE_KNOWN =
        /* launches on one device, after a first that warms up, before anything is tried */
    GROWTH_ENOUGH,
    DECIDE_TRIALS = GROWTH_ENOUGH, /* split launches of a size before their median counts */
    DECIDE_AGAIN = 64,             /* launches on one device at least between two trials */
    DECIDE_POWERS = 64,
};

#define DECIDE_LEAST 1000000 /* ns: a shorter launch is not worth a thought */
/* several must be this much better to be chosen, and only as good to stay chosen */
#define DECIDE_GAIN     0.95
#define DECIDE_HOPELESS 1.5  /* so much worse than one device: no further trial */
#define DECIDE_BUDGET   0.01 /* of the time spent on the kernel */

/* What is known of one kernel. */
struct decision {
    struct growth one;     /* whole launches on one device, over work-items */
    struct growth shares;  /* the slowest share of a split launch */
    struct growth several; /* split launches with their copies and their merge */
    bool warm_one, warm_several;
    bool never;                   /* must not be split, whatever it costs */
    uint64_t chosen;              /* bit p: launches of 2^p items and more are split */
    uint64_t doubted;             /* bit p: a prediction, put to the test later, was against it */
    uint32_t rest[DECIDE_POWERS]; /* launches on one device before it is thought about again: thinking costs a
                                       hop to another thread */
    unsigned pending;             /* split launches that have not been reported yet */
    double spent, lost;           /* ns on this kernel; ns that trying has cost */
};

struct decision_costs {
    struct growth move, merge; /* over bytes */
};

struct decision_case {
    size_t items;
    size_t move_bytes, merge_bytes; /* of this launch, when split */
    unsigned devices;
};

/* ns for so many bytes; before anything is known, as at 4 GB/s. */
double decide_bytes(const struct growth *growth, size_t bytes);

/*
 * Known well enough on one device (measured, or by the line of other sizes), and long enough, to
 * think about several? Cheap, before anything is prepared.
 */
bool decide_worth_it(const struct decision *decision, size_t items);

/* True: split this launch, and report it by one of the following. */
bool decide_split(struct decision *decision, const struct decision_costs *costs,
                  const struct decision_case *launch);

/* A launch ran on one device. */
void decide_ran_alone(struct decision *decision, size_t items, int64_t ns);

/* A split launch is over: its shares took so long, all of it so long. */
void decide_ran_split(struct decision *decision, size_t items, int64_t shares, int64_t all);
/* It failed, or did not take place: nothing is learnt, and it is left alone for a while. */
void decide_void(struct decision *decision, size_t items);

#endif
