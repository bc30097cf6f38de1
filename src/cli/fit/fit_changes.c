/*
 * Changes of a set, each tested before it is reported: shorter pieces, longer periods, another GPU,
 * one program less.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/pipeline/pipeline.h"
#include "cli/fit/fit.h"

#define STEPS       7 /* of a bisection: 1/128 of the interval */
#define MORE_GPUS   7 /* additional GPUs to try */
#define PER_KIND    3 /* suggestions */
#define LEAST_PIECE (NSEC_PER_MS / 50)

struct search {
    const struct fit_test *test;
    const struct task_set *set;
    struct fit *fit;
};

static void add(struct search *s, struct fit_change change)
{
    if (s->fit->n_changes < FIT_MAX_CHANGES)
        s->fit->changes[s->fit->n_changes++] = change;
}

/* A round number for the user: three digits, rounded down or up. */
static baton_nsec rounded(baton_nsec value, bool up)
{
    baton_nsec unit = 1;

    while (value / unit >= 1000)
        unit *= 10;
    unit = unit < NSEC_PER_US ? NSEC_PER_US : unit;
    return up ? (value + unit - 1) / unit * unit : value / unit * unit;
}

/* Applies the change to a fresh copy of the set and asks the test. */
static bool holds(struct search *s, const struct fit_change *change)
{
    struct fit_draft draft;
    struct task *task;
    bool accepted;

    if (fit_draft_open(s->set, &draft) != 0)
        return false;
    task = &draft.tasks[change->task];
    switch (change->kind) {
    case FIT_PIECE:
        for (size_t i = 0; i < task->n_segments; i++) {
            struct segment *segment = &task->segments[i];

            if (segment_is_gpu(segment) && !segment->pieces.n && !segment->n_per_gpu &&
                segment->length > change->to)
                segment->piece = change->to;
        }
        break;
    case FIT_PERIOD:
        if (task->deadline == task->period)
            task->deadline = change->to;
        task->period = change->to;
        break;
    case FIT_DEADLINE:
        task->deadline = change->to;
        break;
    case FIT_GPUS:
        if (draft.set.platform.gpu_cluster == draft.set.platform.gpus)
            draft.set.platform.gpu_cluster = change->gpus;
        draft.set.platform.gpus = change->gpus;
        break;
    case FIT_LESS:
        draft.set.n_tasks--;
        memmove(task, task + 1, (draft.set.n_tasks - change->task) * sizeof *task);
        break;
    }
    accepted = fit_accepts(s->test, &draft.set, s->fit);
    fit_draft_done(&draft);
    return accepted;
}

/*
 * change->to is accepted, `fails` is not. Moves change->to towards `fails` while the test accepts
 * it, then to a round number that is tested too.
 */
static void refine(struct search *s, struct fit_change *change, baton_nsec fails)
{
    struct fit_change trial = *change;
    bool down = fails < change->to; /* looking for the smallest value */

    for (unsigned step = 0; step < STEPS; step++) {
        trial.to = change->to + (fails - change->to) / 2;
        if (trial.to == change->to || trial.to == fails)
            break;
        if (holds(s, &trial))
            change->to = trial.to;
        else
            fails = trial.to;
    }
    trial.to = rounded(change->to, down);
    if (trial.to > 0 && holds(s, &trial))
        change->to = trial.to;
}

/* The longest uncut span of the task on a GPU or the bus that `piece_ms` can cut; 0: none. */
static baton_nsec longest_piece(const struct task_set *set, const struct task *task)
{
    baton_nsec longest = 0;

    for (size_t i = 0; i < task->n_segments; i++) {
        const struct segment *segment = &task->segments[i];
        baton_nsec piece;

        if (!segment_is_gpu(segment) || segment->pieces.n || segment->n_per_gpu)
            continue;
        piece = segment_piece(&set->platform, segment);
        piece = piece > 0 && piece < segment->length ? piece : segment->length;
        longest = piece > longest ? piece : longest;
    }
    return longest;
}

static void try_pieces(struct search *s)
{
    size_t found = 0;

    for (size_t i = s->set->n_tasks; i-- > 0 && found < PER_KIND;) {
        struct fit_change change = {.kind = FIT_PIECE, .task = i};
        baton_nsec fails;

        change.from = longest_piece(s->set, &s->set->tasks[i]);
        if (i == s->fit->task || change.from <= LEAST_PIECE)
            continue;
        fails = change.from;
        for (change.to = fails / 2; change.to >= LEAST_PIECE; fails = change.to, change.to /= 2) {
            if (!holds(s, &change))
                continue;
            refine(s, &change, fails);
            add(s, change);
            found++;
            break;
        }
    }
}

/* The failing task comes first: its user can change its own period. */
static void try_periods(struct search *s)
{
    size_t found = 0;

    for (size_t k = 0; k <= s->set->n_tasks && found < PER_KIND; k++) {
        size_t i = k == 0 ? s->fit->task : k - 1;
        struct fit_change change = {.kind = FIT_PERIOD, .task = i, .from = s->set->tasks[i].period};
        baton_nsec fails = change.from;

        if ((k > 0 && i == s->fit->task) || s->set->tasks[i].no_deadline)
            continue;
        for (change.to = 2 * fails; change.to <= PIPELINE_MAX_PERIOD; fails = change.to, change.to *= 2) {
            if (!holds(s, &change))
                continue;
            refine(s, &change, fails);
            add(s, change);
            found++;
            break;
        }
    }
}

static void try_deadline(struct search *s)
{
    const struct task *task = &s->set->tasks[s->fit->task];
    struct fit_change change = {
        .kind = FIT_DEADLINE, .task = s->fit->task, .from = task->deadline, .to = task->period};

    if (task->deadline >= task->period || !holds(s, &change))
        return;
    refine(s, &change, task->deadline);
    add(s, change);
}

static void try_gpus(struct search *s)
{
    unsigned gpus = s->set->platform.gpus;

    for (size_t i = 0; i < s->set->n_tasks; i++) {
        for (size_t k = 0; k < s->set->tasks[i].n_segments; k++) {
            const struct segment *segment = &s->set->tasks[i].segments[k];

            /*
             * Lengths that the file gives for each GPU, or for all of them, do not apply to one
             * more GPU.
             */
            if (segment->n_per_gpu || (s->test->splits && segment->n_multi && !segment->multi_is_list))
                gpus = PLATFORM_MAX_GPUS;
        }
    }
    for (unsigned more = 1; gpus > 0 && more <= MORE_GPUS && gpus + more <= PLATFORM_MAX_GPUS; more++) {
        struct fit_change change = {.kind = FIT_GPUS, .gpus = gpus + more};

        if (holds(s, &change)) {
            add(s, change);
            return;
        }
    }
}

static int try_less(struct search *s)
{
    size_t *order = calloc(s->set->n_tasks + 1, sizeof *order);
    int result = order ? task_set_order(s->set, order) : -ENOMEM;
    size_t found = 0;

    for (size_t rank = s->set->n_tasks; rank-- > 0 && !result && found < PER_KIND;) {
        struct fit_change change = {.kind = FIT_LESS, .task = order[rank]};

        if (change.task != s->fit->task && holds(s, &change)) {
            add(s, change);
            found++;
        }
    }
    free(order);
    return result;
}

int fit_find_changes(const struct fit_test *test, const struct task_set *set, struct fit *fit)
{
    struct search s = {test, set, fit};

    try_pieces(&s);
    try_periods(&s);
    try_deadline(&s);
    try_gpus(&s);
    return try_less(&s);
}
