#include "sim/program.h"

#include <errno.h>

size_t cut_count(const struct cut *cut)
{
    if (cut->n)
        return cut->n;
    if (cut->piece <= 0 || cut->piece >= cut->length)
        return 1;
    return (size_t)((cut->length + cut->piece - 1) / cut->piece);
}

baton_nsec cut_piece(const struct cut *cut, size_t index)
{
    baton_nsec before;

    if (cut->n)
        return cut->list[index];
    if (cut->piece <= 0)
        return cut->length;
    before = cut->piece * (baton_nsec)index;
    return cut->length - before < cut->piece ? cut->length - before : cut->piece;
}

struct program_maker {
    const struct task_set *set;
    const struct task *task;
    const struct plan_task *plan;
    const struct sched_profile *profile;
    struct arena *arena;
    struct program program;
    const char *reason;
};

/*
 * Cuts as the analyses do (analysis/pipeline/pipeline_build.c): explicit pieces if they add up to
 * this length, else pieces of at most segment_piece(). A plan's own piece or chunk counts if the
 * file gives none. `fifo` and `priority-whole` do not cut.
 */
static struct cut cut_of(const struct program_maker *maker, const struct segment *segment, baton_nsec length)
{
    struct cut cut = {.length = length};
    baton_nsec sum = 0;

    if (!maker->profile->pieces && !maker->profile->tokens)
        return cut;
    for (size_t i = 0; i < segment->pieces.n; i++)
        sum += segment->pieces.pieces[i];
    if (segment->pieces.n && sum == length) {
        cut.list = segment->pieces.pieces;
        cut.n = segment->pieces.n;
        return cut;
    }
    cut.piece = segment_piece(&maker->set->platform, segment);
    if (maker->plan && !segment->piece && !segment->pieces.n) {
        int64_t chunk = segment->kind == SEGMENT_COPY_IN ? maker->plan->chunk_in : maker->plan->chunk_out;

        if (segment->kind == SEGMENT_KERNEL && maker->plan->piece)
            cut.piece = maker->plan->piece;
        else if (segment->kind != SEGMENT_KERNEL && chunk > 0 && segment->bytes > chunk)
            cut.piece = (baton_nsec)((double)segment->length * ((double)chunk / (double)segment->bytes)) + 1;
    }
    return cut;
}

/* Where the task's kernels run: as the file fixes it, else as the plan says. */
static struct placement task_placement(const struct program_maker *maker)
{
    if (maker->plan && maker->task->placement.kind != PLACEMENT_FIXED)
        return maker->plan->placement;
    return maker->task->placement;
}

static struct step *add_step(struct program_maker *maker, enum step_kind kind)
{
    struct step *step = &maker->program.steps[maker->program.n++];

    *step = (struct step){.kind = kind, .segment = SIZE_MAX, .lanes = 1};
    return step;
}

/*
 * Chunks with the overhead set's cost (docs/gpusync.md): full chunks, and a last chunk of its own
 * size.
 */
static int cut_by_cost(const struct program_maker *maker, enum copy_direction direction, int64_t bytes,
                       int64_t chunk, struct cut *ret_cut)
{
    size_t n = (size_t)((bytes + chunk - 1) / chunk);
    baton_nsec *list = arena_calloc(maker->arena, n, sizeof *list);

    if (!list)
        return -ENOMEM;
    *ret_cut = (struct cut){.list = list, .n = n};
    for (size_t i = 0; i < n; i++) {
        int64_t size = bytes - (int64_t)i * chunk < chunk ? bytes - (int64_t)i * chunk : chunk;

        list[i] = overheads_copy_cost(&maker->set->platform.overheads, direction, size);
        ret_cut->length += list[i];
    }
    return 0;
}

static int add_state_copy(struct program_maker *maker, enum step_kind kind, enum copy_direction direction)
{
    const struct platform *platform = &maker->set->platform;
    struct step *step = add_step(maker, kind);

    step->copy = direction == DIRECTION_OUT ? DIRECTION_OUT : DIRECTION_IN;
    return cut_by_cost(maker, direction, maker->task->state,
                       direction == DIRECTION_OUT ? platform->chunk_out : platform->chunk_in, &step->cut);
}

static int add_copy(struct program_maker *maker, const struct segment *segment, struct step *step)
{
    const struct platform *platform = &maker->set->platform;

    step->copy = segment->kind == SEGMENT_COPY_IN ? DIRECTION_IN : DIRECTION_OUT;
    if (maker->profile->tokens && segment->bytes > 0 && platform->overheads.n_copies[step->copy])
        return cut_by_cost(maker, step->copy, segment->bytes,
                           step->copy == DIRECTION_IN ? platform->chunk_in : platform->chunk_out, &step->cut);
    return 0;
}

static int add_kernel(struct program_maker *maker, const struct segment *segment, struct step *step)
{
    struct program *program = &maker->program;
    unsigned all = maker->set->platform.gpus;
    struct cut *per_gpu;

    step->placement = segment_placement(maker->task, segment);
    /* The GPUs that a plan assigns apply to every kernel whose GPUs the file does not fix. */
    if (!segment->has_placement || (maker->plan && maker->plan->placement.kind == PLACEMENT_FIXED &&
                                    step->placement.kind != PLACEMENT_FIXED))
        step->placement = task_placement(maker);
    step->lanes = program->gpus > 1 ? program->gpus : segment->gpus;
    if (step->placement.kind == PLACEMENT_FIXED)
        step->lanes = (unsigned)__builtin_popcountll(step->placement.gpus);
    else if (step->placement.kind == PLACEMENT_CHOSEN && step->lanes == all)
        step->placement =
            (struct placement){PLACEMENT_FIXED, all == 64 ? UINT64_MAX : (UINT64_C(1) << all) - 1};
    if (maker->profile->tokens && step->lanes > 1) {
        maker->reason = "under gpusync a job holds one token, so its kernels run on one GPU: the analysis "
                        "covers no split kernels (use the profile priority)";
        return PROGRAM_UNSUPPORTED;
    }
    if (step->placement.kind == PLACEMENT_CHOSEN && step->lanes > program->choose)
        program->choose = step->lanes;
    if (segment->n_per_gpu && program->gpus == 1) {
        per_gpu = arena_calloc(maker->arena, segment->n_per_gpu, sizeof *per_gpu);
        if (!per_gpu)
            return -ENOMEM;
        for (size_t q = 0; q < segment->n_per_gpu; q++) {
            struct cut *cut = &per_gpu[q];

            for (size_t i = 0; i < segment->per_gpu[q].n; i++)
                cut->length += segment->per_gpu[q].pieces[i];
            if (segment->per_gpu[q].n > 1 && (maker->profile->pieces || maker->profile->tokens)) {
                cut->list = segment->per_gpu[q].pieces;
                cut->n = segment->per_gpu[q].n;
            } else {
                cut->piece = step->cut.piece;
            }
        }
        step->per_gpu = per_gpu;
    }
    return 0;
}

static int add_segment(struct program_maker *maker, size_t index)
{
    const struct segment *segment = &maker->task->segments[index];
    unsigned gpus = maker->program.gpus;
    baton_nsec length =
        segment_length_placed(&maker->set->platform, maker->task, segment, gpus, task_placement(maker).kind);
    struct step *step;
    int result = 0;

    if (length < 0) {
        maker->reason = "the file gives no length for a kernel on so many GPUs";
        return PROGRAM_UNSUPPORTED;
    }
    step = add_step(maker, segment->kind == SEGMENT_CPU      ? STEP_CPU
                           : segment->kind == SEGMENT_KERNEL ? STEP_KERNEL
                                                             : STEP_COPY);
    step->segment = index;
    step->best = segment->best < length ? segment->best : length;
    step->cut = cut_of(maker, segment, length);
    if (step->kind == STEP_CPU)
        step->cut = (struct cut){.length = length};
    else if (step->kind == STEP_COPY)
        result = add_copy(maker, segment, step);
    else
        result = add_kernel(maker, segment, step);
    if (step->lanes > maker->program.max_lanes)
        maker->program.max_lanes = step->lanes;
    return result;
}

/* GPU segments first..last are the critical section under tokens. */
static void critical_section(const struct task *task, size_t *ret_first, size_t *ret_last)
{
    *ret_first = task->n_segments;
    *ret_last = 0;
    for (size_t i = 0; i < task->n_segments; i++) {
        if (!segment_is_gpu(&task->segments[i]))
            continue;
        if (*ret_first == task->n_segments)
            *ret_first = i;
        *ret_last = i;
    }
}

/* Inserts a copy of steps[from] before steps[at]; there is room. */
static struct step *insert_step(struct program *program, size_t at, size_t from)
{
    struct step copied = program->steps[from];

    for (size_t i = program->n; i > at; i--)
        program->steps[i] = program->steps[i - 1];
    program->steps[at] = copied;
    program->n++;
    return &program->steps[at];
}

/* Moves up to `length` of a CPU step to its copy. Returns what was moved. */
static baton_nsec move_length(struct step *from, struct step *to, baton_nsec length)
{
    baton_nsec moved = from->cut.length < length ? from->cut.length : length;

    to->cut.length = moved;
    to->best = 0;
    from->cut.length -= moved;
    if (from->best > from->cut.length)
        from->best = from->cut.length;
    return moved;
}

/*
 * critical_cpu_ms: the end of the CPU time before and the beginning of the CPU time after are
 * inside the critical section.
 */
static void move_critical_cpu(struct program *program, baton_nsec critical)
{
    for (size_t i = 0; i + 1 < program->n && critical > 0; i++) {
        if (program->steps[i].kind == STEP_CPU && program->steps[i + 1].kind == STEP_TOKEN) {
            struct step *inside = insert_step(program, i + 2, i);

            critical -= move_length(&program->steps[i], inside, critical);
            break;
        }
    }
    for (size_t i = 0; i + 1 < program->n && critical > 0; i++) {
        if (program->steps[i].kind == STEP_TOKEN_BACK && program->steps[i + 1].kind == STEP_CPU) {
            struct step *inside = insert_step(program, i, i + 1);

            (void)move_length(&program->steps[i + 2], inside, critical);
            return;
        }
    }
}

static int add_state_in(struct program_maker *maker)
{
    enum migration migration = maker->set->platform.migration;

    if (maker->task->state <= 0 || maker->set->platform.gpu_cluster == 1 || migration == MIGRATION_NONE)
        return 0;
    if (migration == MIGRATION_SYSTEM)
        return add_state_copy(maker, STEP_COPY, DIRECTION_IN);
    return add_state_copy(maker, STEP_PEER_COPY, DIRECTION_P2P);
}

static int add_state_out(struct program_maker *maker)
{
    if (maker->task->state <= 0 || maker->set->platform.gpu_cluster == 1 ||
        maker->set->platform.migration != MIGRATION_SYSTEM)
        return 0;
    return add_state_copy(maker, STEP_COPY, DIRECTION_OUT);
}

static int make_steps(struct program_maker *maker)
{
    size_t first;
    size_t last;
    int result = 0;

    critical_section(maker->task, &first, &last);
    for (size_t i = 0; !result && i < maker->task->n_segments; i++) {
        if (maker->profile->tokens && i == first) {
            add_step(maker, STEP_TOKEN);
            result = add_state_in(maker);
        }
        if (!result)
            result = add_segment(maker, i);
        if (!result && maker->profile->tokens && i == last && first < maker->task->n_segments) {
            result = add_state_out(maker);
            add_step(maker, STEP_TOKEN_BACK);
        }
    }
    if (!result && maker->profile->tokens && maker->task->critical_cpu > 0)
        move_critical_cpu(&maker->program, maker->task->critical_cpu);
    return result;
}

int program_make(const struct task_set *set, const struct task *task, const struct plan_task *plan_task,
                 unsigned gpus, enum sched_profile_id profile, struct arena *arena,
                 struct program *ret_program, const char **ret_reason)
{
    struct program_maker maker = {
        .set = set, .task = task, .plan = plan_task, .profile = &sched_profiles[profile], .arena = arena};
    int result;

    maker.program.max_lanes = 1;
    maker.program.gpus = gpus ? gpus : 1;
    maker.program.uses_gpu = task_uses_gpu(task);
    maker.program.steps = arena_calloc(arena, task->n_segments + 6, sizeof *maker.program.steps);
    if (!maker.program.steps)
        return -ENOMEM;
    result = make_steps(&maker);
    if (result) {
        if (result == PROGRAM_UNSUPPORTED)
            *ret_reason = maker.reason;
        return result;
    }
    for (size_t i = 0; i < maker.program.n; i++) {
        const struct step *step = &maker.program.steps[i];

        maker.program.cost += step->cut.length;
        if (step->kind != STEP_CPU)
            maker.program.gpu_length += step->cut.length;
    }
    *ret_program = maker.program;
    return 0;
}
