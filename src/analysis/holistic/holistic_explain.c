/*
 * Splits every bound into terms: which task causes the wait, on which unit, and how long. The
 * amounts of a unit sum up to the delay there. The delay by several tasks on a shared unit is split
 * in proportion to their work.
 */
#include <string.h>

#include "analysis/holistic/holistic_internal.h"

struct holistic_explainer {
    struct holistic *h;
    struct victim v;
    struct holistic_term *terms;
    size_t n, max;
};

static void add_term(struct holistic_explainer *e, enum pipeline_unit unit, size_t stage,
                     enum holistic_why why, size_t cause, baton_nsec amount)
{
    if (amount > 0 && e->n < e->max)
        e->terms[e->n++] = (struct holistic_term){
            .stage = stage, .cause = cause, .amount = amount, .unit = unit, .why = why};
}

/*
 * Splits `total` in proportion to h->raw (by task; more urgent tasks interfere, less urgent ones
 * block) and clears h->raw.
 */
static void split(struct holistic_explainer *e, enum pipeline_unit unit, size_t stage, baton_nsec total)
{
    struct holistic *h = e->h;
    size_t n = h->pipeline->n_tasks;
    size_t i = e->v.task;
    double sum = 0;
    baton_nsec given = 0;

    for (size_t k = 0; k < n; k++)
        sum += (double)h->raw[k];
    for (size_t k = 0; k < n && sum > 0; k++) {
        baton_nsec amount = (baton_nsec)((double)total * ((double)h->raw[k] / sum));

        amount = least(amount, total - given);
        given += amount;
        add_term(e, unit, stage, k < i ? WHY_INTERFERENCE : k > i ? WHY_BLOCKING : WHY_SELF, k, amount);
    }
    /* The remainder of rounding. */
    if (given < total && e->n > 0 && sum > 0 && e->terms[e->n - 1].unit == unit &&
        e->terms[e->n - 1].stage == stage)
        e->terms[e->n - 1].amount += total - given;
    else
        add_term(e, unit, stage, WHY_SELF, i, total - given);
    memset(h->raw, 0, n * sizeof h->raw[0]);
}

/* The less urgent task with the rank-th longest lane (any of them when lanes are equal). */
static size_t task_of_lane(const struct holistic_explainer *e, baton_nsec piece)
{
    const struct holistic *h = e->h;

    for (size_t k = e->v.task + 1; k < h->pipeline->n_tasks; k++) {
        const struct blocking *summary = &h->summary[k * h->max_options + h->choice[k]];

        for (unsigned lane = 0; lane < h->gpus; lane++) {
            if (summary->lane[lane] == piece)
                return k;
        }
    }
    return e->v.task;
}

/* The less urgent task with a piece of this length on the bus or on a GPU. */
static size_t blocker_of(const struct holistic_explainer *e, enum pipeline_unit unit, unsigned gpu,
                         baton_nsec piece)
{
    const struct holistic *h = e->h;

    for (size_t k = e->v.task + 1; k < h->pipeline->n_tasks; k++) {
        const struct blocking *summary = &h->summary[k * h->max_options + h->choice[k]];

        if ((unit == UNIT_BUS ? summary->bus : summary->gpu[gpu]) == piece)
            return k;
    }
    return e->v.task;
}

static void give(struct holistic_explainer *e, size_t item, baton_nsec amount)
{
    size_t owner = e->h->items.owner[item];

    if (owner >= OWNER_SELF)
        owner = e->v.task;
    else if (owner >= OWNER_BELOW)
        owner = task_of_lane(e, e->h->items.extra[item]);
    e->h->raw[owner] += amount;
}

/*
 * Work of the items outside the l that fill units of their own, and extras of the `slots` largest.
 */
static baton_nsec leave_out(struct holistic_explainer *e, size_t l, size_t slots, bool attribute)
{
    const struct share_items *items = &e->h->items;
    bool *left_out = e->h->left_out;
    baton_nsec sum = 0;

    memset(left_out, 0, items->n * sizeof left_out[0]);
    for (size_t round = 0; round < l; round++) {
        size_t largest = items->n;

        for (size_t i = 0; i < items->n; i++) {
            if (!left_out[i] && (largest == items->n || items->base[i] + items->extra[i] >
                                                            items->base[largest] + items->extra[largest]))
                largest = i;
        }
        left_out[largest] = true;
    }
    for (size_t i = 0; i < items->n; i++) {
        size_t rank = 0;
        baton_nsec work = left_out[i] ? 0 : items->base[i];

        for (size_t other = 0; other < items->n && !left_out[i]; other++)
            rank += !left_out[other] && (items->extra[other] > items->extra[i] ||
                                         (other < i && items->extra[other] == items->extra[i]));
        if (!left_out[i] && rank < slots)
            work += items->extra[i];
        sum += work;
        if (attribute)
            give(e, i, work);
    }
    return sum;
}

/*
 * The tasks that cause a SHARE over h->items, for the number of items left out that gives the best
 * bound.
 */
static void attribute_share(struct holistic_explainer *e, unsigned units, size_t slots, baton_nsec added)
{
    size_t best = 0;
    baton_nsec least_delay = MODE_UNBOUNDED;

    for (size_t l = 0; l < units && l <= e->h->items.n; l++) {
        baton_nsec delay = ceil_div(added + leave_out(e, l, slots, false), (baton_nsec)units - (baton_nsec)l);

        if (delay < least_delay) {
            least_delay = delay;
            best = l;
        }
    }
    (void)leave_out(e, best, slots, true);
    e->h->raw[e->v.task] += added;
}

static void attribute_unit(struct holistic_explainer *e, enum pipeline_unit unit, unsigned gpu,
                           baton_nsec blocking, baton_nsec window)
{
    for (size_t k = 0; k < e->v.task; k++)
        e->h->raw[k] += stage_work_on(e->h, k, unit, gpu, window);
    if (blocking > 0)
        e->h->raw[blocker_of(e, unit, gpu, blocking)] += blocking;
}

/* The bus, or the GPU on which a pinned stage waits longest. */
static void attribute_queue(struct holistic_explainer *e, const struct stage *stage)
{
    baton_nsec window = 0;
    baton_nsec blocking = 0;
    baton_nsec worst = -1;
    unsigned at = 0;

    for (unsigned q = 0; q < (stage->unit == UNIT_BUS ? 1 : e->h->gpus); q++) {
        baton_nsec last = stage->per_gpu ? stage->per_gpu[q].last : stage->last;
        baton_nsec length = stage->per_gpu ? stage->per_gpu[q].length : stage->length;
        baton_nsec its_window;
        baton_nsec its_blocking;
        baton_nsec wait;

        if (stage->unit == UNIT_GPU && !(stage->eligible >> q & 1))
            continue;
        wait = stage_unit_wait(e->h, &e->v, stage->unit, q, length - last, &its_window, &its_blocking);
        if (wait + last > worst) {
            worst = wait + last;
            window = its_blocking ? wait + 1 : its_window;
            blocking = its_blocking;
            at = q;
        }
    }
    attribute_unit(e, stage->unit, at, blocking, window);
}

/*
 * A kernel that may start anywhere: its wait for a GPU, and the work that overtakes it between
 * pieces.
 */
static void attribute_any(struct holistic_explainer *e, const struct stage *stage, baton_nsec delay)
{
    baton_nsec window;
    baton_nsec added = (stage->lanes - 1) * stage->length;

    (void)stage_any_wait(e->h, &e->v, added, &window);
    stage_any_items(e->h, &e->v, NULL, window);
    attribute_share(e, e->h->gpus, e->h->gpus, added);
    if (stage->sliced)
        attribute_unit(e, UNIT_GPU, 0, 0, delay);
}

static void explain_stage(struct holistic_explainer *e, size_t j)
{
    const struct stage *stage = &e->v.option->stages[j];
    baton_nsec delay = stage_delay(e->h, &e->v, stage);

    if (delay > stage->length) {
        if (stage->unit == UNIT_CPU) {
            stage_cpu_items(e->h, e->v.task, delay);
            attribute_share(e, e->h->cpus, e->h->cpus - 1, 0);
        } else if (stage->unit == UNIT_BUS || !stage->any) {
            attribute_queue(e, stage);
        } else {
            attribute_any(e, stage, delay);
        }
    }
    split(e, stage->unit, j, delay - stage->length);
    add_term(e, stage->unit, j, WHY_OWN, e->v.task, stage->length);
}

/* The delays of the prefix on one unit by the job-level analysis, y ticks from the release. */
static void explain_unit(struct holistic_explainer *e, enum pipeline_unit unit, baton_nsec y)
{
    struct holistic *h = e->h;
    baton_nsec level = job_level(h, &e->v, unit, y);

    if (unit == UNIT_CPU) {
        attribute_share(e, h->cpus, SHARE_ALL, 0);
    } else if (unit == UNIT_GPU && e->v.all_any_whole) {
        baton_nsec lp = top_lanes(e->v.below, h->gpus) * (baton_nsec)e->v.kernels;

        attribute_share(e, h->gpus, SHARE_ALL, e->v.any_slots - lp);
        for (unsigned lane = 0; lane < h->gpus && e->v.below->lane[lane] > 0; lane++)
            h->raw[task_of_lane(e, e->v.below->lane[lane])] +=
                e->v.below->lane[lane] * (baton_nsec)e->v.kernels;
    } else {
        baton_nsec blocking = unit == UNIT_BUS ? e->v.bus_blocking : e->v.gpu_blocking;

        for (size_t k = 0; k < e->v.task; k++)
            h->raw[k] += unit == UNIT_BUS ? job_bus_of(h, k, y) : job_gpu_of(h, &e->v, k, y);
        if (unit == UNIT_BUS)
            h->raw[blocker_of(e, UNIT_BUS, 0, e->v.below->bus)] += blocking;
        else
            h->raw[task_of_lane(e, e->v.below->lane[0])] += blocking;
    }
    split(e, unit, HOLISTIC_JOB, least(level, e->v.delay[unit]));
}

bool holistic_explain(struct holistic *h, size_t task, struct holistic_term ret_terms[], size_t max,
                      size_t *ret_n, size_t *ret_job_stages)
{
    const struct pipeline_task *from = &h->pipeline->tasks[task];
    struct holistic_explainer e = {.h = h, .terms = ret_terms, .max = max};
    size_t job = 0;

    if (!h->known[task] || h->responses[task] > from->period)
        return false;
    for (size_t j = 0; j < from->n_stages; j++) {
        if (h->by_job[from->first + j])
            job = j + 1;
    }
    holistic_begin(h, task, h->choice[task], from->period * h->cap, &e.v);
    memset(h->raw, 0, h->pipeline->n_tasks * sizeof h->raw[0]);
    for (size_t j = 0; j < job; j++) {
        const struct stage *stage = &e.v.option->stages[j];

        job_add_stage(h, &e.v, stage, stage_delay(h, &e.v, stage));
        add_term(&e, stage->unit, j, WHY_OWN, task, stage->length);
    }
    for (int unit = 0; unit < PIPELINE_UNITS && job > 0; unit++) {
        if (e.v.delay[unit] > 0)
            explain_unit(&e, (enum pipeline_unit)unit, h->finishes[from->first + job - 1]);
    }
    for (size_t j = job; j < from->n_stages; j++)
        explain_stage(&e, j);
    *ret_n = e.n;
    *ret_job_stages = job;
    return true;
}
