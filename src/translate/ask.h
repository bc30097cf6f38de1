/*
 * One question to a program that rewrites kernels, answered from the disk cache if possible. Common
 * to OpenCL C (baton-translate) and PTX (baton-cut): where the program is, how a cache entry is
 * named, what is kept.
 */
#ifndef TRANSLATE_ASK_H
#define TRANSLATE_ASK_H

#include "translate/record.h"

#include <stdbool.h>

enum ask_answer {
    ASK_FAILED = 1, /* the environment failed; *ret_failure is the reason, in a phrase for statistics */
};

/*
 * A program. It is the path in the environment variable. Else it is the file of this name beside
 * the library that contains this code, or in its ../bin, ../libexec/baton or ../../bin (from
 * lib/x86_64-linux-gnu).
 */
struct ask_program {
    const char *name;
    const char *variable;
};

/*
 * Decodes an answer, which may be any bytes. 0 or more: accepted, and ask_question() returns 0.
 * -EBADMSG or -ESTALE: not usable. -ENOMEM.
 */
typedef int (*ask_decode)(void *context, const uint8_t *bytes, size_t n, bool from_cache);

/*
 * Asks the question, a finished message, and passes the answer to decode(). The cache entry comes
 * first, then the program's answer, which is kept if decode() accepts it. 0, ASK_FAILED or -ENOMEM.
 */
int ask_question(const struct ask_program *program, const struct record_writer *question, ask_decode decode,
                 void *context, const char **ret_failure);

#endif
