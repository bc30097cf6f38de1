/*
 * A text under construction. It is written in memory, then stored in its file or given to the
 * caller, complete or not at all.
 */
#ifndef BASE_DRAFT_H
#define BASE_DRAFT_H

#include <stdio.h>

struct draft {
    FILE *out;   /* write here */
    char *text;  /* owned; grows with the output */
    size_t size; /* bytes; after draft_finish(), of the file */
};

/* 0 or -ENOMEM. After a failure the functions below only pass their result on. */
int draft_begin(struct draft *draft);

/*
 * Ends and frees the draft. If result is 0 and all output fitted in memory, writes the text to path
 * with file_write_atomic(); otherwise path is unchanged. Returns result if it is not 0, else 0 or
 * -errno.
 */
int draft_finish(struct draft *draft, const char *path, int result);

/*
 * Ends the draft in the same way, but gives its text to the caller, which frees it. A terminating 0
 * is not counted in *ret_size.
 */
int draft_take(struct draft *draft, int result, char **ret_text, size_t *ret_size);

/*
 * Ends the draft and discards its text. A zeroed draft, never begun or already ended, may be
 * dropped too.
 */
void draft_drop(struct draft *draft);

#endif
