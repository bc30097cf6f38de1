/* baton makespan: the answer as text and as JSON. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/draft.h"
#include "cli/makespan/makespan.h"
#include "report/svg.h"

#define MOST_PARTS_SHOWN 8

static const char *const stop_names[] = {"", "seconds", "memory", "size", "groups"};
static const char *const stop_words[] = {
    "", "stopped by the time limit (--seconds)", "stopped by the memory limit (--memory)",
    "too large for an exact search", "barriers of several groups: only templates and the cheap bound apply"};

static const char *assumption(const struct makespan_request *request)
{
    return request->loads_hit ? "every load and store hits the cache and takes one cycle (optimistic; "
                                "--latency L=N relaxes it)"
                              : "every load and store takes exactly the cycles given by --latency (the cheap "
                                "bound covers faster ones)";
}

/* The additional assumption for a string from PTX. */
static const char *const path_assumption =
    "all threads of all warps take the heaviest path (each instruction weighs its cycles / its units)";

/* The assumption about barriers; NULL: there are none. */
static const char *barrier_assumption(const struct makespan_request *request)
{
    if (request->parts.n_parts == 1)
        return NULL;
    return request->grid.resident == 1
               ? "a barrier waits for all warps, which are one group (--resident: several)"
               : "a barrier waits for the warps of its group only";
}

/* The string of warps, counted from 1; the caller frees it. */
static char *format_order(const uint16_t order[], size_t n)
{
    struct draft draft;
    char *text = NULL;
    size_t size;

    if (draft_begin(&draft) < 0)
        return NULL;
    for (size_t i = 0; i < n; i++)
        (void)fprintf(draft.out, i ? " %u" : "%u", order[i] + 1u);
    (void)draft_take(&draft, 0, &text, &size);
    return text;
}

/* Upper bound on the cycles of the whole grid. */
static uint64_t grid_cycles(const struct makespan_request *request, const struct solve_result *result)
{
    return grid_bound(&request->problem, &request->grid, result->upper);
}

static double grid_us(const struct makespan_request *request, const struct solve_result *result)
{
    return (double)grid_cycles(request, result) / request->clock_mhz;
}

/* The letters of one part between barriers; the caller frees it. */
static char *format_part(const struct makespan_request *request, size_t part)
{
    const struct parts *parts = &request->parts;

    return kernel_format(parts->units + parts->begin[part], parts->begin[part + 1] - parts->begin[part]);
}

static json_t *json_parts(const struct makespan_request *request, const struct solve_result *result)
{
    json_t *list = json_array();

    for (size_t i = 0; i < result->n_parts; i++) {
        const struct solve_part *part = &result->parts[i];
        char *text = format_part(request, part->part);

        json_array_append_new(list,
                              json_pack("{s:s, s:I, s:i, s:I, s:b}", "string", text ? text : "", "times",
                                        (json_int_t)part->times, "lower", (int)part->lower, "upper",
                                        (json_int_t)part->upper, "exact", part->lower == part->upper));
        free(text);
    }
    return list;
}

static json_t *json_improvements(const struct anneal_result *anneal)
{
    json_t *list = json_array();

    for (size_t i = 0; i < anneal->n_improvements; i++) {
        const struct anneal_improvement *at = &anneal->improvements[i];

        json_array_append_new(list, json_pack("{s:i, s:s, s:f, s:i}", "instance", (int)at->instance, "start",
                                              start_name((enum start)(at->instance % N_STARTS)), "seconds",
                                              (double)at->after / 1e9, "makespan", (int)at->makespan));
    }
    return list;
}

static json_t *json_answer(const struct makespan_request *request, const struct solve_result *result,
                           double seconds, const char *witness, const char *normalised)
{
    const struct problem *problem = &request->problem;
    json_t *answer = json_pack(
        "{s:s, s:i, s:i, s:I, s:b, s:{s:i, s:i, s:i}, s:s, s:f}", "string", request->given, "warps",
        (int)problem->warps, "lower", (int)result->lower, "upper", (json_int_t)result->upper, "exact",
        (int)result->is_exact, "starts", "round_robin", (int)result->starts[START_ROUND_ROBIN],
        "fixed_priority", (int)result->starts[START_FIXED_PRIORITY], "most_pending",
        (int)result->starts[START_MOST_PENDING], "witness", witness, "seconds", seconds);

    if (!answer)
        return NULL;
    json_object_set_new(answer, "normalised", json_string(normalised));
    json_object_set_new(answer, "units",
                        json_pack("{s:i, s:i, s:i, s:i}", "L", (int)problem->capacity[UNIT_L], "C",
                                  (int)problem->capacity[UNIT_C], "S", (int)problem->capacity[UNIT_S], "D",
                                  (int)problem->capacity[UNIT_D]));
    json_object_set_new(answer, "issue", problem->issue ? json_integer(problem->issue) : json_null());
    json_object_set_new(answer, "stopped",
                        result->stop ? json_string(stop_names[result->stop]) : json_null());
    json_object_set_new(answer, "cheap_bound", json_integer((json_int_t)result->cheap));
    json_object_set_new(answer, "relaxed_bound",
                        result->relaxed ? json_integer(result->relaxed) : json_null());
    json_object_set_new(answer, "assumes", json_string(assumption(request)));
    if (request->is_ptx)
        json_object_set_new(answer, "assumes_path", json_string(path_assumption));
    if (barrier_assumption(request))
        json_object_set_new(answer, "assumes_barriers", json_string(barrier_assumption(request)));
    json_object_set_new(answer, "barriers", json_integer((json_int_t)request->parts.n_parts - 1));
    json_object_set_new(answer, "resident", json_integer(request->grid.resident));
    if (result->n_parts)
        json_object_set_new(answer, "parts", json_parts(request, result));
    json_object_set_new(answer, "worst_path", json_boolean(!request->first_iteration));
    if (result->anneal.iterations)
        json_object_set_new(answer, "iterations", json_integer((json_int_t)result->anneal.iterations));
    if (result->anneal.n_improvements)
        json_object_set_new(answer, "improvements", json_improvements(&result->anneal));
    if (request->clock_mhz > 0) {
        json_object_set_new(answer, "grid_cycles", json_integer((json_int_t)grid_cycles(request, result)));
        json_object_set_new(answer, "upper_us", json_real(grid_us(request, result)));
    }
    return answer;
}

static void print_kernel(const struct makespan_request *request, const char *normalised)
{
    const struct problem *problem = &request->problem;
    size_t count[N_UNITS];

    kernel_count(problem->units, problem->n, count);
    printf("kernel      %s\n", request->given);
    if (strcmp(request->given, normalised) != 0)
        printf("analysed as %s\n", normalised);
    printf("machine     %u warps of %zu cycles,", problem->warps, problem->n);
    for (size_t u = 0; u < N_UNITS; u++) {
        if (count[u])
            printf(" %c=%u", UNIT_LETTERS[u], problem->capacity[u]);
    }
    if (problem->issue)
        printf(", at most %u issued per cycle\n", problem->issue);
    else
        printf(", no cap on issue\n");
}

static void print_parts(const struct makespan_request *request, const struct solve_result *result)
{
    if (request->parts.n_parts > 1)
        printf("barriers    %zu, the warps being %u group%s\n", request->parts.n_parts - 1,
               request->grid.resident, request->grid.resident > 1 ? "s" : "");
    for (size_t i = 0; i < result->n_parts && i < MOST_PARTS_SHOWN; i++) {
        const struct solve_part *part = &result->parts[i];
        char *text = format_part(request, part->part);

        if (part->lower == part->upper)
            printf("            %zu x %s: %u cycles, exact\n", part->times, text ? text : "?", part->lower);
        else
            printf("            %zu x %s: between %u and %llu cycles\n", part->times, text ? text : "?",
                   part->lower, (unsigned long long)part->upper);
        free(text);
    }
    if (result->n_parts > MOST_PARTS_SHOWN)
        printf("            and %zu other parts\n", result->n_parts - MOST_PARTS_SHOWN);
}

/*
 * The interval. A string from PTX is only one path, and with --first-iteration not even a long one:
 * the text says so.
 */
static void print_interval(const struct makespan_request *request, const struct solve_result *result)
{
    const char *what = request->first_iteration ? "one pass  " : "worst case";
    const char *of = request->is_ptx ? " for this path" : "";

    if (result->is_exact)
        printf("%s  %u cycles, proven exact%s\n", what, result->lower, of);
    else
        printf("%s  between %u and %llu cycles%s, not proven exact\n", what, result->lower,
               (unsigned long long)result->upper, of);
    if (result->stop)
        printf("            %s\n", stop_words[result->stop]);
}

static void print_time(const struct makespan_request *request, const struct solve_result *result)
{
    printf("time        %s%.3f us (%llu cycles) for %llu group%s on %llu multiprocessor%s at %g MHz\n",
           request->first_iteration ? "" : "at most ", grid_us(request, result),
           (unsigned long long)grid_cycles(request, result), (unsigned long long)request->grid.groups,
           request->grid.groups == 1 ? "" : "s", (unsigned long long)request->grid.multiprocessors,
           request->grid.multiprocessors == 1 ? "" : "s", request->clock_mhz);
    printf("            %u at a time on each; a waiting group starts as soon as one ends\n",
           request->grid.resident);
}

/* The first instance to find the longest schedule; JSON and the picture have every step of all. */
static void print_annealing(const struct anneal_result *anneal)
{
    const struct anneal_improvement *best = NULL;

    for (size_t i = 0; i < anneal->n_improvements; i++) {
        const struct anneal_improvement *at = &anneal->improvements[i];

        if (!best || at->makespan > best->makespan ||
            (at->makespan == best->makespan && at->after < best->after))
            best = at;
    }
    if (best)
        printf("annealing   %u cycles after %.4f s, by instance %u (%s)\n", best->makespan,
               (double)best->after / 1e9, best->instance,
               start_name((enum start)(best->instance % N_STARTS)));
}

static void print_people(const struct makespan_request *request, const struct solve_result *result,
                         double seconds, const char *witness, const char *normalised)
{
    print_kernel(request, normalised);
    print_parts(request, result);
    printf("starts      round-robin %u, fixed-priority %u, most-pending %u\n",
           result->starts[START_ROUND_ROBIN], result->starts[START_FIXED_PRIORITY],
           result->starts[START_MOST_PENDING]);
    print_interval(request, result);
    if (request->clock_mhz > 0)
        print_time(request, result);
    print_annealing(&result->anneal);
    printf("witness     %s\n", witness);
    printf("assumes     %s\n", assumption(request));
    if (barrier_assumption(request))
        printf("            %s\n", barrier_assumption(request));
    if (request->is_ptx)
        printf("            %s\n", path_assumption);
    if (request->first_iteration)
        printf("            loops without a bound pass once (--first-iteration): not a worst case\n");
    printf("took        %.3f s\n", seconds);
}

int makespan_print(const struct cli_args *args, const struct makespan_request *request,
                   const struct solve_result *result, double seconds)
{
    char *witness = format_order(result->witness, request->problem.n * request->problem.warps);
    char *normalised = kernel_format(request->kernel.units, request->kernel.n);
    json_t *answer = NULL;
    int status = CLI_YES;

    if (!witness || !normalised) {
        status = cli_fail_environment(args, -ENOMEM, "the answer");
    } else if (cli_has(args, "json")) {
        answer = json_answer(request, result, seconds, witness, normalised);
        if (!answer)
            status = cli_fail_environment(args, -ENOMEM, "the answer");
        else if (json_dumpf(answer, stdout, JSON_COMPACT) == 0) /* main() reports a failure to write */
            (void)putchar('\n');
        json_decref(answer);
    } else {
        print_people(request, result, seconds, witness, normalised);
    }
    free(witness);
    free(normalised);
    return status;
}

/* One instance's steps, extended to the end of the run. */
static size_t fill_series(const struct anneal_result *anneal, size_t first, double seconds, double x[],
                          double y[])
{
    size_t n = 0;
    unsigned instance = anneal->improvements[first].instance;

    for (size_t i = first; i < anneal->n_improvements && anneal->improvements[i].instance == instance; i++) {
        x[n] = (double)anneal->improvements[i].after / 1e9;
        y[n++] = anneal->improvements[i].makespan;
    }
    x[n] = seconds;
    y[n] = y[n - 1];
    return n;
}

static void draw(const struct anneal_result *anneal, double seconds, double points[], char names[][40],
                 struct svg_series series[], FILE *out)
{
    size_t n_series = 0;
    size_t at = 0;
    double low = anneal->makespan;

    for (size_t i = 0, n; i < anneal->n_improvements; i += n) {
        unsigned instance = anneal->improvements[i].instance;
        double *x = points + at;
        double *y;

        for (n = 1; i + n < anneal->n_improvements && anneal->improvements[i + n].instance == instance;)
            n++;
        y = x + n + 1;
        (void)fill_series(anneal, i, seconds, x, y);
        at += 2 * (n + 1);
        low = y[0] < low ? y[0] : low;
        (void)snprintf(names[n_series], sizeof names[0], "%u %s", instance + 1,
                       start_name((enum start)(instance % N_STARTS)));
        series[n_series] =
            (struct svg_series){.name = names[n_series], .x = x, .y = y, .n = n + 1, .steps = true};
        n_series++;
    }
    svg_chart(&(struct svg_chart){.title = "Estimates of the worst-case makespan over time",
                                  .x_label = "seconds",
                                  .y_label = "cycles",
                                  .has_y_range = true,
                                  .y_low = low - 1,
                                  .y_high = anneal->makespan + 1,
                                  .series = series,
                                  .n_series = n_series},
              out);
}

int makespan_plot(const struct cli_args *args, const struct solve_result *result, double seconds,
                  const char *path)
{
    const struct anneal_result *anneal = &result->anneal;
    size_t n = anneal->n_improvements;
    double *points;
    char(*names)[40];
    struct svg_series *series;
    struct draft draft;
    int status;

    if (n == 0)
        return cli_fail_usage(args, "--plot: nothing was annealed; use --method anneal");
    points = calloc(4 * n, sizeof points[0]);
    names = calloc(n, sizeof names[0]);
    series = calloc(n, sizeof series[0]);
    status = draft_begin(&draft);
    if (!points || !names || !series)
        status = -ENOMEM;
    if (!status)
        draw(anneal, seconds, points, names, series, draft.out);
    status = draft_finish(&draft, path, status);
    free(points);
    free(names);
    free(series);
    return status ? cli_fail_environment(args, status, "%s", path) : 0;
}
