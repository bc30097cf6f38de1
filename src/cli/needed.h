/* The libraries that a program names, read from its file without running it. */
#ifndef CLI_NEEDED_H
#define CLI_NEEDED_H

#include <stdbool.h>

/*
 * Does the command, found as execvp() finds it, name a library with this prefix? False also for
 * scripts, programs of other machines and unreadable files.
 */
bool needed_by_program(const char *command, const char *library);

#endif
