/*
 * A C99 preprocessor for OpenCL C that leaves the driver's own macros to the driver.
 *
 * The driver preprocesses the rewritten text once more, so a macro that only the driver knows stays
 * unchanged and gets the driver's own value. Only conditions force an assumption. `#ifdef X` with
 * an X that the program did not define is decided from what the device reports (extensions,
 * versions). Every such decision becomes a check at the top of the result (`#ifdef X` / `#error`).
 * A driver that disagrees refuses the text, and the original is built instead: a wrong guess costs
 * a build, never a wrong kernel.
 */
#ifndef TRANSLATE_TOOL_PREPROCESS_H
#define TRANSLATE_TOOL_PREPROCESS_H

#include "translate/tool/lex.h"

enum macro_state {
    MACRO_USER,      /* defined by the program or by -D */
    MACRO_VALUE,     /* the driver's, value known */
    MACRO_OPAQUE,    /* the driver's, defined, value unknown here */
    MACRO_ABSENT,    /* tested and unknown: assumed undefined */
    MACRO_UNDEFINED, /* #undef by the program */
};

struct macro {
    const char *name;
    uint32_t length;
    enum macro_state state;
    bool function;
    bool variadic; /* the last parameter takes the rest */
    bool noted;    /* an assumption that it is, or is not, defined was recorded */
    bool noted_value;
    struct token *params;
    uint32_t n_params;
    struct token *body;
    struct macro *next; /* in its bucket */
};

struct include_header { /* given to clCompileProgram */
    const char *name;
    const char *text;
    size_t length;
};

enum { PREPROCESS_BUCKETS = 4096 };

struct preprocessor {
    struct macro *buckets[PREPROCESS_BUCKETS];
    const char *const *folders; /* of -I, in order */
    size_t n_folders;
    const struct include_header *headers;
    size_t n_headers;
    struct group *groups; /* open #ifs, the innermost last; preprocess.c */
    size_t n_groups;
    struct refusal refusal;
    struct text out;
    struct text guards;
    /* One line per file that was searched: its hash or `-` if it was absent, a space, its path. */
    struct text dependencies;
    struct text once;         /* paths of files with #pragma once, each between line breaks */
    bool renumbered;          /* the program has used #line: __LINE__ is unknown */
    uint32_t counter;         /* __COUNTER__ */
    size_t made;              /* tokens made by macros, bounded */
    uint32_t line;            /* of the output, as the compiler counts it */
    const struct token *last; /* written on this line */
};

/* macro.c */
struct macro *macro_find(struct preprocessor *pp, const struct token *name);
struct macro *macro_enter(struct preprocessor *pp, const char *name, size_t length);
void macro_define(struct preprocessor *pp, struct token *name); /* a #define's tokens after it */
/* NULL: MACRO_OPAQUE */
void macro_driver(struct preprocessor *pp, const char *name, const char *value);
/* -D's NAME or NAME=VALUE */
void macro_option(struct preprocessor *pp, const char *definition);
/* records the assumption */
bool macro_is_defined(struct preprocessor *pp, const struct token *name);

/*
 * Replaces the macro at *at by its expansion, which is to be examined again; false if there is no
 * macro.
 */
bool macro_expand(struct preprocessor *pp, struct token **at);

/* The tokens of one line, fully expanded; stops at the first that begins a line. */
struct token *macro_expand_line(struct preprocessor *pp, struct token *line);
/* A copy of the token alone, counted: macros that expand without bounds are refused. */
struct token *macro_copy_token(struct preprocessor *pp, const struct token *from);
/* The rest of the line, cut off from the tokens behind it; NULL: nothing is left of the line. */
struct token *macro_cut_line(struct token *from);

/* condition.c: the value of an #if line (its tokens, before expansion). */
bool condition_holds(struct preprocessor *pp, struct token *line, uint32_t at_line);

/*
 * preprocess.c: the token to read at `at` or after it; NULL at the end. Directives are executed,
 * and text that an #if excludes is skipped. Among the arguments of a macro (`within`; else NULL)
 * only conditionals are allowed, as in clang; other directives are refused.
 */
struct token *preprocess_next(struct preprocessor *pp, struct token *at, const struct macro *within);

/* Preprocesses the program's text into pp->out; on failure pp->refusal has the reason. */
void preprocess(struct preprocessor *pp, const char *text, size_t length);

#endif
