/* baton makespan: the worst-case makespan of a kernel's warps on one multiprocessor. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cli/makespan/makespan.h"
#include "makespan/schedule.h"

#define AUTO_SECONDS   60.0
#define DEFAULT_MEMORY 1000 /* MB */

/* --evaluate: the schedule of one string. */
static int evaluate(const struct cli_args *args, struct makespan_request *request)
{
    struct problem *problem = &request->problem;
    struct input_error error;
    uint16_t *order = NULL;
    uint32_t *cycles = NULL;
    unsigned warps = 0, makespan = 0;
    size_t n;
    int result = schedule_parse(cli_value(args, "evaluate", ""), problem->n, &order, &warps, &error);

    result = cli_input_result(args, result, "--evaluate", &error);
    if (result)
        return result;
    if (problem->warps && problem->warps != warps) {
        free(order);
        return cli_fail_usage(args, "--evaluate: expected a string of %u warps, found %u", problem->warps,
                              warps);
    }
    if (warps % request->grid.resident) {
        free(order);
        return cli_fail_usage(args, "--resident: expected a divisor of the %u warps, found %u", warps,
                              request->grid.resident);
    }
    problem->warps = warps;
    n = problem->n * warps;
    cycles = calloc(n, sizeof cycles[0]);
    result = cycles
                 ? parts_evaluate(problem, &request->parts, request->grid.resident, order, cycles, &makespan)
                 : -ENOMEM;
    if (result) {
        result = cli_fail_environment(args, result, "--evaluate");
    } else if (cli_has(args, "json")) {
        json_t *list = json_array();

        for (size_t i = 0; i < n; i++)
            json_array_append_new(list, json_integer((json_int_t)cycles[i] + 1));
        list = json_pack("{s:i, s:o}", "makespan", (int)makespan, "cycles", list);
        if (!list || json_dumpf(list, stdout, JSON_COMPACT) || putchar('\n') == EOF)
            result = cli_fail_environment(args, -ENOMEM, "--evaluate");
        json_decref(list);
    } else {
        printf("makespan    %u\ncycles     ", makespan);
        for (size_t i = 0; i < n; i++)
            printf(" %u", cycles[i] + 1);
        printf("\n");
    }
    free(order);
    free(cycles);
    return result;
}

static int read_settings(const struct cli_args *args, struct solve_settings *ret_settings)
{
    size_t method = SOLVE_AUTO, move = ANNEAL_REINSERT;
    long long iterations = 2000000, instances = 8, seed = 1, threads = 0, memory = DEFAULT_MEMORY;
    double seconds = 0, temperature = 0.3;

    if (cli_choice(args, "method", &method) || cli_choice(args, "move", &move) ||
        cli_int(args, "iterations", 1, 1000000000000, &iterations) ||
        cli_int(args, "instances", 1, ANNEAL_MAX_INSTANCES, &instances) ||
        cli_int(args, "threads", 1, 64, &threads) || cli_int(args, "seed", 0, INT64_MAX, &seed) ||
        cli_int(args, "memory", 1, 1 << 20, &memory) || cli_double(args, "seconds", 0.001, 1e7, &seconds) ||
        cli_double(args, "temperature", 0, 1e6, &temperature))
        return CLI_USAGE;
    if (method == SOLVE_AUTO && seconds == 0)
        seconds = AUTO_SECONDS;
    *ret_settings = (struct solve_settings){
        .method = (enum solve_method)method,
        .memory = (size_t)memory * 1000000,
        .until_at = seconds > 0 ? clock_now() + (baton_nsec)(seconds * 1e9) : 0,
        .anneal = {.iterations = (uint64_t)iterations,
                   .instances = (unsigned)instances,
                   .threads = (unsigned)threads,
                   .temperature = temperature,
                   .move = (enum anneal_move)move,
                   .seed = (uint64_t)seed},
    };
    return 0;
}

static int run(const struct cli_args *args)
{
    struct makespan_request request;
    struct solve_settings settings;
    struct solve_result answer;
    baton_nsec began_at = clock_now();
    const char *plot = cli_value(args, "plot", NULL);
    double seconds;
    int result = read_settings(args, &settings);

    if (result == 0)
        result = makespan_request_read(args, &request);
    if (result)
        return result;
    if (cli_has(args, "evaluate")) {
        result = evaluate(args, &request);
        makespan_request_done(&request);
        return result;
    }
    if (plot && request.parts.n_parts > 1) {
        makespan_request_done(&request);
        return cli_fail_usage(args,
                              "--plot: expected a string without barriers, whose parts are annealed apart");
    }
    result = solve_parts(&request.problem, &request.parts, request.grid.resident, &settings, &answer);
    if (result) {
        makespan_request_done(&request);
        return cli_fail_environment(args, result, "the search");
    }
    seconds = (double)(clock_now() - began_at) / 1e9;
    if (plot)
        result = makespan_plot(args, &answer, seconds, plot);
    if (result == 0)
        result = makespan_print(args, &request, &answer, seconds);
    solve_result_done(&answer);
    makespan_request_done(&request);
    return result;
}

static const struct cli_option options[] = {
    {"string", 0, "S", "kernel instruction string over L, C, S, D, with / for a barrier: LLCC, 2L2C, 2LC/2C"},
    {"ptx", 0, "FILE", "read the string from PTX, as nvcc -ptx prints it"},
    {"entry", 0, "NAME", "the kernel in the PTX file; needed if there are several"},
    {"loop", 0, "LABEL=N", "the loop at LABEL is passed at most N times; may be repeated"},
    {"first-iteration", 0, NULL, "pass loops without a bound once, as the paper does"},
    {"units", 0, "L=1,C=4", "warps per cycle on each kind of unit (default 1 each)"},
    {"issue", 0, "N", "at most N instructions issued per cycle in all (default: no cap)"},
    {"warps", 'w', "N", "warps that run together"},
    {"unit-count", 0, "L=16,...", "physical units instead; fewer than a warp has threads make it slower"},
    {"warp-size", 0, "N", "threads of a warp, for --unit-count (default 32)"},
    {"latency", 0, "S=4,...", "cycles that an instruction takes (default 1)"},
    {"method", 'm', "auto|anneal|beam|exact|bound", "how to look for it (default auto)"},
    {"iterations", 0, "N", "annealing: iterations per instance (default 2000000)"},
    {"instances", 0, "N", "annealing: independent instances (default 8)"},
    {"temperature", 0, "T", "annealing: initial temperature (default 0.3)"},
    {"move", 0, "reinsert|swap", "annealing: how a neighbour is made (default reinsert)"},
    {"threads", 0, "N", "annealing: threads (default one per processor); the result is the same"},
    {"seed", 0, "N", "random numbers (default 1)"},
    {"seconds", 0, "S", "time limit (default 60 for auto, none otherwise)"},
    {"memory", 0, "MB", "memory for tables, in MB (default 1000)"},
    {"evaluate", 0, "\"1 1 2 ...\"", "only the schedule of this pseudo-precedence string"},
    {"plot", 0, "FILE.svg", "annealing: draw the estimates over time"},
    {"clock", 0, "MHZ", "also give the time of the whole grid, at this clock"},
    {"multiprocessors", 0, "N", "with --clock: multiprocessors of the GPU (default 1)"},
    {"groups", 0, "N", "with --clock: groups of the grid (default 1)"},
    {"resident", 0, "N", "groups that the warps belong to; a barrier waits for one group (default 1)"},
    {"json", 0, NULL, "print one JSON object"},
    {0},
};

const struct cli_command command_makespan = {
    .name = "makespan",
    .summary = "bound the worst-case makespan of a kernel's warps",
    .arguments = "",
    .options = options,
    .example = "baton makespan --string 5L9C2L9C --units L=1,C=4 --warps 8",
    .run = run,
};
