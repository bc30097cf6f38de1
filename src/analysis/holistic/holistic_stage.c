/*
 * Stage-level bounds: how long one stage takes from its arrival to its end, independent of earlier
 * events (docs/analysis.md). Each bound is the least fixed point of a function that never
 * decreases, reached by iterating upwards. Any x with f(x) <= x is a valid bound.
 */
#include "analysis/holistic/holistic_internal.h"

/* Work of task k that arrives in x ticks for the bus or for one GPU. */
baton_nsec stage_work_on(const struct holistic *h, size_t k, enum pipeline_unit unit, unsigned gpu,
                         baton_nsec x)
{
    const struct load *end = h->loads[unit] + h->first[unit][k + 1];
    baton_nsec sum = 0;

    for (const struct load *load = h->loads[unit] + h->first[unit][k]; load < end; load++) {
        if (unit == UNIT_BUS)
            sum += load_arriving(load, load->length, x);
        else if (load->eligible >> gpu & 1)
            /* All K sub-kernels of an ANY kernel may run on this GPU, one after the other. */
            sum += (load->any ? load->lanes : 1) * load_arriving(load, load_length_on(load, gpu), x);
    }
    return sum;
}

static baton_nsec all_work_on(const struct holistic *h, size_t task, enum pipeline_unit unit, unsigned gpu,
                              baton_nsec x)
{
    baton_nsec sum = 0;

    for (size_t k = 0; k < task && sum < MODE_UNBOUNDED; k++)
        sum += stage_work_on(h, k, unit, gpu, x);
    return least(sum, MODE_UNBOUNDED);
}

/* The same, counting every arriving instance in full; x > 0. */
static baton_nsec all_jobs_on(const struct holistic *h, size_t task, enum pipeline_unit unit, unsigned gpu,
                              baton_nsec x)
{
    const struct load *end = h->loads[unit] + h->first[unit][task];
    baton_nsec sum = 0;
    baton_nsec rest;

    for (const struct load *load = h->loads[unit]; load < end && sum < MODE_UNBOUNDED; load++) {
        baton_nsec length = load->length;

        if (unit == UNIT_GPU) {
            if (!(load->eligible >> gpu & 1))
                continue;
            length = (load->any ? load->lanes : 1) * load_length_on(load, gpu);
        }
        sum += (load_periods(load, x + load->jitter - 1, &rest) + 1) * length;
    }
    return least(sum, MODE_UNBOUNDED);
}

/*
 * x = blocking + rest + NC(x + 1): a request that arrives at the very instant of the start still
 * goes first.
 *
 * The iteration counts whole instances instead of the part of the last one that fits. The least
 * fixed point is the same, and the steps are whole executions instead of ticks. Proof: suppose that
 * at the least fixed point x an instance that arrives a ticks into the window counts only x + 1 -
 * a. Then all other instances sum up to A <= a - 1, and a - 1 < x already satisfies the inequality.
 */
static baton_nsec start_after(const struct holistic *h, const struct victim *v, enum pipeline_unit unit,
                              unsigned gpu, baton_nsec blocking, baton_nsec rest)
{
    baton_nsec x = blocking + rest;

    for (;;) {
        baton_nsec next = blocking + rest + all_jobs_on(h, v->task, unit, gpu, x + 1);

        if (next <= x)
            return x;
        x = next;
        if (x > v->cap)
            return MODE_UNBOUNDED;
    }
}

/*
 * One unit with pieces (Davis et al. 2007, with jitter). Let t be the arrival. Let t0 be the latest
 * instant, t at most, just before which no more urgent request is pending or running on the unit.
 * From t0 to the start of the last piece the unit starts only more urgent work and own pieces. Just
 * before t0 one other piece may be running: of a less urgent task, or of the task itself. An own
 * piece ends before t, so only the work that accumulates during it counts. rest = C - c_n.
 */
baton_nsec stage_unit_wait(const struct holistic *h, const struct victim *v, enum pipeline_unit unit,
                           unsigned gpu, baton_nsec rest, baton_nsec *ret_window, baton_nsec *ret_blocking)
{
    baton_nsec blocking = unit == UNIT_BUS ? v->below->bus : v->below->gpu[gpu];
    baton_nsec own = unit == UNIT_BUS ? v->own->bus : v->own->gpu[gpu];
    baton_nsec x = start_after(h, v, unit, gpu, blocking, rest);
    baton_nsec after_own;
    baton_nsec piled_up;

    *ret_window = x + 1;
    *ret_blocking = blocking;
    if (own <= blocking || x >= MODE_UNBOUNDED)
        return x;
    after_own = start_after(h, v, unit, gpu, own, rest);
    if (after_own >= MODE_UNBOUNDED) {
        *ret_window = MODE_UNBOUNDED;
        return MODE_UNBOUNDED;
    }
    *ret_window = after_own + 1; /* own > blocking, so this is the longer window */
    piled_up = rest + all_work_on(h, v->task, unit, gpu, after_own + 1);
    if (piled_up > x)
        *ret_blocking = 0;
    return most(x, piled_up);
}

static baton_nsec unit_wait(const struct holistic *h, const struct victim *v, enum pipeline_unit unit,
                            unsigned gpu, baton_nsec rest, baton_nsec *ret_window)
{
    baton_nsec blocking;

    return stage_unit_wait(h, v, unit, gpu, rest, ret_window, &blocking);
}

/* Notes the work of each task that can arrive in the stage's window, for the job-level bound. */
static void note_parts(const struct holistic *h, const struct victim *v, enum pipeline_unit unit,
                       unsigned gpu, baton_nsec window, baton_nsec once[])
{
    for (size_t k = 0; k < v->task; k++) {
        baton_nsec part = window >= MODE_UNBOUNDED ? MODE_UNBOUNDED : stage_work_on(h, k, unit, gpu, window);

        once[k] = most(once[k], part);
    }
}

static baton_nsec bus_delay(struct holistic *h, const struct victim *v, const struct stage *stage)
{
    baton_nsec rest = stage->length - stage->last;

    if (!h->memo_bus.valid || h->memo_bus.key != rest) {
        h->memo_bus = (struct memo){.valid = true, .key = rest};
        h->memo_bus.wait = unit_wait(h, v, UNIT_BUS, 0, rest, &h->memo_bus.window);
        for (size_t k = 0; k < v->task; k++)
            h->bus_once[k] = 0;
        note_parts(h, v, UNIT_BUS, 0, h->memo_bus.window, h->bus_once);
    }
    return least(h->memo_bus.wait + stage->last, MODE_UNBOUNDED);
}

/* PIN and DYN: the slowest GPU that the stage may have to wait for. No work is divided by m. */
static baton_nsec pinned_delay(struct holistic *h, const struct victim *v, const struct stage *stage)
{
    baton_nsec delay = 0;
    baton_nsec rest = stage->length - stage->last;
    bool reuse = !stage->per_gpu && h->memo_pinned.valid && h->memo_pinned.key == rest &&
                 h->memo_pinned.eligible == stage->eligible;

    if (reuse)
        return least(h->memo_pinned.wait + stage->last, MODE_UNBOUNDED);
    h->memo_pinned = (struct memo){.valid = !stage->per_gpu, .key = rest, .eligible = stage->eligible};
    for (size_t k = 0; k < v->task; k++)
        h->gpu_once[k] = 0;
    for (unsigned q = 0; q < h->gpus; q++) {
        baton_nsec last = stage->per_gpu ? stage->per_gpu[q].last : stage->last;
        baton_nsec length = stage->per_gpu ? stage->per_gpu[q].length : stage->length;
        baton_nsec window;
        baton_nsec wait;

        if (!(stage->eligible >> q & 1))
            continue;
        wait = unit_wait(h, v, UNIT_GPU, q, length - last, &window);
        note_parts(h, v, UNIT_GPU, q, window, h->gpu_once);
        h->memo_pinned.wait = most(h->memo_pinned.wait, wait);
        delay = most(delay, least(wait + last, MODE_UNBOUNDED));
        if (h->uniform)
            break;
    }
    return delay;
}

/* CPU items in a window of x: work of each more urgent task, extra of one carried-in stage. */
void stage_cpu_items(struct holistic *h, size_t task, baton_nsec x)
{
    h->items.n = 0;
    for (size_t k = 0; k < task; k++) {
        const struct load *end = h->loads[UNIT_CPU] + h->first[UNIT_CPU][k + 1];
        baton_nsec base = 0;
        baton_nsec extra = 0;

        for (const struct load *load = h->loads[UNIT_CPU] + h->first[UNIT_CPU][k]; load < end; load++) {
            baton_nsec arriving = load_arriving(load, load->length, x);

            base += arriving;
            extra = most(extra, load_extra(load, load->length, x, arriving));
        }
        if (base + extra > 0)
            share_add(&h->items, k, base, extra);
    }
}

/*
 * CPUs (Guan et al. 2009). Let t0 be the earliest instant such that all CPUs run more urgent work
 * from t0 to the arrival. Just before t0 some CPU does not, so at most m - 1 of those tasks are
 * active then.
 */
static baton_nsec cpu_delay(struct holistic *h, const struct victim *v, const struct stage *stage)
{
    struct iteration iteration = iteration_begin(h, v);
    baton_nsec w = stage->length;

    /* w grows at least as fast as C, so the iteration can start at the bound of a shorter stage. */
    if (h->memo_cpu.valid && h->memo_cpu.key <= stage->length)
        w = h->memo_cpu.wait + stage->length - h->memo_cpu.key;
    for (;;) {
        baton_nsec next;

        stage_cpu_items(h, v->task, w);
        next = stage->length + share(&h->items, h->cpus, h->cpus - 1, 0);
        if (next <= w || iteration_step(h, &iteration, next, &w))
            break;
        if (w > v->cap)
            return MODE_UNBOUNDED;
    }
    if (!h->memo_cpu.valid || h->memo_cpu.key < stage->length)
        h->memo_cpu = (struct memo){.valid = true, .key = stage->length, .wait = w};
    return w;
}

/* Lanes of one more urgent task on the GPUs in a window of x (docs/analysis.md, ANY). */
static void add_lanes(struct holistic *h, size_t k, baton_nsec x)
{
    const struct load *begin = h->loads[UNIT_GPU] + h->first[UNIT_GPU][k];
    const struct load *end = h->loads[UNIT_GPU] + h->first[UNIT_GPU][k + 1];
    unsigned lanes = 0;

    for (const struct load *load = begin; load < end; load++)
        lanes = load->lanes > lanes ? load->lanes : lanes;
    for (unsigned lane = 0; lane < lanes; lane++) {
        baton_nsec base = 0;
        baton_nsec extra_any = 0;
        /* pinned or paused: it may wait for its own GPU while others are free */
        baton_nsec extra_held = 0;

        for (const struct load *load = begin; load < end; load++) {
            baton_nsec arriving;
            baton_nsec extra;

            if (load->lanes <= lane)
                continue;
            arriving = load_arriving(load, load->spread, x);
            extra = load_extra(load, load->spread, x, arriving);
            base += arriving;
            if (load->any && load->whole)
                extra_any = most(extra_any, extra);
            else
                extra_held = most(extra_held, extra);
        }
        share_add(&h->items, k, base + extra_held, most(0, extra_any - extra_held));
    }
}

void stage_gpu_items(struct holistic *h, size_t task, baton_nsec x)
{
    h->items.n = 0;
    for (size_t k = 0; k < task; k++)
        add_lanes(h, k, x);
}

static void add_blockers(struct holistic *h, const struct blocking *blocking, size_t owner)
{
    for (unsigned lane = 0; lane < 2 * h->gpus && blocking->lane[lane] > 0; lane++)
        share_add(&h->items, owner == OWNER_BELOW ? owner + lane : owner, 0, blocking->lane[lane]);
}

baton_nsec top_lanes(const struct blocking *blocking, unsigned m)
{
    baton_nsec sum = 0;

    for (unsigned lane = 0; lane < m; lane++)
        sum += blocking->lane[lane];
    return sum;
}

/* The largest weight of a lane of the load on any GPU. */
static baton_nsec weighted(const struct holistic *h, const struct load *load)
{
    baton_nsec heaviest = 0;

    for (unsigned q = 0; q < h->gpus; q++) {
        if (load->eligible >> q & 1)
            heaviest = most(heaviest, (baton_nsec)h->weights[q] * load_length_on(load, q));
    }
    return heaviest;
}

/*
 * Unequal GPUs. While all are busy, sum_q v_q busy_q = x sum_q v_q, and a lane on q adds at most
 * v_q C(q). The sum of the heaviest lanes is therefore a second bound on the wait. It counts the m
 * largest lanes that may have been running before, plus every held lane.
 */
static baton_nsec weighted_wait(struct holistic *h, const struct victim *v, const struct blocking *own,
                                baton_nsec added, baton_nsec x)
{
    baton_nsec sum = 0;

    h->items.n = 0;
    for (size_t k = 0; k < v->task; k++) {
        baton_nsec held = 0;
        baton_nsec free_lane = 0;
        unsigned free_lanes = 0;

        for (size_t p = h->first[UNIT_GPU][k]; p < h->first[UNIT_GPU][k + 1]; p++) {
            const struct load *load = &h->loads[UNIT_GPU][p];
            baton_nsec heavy = weighted(h, load);
            baton_nsec rest;
            baton_nsec n = load_periods(load, x + load->jitter - 1, &rest) + 1;

            sum = least(sum + n * heavy * load->lanes, MODE_UNBOUNDED);
            /*
             * Instances active in the window are released in an open interval of x + S. One of them
             * is carried in only if more than n fit.
             */
            if (load_periods(load, x + load->span - 1, &rest) + 1 <= n)
                continue;
            if (!load->any || !load->whole)
                held = most(held, heavy * load->lanes);
            else if (heavy * load->lanes > free_lane * free_lanes) {
                free_lane = heavy;
                free_lanes = load->lanes;
            }
        }
        sum += held;
        for (unsigned lane = 0; lane < free_lanes; lane++)
            share_add(&h->items, k, 0, free_lane);
    }
    for (unsigned lane = 0; lane < 2 * h->gpus; lane++) {
        share_add(&h->items, OWNER_BELOW + lane, 0, v->below->weighted[lane]);
        if (own)
            share_add(&h->items, OWNER_SELF, 0, own->weighted[lane]);
    }
    /* A single unit does all the work here, so SHARE only sums up the m largest extras. */
    sum = least(sum, MODE_UNBOUNDED / 2) + share(&h->items, 1, h->gpus, 0);
    return ceil_div(sum + added * 100, h->weight_sum); /* every weight is at most 100 */
}

void stage_any_items(struct holistic *h, const struct victim *v, const struct blocking *own, baton_nsec x)
{
    stage_gpu_items(h, v->task, x);
    add_blockers(h, v->below, OWNER_BELOW);
    if (own)
        add_blockers(h, own, OWNER_SELF);
}

/* D(x): delay of an ANY kernel until its last lane starts, with work counted over a window of x. */
static baton_nsec any_busy(struct holistic *h, const struct victim *v, const struct blocking *own,
                           baton_nsec added, baton_nsec x)
{
    baton_nsec delay;

    stage_any_items(h, v, own, x);
    delay = share(&h->items, h->gpus, h->gpus, added);
    return h->weight_sum ? least(delay, weighted_wait(h, v, own, added, x)) : delay;
}

/*
 * The least x = busy(x + 1) with only less urgent blockers. Own earlier work may also have been
 * running and may let more work accumulate. The delay then follows from that longer window, without
 * the own work itself, because it ends before the arrival.
 */
static baton_nsec wait_of(struct holistic *h, const struct victim *v,
                          baton_nsec (*busy)(struct holistic *h, const struct victim *v,
                                             const struct blocking *own, baton_nsec added, baton_nsec x),
                          baton_nsec added, baton_nsec *ret_window)
{
    struct iteration iteration = iteration_begin(h, v);
    const struct blocking *own = NULL;
    baton_nsec wait = 0;
    baton_nsec x = 0;

    for (;;) {
        baton_nsec next = busy(h, v, own, added, x + 1);

        if (next > x && !iteration_step(h, &iteration, next, &x)) {
            if (x > v->cap)
                return MODE_UNBOUNDED;
        } else if (!own) {
            wait = x;
            own = v->own;
        } else {
            break;
        }
    }
    /* The longer of the two windows bounds more, because busy() never decreases. */
    *ret_window = x + 1;
    return x > wait ? most(wait, busy(h, v, NULL, added, x + 1)) : wait;
}

baton_nsec stage_any_wait(struct holistic *h, const struct victim *v, baton_nsec added,
                          baton_nsec *ret_window)
{
    return wait_of(h, v, any_busy, added, ret_window);
}

/* Phase 2 of a sliced ANY kernel: after its start on q only later arrivals overtake it. */
static baton_nsec resumed(struct holistic *h, const struct victim *v, const struct stage *stage)
{
    baton_nsec worst = 0;

    for (unsigned q = 0; q < h->gpus; q++) {
        baton_nsec last = stage->per_gpu ? stage->per_gpu[q].last : stage->last;
        baton_nsec length = stage->per_gpu ? stage->per_gpu[q].length : stage->length;
        baton_nsec x = length > last ? start_after(h, v, UNIT_GPU, q, 0, length - last) : 0;

        worst = most(worst, least(x + last, MODE_UNBOUNDED));
        if (h->uniform)
            break;
    }
    return worst;
}

/*
 * Both phases in one window. An instance delays one of the phases, so its work counts once,
 * undivided. A pinned kernel with several lanes counts twice: one lane on the GPU of the analysed
 * task, the others while all GPUs are busy. `added` is C - c_n.
 */
static baton_nsec combined_busy(struct holistic *h, const struct victim *v, const struct blocking *own,
                                baton_nsec added, baton_nsec x)
{
    baton_nsec sum = 0;
    baton_nsec slots;

    h->items.n = 0;
    for (size_t k = 0; k < v->task; k++) {
        baton_nsec held = 0;
        baton_nsec free_extra = 0;
        unsigned free_lanes = 0;

        for (size_t p = h->first[UNIT_GPU][k]; p < h->first[UNIT_GPU][k + 1]; p++) {
            const struct load *load = &h->loads[UNIT_GPU][p];
            baton_nsec arriving = load_arriving(load, load->length, x);
            baton_nsec extra = load_extra(load, load->length, x, arriving);
            baton_nsec factor = load->any ? load->lanes : load->lanes > 1 ? 2 : 1;

            sum = least(sum + factor * arriving, MODE_UNBOUNDED);
            if (!load->any || !load->whole)
                held = most(held, factor * extra);
            else if (extra > 0) {
                free_extra = most(free_extra, extra);
                free_lanes = load->lanes > free_lanes ? load->lanes : free_lanes;
            }
        }
        sum += held;
        for (unsigned lane = 0; lane < free_lanes; lane++)
            share_add(&h->items, k, 0, free_extra);
    }
    add_blockers(h, v->below, OWNER_BELOW);
    if (own)
        add_blockers(h, own, OWNER_SELF);
    slots = share(&h->items, 1, h->gpus, 0);
    return least(ceil_div(slots, h->gpus) + added + sum, MODE_UNBOUNDED);
}

static baton_nsec combined(struct holistic *h, const struct victim *v, const struct stage *stage)
{
    baton_nsec worst = 0;
    baton_nsec window;

    for (unsigned q = 0; q < h->gpus; q++) {
        baton_nsec last = stage->per_gpu ? stage->per_gpu[q].last : stage->last;
        baton_nsec length = stage->per_gpu ? stage->per_gpu[q].length : stage->length;

        worst = most(worst, wait_of(h, v, combined_busy, length - last, &window) + last);
        if (!stage->per_gpu)
            break;
    }
    return least(worst, MODE_UNBOUNDED);
}

static baton_nsec any_delay(struct holistic *h, const struct victim *v, const struct stage *stage)
{
    baton_nsec added = (stage->lanes - 1) * stage->length;

    if (!h->memo_any.valid || h->memo_any.key != added) {
        h->memo_any = (struct memo){.valid = true, .key = added};
        h->memo_any.wait = wait_of(h, v, any_busy, added, &h->memo_any.window);
    }
    if (!stage->sliced)
        return least(h->memo_any.wait + stage->length, MODE_UNBOUNDED);
    return least(least(h->memo_any.wait + resumed(h, v, stage), combined(h, v, stage)), MODE_UNBOUNDED);
}

baton_nsec stage_delay(struct holistic *h, const struct victim *v, const struct stage *stage)
{
    switch (stage->unit) {
    case UNIT_CPU:
        return cpu_delay(h, v, stage);
    case UNIT_BUS:
        return bus_delay(h, v, stage);
    default:
        return stage->any ? any_delay(h, v, stage) : pinned_delay(h, v, stage);
    }
}
