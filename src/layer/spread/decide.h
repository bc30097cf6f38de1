/*
 * One device or several? The decision of `--gpus auto`, per kernel, by what was measured (GPU-SPARC Fig. 4: every part grows linearly with
 * its size). Lines through earlier measurements say what moving and merging so many bytes costs; the kernel's own runs on one
 * and on several devices say the rest. Pure: nanoseconds and counts in, a choice out.
 */
#ifndef LAYER_SPREAD_DECIDE_H
#define LAYER_SPREAD_DECIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* y = a + b x by least squares over a fading past (each new point counts 1, the ones before it 0.9 as much). */
struct line {
    double n, x, y, xx, xy;
};

void line_add(struct line *line, double x, double y);
/* Never below 0. With points at one x only: proportional. Without any: x / (bytes per ns of 4 GB/s). */
double line_at(const struct line *line, double x);

enum { DECIDE_SAMPLES = 9, DECIDE_TRIALS = 3, DECIDE_KNOWN = 5, DECIDE_AGAIN = 64 };

/* Nanoseconds per work-item of the latest runs. */
struct samples {
    unsigned n;
    double per_item[DECIDE_SAMPLES];
};

void samples_add(struct samples *samples, size_t items, int64_t ns);
double samples_median(const struct samples *samples); /* 0: none */

/* What is known of one kernel. */
struct decision {
    struct samples one, several; /* whole launches: alone, and split with its copies and its merge */
    unsigned n_asked;
    unsigned
        rest; /* launches on one device before it is thought about again: thinking costs a hop to another thread */
    bool never; /* must not be split, whatever it costs */
};

struct decision_costs {
    struct line move, merge; /* over bytes */
};

struct decision_case {
    size_t items;
    size_t move_bytes, merge_bytes; /* of this launch, when split */
    unsigned devices;
};

/* Below this a launch is not worth a thought, ns. */
#define DECIDE_LEAST 1000000

/* A launch ran on one device. */
void decide_ran_alone(struct decision *decision, size_t items, int64_t ns);

/* Known well enough on one device, and long enough, to think about several? Cheap, before anything is prepared. */
bool decide_worth_it(const struct decision *decision, size_t items);

/*
 * True: split this launch. The first DECIDE_KNOWN run on one device; then, if the lines promise anything, DECIDE_TRIALS are split; then
 * the better median wins, by 3 % at least. A kernel that does not profit is left alone for DECIDE_AGAIN launches and then tried
 * once, unless that is hopeless; one that does runs on one device now and then, so that both are known. So the median of a kernel that does not
 * profit is that of one device.
 */
bool decide_split(struct decision *decision, const struct decision_costs *costs,
                  const struct decision_case *launch);

#endif
