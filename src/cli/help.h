/* Help pages, made from the command table. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stdio.h>

#include "cli/subcommand.h"

/* All commands, or those with a name that begins with the word group. */
void help_list(FILE *out, const char *group);

/* One command: usage, options, example. */
void help_command(FILE *out, const struct cli_command *command);

#endif
