/* Parses the words of one command. Only main() needs it. */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include "cli/subcommand.h"

/*
 * Parses argv, the words after the command's name, and reorders it so that positional words come
 * first. 0, or CLI_USAGE after a message to the user.
 */
int cli_args_parse(const struct cli_command *command, int argc, char *argv[], struct cli_args *ret_args);

#endif
