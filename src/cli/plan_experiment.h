/* `baton plan --experiment`: GPU-SPARC's Fig. 7 and 8, as a table, an object and SVG curves. */
#ifndef CLI_PLAN_EXPERIMENT_H
#define CLI_PLAN_EXPERIMENT_H

#include "cli/command.h"

int plan_experiment(const struct cli_args *args);

#endif
