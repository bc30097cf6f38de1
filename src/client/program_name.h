/*
 * What a program is called where no name was given: one rule for `baton profile`, which writes the task, and for the program itself, which
 * asks for it. The file name of the command; of a script (`./train.py`, or `python3 train.py` where the file's first line names that
 * interpreter) the script's file name and not its interpreter's.
 */
#ifndef CLIENT_PROGRAM_NAME_H
#define CLIENT_PROGRAM_NAME_H

#include <stddef.h>

/* The words of a command, NULL-ended, with at least one. */
void program_name(char *const words[], char *ret_name, size_t size);

/* This process's own; what libc says where /proc cannot be read. */
void program_name_own(char *ret_name, size_t size);

#endif
