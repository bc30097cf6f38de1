/*
 * A C99 preprocessor for OpenCL C that leaves the driver its own macros.
 *
 * The driver preprocesses the rewritten text once more, so a macro that only the driver knows is
 * left as it is and gets the driver's own value. Only conditions force an assumption: `#ifdef X`
 * with an X that the program did not define is decided from what the device says of itself
 * (extensions, versions), and every such decision is written down as a check at the top of the
 * result (`#ifdef X` / `#error`). A driver that disagrees refuses the text, and the original is
 * built instead: a wrong guess costs a build, never a wrong kernel.
 */
#ifndef TRANSLATE_TOOL_PREPROCESS_H
#define TRANSLATE_TOOL_PREPROCESS_H

#include "translate/tool/lex.h"

enum macro_state {
    MACRO_USER,      /* defined by the program or by -D */
    MACRO_VALUE,     /* the driver's, value known */
    MACRO_OPAQUE,    /* the driver's, defined, value left to it */
    MACRO_ABSENT,    /* tested and not known: assumed undefined */
    MACRO_UNDEFINED, /* #undef by the program */
};

struct macro {
    const char *name;
    uint32_t length;
    enum macro_state state;
    bool function;
    bool variadic; /* the last parameter takes the rest */
    bool noted;    /* that it is defined, or is not, has been assumed */
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
    /* A line per file looked for: its hash or `-` when it was absent, a space, its path. */
    struct text dependencies;
    struct text once;         /* paths of files with #pragma once, each between line breaks */
    bool renumbered;          /* the program has used #line: __LINE__ is no longer known */
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
/* notes the assumption */
bool macro_is_defined(struct preprocessor *pp, const struct token *name);

/*
 * Replaces the macro at *at, if there is one, by its expansion, to be looked at again; false when
 * there is none.
 */
bool macro_expand(struct preprocessor *pp, struct token **at);

/* The tokens of one line, fully expanded; stops at the first that begins a line. */
struct token *macro_expand_line(struct preprocessor *pp, struct token *line);

/* condition.c: the value of an #if line (its tokens, before expansion). */
bool condition_holds(struct preprocessor *pp, struct token *line, uint32_t at_line);

/*
 * preprocess.c: the token to be read at `at` or after it: directives are obeyed and what an #if
 * leaves out is passed over; NULL at the end. Among the arguments of a macro (`within`; else NULL)
 * conditionals are the only directives, as clang allows; others are refused.
 */
struct token *preprocess_next(struct preprocessor *pp, struct token *at, const struct macro *within);

/* Preprocesses the program's text into pp->out; a reason in pp->refusal when it cannot be done. */
void preprocess(struct preprocessor *pp, const char *text, size_t length);

#endif
