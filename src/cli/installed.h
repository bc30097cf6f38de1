/*
 * Files that belong to this program, found relative to it: beside it in a build folder, or among
 * the libraries of an installation.
 */
#ifndef CLI_INSTALLED_H
#define CLI_INSTALLED_H

#include <stddef.h>

/* The folder of this program, without a final slash. 0 or -errno. */
int installed_folder(char *ret_folder, size_t room);

/* The path of a readable file of that name. 0 or -errno; -ENOENT: not found. */
int installed_find(const char *name, char *ret_path, size_t room);

/*
 * Executes the program of this name beside this one, else on the PATH. Ends the process with 127 if
 * there is none.
 */
_Noreturn void installed_exec(const char *name, char *const words[]);

#endif
