#include "cli/task_lengths.h"

#include <errno.h>
#include <libgen.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "cli/file_kind.h"
#include "makespan/path/path.h"
#include "makespan/search/grid.h"
#include "makespan/search/solve.h"
#include "model/segment_source.h"
#include "transfer/worst.h"

#define LONGEST      1e16 /* ns, as in files */
#define TABLE_MEMORY ((size_t)256 << 20)
/*
 * Steps for the tables of all kernels of a set together: about half a second. The limit counts
 * steps, not time, so that a set has the same bounds on every machine and at any load. Each
 * computed length has an equal share, so that no kernel's bound depends on another's cost.
 */
#define TABLE_EFFORT ((uint64_t)50000000)

static int reject(const struct task_set *set, const struct segment_source *source, const char *found,
                  struct input_error *ret_error, const char *expected)
{
    return input_reject(ret_error, set->name, source->line, source->column, found, "%s", expected);
}

/* Adds the sentence to a list with room for it, unless it is already there. 0 or -ENOMEM. */
static int add_sentence(struct task_set *set, const char **list, size_t *n, const char *sentence)
{
    for (size_t i = 0; i < *n; i++) {
        if (strcmp(list[i], sentence) == 0)
            return 0;
    }
    list[*n] = arena_strndup(&set->arena, sentence, strlen(sentence));
    return list[(*n)++] ? 0 : -ENOMEM;
}

/* Adds a condition that answers have to state. 0 or -ENOMEM. */
__attribute__((format(printf, 2, 3))) static int rests_on(struct task_set *set, const char *format, ...)
{
    char sentence[512];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return add_sentence(set, set->conditions, &set->n_conditions, sentence);
}

/* Tells the user that the kernel's length is a safe bound, but may be far above the worst case. */
static int note_cheap(struct task_set *set, const struct task *task, const char *code)
{
    char sentence[512];

    (void)snprintf(
        sentence, sizeof sentence,
        "%s: the bound of %s is the cheap one, because a tighter one takes too much time or memory",
        task->name, code);
    return add_sentence(set, set->notes, &set->n_notes, sentence);
}

/* Resolves a path in the set's file, relative to the file's folder; the caller frees it. */
static char *beside(const struct task_set *set, const char *path)
{
    char *copy = strdup(set->name);
    char *joined = NULL;

    if (path[0] == '/')
        joined = strdup(path);
    else if (copy && asprintf(&joined, "%s/%s", dirname(copy), path) < 0)
        joined = NULL;
    free(copy);
    return joined;
}

static int set_length(const struct task_set *set, struct segment *segment, double nsec,
                      struct input_error *ret_error)
{
    if (!(nsec <= LONGEST))
        return reject(set, segment->source, "a longer one", ret_error, "a length of at most 1e10 ms");
    segment->length = (baton_nsec)ceil(nsec);
    if (segment->length < 1)
        segment->length = 1;
    if (segment->best > segment->length)
        return reject(set, segment->source, "a shorter one", ret_error, "a length of at least best_ms");
    return 0;
}

/* ---- kernels ---- */

static int read_ptx(const struct task_set *set, const struct segment_source *source,
                    const struct kernel_timing *timing, struct kernel *ret_kernel,
                    struct input_error *ret_error)
{
    struct path_bound bounds[SOURCE_MAX_LOOPS];
    struct path_settings settings = {.bounds = bounds, .n_bounds = source->n_loops};
    char *path = beside(set, source->ptx);
    char *text = NULL;
    size_t size = 0;
    int result = path ? file_read(path, PATH_FILE_LIMIT, &text, &size) : -ENOMEM;

    for (size_t i = 0; i < source->n_loops; i++)
        bounds[i] = (struct path_bound){source->loops[i].label, source->loops[i].passes};
    kernel_weights(timing, source->units, settings.weight);
    if (!result)
        result = path_read(path, text, size, source->entry, &settings, ret_kernel, ret_error);
    else if (result != -ENOMEM)
        result = reject(set, source, strerror(-result), ret_error, "a PTX file that can be read");
    free(text);
    free(path);
    return result;
}

/* The instruction string with its barriers, normalised for the machine, and the capacities. */
static int read_code(const struct task_set *set, const struct segment_source *source, struct problem *problem,
                     struct kernel *ret_kernel, struct input_error *ret_error)
{
    struct kernel_timing timing = {.warp_size = 32};
    struct kernel given = {0};
    int result;

    memcpy(timing.latency, source->latency, sizeof timing.latency);
    if (source->ptx)
        result = read_ptx(set, source, &timing, &given, ret_error);
    else if ((result = kernel_parse(source->string, strlen(source->string), set->name, &given, ret_error)))
        result = result < 0 ? result
                            : reject(set, source, source->string, ret_error,
                                     "an instruction string over L, C, S, D and /, such as 5L9C/2L9C");
    if (!result)
        result = kernel_normalise(&given, &timing, problem->capacity, ret_kernel, ret_error);
    kernel_done(&given);
    return result;
}

/* Upper bound on the cycles of the whole grid. effort: steps for tables. */
static int bound_cycles(const struct task_set *set, const struct segment_source *source, uint64_t effort,
                        uint64_t *ret_cycles, bool *ret_is_cheap, struct input_error *ret_error)
{
    const struct relax_settings limits = {.memory = TABLE_MEMORY, .effort = effort};
    struct grid grid = {.resident = (unsigned)source->resident,
                        .multiprocessors = (uint64_t)source->multiprocessors,
                        .groups = (uint64_t)source->groups};
    struct problem problem = {.warps = source->warps, .issue = source->issue};
    struct kernel kernel = {0};
    struct parts parts = {0};
    struct solve_bound bound = {0};
    int result;

    memcpy(problem.capacity, source->units, sizeof problem.capacity);
    result = read_code(set, source, &problem, &kernel, ret_error);
    if (!result && kernel.n > KERNEL_MAX_ELEMENTS / source->warps)
        result = reject(set, source, "more", ret_error, "at most 4194304 instructions in all warps");
    if (!result)
        result = parts_split(&kernel, &parts);
    problem.units = parts.units;
    problem.n = parts.n;
    if (!result)
        result = solve_bound(&problem, &parts, grid.resident, &limits, &bound);
    if (!result) {
        *ret_cycles = grid_bound(&problem, &grid, bound.upper);
        *ret_is_cheap = bound.is_cheap;
    }
    kernel_done(&kernel);
    parts_done(&parts);
    return result;
}

static int compute_kernel(struct task_set *set, const struct task *task, struct segment *segment,
                          uint64_t effort, struct input_error *ret_error)
{
    const struct segment_source *source = segment->source;
    const char *code = source->entry ? source->entry : source->ptx ? source->ptx : source->string;
    uint64_t cycles = 0;
    bool is_cheap = false;
    int result = bound_cycles(set, source, effort, &cycles, &is_cheap, ret_error);

    if (!result)
        result = set_length(set, segment, (double)cycles * 1000.0 / source->clock_mhz, ret_error);
    if (!result && source->latency[0] <= 1)
        result = rests_on(set, "%s: every load and store of %s hits (no latency is given for L)", task->name,
                          code);
    if (!result && source->ptx)
        result = rests_on(set, "%s: all warps of %s stay on its heaviest path, and none diverges", task->name,
                          code);
    if (!result && is_cheap)
        result = note_cheap(set, task, code);
    return result;
}

/* ---- copies ---- */

/* All routes of the set over one topology, one flow per segment. */
struct routes {
    struct topology topology;
    struct batch batch;
    struct batch_stream streams[BATCH_MAX_STREAMS];
    struct segment *segments[BATCH_MAX_STREAMS];
    size_t owner[BATCH_MAX_STREAMS]; /* task */
    size_t n;
};

static int add_route(const struct task_set *set, struct routes *routes, size_t task, struct segment *segment,
                     struct input_error *ret_error)
{
    const struct segment_source *source = segment->source;
    int from = topology_node(&routes->topology, source->from);
    int to = topology_node(&routes->topology, source->to);

    if (from < 0 || to < 0)
        return reject(set, source, from < 0 ? source->from : source->to, ret_error, "a node of the topology");
    if (segment->kind == SEGMENT_COPY_IN && routes->topology.nodes[to].role != ROLE_GPU)
        return reject(set, source, source->to, ret_error, "a route to a GPU, for a copy in");
    if (segment->kind == SEGMENT_COPY_OUT && routes->topology.nodes[from].role != ROLE_GPU)
        return reject(set, source, source->from, ret_error, "a route from a GPU, for a copy out");
    if (routes->n == BATCH_MAX_STREAMS)
        return reject(set, source, "one more", ret_error, "at most 64 copies over one topology");
    routes->streams[routes->n] = (struct batch_stream){
        .name = source->from, .from = from, .to = to, .bytes = segment->bytes, .gpu = -1};
    routes->segments[routes->n] = segment;
    routes->owner[routes->n++] = task;
    return 0;
}

/* Can its copies use only one GPU? */
static bool pinned_to_one(const struct task *task)
{
    return task->placement.kind == PLACEMENT_FIXED &&
           (task->placement.gpus & (task->placement.gpus - 1)) == 0;
}

static int compute_copy(struct task_set *set, const struct routes *routes, size_t i, bool overlap,
                        struct input_error *ret_error)
{
    const struct batch *batch = &routes->batch;
    struct segment *segment = routes->segments[i];
    const struct segment_source *source = segment->source;
    bool alone = source->sharing == SHARING_ALONE || (source->sharing == SHARING_BY_ANALYSIS && !overlap);
    double rate = alone ? batch->flows[i].alone : worst_rate(batch, i, routes->owner);
    int result = set_length(
        set, segment,
        batch->setup + batch->flows[i].copied / (rate * topology_lowest_ratio(&routes->topology)), ret_error);

    if (!result && set->platform.gpus > 1 && !pinned_to_one(&set->tasks[routes->owner[i]]))
        result = rests_on(set, "%s: no copy to or from another GPU takes longer than one from %s to %s",
                          set->tasks[routes->owner[i]].name, source->from, source->to);
    if (result)
        return result;
    return alone
               ? rests_on(set, "nothing else is on the way from %s to %s while a copy is", source->from,
                          source->to)
               : rests_on(set, "only copies of this set are on the way from %s to %s, one per task at a time",
                          source->from, source->to);
}

/* Computes all open copies over the topology that `first` names. */
static int compute_copies(struct task_set *set, const struct segment_source *first, bool overlap,
                          struct input_error *ret_error)
{
    static const struct batch_options options = {.worst_case = true};
    struct routes *routes = calloc(1, sizeof *routes);
    char *path = beside(set, first->topology);
    size_t unresolved = 0;
    int result = routes && path ? topology_read_file(path, &routes->topology, ret_error) : -ENOMEM;

    if (result) {
        if (result < 0 && result != -ENOMEM)
            result = reject(set, first, strerror(-result), ret_error, "a topology file that can be read");
        free(path);
        free(routes);
        return result;
    }
    for (size_t t = 0; t < set->n_tasks; t++) {
        for (size_t s = 0; s < set->tasks[t].n_segments && !result; s++) {
            struct segment *segment = &set->tasks[t].segments[s];

            if (segment->source && segment->source->kind == SOURCE_ROUTE &&
                strcmp(segment->source->topology, first->topology) == 0)
                result = add_route(set, routes, t, segment, ret_error);
        }
    }
    if (!result) {
        result = batch_resolve(&routes->topology, routes->streams, routes->n, &options, &routes->batch,
                               &unresolved);
        if (result > 0)
            result = reject(set, routes->segments[unresolved]->source, "none, or several equally short ones",
                            ret_error, "a route between these nodes");
    }
    for (size_t i = 0; i < routes->n && !result; i++)
        result = compute_copy(set, routes, i, overlap, ret_error);
    topology_done(&routes->topology);
    free(path);
    free(routes);
    return result;
}

int task_lengths_compute(struct task_set *set, bool overlap, struct input_error *ret_error)
{
    int result = 0;

    if (set->n_open == 0)
        return 0;
    set->conditions = arena_calloc(&set->arena, 2 * set->n_open, sizeof *set->conditions);
    set->notes = arena_calloc(&set->arena, set->n_open, sizeof *set->notes);
    if (!set->conditions || !set->notes)
        return -ENOMEM;
    for (size_t t = 0; t < set->n_tasks; t++) {
        for (size_t s = 0; s < set->tasks[t].n_segments && !result; s++) {
            struct segment *segment = &set->tasks[t].segments[s];

            if (!segment->source || segment->length > 0)
                continue;
            result =
                segment->source->kind == SOURCE_MAKESPAN
                    ? compute_kernel(set, &set->tasks[t], segment, TABLE_EFFORT / set->n_open + 1, ret_error)
                    : compute_copies(set, segment->source, overlap, ret_error);
        }
    }
    if (!result)
        set->n_open = 0;
    return result;
}

/*
 * --worst: the lengths of measured tasks are the worst of each segment, or those of the worst job;
 * the file has both.
 */
static int choose_worst(const struct cli_args *args, struct task_set *set)
{
    size_t worst = 0;
    int status = cli_choice(args, "worst", &worst);

    for (size_t i = 0; i < set->n_tasks && !status && cli_has(args, "worst"); i++) {
        struct task *task = &set->tasks[i];

        for (size_t s = 0; task->profile && s < task->profile->n_segments; s++) {
            const struct segment_profile *about = &task->profile->segments[s];
            struct segment *segment = &task->segments[s];
            baton_nsec length = worst ? about->in_worst_job : about->worst;

            if (!length || segment->pieces.n || segment->n_per_gpu)
                continue;
            segment->length = length;
            segment->best = segment->best < length ? segment->best : length;
        }
        if (task->profile)
            task->profile->of_worst_job = worst == 1;
    }
    return status;
}

/* Adds a note for tasks with the lengths of one job. */
static int note_worst(struct task_set *set)
{
    const char **notes = arena_calloc(&set->arena, set->n_notes + set->n_tasks, sizeof *notes);
    char text[256];

    if (!notes)
        return -ENOMEM;
    for (size_t i = 0; i < set->n_notes; i++)
        notes[i] = set->notes[i];
    set->notes = notes;
    for (size_t i = 0; i < set->n_tasks; i++) {
        if (!set->tasks[i].profile || !set->tasks[i].profile->of_worst_job)
            continue;
        (void)snprintf(text, sizeof text,
                       "lengths of %.64s are those of its worst measured job, not the worst of each segment",
                       set->tasks[i].name);
        notes[set->n_notes] = arena_strndup(&set->arena, text, strlen(text));
        if (!notes[set->n_notes++])
            return -ENOMEM;
    }
    return 0;
}

/*
 * The file is no task set. If it is a plan or a configuration, that says more than the first key
 * that a task set does not have.
 */
static int refuse(const struct cli_args *args, int result, const char *path, const struct input_error *error)
{
    enum file_kind kind = FILE_TASK_SET;
    struct input_error unused;
    struct stat about;
    char *text = NULL;
    size_t size = 0;

    if (result == INPUT_REJECTED && stat(path, &about) == 0 && S_ISREG(about.st_mode) &&
        file_read(path, TASK_SET_FILE_LIMIT, &text, &size) == 0)
        (void)file_kind_guess(path, text, size, &kind, &unused);
    free(text);
    if (kind == FILE_PLAN || kind == FILE_CONFIG)
        return cli_fail_usage(args, "%s: expected a task set, found a file of the kind %s", path,
                              file_kind_names[kind]);
    return cli_input_result(args, result, path, error);
}

int task_lengths_read(const struct cli_args *args, const char *path, bool overlap, struct task_set *ret_set)
{
    struct input_error error;
    int result = task_set_read_file(path, ret_set, &error);

    int status = 0;

    if (!result && (result = task_lengths_compute(ret_set, overlap, &error)))
        task_set_done(ret_set);
    if (result)
        return refuse(args, result, path, &error);
    status = choose_worst(args, ret_set);
    if (!status && note_worst(ret_set) < 0)
        status = cli_fail_environment(args, ENOMEM, "%s", path);
    if (status)
        task_set_done(ret_set);
    return status;
}
