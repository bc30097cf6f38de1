/* Which libraries a program names: read from its file, without running it. */
#ifndef CLI_NEEDED_H
#define CLI_NEEDED_H

#include <stdbool.h>

/*
 * Does the command, found as execvp() finds it, name a library whose name begins so? False also for
 * scripts, programs of other machines and what cannot be read.
 */
bool needed_by_program(const char *command, const char *library);

#endif
