#include "cli/fit/fit_report.h"

#include <stdio.h>
#include <string.h>

#include "cli/analysis_report.h"

#define MAX_CAUSES 4 /* that are printed */

/* What one task adds on one unit, over all segments. */
struct cause {
    size_t task;
    const char *where, *why;
    baton_nsec amount;
};

static struct cause *find_cause(struct cause causes[], size_t *n, size_t max,
                                const struct analysis_term *term)
{
    for (size_t i = 0; i < *n; i++) {
        if (causes[i].task == term->cause && strcmp(causes[i].where, term->where) == 0 &&
            strcmp(causes[i].why, term->why) == 0)
            return &causes[i];
    }
    if (*n == max)
        return NULL;
    causes[*n] = (struct cause){term->cause, term->where, term->why, 0};
    return &causes[(*n)++];
}

/* The other tasks behind the bound, the largest part first. Answers their number. */
static size_t list_causes(const struct fit *fit, struct cause ret[MAX_CAUSES])
{
    struct cause all[64];
    size_t n = 0;
    size_t kept;

    for (size_t t = 0; t < fit->explanation.n_terms; t++) {
        const struct analysis_term *term = &fit->explanation.terms[t];
        struct cause *cause =
            term->cause == fit->task ? NULL : find_cause(all, &n, sizeof all / sizeof all[0], term);

        if (cause)
            cause->amount += term->amount;
    }
    for (kept = 0; kept < n && kept < MAX_CAUSES; kept++) {
        size_t largest = kept;

        for (size_t i = kept; i < n; i++)
            largest = all[i].amount > all[largest].amount ? i : largest;
        ret[kept] = all[largest];
        all[largest] = all[kept];
    }
    return kept;
}

static baton_nsec own_time(const struct fit *fit)
{
    baton_nsec own = 0;

    for (size_t t = 0; t < fit->explanation.n_terms; t++) {
        if (fit->explanation.terms[t].cause == fit->task)
            own += fit->explanation.terms[t].amount;
    }
    return own;
}

/*
 * What delays the task there: the longest uncut span of a less urgent task, or the work of a more
 * urgent one.
 */
static void print_cause(const struct task_set *set, const struct cause *cause)
{
    const struct task *task = &set->tasks[cause->task];
    bool blocks = strcmp(cause->why, "blocking by") == 0;
    bool bus = strcmp(cause->where, "bus") == 0;
    size_t longest = task->n_segments;
    baton_nsec most = 0;

    for (size_t i = 0; i < task->n_segments && blocks; i++) {
        const struct segment *segment = &task->segments[i];
        bool here = segment_is_gpu(segment) && (segment->kind != SEGMENT_KERNEL) == bus;
        baton_nsec piece = here ? segment_piece(&set->platform, segment) : 0;

        piece = here && (piece <= 0 || piece > segment->length) ? segment->length : piece;
        if (piece > most) {
            most = piece;
            longest = i;
        }
    }
    if (longest < task->n_segments)
        printf("    %.3f ms for %s, which has the %s (segment %zu, %s: %.3f ms without a border)\n",
               nsec_to_ms(cause->amount), task->name, cause->where, longest + 1,
               segment_kind_name(task->segments[longest].kind), nsec_to_ms(most));
    else
        printf("    %.3f ms for %s, which %s on the %s\n", nsec_to_ms(cause->amount), task->name,
               blocks ? "runs and cannot be stopped at once" : "is more urgent", cause->where);
}

/* For a task without a bound at any period: which kind of engine is overloaded. */
static void print_load(const struct task_set *set, const struct fit *fit)
{
    static const char *const units[] = {"cpu", "bus", "gpu"};
    double load[3] = {0};
    const unsigned engines[3] = {set->platform.cpus, set->platform.buses, set->platform.gpus};

    for (size_t i = 0; i < set->n_tasks; i++) {
        for (size_t s = 0; s < set->tasks[i].n_segments; s++) {
            const struct segment *segment = &set->tasks[i].segments[s];
            unsigned unit = !segment_is_gpu(segment) ? 0 : segment->kind == SEGMENT_KERNEL ? 2 : 1;

            load[unit] +=
                (double)segment->length * (segment->gpus ? segment->gpus : 1) / (double)set->tasks[i].period;
        }
    }
    printf("%s has no bound, whatever its period: the more urgent tasks leave it no time\n",
           set->tasks[fit->task].name);
    printf("  all tasks together ask for");
    for (unsigned u = 0; u < 3; u++)
        printf("%s %.0f %% of a %s (there %s %u)", u ? "," : "", 100 * load[u], units[u],
               engines[u] == 1 ? "is" : "are", engines[u]);
    putchar('\n');
}

static void print_change(const struct task_set *set, const struct fit_change *change)
{
    const char *name = set->tasks[change->task].name;

    switch (change->kind) {
    case FIT_PIECE:
        printf("  - a smaller piece: piece_ms: %.6g for the kernels and copies of %s (now up to %.6g)\n",
               nsec_to_ms(change->to), name, nsec_to_ms(change->from));
        break;
    case FIT_PERIOD:
        printf("  - a longer period: period_ms: %.6g for %s (now %.6g)\n", nsec_to_ms(change->to), name,
               nsec_to_ms(change->from));
        break;
    case FIT_DEADLINE:
        printf("  - a later deadline: deadline_ms: %.6g for %s (now %.6g)\n", nsec_to_ms(change->to), name,
               nsec_to_ms(change->from));
        break;
    case FIT_GPUS:
        printf("  - another GPU: gpus: %u in the platform (now %u)\n", change->gpus, set->platform.gpus);
        break;
    case FIT_LESS:
        printf("  - one program less: without %s\n", name);
        break;
    }
}

void fit_print(const struct task_set *set, const struct fit *fit)
{
    const struct task *task = &set->tasks[fit->task];
    struct cause causes[MAX_CAUSES];
    size_t n = list_causes(fit, causes);

    putchar('\n');
    if (fit->response == ANALYSIS_UNBOUNDED) {
        print_load(set, fit);
    } else {
        printf("%s does not fit: it may take %.3f ms, %.3f ms more than its deadline of %.3f ms\n",
               task->name, nsec_to_ms(fit->response), nsec_to_ms(fit->response - task->deadline),
               nsec_to_ms(task->deadline));
        printf("  segment %zu (%s, %.3f ms) is the first that may end too late: %.3f ms after the release, "
               "%.3f ms over\n",
               fit->segment + 1, segment_kind_name(task->segments[fit->segment].kind),
               nsec_to_ms(task->segments[fit->segment].length), nsec_to_ms(fit->finish),
               nsec_to_ms(fit->finish - task->deadline));
        if (fit->explanation.n_terms)
            printf("  %.3f ms are its own%s\n", nsec_to_ms(own_time(fit)), n ? "; it waits up to" : "");
        for (size_t i = 0; i < n; i++)
            print_cause(set, &causes[i]);
    }
    if (fit->n_changes)
        printf("Each of these changes alone makes every deadline hold (the changed set was analysed):\n");
    else
        printf("No single change helps: no smaller piece, longer period, further GPU or program less was "
               "found that makes every deadline hold.\n");
    for (size_t i = 0; i < fit->n_changes; i++)
        print_change(set, &fit->changes[i]);
}

void fit_hint(const struct task_set *set, const struct analysis_result *result)
{
    if (analysis_outcome(set, result, NULL) != ANALYSIS_MET && set->n_tasks)
        printf("`--explain %s` says what is in the way, and which change would make it fit.\n",
               set->tasks[0].name);
}

void fit_explain(const struct task_set *set, size_t task, const struct analysis_result *result,
                 const struct analysis_explanation *explanation, const struct fit *fit)
{
    if (explanation->bounded || !fit->tests)
        report_explanation(set, task, result, explanation);
    else if (task != fit->task)
        printf("\n%s: no bound, because %s, which is more urgent, does not fit\n", set->tasks[task].name,
               set->tasks[fit->task].name);
    if (fit->tests)
        fit_print(set, fit);
}

static json_t *change_json(const struct task_set *set, const struct fit_change *change)
{
    static const char *const names[] = {
        [FIT_PIECE] = "piece", [FIT_PERIOD] = "period", [FIT_DEADLINE] = "deadline",
        [FIT_GPUS] = "gpus",   [FIT_LESS] = "less",
    };
    static const char *const keys[] = {
        [FIT_PIECE] = "piece_ms", [FIT_PERIOD] = "period_ms", [FIT_DEADLINE] = "deadline_ms",
        [FIT_GPUS] = "gpus",      [FIT_LESS] = NULL,
    };
    json_t *object = json_pack("{s:s, s:s?}", "change", names[change->kind], "key", keys[change->kind]);

    if (change->kind != FIT_GPUS)
        json_object_set_new(object, "task", json_string(set->tasks[change->task].name));
    if (change->kind == FIT_GPUS) {
        json_object_set_new(object, "from", json_integer((json_int_t)set->platform.gpus));
        json_object_set_new(object, "to", json_integer((json_int_t)change->gpus));
    } else if (change->kind != FIT_LESS) {
        json_object_set_new(object, "from", report_ms(change->from));
        json_object_set_new(object, "to", report_ms(change->to));
    }
    return object;
}

json_t *fit_json(const struct task_set *set, const struct fit *fit)
{
    const struct task *task = &set->tasks[fit->task];
    bool bounded = fit->response != ANALYSIS_UNBOUNDED;
    struct cause causes[MAX_CAUSES];
    size_t n = list_causes(fit, causes);
    json_t *in_the_way = json_array();
    json_t *changes = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(in_the_way, json_pack("{s:s, s:s, s:s, s:o}", "task",
                                                    set->tasks[causes[i].task].name, "where", causes[i].where,
                                                    "why", causes[i].why, "ms", report_ms(causes[i].amount)));
    for (size_t i = 0; i < fit->n_changes; i++)
        json_array_append_new(changes, change_json(set, &fit->changes[i]));
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:s?, s:o, s:o, s:o}", "task", task->name, "bound_ms",
                     report_ms(fit->response), "deadline_ms", report_ms(task->deadline), "over_ms",
                     bounded ? report_ms(fit->response - task->deadline) : json_null(), "segment",
                     bounded ? json_integer((json_int_t)fit->segment) : json_null(), "kind",
                     bounded ? segment_kind_name(task->segments[fit->segment].kind) : NULL, "finish_ms",
                     bounded ? report_ms(fit->finish) : json_null(), "in_the_way", in_the_way, "changes",
                     changes);
}
