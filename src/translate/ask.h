/*
 * One question to a program that rewrites kernels, answered from the disk cache where it can be.
 * What OpenCL C (baton-translate) and PTX (baton-cut) have in common: where the program is, what
 * names a cache entry, what is kept.
 */
#ifndef TRANSLATE_ASK_H
#define TRANSLATE_ASK_H

#include "translate/record.h"

#include <stdbool.h>

enum ask_answer {
    ASK_FAILED = 1, /* the environment failed; *ret_failure says how, in a phrase for statistics */
};

/*
 * A program: its name beside the library that contains this code, or in ../bin, ../libexec/baton or
 * ../../bin (from lib/x86_64-linux-gnu); or the path in the environment variable.
 */
struct ask_program {
    const char *name;
    const char *variable;
};

/*
 * Takes the bytes of an answer, which may be anything. 0 or more: accepted (and ask_question()
 * returns 0); -EBADMSG or -ESTALE: not of use; -ENOMEM.
 */
typedef int (*ask_decode)(void *context, const uint8_t *bytes, size_t n, bool from_cache);

/*
 * Asks the question, a finished message, and gives the answer to decode(): first what the cache
 * holds, then what the program says, which is kept if it was accepted. 0, ASK_FAILED or -ENOMEM.
 */
int ask_question(const struct ask_program *program, const struct record_writer *question, ask_decode decode,
                 void *context, const char **ret_failure);

#endif
