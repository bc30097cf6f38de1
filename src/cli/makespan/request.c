/* baton makespan: turns options into a problem. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/makespan/makespan.h"
#include "makespan/path/path.h"

#define MAX_LOOPS 48

/* Reads L=1,C=4 into values[]; each is from 1 to most. */
static int read_units(const struct cli_args *args, const char *name, unsigned most, unsigned values[N_UNITS])
{
    const char *text;

    for (size_t i = 0; (text = cli_nth_value(args, name, i)) != NULL; i++) {
        const char *at = text;

        do {
            const char *letter = *at ? strchr(UNIT_LETTERS, *at) : NULL;
            char *end;
            unsigned long value;

            if (!letter || at[1] != '=')
                return cli_fail_usage(args, "--%s: expected L=, C=, S= or D= and a number, found '%s'", name,
                                      at);
            errno = 0;
            value = strtoul(at + 2, &end, 10);
            if (end == at + 2 || at[2] == '-' || errno || value < 1 || value > most || (*end && *end != ','))
                return cli_fail_usage(args, "--%s: expected a whole number from 1 to %u for %c, found '%s'",
                                      name, most, *at, at + 2);
            values[letter - UNIT_LETTERS] = (unsigned)value;
            at = *end ? end + 1 : end;
        } while (*at);
    }
    return 0;
}

/* One --loop LABEL=N; the label is copied into labels[]. */
static int read_loops(const struct cli_args *args, char *labels[], struct path_bound bounds[], size_t *ret_n)
{
    const char *text;
    size_t n = 0;

    for (; (text = cli_nth_value(args, "loop", n)) != NULL; n++) {
        const char *equals = strrchr(text, '=');
        char *end = NULL;
        unsigned long passes = 0;

        if (n == MAX_LOOPS)
            return cli_fail_usage(args, "--loop: expected at most %d of them", MAX_LOOPS);
        errno = 0;
        if (equals && equals != text)
            passes = strtoul(equals + 1, &end, 10);
        if (!end || *end || end == equals + 1 || equals[1] == '-' || errno || passes < 1 ||
            passes > KERNEL_MAX_INSTRUCTIONS)
            return cli_fail_usage(args, "--loop: expected LABEL=N with N from 1 to %zu, found '%s'",
                                  KERNEL_MAX_INSTRUCTIONS, text);
        labels[n] = strndup(text, (size_t)(equals - text));
        if (!labels[n])
            return cli_fail_environment(args, -ENOMEM, "--loop");
        bounds[n] = (struct path_bound){.label = labels[n], .passes = passes};
        *ret_n = n + 1;
    }
    return 0;
}

static int read_ptx(const struct cli_args *args, const struct makespan_request *request,
                    const struct kernel_timing *timing, struct kernel *ret_kernel)
{
    const char *path = cli_value(args, "ptx", NULL);
    char *labels[MAX_LOOPS] = {0};
    struct path_bound bounds[MAX_LOOPS];
    struct path_settings settings = {.bounds = bounds, .first_iteration = request->first_iteration};
    struct input_error error;
    char *text = NULL;
    size_t size = 0;
    int result = read_loops(args, labels, bounds, &settings.n_bounds);

    if (result == 0) {
        kernel_weights(timing, request->problem.capacity, settings.weight);
        result = file_read(path, PATH_FILE_LIMIT, &text, &size);
        if (result == -EFBIG)
            result = input_reject(&error, path, 0, 0, "a larger one", "a file of at most 64 MiB");
        if (result == 0)
            result =
                path_read(path, text, size, cli_value(args, "entry", NULL), &settings, ret_kernel, &error);
        result = cli_input_result(args, result, path, &error);
    }
    free(text);
    for (size_t i = 0; i < MAX_LOOPS; i++)
        free(labels[i]);
    return result;
}

/* The instruction string before normalisation, from --string or --ptx. */
static int read_kernel(const struct cli_args *args, struct makespan_request *request,
                       const struct kernel_timing *timing, struct kernel *ret_kernel)
{
    const char *string = cli_value(args, "string", NULL);
    struct input_error error;
    int result;

    if (!string == !cli_has(args, "ptx"))
        return cli_fail_usage(args, "expected either --string S or --ptx FILE");
    if (string && (cli_has(args, "entry") || cli_has(args, "loop") || cli_has(args, "first-iteration")))
        return cli_fail_usage(args, "--entry, --loop and --first-iteration belong to --ptx");
    if (string) {
        result = cli_input_result(args, kernel_parse(string, strlen(string), "--string", ret_kernel, &error),
                                  "--string", &error);
        request->given = result ? NULL : strdup(string);
    } else {
        result = read_ptx(args, request, timing, ret_kernel);
        request->given = result ? NULL : kernel_format(ret_kernel->units, ret_kernel->n);
    }
    if (result == 0 && !request->given)
        result = cli_fail_environment(args, -ENOMEM, "the string");
    return result;
}

static int read_numbers(const struct cli_args *args, struct makespan_request *request)
{
    long long warps = 0, issue = 0, multiprocessors = 1, resident = 1, groups = 1;

    if (cli_int(args, "warps", 1, KERNEL_MAX_WARPS, &warps) ||
        cli_int(args, "issue", 1, KERNEL_MAX_UNITS, &issue) ||
        cli_double(args, "clock", 1, 1e6, &request->clock_mhz) ||
        cli_int(args, "multiprocessors", 1, GRID_MAX_MULTIPROCESSORS, &multiprocessors) ||
        cli_int(args, "resident", 1, KERNEL_MAX_WARPS, &resident) ||
        cli_int(args, "groups", 1, GRID_MAX_GROUPS, &groups))
        return CLI_USAGE;
    if (warps == 0 && !cli_has(args, "evaluate"))
        return cli_fail_usage(args, "expected --warps N");
    if (warps % resident)
        return cli_fail_usage(args, "--resident: expected a divisor of the %lld warps, found %lld", warps,
                              resident);
    request->problem.warps = (unsigned)warps;
    request->problem.issue = (unsigned)issue;
    request->grid = (struct grid){.resident = (unsigned)resident,
                                  .multiprocessors = (uint64_t)multiprocessors,
                                  .groups = (uint64_t)groups};
    return 0;
}

static int read_timing(const struct cli_args *args, struct kernel_timing *timing)
{
    long long warp_size = 32;

    if (cli_int(args, "warp-size", 1, 1024, &warp_size) ||
        read_units(args, "unit-count", 1u << 16, timing->count) ||
        read_units(args, "latency", KERNEL_MAX_LATENCY, timing->latency))
        return CLI_USAGE;
    timing->warp_size = (unsigned)warp_size;
    for (size_t u = 0; u < N_UNITS; u++) {
        if (timing->count[u] / timing->warp_size > KERNEL_MAX_UNITS)
            return cli_fail_usage(args, "--unit-count: expected at most %u warps wide, found %u units of %c",
                                  KERNEL_MAX_UNITS, timing->count[u], UNIT_LETTERS[u]);
    }
    return 0;
}

/* Turns the original string into the problem to analyse. */
static int normalise(const struct cli_args *args, struct makespan_request *request,
                     const struct kernel_timing *timing, const struct kernel *kernel)
{
    struct problem *problem = &request->problem;
    struct input_error error;
    int result = kernel_normalise(kernel, timing, problem->capacity, &request->kernel, &error);

    result = cli_input_result(args, result, "--string", &error);
    if (result)
        return result;
    if (problem->warps && request->kernel.n > KERNEL_MAX_ELEMENTS / problem->warps)
        return cli_fail_usage(args, "expected at most %zu instructions in all warps, found %zu x %u",
                              KERNEL_MAX_ELEMENTS, request->kernel.n, problem->warps);
    if (parts_split(&request->kernel, &request->parts))
        return cli_fail_environment(args, -ENOMEM, "the string");
    problem->units = request->parts.units;
    problem->n = request->parts.n;
    return 0;
}

int makespan_request_read(const struct cli_args *args, struct makespan_request *ret_request)
{
    struct makespan_request request = {.problem = {.capacity = {1, 1, 1, 1}},
                                       .is_ptx = cli_has(args, "ptx"),
                                       .first_iteration = cli_has(args, "first-iteration")};
    struct kernel_timing timing = {0};
    struct kernel kernel = {0};
    int result = read_numbers(args, &request);

    if (result == 0)
        result = read_units(args, "units", KERNEL_MAX_UNITS, request.problem.capacity);
    if (result == 0)
        result = read_timing(args, &timing);
    if (result == 0)
        result = read_kernel(args, &request, &timing, &kernel);
    if (result == 0)
        result = normalise(args, &request, &timing, &kernel);
    request.loads_hit = timing.latency[UNIT_L] <= 1;
    kernel_done(&kernel);
    if (result) {
        makespan_request_done(&request);
        return result;
    }
    *ret_request = request;
    return 0;
}

void makespan_request_done(struct makespan_request *request)
{
    free(request->given);
    kernel_done(&request->kernel);
    parts_done(&request->parts);
}
