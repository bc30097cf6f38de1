/*
 * Shared by the files of the sound holistic analysis. Other folders include
 * analysis/holistic/holistic.h.
 */
#ifndef ANALYSIS_HOLISTIC_INTERNAL_H
#define ANALYSIS_HOLISTIC_INTERNAL_H

#include "analysis/holistic/holistic.h"

#define HOLISTIC_LANES (2 * PIPELINE_MAX_GPUS)

/* A stage of a more urgent task as less urgent tasks see it. */
struct load {
    baton_nsec length; /* C of one lane */
    /* C of one lane where work is spread over all GPUs; exceeds length only in a demand. */
    baton_nsec spread;
    baton_nsec jitter; /* J = A - b: latest minus earliest arrival */
    baton_nsec span;   /* S = F - b */
    baton_nsec period;
    double frequency; /* 1 / period */
    uint64_t eligible;
    const struct gpu_cost *per_gpu;
    unsigned lanes;
    bool any;   /* may start on any GPU */
    bool whole; /* one piece */
};

/* Pieces that less urgent tasks, or an earlier job of the task itself, may have started. */
struct blocking {
    baton_nsec bus;
    baton_nsec gpu[PIPELINE_MAX_GPUS]; /* by GPU: the longest piece that may run there */
    /* the longest piece of each lane, longest first, 2m of them */
    baton_nsec lane[HOLISTIC_LANES];
    baton_nsec weighted[HOLISTIC_LANES]; /* the same by weight, where GPUs are unequal */
};

/*
 * What a task demands of each unit in every option, for bounds that hold under all choices. No
 * demand exceeds the period.
 */
struct demand {
    /* sum of C over its stages there; GPUs: of all lanes */
    baton_nsec length[PIPELINE_UNITS];
    /* length: on that GPU alone; 0 where some option avoids it */
    struct gpu_cost on_gpu[PIPELINE_MAX_GPUS];
};

/*
 * Items of SHARE: sequential activities with work in the window, and extra work if they were active
 * when it began.
 */
struct share_items {
    baton_nsec *base, *extra;
    /* the task that owns the work, or OWNER_BELOW + lane, or OWNER_SELF: for explanations */
    size_t *owner;
    size_t n;
};

#define OWNER_BELOW ((size_t)1 << 32)
#define OWNER_SELF  ((size_t)1 << 33)

/* The state of the task under analysis while its stages are visited. */
struct victim {
    size_t task;
    const struct pipeline_option *option;
    const struct blocking *below, *own;
    baton_nsec cap;
    /* Sums over the prefix of stages: */
    baton_nsec executed;              /* of C */
    baton_nsec delay[PIPELINE_UNITS]; /* of w - C */
    baton_nsec bus_blocking;
    size_t kernels;
    bool all_any_whole, all_pinned, any_sliced;
    baton_nsec any_slots;    /* of the m longest less urgent pieces + (K - 1) C */
    baton_nsec gpu_blocking; /* of blk_l */
    uint64_t relevant;       /* GPUs its kernels may use */
};

/* The last fixed point on a unit, reused by stages with the same equation. */
struct memo {
    bool valid;
    baton_nsec key;
    uint64_t eligible;
    baton_nsec wait, window;
};

struct holistic {
    struct arena arena; /* owns what follows */
    const struct pipeline *pipeline;
    size_t max_options;
    unsigned cpus, gpus;
    bool uniform; /* all GPUs are alike and every kernel may run on each: one GPU represents all */
    /* For unequal GPUs; fixed per pipeline so that bounds stay monotone. */
    unsigned weights[PIPELINE_MAX_GPUS], weight_sum;

    struct load *loads[PIPELINE_UNITS];
    size_t *first[PIPELINE_UNITS]; /* loads of task k: first[k] .. first[k + 1] */
    struct blocking *summary;      /* by task * max_options + option */
    struct blocking *relaxed;      /* by task: the least over its options */
    struct demand *option_demands; /* by task * max_options + option */
    struct demand *demands;        /* by task: the least over its options */
    struct blocking *below;        /* by task: of all less urgent ones */

    /* Results and their inputs. */
    baton_nsec *delays, *finishes; /* by stage */
    bool *by_job;                  /* by stage: finishes[] is the job-level bound */
    baton_nsec *responses;
    unsigned char *choice;
    struct blocking *seen; /* the blocking that responses[] was computed with */
    bool *known;
    bool *is_demand; /* its loads are its demand; see holistic_hopeful */
    /*
     * The iteration stopped early: the response is not the least fixed point, but errs on the
     * requested side.
     */
    bool *rounded;
    unsigned cap;
    bool lower; /* results are to be lower bounds of the bounds (search nodes), not upper bounds */
    bool cut;   /* set when an iteration stopped early */

    struct memo memo_bus, memo_any, memo_pinned, memo_cpu;
    /* by task: sum over the prefix of NC_k(X_l), and of the last stage */
    baton_nsec *bus_part, *bus_once;
    baton_nsec *gpu_part, *gpu_once;
    struct share_items items;
    baton_nsec *raw; /* holistic_explain.c: parts of a delay by task */
    bool *left_out;  /* holistic_explain.c: items that fill units of their own */
};

static inline baton_nsec least(baton_nsec a, baton_nsec b)
{
    return a < b ? a : b;
}

static inline baton_nsec most(baton_nsec a, baton_nsec b)
{
    return a > b ? a : b;
}

static inline baton_nsec ceil_div(baton_nsec a, baton_nsec b)
{
    return a / b + (a % b != 0);
}

/*
 * floor(n / period) without a division or a branch, exact; *ret_rest is the remainder. |n| < 2^53,
 * so the product is off by less than one and its integral part by at most one.
 */
static inline baton_nsec load_periods(const struct load *load, baton_nsec n, baton_nsec *ret_rest)
{
    baton_nsec quotient = (baton_nsec)((double)n * load->frequency);
    baton_nsec rest = n - quotient * load->period;
    baton_nsec wrong = (rest >= load->period) - (rest < 0);

    *ret_rest = rest - wrong * load->period;
    return quotient + wrong;
}

/*
 * NC(x): work of instances that arrive in a window of x ticks. An arrival in [t0, t0 + x) has its
 * release in [t0 - A, t0 + x - b). These x + J ticks hold releases at least a period apart; the
 * last instance has at most x + J - nT ticks left.
 */
static inline baton_nsec load_arriving(const struct load *load, baton_nsec length, baton_nsec x)
{
    baton_nsec rest;
    baton_nsec n;

    if (x <= 0)
        return 0;
    n = load_periods(load, x + load->jitter - 1, &rest);
    return n * length + least(length, least(x, rest + 1));
}

/*
 * CI(x): work of instances active in the window, of which one may be carried in. The worst case:
 * the first instance ends as late as possible with all its work inside, and the others follow at
 * the period.
 */
static inline baton_nsec load_active(const struct load *load, baton_nsec length, baton_nsec x)
{
    baton_nsec rest;
    baton_nsec n;

    if (x <= 0)
        return 0;
    n = load_periods(load, x + load->span - length, &rest);
    return n * length + least(length, rest);
}

/* ext: how much a carried-in instance adds. */
static inline baton_nsec load_extra(const struct load *load, baton_nsec length, baton_nsec x,
                                    baton_nsec arriving)
{
    return most(0, load_active(load, length, x) - arriving);
}

static inline baton_nsec load_length_on(const struct load *load, unsigned gpu)
{
    return load->per_gpu ? load->per_gpu[gpu].length : load->length;
}

/*
 * The least fixed point of a function with slopes can take many small steps. A window that grows by
 * one tick may hold one more tick of work. After ITERATIONS_EXACT steps results are rounded up to a
 * grid of 2^-11 of the period. Above the period, where values only compare hopeless choices, the
 * grid is 2^-5. The rounded function is monotone too, so its least fixed point is a valid bound
 * slightly above the exact one. When a lower bound is requested, the current iterate is one.
 */
#define ITERATIONS_EXACT 48

struct iteration {
    baton_nsec period;
    unsigned steps;
};

static inline struct iteration iteration_begin(const struct holistic *h, const struct victim *victim)
{
    return (struct iteration){.period = h->pipeline->tasks[victim->task].period};
}

/* From x to f(x) > x. True: stop with *x, which is a lower bound. */
static inline bool iteration_step(struct holistic *h, struct iteration *iteration, baton_nsec next,
                                  baton_nsec *x)
{
    if (++iteration->steps > ITERATIONS_EXACT && iteration->period >= 1 << 11) {
        baton_nsec grid = iteration->period >> (next > iteration->period ? 5 : 11);

        h->cut = true;
        if (h->lower)
            return true;
        next = (next + grid - 1) / grid * grid;
    }
    *x = next;
    return false;
}

/* holistic_share.c */
#define SHARE_ALL ((size_t)-1)
baton_nsec share(const struct share_items *items, unsigned units, size_t slots, baton_nsec added);
static inline void share_add(struct share_items *items, size_t owner, baton_nsec base, baton_nsec extra)
{
    items->owner[items->n] = owner;
    items->base[items->n] = base;
    items->extra[items->n++] = extra;
}

/*
 *  holistic_stage.c: each answers the wait of a stage (w = wait + last piece), MODE_UNBOUNDED
 *  beyond the cap.
 */
baton_nsec stage_delay(struct holistic *h, const struct victim *victim, const struct stage *stage);
void stage_cpu_items(struct holistic *h, size_t task, baton_nsec x);
void stage_gpu_items(struct holistic *h, size_t task, baton_nsec x);
/*
 * Leaves the items it was computed from in h->items; *ret_window is the window that wait_of used.
 */
baton_nsec stage_any_wait(struct holistic *h, const struct victim *victim, baton_nsec added,
                          baton_nsec *ret_window);
void stage_any_items(struct holistic *h, const struct victim *victim, const struct blocking *own,
                     baton_nsec x);
baton_nsec stage_unit_wait(const struct holistic *h, const struct victim *victim, enum pipeline_unit unit,
                           unsigned gpu, baton_nsec rest, baton_nsec *ret_window, baton_nsec *ret_blocking);
baton_nsec stage_work_on(const struct holistic *h, size_t k, enum pipeline_unit unit, unsigned gpu,
                         baton_nsec x);
baton_nsec top_lanes(const struct blocking *blocking, unsigned m);

/*
 * holistic_workspace.c: what a task may block with in an option; equality over the existing GPUs;
 * mode_test_class.narrow
 */
struct blocking *holistic_summary(const struct holistic *h, size_t task, size_t option);
bool holistic_same_blocking(const struct holistic *h, const struct blocking *a, const struct blocking *b);
bool holistic_narrow(void *state, size_t task, const bool out[]);

/* holistic.c */
void holistic_begin(struct holistic *h, size_t task, unsigned char option, baton_nsec cap,
                    struct victim *ret_victim);

/* holistic_job.c */
void job_add_stage(struct holistic *h, struct victim *victim, const struct stage *stage, baton_nsec delay);
baton_nsec job_level(struct holistic *h, const struct victim *victim, enum pipeline_unit unit, baton_nsec y);
baton_nsec job_gpu_of(const struct holistic *h, const struct victim *victim, size_t k, baton_nsec y);
baton_nsec job_bus_of(const struct holistic *h, size_t k, baton_nsec y);

#endif
