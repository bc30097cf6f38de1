/* Guesses the kind of a file from its first keys, for commands that accept several kinds. */
#ifndef CLI_FILE_KIND_H
#define CLI_FILE_KIND_H

#include <stddef.h>

#include "base/input_error.h"

enum file_kind { FILE_TASK_SET, FILE_PLAN, FILE_OVERHEADS, FILE_CONFIG, FILE_KINDS };

/* "task-set", "plan", "overheads", "configuration" */
extern const char *const file_kind_names[FILE_KINDS];

/* The bytes are in memory; path names the file in messages. 0, INPUT_REJECTED or -errno. */
int file_kind_guess(const char *path, const char *text, size_t size, enum file_kind *ret_kind,
                    struct input_error *ret_error);

#endif
