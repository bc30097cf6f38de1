/*
 * Builds a pipeline from a task set: order, options, and checks of the model's rules that a file
 * can break.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/pipeline/pipeline.h"

/* One way to run a task: the mode, and where its kernels may start. */
struct pipeline_variant {
    unsigned gpus;
    bool moved; /* placed differently from the file: kind applies instead */
    enum placement_kind kind;
    uint64_t set; /* of PLACEMENT_FIXED */
};

#define MODEL "(model not met, docs/analysis.md)"

static int reject_task(const struct task *task, const char *found, struct input_error *ret_error,
                       const char *expected)
{
    return input_reject(ret_error, "", task->line, task->column, found, "%s " MODEL, expected);
}

static uint64_t all_gpus(unsigned gpus)
{
    return gpus >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << gpus) - 1;
}

static bool has_kernel(const struct task *task)
{
    for (size_t i = 0; i < task->n_segments; i++) {
        if (task->segments[i].kind == SEGMENT_KERNEL)
            return true;
    }
    return false;
}

/* Does the task have a kernel of placement `any`? */
static bool movable_anywhere(const struct task *task)
{
    for (size_t i = 0; i < task->n_segments; i++) {
        if (task->segments[i].kind == SEGMENT_KERNEL &&
            segment_placement(task, &task->segments[i]).kind == PLACEMENT_ANY)
            return true;
    }
    return false;
}

/* Do all kernels of the task have a fixed set of GPUs? */
static bool is_fixed(const struct task *task)
{
    for (size_t i = 0; i < task->n_segments; i++) {
        if (task->segments[i].kind == SEGMENT_KERNEL &&
            segment_placement(task, &task->segments[i]).kind != PLACEMENT_FIXED)
            return false;
    }
    return true;
}

/* The task keeps state on a GPU, and its jobs may run on another one. */
static bool keeps_moving_state(const struct task_set *set, const struct task *task)
{
    return task->state > 0 && set->platform.gpus > 1 && has_kernel(task) && !is_fixed(task);
}

static int reject_state(const struct task *task, struct input_error *ret_error)
{
    return reject_task(task, "state that would have to move", ret_error,
                       "a fixed placement for a task that keeps state on its GPU");
}

static int check_task(const struct task_set *set, const struct task *task, bool assign,
                      struct input_error *ret_error)
{
    char found[64];

    if (task->deadline > task->period && !task->no_deadline) {
        (void)snprintf(found, sizeof found, "%g ms", nsec_to_ms(task->deadline));
        return reject_task(task, found, ret_error, "a deadline of at most the period");
    }
    if (task->period > PIPELINE_MAX_PERIOD)
        return reject_task(task, "a longer one", ret_error, "a period of at most 1000 s");
    if (keeps_moving_state(set, task) && !assign)
        return reject_state(task, ret_error);
    for (size_t i = 0; i < task->n_segments; i++) {
        const struct segment *segment = &task->segments[i];

        if (segment->length > 20 * (task->no_deadline ? PIPELINE_MAX_PERIOD : task->period))
            return input_reject(ret_error, "", segment->line, segment->column, "a longer one",
                                "a segment of at most 20 periods " MODEL);
    }
    return 0;
}

static int check_platform(const struct platform *platform, struct input_error *ret_error)
{
    if (platform->buses != 1)
        return input_reject(ret_error, "", 0, 0, "several", "one bus, a single queue for all copies " MODEL);
    if (platform->cpu_cluster != platform->cpus)
        return input_reject(ret_error, "", 0, 0, "clusters",
                            "CPUs scheduled globally (cpu_cluster: all of them) " MODEL);
    if (platform->gpus && platform->gpu_cluster != platform->gpus)
        return input_reject(ret_error, "", 0, 0, "clusters",
                            "all GPUs in one cluster (fixed placements restrict a task) " MODEL);
    return 0;
}

/* Length, longest and last piece of one list, or of a length cut into pieces of at most `piece`. */
static struct gpu_cost cost_of(const struct piece_list *list)
{
    struct gpu_cost cost = {0};

    for (size_t i = 0; i < list->n; i++) {
        cost.length += list->pieces[i];
        cost.piece = list->pieces[i] > cost.piece ? list->pieces[i] : cost.piece;
        cost.last = list->pieces[i];
    }
    return cost;
}

static struct gpu_cost cut(baton_nsec length, baton_nsec piece)
{
    baton_nsec n;

    if (piece <= 0 || piece >= length)
        return (struct gpu_cost){length, length, length};
    n = (length + piece - 1) / piece;
    return (struct gpu_cost){length, piece, length - (n - 1) * piece};
}

/*
 * The pieces of a segment of this length. They are the explicit ones if given for this length, else
 * a cut into pieces of the same size.
 */
static struct gpu_cost segment_cost(const struct platform *platform, const struct segment *segment,
                                    baton_nsec length)
{
    struct gpu_cost given = cost_of(&segment->pieces);

    if (segment->pieces.n > 0 && given.length == length)
        return given;
    return cut(length, segment_piece(platform, segment));
}

static int per_gpu_costs(const struct task_set *set, const struct segment *segment, bool whole,
                         struct arena *arena, struct stage *stage)
{
    struct gpu_cost *costs = arena_calloc(arena, set->platform.gpus, sizeof *costs);

    if (!costs)
        return -ENOMEM;
    stage->length = stage->piece = 0;
    for (unsigned q = 0; q < set->platform.gpus; q++) {
        costs[q] = cost_of(&segment->per_gpu[q]);
        if (segment->piece > 0 && segment->per_gpu[q].n == 1)
            costs[q] = cut(costs[q].length, segment->piece);
        if (whole)
            costs[q].piece = costs[q].last = costs[q].length;
        if (!(stage->eligible >> q & 1))
            continue;
        stage->length = costs[q].length > stage->length ? costs[q].length : stage->length;
        stage->piece = costs[q].piece > stage->piece ? costs[q].piece : stage->piece;
    }
    stage->last = stage->length; /* pipeline_seal looks at each GPU */
    stage->per_gpu = costs;
    return 0;
}

/* Fills one stage. > 0: the task cannot run this way (INPUT_REJECTED with the reason). */
static int fill_stage(const struct task_set *set, const struct task *task, const struct segment *segment,
                      const struct pipeline_variant *variant, bool whole, struct arena *arena,
                      struct stage *stage, struct input_error *ret_error)
{
    struct placement placement = segment_placement(task, segment);
    unsigned gpus = set->platform.gpus;
    bool one = variant->gpus <= 1;
    bool moved = variant->moved && placement.kind != PLACEMENT_FIXED;
    baton_nsec length;
    struct gpu_cost cost;

    if (moved)
        placement = (struct placement){variant->kind, variant->set};
    length = segment_length_placed(&set->platform, task, segment, variant->gpus, placement.kind);
    if (length < 0)
        return input_reject(ret_error, "", segment->line, segment->column, "none",
                            "multi_ms with a length on %u GPUs", variant->gpus);
    cost = whole ? cut(length, 0) : segment_cost(&set->platform, segment, length);
    *stage = (struct stage){
        .unit = segment->kind == SEGMENT_CPU      ? UNIT_CPU
                : segment->kind == SEGMENT_KERNEL ? UNIT_GPU
                                                  : UNIT_BUS,
        .length = length,
        .piece = cost.piece,
        .last = cost.last,
        .best = one || segment->n_multi == 0 ? segment->best : 0,
        .lanes = 1,
    };
    if (stage->unit == UNIT_CPU)
        stage->piece = stage->last = length; /* CPU stages are preemptive */
    if (segment->kind != SEGMENT_KERNEL)
        return 0;
    stage->lanes = one ? segment->gpus : variant->gpus;
    stage->any = placement.kind == PLACEMENT_ANY;
    stage->assigned = moved && placement.kind == PLACEMENT_FIXED;
    stage->eligible = placement.kind == PLACEMENT_FIXED ? placement.gpus : all_gpus(gpus);
    if (placement.kind == PLACEMENT_FIXED && (unsigned)__builtin_popcountll(placement.gpus) != stage->lanes)
        return input_reject(ret_error, "", segment->line, segment->column, "a fixed set of another size",
                            "a placement on %u GPUs", stage->lanes);
    if (segment->n_per_gpu && one) {
        int result = per_gpu_costs(set, segment, whole, arena, stage);

        if (result)
            return result;
    }
    if (stage->any && stage->lanes > 1 && cost.last < cost.length)
        return input_reject(ret_error, "", segment->line, segment->column, "pieces",
                            "several sub-kernels of placement any to run whole " MODEL);
    return 0;
}

/*
 * If all kernels share a placement, it becomes the option's, even if the task's entry differs.
 * Otherwise a plan cannot express it.
 */
static void describe_placement(const struct task_set *set, const struct task *task,
                               struct pipeline_option *option)
{
    const struct stage *first = NULL;

    option->mixed = false;
    for (size_t s = 0; s < task->n_segments; s++) {
        const struct stage *stage = &option->stages[s];

        if (stage->unit != UNIT_GPU)
            continue;
        first = first ? first : stage;
        option->mixed |= stage->eligible != first->eligible || stage->any != first->any;
    }
    if (!first || option->mixed)
        return;
    if (first->any)
        option->placement = (struct placement){.kind = PLACEMENT_ANY};
    else if (first->eligible != all_gpus(set->platform.gpus))
        option->placement = (struct placement){PLACEMENT_FIXED, first->eligible};
    else if (option->placement.kind == PLACEMENT_ANY)
        option->placement = (struct placement){.kind = PLACEMENT_CHOSEN};
}

/* Fills an option; > 0 as fill_stage. */
static int fill_option(const struct task_set *set, const struct task *task,
                       const struct pipeline_variant *variant, bool whole, struct arena *arena,
                       struct pipeline_option *option, struct input_error *ret_error)
{
    unsigned lanes = 1;

    for (size_t s = 0; s < task->n_segments; s++) {
        int result =
            fill_stage(set, task, &task->segments[s], variant, whole, arena, &option->stages[s], ret_error);

        if (result)
            return result;
        if (option->stages[s].lanes > lanes)
            lanes = option->stages[s].lanes;
    }
    option->gpus = variant->gpus > 1 ? variant->gpus : lanes;
    option->placement = task->placement;
    if (variant->moved)
        option->placement = (struct placement){variant->kind, variant->set};
    option->assigned = variant->moved && variant->kind == PLACEMENT_FIXED;
    describe_placement(set, task, option);
    return 0;
}

/* How many GPUs a kernel uses that the planner may place, when its task is on one. */
static unsigned lanes_alone(const struct task *task)
{
    unsigned lanes = 1;

    for (size_t s = 0; s < task->n_segments; s++) {
        const struct segment *segment = &task->segments[s];

        if (segment->kind == SEGMENT_KERNEL && segment_placement(task, segment).kind != PLACEMENT_FIXED &&
            segment->gpus > lanes)
            lanes = segment->gpus;
    }
    return lanes;
}

/*
 * Adds every set of `lanes` GPUs for a task in this mode, or none. The sets of a task stay closed
 * under a renaming of GPUs, which plan_symmetry.h relies on.
 */
static size_t list_sets(const struct task_set *set, unsigned mode, unsigned lanes, size_t n,
                        struct pipeline_variant ret_variants[PIPELINE_MAX_OPTIONS])
{
    unsigned gpus = set->platform.gpus;

    if (lanes >= gpus || (lanes > 1 && gpus > PIPELINE_SET_GPUS))
        return n;
    for (unsigned q = 0; q < gpus && lanes == 1; q++)
        ret_variants[n++] = (struct pipeline_variant){mode, true, PLACEMENT_FIXED, UINT64_C(1) << q};
    for (uint64_t mask = 1; mask < UINT64_C(1) << gpus && lanes > 1; mask++) {
        if ((unsigned)__builtin_popcountll(mask) == lanes)
            ret_variants[n++] = (struct pipeline_variant){mode, true, PLACEMENT_FIXED, mask};
    }
    return n;
}

/*
 * The placement of the file. When the planner assigns GPUs, `any` is read as `chosen`, because no
 * plan has `any`.
 */
static struct pipeline_variant dispatched(const struct task *task, const struct pipeline_rules *rules,
                                          unsigned gpus)
{
    return (struct pipeline_variant){
        .gpus = gpus, .moved = rules->assign && movable_anywhere(task), .kind = PLACEMENT_CHOSEN};
}

/* All variants worth trying; the default comes first. */
static size_t list_variants(const struct task_set *set, size_t index, const struct pipeline_rules *rules,
                            struct pipeline_variant ret_variants[PIPELINE_MAX_OPTIONS])
{
    const struct task *task = &set->tasks[index];
    unsigned gpus = set->platform.gpus;
    bool movable = has_kernel(task) && !is_fixed(task);
    bool both = rules->choose_placement && movable && gpus > 1;
    size_t n = 0;

    if (rules->gpus) {
        ret_variants[0] = (struct pipeline_variant){.gpus = rules->gpus[index]};
        return 1;
    }
    ret_variants[n++] = dispatched(task, rules, 1);
    if (both)
        ret_variants[n++] = (struct pipeline_variant){
            .gpus = 1,
            .moved = true,
            .kind = task->placement.kind == PLACEMENT_ANY ? PLACEMENT_CHOSEN : PLACEMENT_ANY};
    if (!movable)
        return n;
    for (unsigned k = rules->every_number ? 2 : gpus; k <= gpus && k > 1; k++) {
        /*
         * On all GPUs `any` differs from `chosen` only in that `any` lanes may queue on one GPU,
         * which is never better.
         */
        if (both)
            ret_variants[n++] = (struct pipeline_variant){.gpus = k, .moved = true, .kind = PLACEMENT_CHOSEN};
        else
            ret_variants[n++] = dispatched(task, rules, k);
        if (both && k < gpus)
            ret_variants[n++] = (struct pipeline_variant){.gpus = k, .moved = true, .kind = PLACEMENT_ANY};
    }
    if (rules->assign && gpus > 1) {
        n = list_sets(set, 1, lanes_alone(task), n, ret_variants);
        for (unsigned k = rules->every_number ? 2 : gpus; k < gpus; k++)
            n = list_sets(set, k, k, n, ret_variants);
    }
    return n;
}

/*
 * `any` and `chosen` let jobs move to another GPU. A task that keeps state on its GPU therefore has
 * assigned options only.
 */
static void drop_moving(struct pipeline_task *task)
{
    size_t n = 0;

    for (size_t o = 0; o < task->n_options; o++) {
        if (task->options[o].assigned)
            task->options[n++] = task->options[o];
    }
    task->n_options = n;
}

static void mark_dominated(struct pipeline_task *task)
{
    for (size_t o = 0; o < task->n_options; o++) {
        struct pipeline_option *option = &task->options[o];

        option->dominated = false;
        for (size_t a = 0; a < task->n_options && !option->mixed; a++)
            option->dominated |= task->options[a].assigned && !task->options[a].mixed &&
                                 option->placement.kind == PLACEMENT_CHOSEN &&
                                 task->options[a].gpus == option->gpus;
    }
}

static int build_task(const struct task_set *set, size_t index, const struct pipeline_rules *rules,
                      struct arena *arena, struct pipeline_task *ret_task, struct input_error *ret_error)
{
    const struct task *task = &set->tasks[index];
    struct pipeline_variant variants[PIPELINE_MAX_OPTIONS];
    size_t n = list_variants(set, index, rules, variants);
    int result = check_task(set, task, rules->assign, ret_error);

    if (result)
        return result;
    *ret_task = (struct pipeline_task){
        .period = task->no_deadline ? PIPELINE_MAX_PERIOD : task->period,
        .deadline = task->no_deadline ? PIPELINE_MAX_PERIOD : task->deadline,
        .no_deadline = task->no_deadline,
        .index = index,
        .name = task->name,
        .n_stages = task->n_segments,
        .options = arena_calloc(arena, n, sizeof ret_task->options[0]),
    };
    if (!ret_task->options)
        return -ENOMEM;
    for (size_t v = 0; v < n; v++) {
        struct pipeline_option *option = &ret_task->options[ret_task->n_options];

        if (!option->stages)
            option->stages = arena_calloc(arena, task->n_segments, sizeof option->stages[0]);
        if (!option->stages)
            return -ENOMEM;
        result = fill_option(set, task, &variants[v], rules->whole, arena, option, ret_error);
        if (result < 0 || (result && v == 0 && n == 1))
            return result;
        if (result == 0)
            ret_task->n_options++;
    }
    if (ret_task->n_options && keeps_moving_state(set, task)) {
        drop_moving(ret_task);
        if (!ret_task->n_options)
            return reject_state(task, ret_error);
    }
    mark_dominated(ret_task);
    /* *ret_error still holds the reason against the last variant. */
    return ret_task->n_options ? 0 : INPUT_REJECTED;
}

int pipeline_build(const struct task_set *set, const struct pipeline_rules *rules, struct arena *arena,
                   struct pipeline *ret_pipeline, struct input_error *ret_error)
{
    struct pipeline pipeline = {.cpus = set->platform.cpus, .gpus = set->platform.gpus};
    size_t *order = arena_calloc(arena, set->n_tasks, sizeof *order);
    int result = task_set_require_lengths(set, ret_error);

    if (!result)
        result = check_platform(&set->platform, ret_error);
    if (result)
        return result;
    pipeline.tasks = arena_calloc(arena, set->n_tasks, sizeof pipeline.tasks[0]);
    if (!order || !pipeline.tasks)
        return -ENOMEM;
    result = task_set_order(set, order);
    for (size_t i = 0; i < set->n_tasks && !result; i++) {
        result = build_task(set, order[i], rules, arena, &pipeline.tasks[i], ret_error);
        pipeline.n_tasks++;
    }
    if (result)
        return result;
    pipeline_seal(&pipeline);
    *ret_pipeline = pipeline;
    return 0;
}
