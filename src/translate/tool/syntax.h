/*
 * The program's syntax tree, copied from libclang into plain structs, so that rewriting and
 * analysis are pure functions over it. Offsets are bytes of the preprocessed text.
 */
#ifndef TRANSLATE_TOOL_SYNTAX_H
#define TRANSLATE_TOOL_SYNTAX_H

#include "translate/tool/text.h"

enum syntax_kind {
    /* implicit and explicit casts, literals, blocks of statements: only their children matter */
    NODE_OTHER,
    NODE_PAREN,
    NODE_FUNCTION,
    NODE_PARAM,
    NODE_VARIABLE,
    NODE_CALL, /* the first child leads to the callee */
    NODE_NAME, /* a use of a symbol */
    NODE_MEMBER,
    NODE_SUBSCRIPT,
    NODE_UNARY,
    NODE_BINARY, /* also plain assignment */
    NODE_COMPOUND_ASSIGN,
    NODE_IF,
    NODE_LOOP, /* for, while, do: op is "f", "w" or "d" */
    NODE_JUMP, /* break, continue, return, goto: op is "b", "c", "r" or "g" */
    NODE_LITERAL,
    NODE_SIZEOF, /* sizeof, vec_step, _Alignof: the operand is not evaluated */
    NODE_SWITCH,
    NODE_CONDITIONAL,
    NODE_ASM,
    NODE_BLOCK, /* a block literal */
};

enum symbol_kind { SYMBOL_FUNCTION, SYMBOL_BUILTIN, SYMBOL_PARAM, SYMBOL_VARIABLE };

/* Where a value lives, or what a pointer points at. */
enum address_space { SPACE_PRIVATE, SPACE_LOCAL, SPACE_GLOBAL, SPACE_CONSTANT, SPACE_GENERIC };

struct type {
    const char *spelling; /* canonical */
    bool pointer;
    bool is_volatile;         /* the value itself */
    bool is_const;            /* likewise */
    enum address_space space; /* of the value itself */
    bool pointee_const;
    enum address_space pointee_space;
    uint32_t size; /* bytes, 0 when unknown */
};

struct symbol {
    enum symbol_kind kind;
    const char *name;
    struct type type;
    uint32_t index;                   /* of a parameter */
    struct syntax_function *function; /* SYMBOL_FUNCTION: itself; SYMBOL_PARAM: the function it belongs to */
    struct syntax_node *initial;      /* SYMBOL_VARIABLE: its declaration */
    bool tainted;                     /* analysis: may hold a value that another group has changed */
    bool visiting;                    /* analysis: its uses are being followed */
};

struct syntax_node {
    enum syntax_kind kind;
    char op[4];
    bool in_text; /* its place is in the program, not in a header's macro */
    uint32_t at;  /* of the name, for names and functions; of the label, for a goto (0: computed) */
    uint32_t begin;
    uint32_t end;
    struct symbol *symbol;
    struct type type; /* of expressions */
    struct syntax_node *parent;
    struct syntax_node *children;
    struct syntax_node *next; /* sibling */
};

struct declaration {
    uint32_t at; /* of the function's name */
    struct declaration *next;
};

struct syntax_function {
    struct symbol *symbol;
    bool kernel;
    bool internal; /* static or inline: no other object can see it */
    bool defined;
    uint32_t n_params;
    struct symbol **params;           /* of the definition, else of the first declaration */
    struct declaration *declarations; /* all, also the definition */
    struct syntax_node *body;         /* the definition's node */
    uint32_t head;                    /* where its specifiers begin */
    struct syntax_function *next;     /* in order of appearance */

    /* analysis */
    uint32_t uses;        /* enum use bits of itself and of what it calls */
    const char *obstacle; /* why not sliceable, or NULL */
    bool threaded;        /* takes the descriptor */
    bool visited;         /* its calls have been followed */
    bool calling;         /* its calls are being followed */
};

struct syntax {
    const char *text;
    size_t length;
    struct syntax_function *functions;
    struct syntax_node *root;
    struct refusal refusal;
};

/*
 * Parses with the options of the language. standard: as in -cl-std; NULL: the compiler's default.
 * address_bits: the width of a pointer. extensions: as in clang's -cl-ext; NULL: all that clang
 * knows.
 */
void syntax_parse(struct syntax *syntax, const char *text, size_t length, const char *standard,
                  unsigned address_bits, const char *extensions);

/*
 * The nearest ancestor that is no parenthesis or cast. *ret_child is its child on the way.
 */
struct syntax_node *syntax_parent(struct syntax_node *node, struct syntax_node **ret_child);

/* The expression inside parentheses and casts. */
struct syntax_node *syntax_strip(struct syntax_node *node);

/* The callee of a call, or NULL. */
struct symbol *syntax_callee(const struct syntax_node *call);

/* Argument i of a call, or NULL. */
struct syntax_node *syntax_argument(const struct syntax_node *call, unsigned i);

/*
 * The space that a pointer argument points at, before the cast to the callee's type; SPACE_GENERIC
 * in doubt.
 */
enum address_space syntax_points_at(struct syntax_node *argument);

/* Pre-order walk: the node after `node` within `top`, or NULL. */
struct syntax_node *syntax_next(struct syntax_node *node, const struct syntax_node *top);

bool syntax_inside(const struct syntax_node *node, const struct syntax_node *ancestor);

bool syntax_is_assignment(const struct syntax_node *node);

/*
 * The next word, punctuator or literal at or after offset; *ret_end is its end. Quoted text is one
 * token. Answers its begin.
 */
size_t syntax_token(const struct syntax *syntax, size_t offset, size_t *ret_end);

/* The offset of the `)` that closes the `(` at open; 0 if there is none. */
size_t syntax_closing(const struct syntax *syntax, size_t open);

#endif
