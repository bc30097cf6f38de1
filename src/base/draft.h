/* A file in the making: written in memory, then put in its place whole or not at all. */
#ifndef BASE_DRAFT_H
#define BASE_DRAFT_H

#include <stdio.h>

struct draft {
    FILE *out;  /* write here */
    char *text; /* owned; what was written, once out is closed */
    size_t size;
};

/* 0 or -ENOMEM; after a failure draft_finish does nothing but pass its result on. */
int draft_begin(struct draft *draft);

/*
 * Ends the draft and frees it. When result is 0 and every byte fitted in memory, the text goes to path as file_write_atomic
 * does it; otherwise path stays as it was. Returns result if it is not 0, else 0 or -errno.
 */
int draft_finish(struct draft *draft, const char *path, int result);

#endif
