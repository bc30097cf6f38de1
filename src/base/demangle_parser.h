/*
 * The reader behind base/demangle.h, in three files: its tools and template arguments (demangle.c),
 * names (demangle_name.c), types (demangle_type.c). After a failure `failed` is set and all answers
 * are empty text; loops end on `failed`.
 */
#ifndef BASE_DEMANGLE_PARSER_H
#define BASE_DEMANGLE_PARSER_H

#include <stdbool.h>
#include <stddef.h>

enum {
    DEMANGLE_ARENA = 32768,
    DEMANGLE_SUBSTITUTIONS = 256,
    DEMANGLE_ARGUMENTS = 256,
    DEMANGLE_LIST = 48, /* arguments of one list */
    DEMANGLE_DEPTH = 48,
    DEMANGLE_STEPS = 20000,
};

/* In the arena or a literal. */
struct demangle_text {
    const char *at;
    size_t n;
};

enum demangle_kind { DEMANGLE_PLAIN, DEMANGLE_FUNCTION, DEMANGLE_ARRAY };

/* A type is written around what it declares: left name right, as in `void (*name)(int)`. */
struct demangle_type {
    struct demangle_text left, right;
    enum demangle_kind kind; /* what a pointer to it points at */
    bool is_derived;         /* a pointer, an array, a qualified type ...: nothing that has members */
};

/* An argument of a template: a type or value, or a pack of such. */
struct demangle_argument {
    struct demangle_type type;
    bool is_pack;
    unsigned first, n; /* elements of the pack, in parser::arguments */
};

struct demangle_list {
    unsigned first, n; /* in parser::arguments */
};

struct demangle_parser {
    const char *at;
    bool failed;
    unsigned depth, steps;
    struct demangle_type substitutions[DEMANGLE_SUBSTITUTIONS];
    unsigned n_substitutions;
    struct demangle_argument arguments[DEMANGLE_ARGUMENTS];
    unsigned n_arguments;
    struct demangle_list list;  /* what T_, T0_ ... name now */
    int element;                /* of the pack that is being expanded; -1: none is */
    int pack;                   /* how many that pack has; -1: not known yet */
    bool in_lambda;             /* T_ is `auto:1` */
    bool in_name;               /* the name of an encoding is being read: T_ will refer to its arguments */
    unsigned encodings;         /* how deeply encodings are nested; 1: the outermost */
    struct demangle_text known; /* the outermost name, as far as it has been read */
    bool known_whole;           /* `known` is complete; else template arguments follow it */
    char arena[DEMANGLE_ARENA];
    size_t used;
};

/* A name: its text, whether it ends with template arguments, and whether it is a const member. */
struct demangle_name {
    struct demangle_text text;
    bool is_template, is_const;
};

struct demangle_encoding {
    struct demangle_text name, whole; /* the name alone; with parameters */
    struct demangle_text returns;     /* precedes the name: "void ", or "" */
};

void demangle_fail(struct demangle_parser *parser);
/* Goes one level deeper; false, and failed: too deep or too long. Pair with demangle_leave(). */
bool demangle_enter(struct demangle_parser *parser);
void demangle_leave(struct demangle_parser *parser);
/* Takes the word if it comes next. */
bool demangle_take(struct demangle_parser *parser, const char *word);
/* Text in the arena, as printf. */
struct demangle_text demangle_print(struct demangle_parser *parser, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* `%.*s` of a text, which is evaluated twice. */
#define DEMANGLE_TEXT(text) (int)(text).n, (text).at

struct demangle_type demangle_plain(struct demangle_text text);
struct demangle_text demangle_joined(struct demangle_parser *parser, struct demangle_type type);
void demangle_remember(struct demangle_parser *parser, struct demangle_type type);

/* <encoding>: a function with its parameters, or a variable. */
struct demangle_encoding demangle_encoding(struct demangle_parser *parser);
/* <name>, without the parameters of a function. */
struct demangle_name demangle_name(struct demangle_parser *parser);
/* <source-name> */
struct demangle_text demangle_source_name(struct demangle_parser *parser);
/* <substitution> after its S; *ret_std: it is `St`, to which a name belongs. */
struct demangle_type demangle_substitution(struct demangle_parser *parser, bool *ret_std);
/* <template-param> after its T. */
struct demangle_type demangle_parameter(struct demangle_parser *parser);
/* <template-args> after their I: "<float, 4>"; *ret_list: what they are. */
struct demangle_text demangle_arguments(struct demangle_parser *parser, struct demangle_list *ret_list);
/* <type> */
struct demangle_type demangle_type(struct demangle_parser *parser);
/* Types up to the end or an E: "(float*, int)". */
struct demangle_text demangle_types(struct demangle_parser *parser);
/* [<number>] _ : 0 without a number, else the number + 1; base 10 or 36. */
unsigned demangle_index(struct demangle_parser *parser, unsigned base);

#endif
