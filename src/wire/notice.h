/*
 * The table of wire/notice.def. Every part of Baton that shows a notice takes its words from here.
 */
#ifndef WIRE_NOTICE_H
#define WIRE_NOTICE_H

#include <stdbool.h>
#include <stddef.h>

enum notice {
#define WHOLE(identifier, name, sentence, advice)  NOTICE_##identifier,
#define NOTICE(identifier, name, sentence, advice) NOTICE_##identifier,
#include "wire/notice.def"
#undef WHOLE
#undef NOTICE
    NOTICE_N
};

struct notice_words {
    const char *name;     /* "few-groups" */
    const char *sentence; /* its subject is the kernel, or the program */
    const char *advice;   /* what the user can do */
    bool whole;           /* about a kernel that is not cut */
};

extern const struct notice_words notice_table[NOTICE_N];

/* The row of that name; NULL: none. */
const struct notice_words *notice_find(const char *name);

/*
 * One line: "kernel K runs whole: SENTENCE (DETAIL); ADVICE". kernel and detail may be "". K is the
 * readable form of a mangled name (base/demangle.h).
 */
void notice_line(enum notice notice, const char *kernel, const char *detail, char *ret_text, size_t size);

#endif
