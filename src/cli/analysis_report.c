#include "cli/analysis_report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/segment.h"

#define NAMES_SHOWN 20 /* tasks that a message names */

static const char *const shape_names[][4] = {
    [BLOCKING_NONE] = {NULL},
    [BLOCKING_LOCKS] = {"token", "donation", "execution", "copy"},
    [BLOCKING_UNITS] = {"cpu", "bus", "gpu", NULL},
};

json_t *report_ms(baton_nsec duration)
{
    return duration == ANALYSIS_UNBOUNDED ? json_null() : json_real(nsec_to_ms(duration));
}

static json_t *blocking_json(enum blocking_shape shape, const struct task_result *task)
{
    json_t *object;

    if (shape == BLOCKING_NONE)
        return json_null();
    object = json_object();
    for (size_t i = 0; i < 4 && shape_names[shape][i]; i++)
        json_object_set_new(object, shape_names[shape][i], report_ms(task->blocking[i]));
    return object;
}

json_t *report_json(const struct task_set *set, const struct analysis *analysis,
                    const struct analysis_result *result)
{
    json_t *tasks = json_array();
    json_t *conditions = json_array();
    json_t *notes = json_array();
    enum analysis_outcome outcome;

    for (size_t i = 0; i < set->n_tasks; i++) {
        const struct task_result *task = &result->tasks[i];

        json_array_append_new(
            tasks,
            json_pack("{s:s, s:s, s:i, s:o, s:o, s:o, s:o, s:o}", "name", set->tasks[i].name, "mode",
                      task->gpus > 1 ? "multi" : "single", "gpus", (int)task->gpus, "response_ms",
                      report_ms(task->response), "deadline_ms",
                      set->tasks[i].no_deadline ? json_null() : report_ms(set->tasks[i].deadline),
                      "tardiness_ms", report_ms(task->tardiness), "priority_point_ms",
                      task->has_priority_point ? json_real(nsec_to_ms(task->priority_point)) : json_null(),
                      "blocking_ms", blocking_json(result->shape, task)));
    }
    for (size_t i = 0; i < set->n_conditions; i++)
        json_array_append_new(conditions, json_string(set->conditions[i]));
    for (size_t i = 0; i < set->n_notes; i++)
        json_array_append_new(notes, json_string(set->notes[i]));
    outcome = analysis_outcome(set, result, NULL);
    return json_pack("{s:s, s:b, s:b, s:s, s:b, s:o, s:o, s:o}", "analysis", analysis->name, "schedulable",
                     result->schedulable, "deadlines_met", outcome == ANALYSIS_MET, "verdict",
                     analysis_outcome_names[outcome], "conditional", set->n_conditions > 0, "conditions",
                     conditions, "notes", notes, "tasks", tasks);
}

int report_status(const struct task_set *set, const struct analysis_result *result)
{
    static const int statuses[] = {
        [ANALYSIS_MET] = CLI_YES, [ANALYSIS_TARDY] = CLI_TARDY, [ANALYSIS_REJECTED] = CLI_NO};

    return statuses[analysis_outcome(set, result, NULL)];
}

int report_print(const struct cli_args *args, json_t *object, int otherwise)
{
    if (!object)
        return cli_fail_environment(args, -ENOMEM, "answer");
    json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15));
    putchar('\n');
    json_decref(object);
    return otherwise;
}

static void print_ms(baton_nsec duration, int width)
{
    if (duration == ANALYSIS_UNBOUNDED)
        printf(" %*s", width, "unbounded");
    else
        printf(" %*.3f", width, nsec_to_ms(duration));
}

/* `any`, `chosen` or the GPUs, as in a file; owned. NULL: no memory. */
static char *placement_text(const struct placement *placement)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    placement_print(placement, out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

void report_json_placements(const struct task_set *set, const struct placement *placements, json_t *object)
{
    json_t *tasks = json_object_get(object, "tasks");

    for (size_t i = 0; i < set->n_tasks && i < json_array_size(tasks); i++) {
        json_t *where = NULL;

        if (placements[i].kind != PLACEMENT_FIXED)
            where = json_string(placements[i].kind == PLACEMENT_ANY ? "any" : "chosen");
        else
            where = json_array();
        for (unsigned q = 0; q < PLATFORM_MAX_GPUS && json_is_array(where); q++) {
            if (placements[i].gpus >> q & 1)
                json_array_append_new(where, json_integer(q));
        }
        if (task_uses_gpu(&set->tasks[i]))
            json_object_set_new(json_array_get(tasks, i), "placement", where);
        else
            json_decref(where);
    }
}

/* The answer in words, the assumptions behind it, and whether a profile enforces them. */
static void print_verdict(const struct task_set *set, const struct analysis *analysis,
                          const struct analysis_result *result)
{
    size_t latest = 0;
    enum analysis_outcome outcome = analysis_outcome(set, result, &latest);

    printf("%s: %s", analysis->name, set->n_conditions ? "conditionally " : "");
    if (outcome == ANALYSIS_TARDY)
        printf(
            "bounded tardiness: every response time is bounded, but %s may end %.3f ms after its deadline\n",
            set->tasks[latest].name,
            nsec_to_ms(result->tasks[latest].response - set->tasks[latest].deadline));
    else
        printf("%s%s%s\n", outcome == ANALYSIS_MET ? "schedulable" : "not schedulable",
               result->reason ? ": " : "", result->reason ? result->reason : "");
    if (set->n_conditions)
        printf("Computed lengths are bounds only if:\n");
    for (size_t i = 0; i < set->n_conditions; i++)
        printf("  - %s\n", set->conditions[i]);
    for (size_t i = 0; i < set->n_notes; i++)
        printf("Note: %s.\n", set->notes[i]);
    if (!analysis->profile)
        printf("No bound is claimed: no run-time profile enforces the rules of %s.\n", analysis->name);
}

int report_table(const struct task_set *set, const struct analysis *analysis,
                 const struct analysis_result *result, const struct placement *placements)
{
    size_t *order = calloc(set->n_tasks + 1, sizeof *order);
    const char *const *names = shape_names[result->shape];
    int width = 4;

    if (!order || task_set_order(set, order)) {
        free(order);
        return -ENOMEM;
    }
    for (size_t i = 0; i < set->n_tasks; i++) {
        int length = (int)strlen(set->tasks[i].name);

        width = length > width ? length : width;
    }
    printf("%-*s %5s%s %12s %12s", width, "task", "GPUs", placements ? " placed" : "", "response ms",
           "deadline ms");
    for (size_t b = 0; b < 4 && names[b]; b++)
        printf(" %10s", names[b]);
    putchar('\n');
    for (size_t rank = 0; rank < set->n_tasks; rank++) {
        size_t i = order[rank];

        printf("%-*s %5u", width, set->tasks[i].name, result->tasks[i].gpus);
        if (placements) {
            char *where = placement_text(&placements[i]);

            printf(" %-6s", task_uses_gpu(&set->tasks[i]) && where ? where : "-");
            free(where);
        }
        if (set->tasks[i].no_deadline) {
            printf(" %12s %12s\n", "-", "none");
            continue;
        }
        print_ms(result->tasks[i].response, 12);
        print_ms(set->tasks[i].deadline, 12);
        for (size_t b = 0; b < 4 && names[b]; b++)
            print_ms(result->tasks[i].blocking[b], 10);
        printf("%s\n", result->tasks[i].response == ANALYSIS_UNBOUNDED ||
                               result->tasks[i].response > set->tasks[i].deadline
                           ? "  !"
                           : "");
    }
    free(order);
    print_verdict(set, analysis, result);
    return 0;
}

static bool is_own(const struct analysis_term *term)
{
    return strcmp(term->why, "own") == 0;
}

static bool is_slack(const struct analysis_term *term)
{
    return strcmp(term->why, "slack") == 0;
}

/* Does the term belong to the group: the same unit in the same segment? */
static bool waits_with(const struct analysis_term *term, const struct analysis_term *head)
{
    return !is_own(term) && !is_slack(term) && term->segment == head->segment &&
           strcmp(term->where, head->where) == 0;
}

/* One group: terms of the same place and segment. */
static void print_group(const struct task_set *set, size_t task, const struct analysis_explanation *e,
                        size_t first)
{
    const struct analysis_term *head = &e->terms[first];
    baton_nsec sum = 0;
    const char *separator = ":";

    for (size_t t = first; t < e->n_terms; t++) {
        if (waits_with(&e->terms[t], head))
            sum += e->terms[t].amount;
    }
    printf("  %.3f ms waiting for the %s", nsec_to_ms(sum), head->where);
    if (head->segment == ANALYSIS_JOB)
        printf(" (all its segments together)");
    else
        printf(" (segment %zu, %s)", head->segment + 1,
               segment_kind_name(set->tasks[task].segments[head->segment].kind));
    for (size_t t = first; t < e->n_terms; t++) {
        const struct analysis_term *term = &e->terms[t];

        if (!waits_with(term, head))
            continue;
        if (term->cause == task)
            printf("%s %.3f for its own other pieces", separator, nsec_to_ms(term->amount));
        else
            printf("%s %.3f %s %s", separator, nsec_to_ms(term->amount), term->why,
                   set->tasks[term->cause].name);
        separator = ",";
    }
    putchar('\n');
}

void report_explanation(const struct task_set *set, size_t task, const struct analysis_result *result,
                        const struct analysis_explanation *e)
{
    baton_nsec own = 0;

    if (!e->bounded) {
        printf("\n%s: no bound to explain\n", set->tasks[task].name);
        return;
    }
    for (size_t t = 0; t < e->n_terms; t++)
        own += is_own(&e->terms[t]) ? e->terms[t].amount : 0;
    printf("\n%s: at most %.3f ms\n  %.3f ms of its own\n", set->tasks[task].name,
           nsec_to_ms(result->tasks[task].response), nsec_to_ms(own));
    for (size_t t = 0; t < e->n_terms; t++) {
        bool first = waits_with(&e->terms[t], &e->terms[t]);

        for (size_t before = 0; before < t && first; before++)
            first = !waits_with(&e->terms[before], &e->terms[t]);
        if (first)
            print_group(set, task, e, t);
        if (is_slack(&e->terms[t]))
            printf("  %.3f ms to spare\n", nsec_to_ms(e->terms[t].amount));
    }
}

json_t *report_explanation_json(const struct task_set *set, const struct analysis_explanation *e)
{
    json_t *terms = json_array();

    for (size_t t = 0; t < e->n_terms; t++) {
        const struct analysis_term *term = &e->terms[t];

        json_array_append_new(
            terms,
            json_pack("{s:s, s:s, s:o, s:s, s:o}", "where", term->where, "why", term->why, "segment",
                      term->segment == ANALYSIS_JOB ? json_null() : json_integer((json_int_t)term->segment),
                      "task", set->tasks[term->cause].name, "ms", report_ms(term->amount)));
    }
    return terms;
}

int report_find_task(const struct cli_args *args, const struct task_set *set, const char *name,
                     size_t *ret_task)
{
    for (size_t i = 0; i < set->n_tasks; i++) {
        if (strcmp(set->tasks[i].name, name) == 0) {
            *ret_task = i;
            return 0;
        }
    }
    (void)fprintf(stderr, "baton %s: no task is called '%s'; there are ", args->command->name, name);
    for (size_t i = 0; i < set->n_tasks && i < NAMES_SHOWN; i++)
        (void)fprintf(stderr, "%s%s", i ? ", " : "", set->tasks[i].name);
    (void)fprintf(stderr, "%s\n", set->n_tasks > NAMES_SHOWN ? ", ..." : "");
    return CLI_USAGE;
}

const struct analysis *report_find_analysis(const struct cli_args *args)
{
    const char *name = cli_value(args, "analysis", "holistic");
    const struct analysis *analysis = analysis_find(name);
    char known[512] = "";

    if (analysis)
        return analysis;
    for (size_t i = 0; analyses[i]; i++) {
        (void)strncat(known, i ? ", " : "", sizeof known - strlen(known) - 1);
        (void)strncat(known, analyses[i]->name, sizeof known - strlen(known) - 1);
    }
    (void)cli_fail_usage(args, "no analysis is called '%s'; there are %s", name, known);
    return NULL;
}

int report_check_deadlines(const struct cli_args *args, const struct task_set *set,
                           const struct analysis *analysis)
{
    for (size_t i = 0; i < set->n_tasks; i++) {
        if (set->tasks[i].no_deadline && strncmp(analysis->name, "holistic", 8) != 0)
            return cli_fail_usage(
                args, "task %s has no deadline, and %s ranks tasks by deadlines; holistic takes it",
                set->tasks[i].name, analysis->name);
    }
    return 0;
}

int report_input_result(const struct cli_args *args, int result, const char *path, struct input_error *error)
{
    if (result == INPUT_REJECTED)
        (void)snprintf(error->file, sizeof error->file, "%s", path);
    return cli_input_result(args, result, path, error);
}
