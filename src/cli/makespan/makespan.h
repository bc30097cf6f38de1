/*
 * Shared by the parts of `baton makespan`: the request as read from the command line, and its
 * printing.
 */
#ifndef CLI_MAKESPAN_H
#define CLI_MAKESPAN_H

#include <stdbool.h>

#include "cli/subcommand.h"
#include "makespan/kernel.h"
#include "makespan/parts.h"
#include "makespan/search/grid.h"
#include "makespan/search/solve.h"

struct makespan_request {
    char *given;            /* owned; the original string, from the option or from PTX */
    struct kernel kernel;   /* owned; normalised, with its barriers */
    struct parts parts;     /* owned; kernel cut at its barriers */
    struct problem problem; /* borrows parts */
    double clock_mhz;       /* 0: no time requested */
    struct grid grid;       /* grid.resident divides problem.warps */
    bool loads_hit;         /* no latency given for L: the paper's optimistic assumption */
    bool is_ptx;            /* the string is one path of several */
    bool first_iteration;
};

/*
 * Fills *ret_request from the options; 0 or the exit status. The number of warps may still be 0
 * (with --evaluate).
 */
int makespan_request_read(const struct cli_args *args, struct makespan_request *ret_request);
void makespan_request_done(struct makespan_request *request);

/* Prints the answer as text, or as JSON with --json; 0 or the exit status. */
int makespan_print(const struct cli_args *args, const struct makespan_request *request,
                   const struct solve_result *result, double seconds);

/* Writes the convergence plot (Makespan, Fig. 12) to path; 0 or the exit status. */
int makespan_plot(const struct cli_args *args, const struct solve_result *result, double seconds,
                  const char *path);

#endif
