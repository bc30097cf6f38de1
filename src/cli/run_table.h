/*
 * `baton run --table`: a short table per kernel after the program has ended. The layer's recorder
 * (also used by `baton profile`) writes the program's commands into a private folder. This process
 * waits for the program, reads the commands, and ends with the program's status.
 */
#ifndef CLI_RUN_TABLE_H
#define CLI_RUN_TABLE_H

#include <stddef.h>
#include <stdio.h>

#include "cli/profile/profile_log.h"

struct table_row {
    char name[JOB_RECORD_NAME_SIZE]; /* of the kernel, or "copies in", "copies out" */
    char why[JOB_RECORD_WHY_SIZE];   /* why it last ran whole; "": it never did */
    size_t launches, pieces, whole;
    baton_nsec sum, longest; /* time on the engine; the longest launch */
};

struct table {
    struct table_row *rows; /* owned */
    size_t n;
};

/* Adds the commands of a log, including those of unfinished jobs. 0 or -ENOMEM. */
int table_add(struct table *table, const struct profile_log *log);
/* The row with the most time comes first. */
void table_print(struct table *table, FILE *out);
void table_done(struct table *table);

/*
 *  Starts the command, waits for it and prints to standard error. The exit status: the command's,
 *  125, 126 or 127.
 */
int table_run(char *const command[]);

#endif
