/* A text in the making: written in memory, then put into its file, or taken, whole or not at all. */
#ifndef BASE_DRAFT_H
#define BASE_DRAFT_H

#include <stdio.h>

struct draft {
    FILE *out;   /* write here */
    char *text;  /* owned; grows with what is written */
    size_t size; /* bytes; after draft_finish(), of what was put into the file */
};

/* 0 or -ENOMEM; after a failure the functions below do nothing but pass their result on. */
int draft_begin(struct draft *draft);

/*
 * Ends the draft and frees it. When result is 0 and every byte fitted in memory, the text goes to path as file_write_atomic
 * does it; otherwise path stays as it was. Returns result if it is not 0, else 0 or -errno.
 */
int draft_finish(struct draft *draft, const char *path, int result);

/* Ends the draft likewise, but its text, with a terminating 0 that is not counted in *ret_size, becomes the caller's to free. */
int draft_take(struct draft *draft, int result, char **ret_text, size_t *ret_size);

/* Ends the draft for nothing. One that never began, or has ended, may be dropped too if it is zeroed. */
void draft_drop(struct draft *draft);

#endif
