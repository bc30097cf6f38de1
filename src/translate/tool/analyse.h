/*
 * The properties of a kernel that matter for running it in pieces or on several devices. Pure
 * functions over the syntax tree.
 */
#ifndef TRANSLATE_TOOL_ANALYSE_H
#define TRANSLATE_TOOL_ANALYSE_H

#include "translate/tool/syntax.h"
#include "translate/translate.h"

enum use {
    USE_IDS = 1 << 0,            /* a built-in whose answer would differ in a piece */
    USE_LOCAL_SIZE = 1 << 1,     /* can observe how the launch is cut into groups */
    USE_GLOBAL_ATOMICS = 1 << 2, /* or atomics on memory that is not certainly local */
    USE_VOLATILE = 1 << 3,       /* volatile memory that is not certainly private or local */
    USE_PRINTF = 1 << 4,
    USE_PIPES = 1 << 5,
    USE_STORED_POINTERS = 1 << 6, /* pointers read from shared memory: SVM */
};

/* Fills uses, obstacle and access of all functions. */
void analyse(struct syntax *syntax, enum translate_mode mode);

/*
 * analyse_waits.c: can the function wait for another group? Needs `uses` of everything that it
 * calls.
 */
bool analyse_waits(const struct syntax *syntax, struct syntax_function *function);

/* The parts of a loop; NULL if missing. */
struct loop_parts {
    struct syntax_node *condition;
    struct syntax_node *advance; /* what a `for` does after each round */
    struct syntax_node *body;
};

struct loop_parts analyse_parts(const struct syntax *syntax, struct syntax_node *loop);

/* The variable at the root of a[i], s.x, *p, &a, p + 1, a; or NULL. */
struct symbol *analyse_root(struct syntax_node *node);

/*
 * analyse_watches.c: does the end of the loop depend on what other groups store in shared memory,
 * read without atomics?
 */
bool analyse_watches(const struct syntax *syntax, struct syntax_node *loop, const struct loop_parts *parts);

/* analyse_access.c */
void analyse_arguments(const struct syntax *syntax, struct syntax_function *kernel,
                       struct translate_arg *ret_args);

/* How p[i], or an element like it, is used. False: unknown, or its address is used. */
bool analyse_element(struct syntax_node *element, struct syntax_node *body, bool *ret_reads,
                     bool *ret_writes);

/* An integer that holds any id of a launch of at most 2^31 items. */
bool analyse_holds_ids(const struct type *type);

/* analyse_own.c: the elements that work-groups reach through the parameter; n == 0 in doubt. */
void analyse_reach(const struct syntax *syntax, struct symbol *param, struct syntax_node *body,
                   struct reach *ret_reach);

/* Is this name one of the atomic built-ins (1.x atom_ and atomic_, 2.0 atomic_..._explicit)? */
bool analyse_is_atomic(const char *name);

#endif
