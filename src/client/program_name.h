/*
 * The name of a program that was given none. `baton profile`, which writes the task, and the
 * program, which asks for it, use the same rule. The name is the file name of the command. For a
 * script (`./train.py`, or `python3 train.py` if the file's first line names that interpreter) it
 * is the script's file name, not the interpreter's.
 */
#ifndef CLIENT_PROGRAM_NAME_H
#define CLIENT_PROGRAM_NAME_H

#include <stddef.h>

/* words: a command, NULL-terminated, with at least one word. */
void program_name(char *const words[], char *ret_name, size_t size);

/* The name of this process; libc's name if /proc cannot be read. */
void program_name_own(char *ret_name, size_t size);

#endif
