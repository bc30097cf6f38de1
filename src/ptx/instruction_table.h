/*
 * The instructions of PTX, one row of instructions.def for each form: opcode, legal modifiers and
 * types, operands, family. The one table drives validation, emission and the list of instructions
 * in the documentation.
 *
 * A row's modifiers are groups, in the order in which they are written. `a|b`: one of these;
 * `a|b?`: one or none; `a|b?a`: none means a. A group that begins with `:` is a type (the first is
 * T, the second U). A group that begins with `-` does not change which function computes the value.
 *
 * A row's operands: destinations, `=`, sources. T, U: of that type; W: twice as wide as T; u: 32
 * bits; s: 64 bits. P: predicate; Q: predicate and optionally a second (`p|q`); p: predicate that
 * may be negated. D: T and optionally a predicate (`d|p`). V: T, or a vector of .v2/.v4/.v8 of
 * them; C: a vector of four T. A: `[address]`; X: `[object, coordinates]`. i: an integer constant;
 * L: a label. `?` behind one: optional.
 */
#ifndef PTX_INSTRUCTION_TABLE_H
#define PTX_INSTRUCTION_TABLE_H

#include "ptx/ptx_token.h"
#include "ptx/type.h"

enum ptx_family {
    PTX_VALUE, /* a function of its operands */
    /* the same, of floating-point numbers: a result that is no number has no payload */
    PTX_ARITH,
    PTX_CARRY,   /* reads or writes the carry flag */
    PTX_SETP,    /* comparison to predicates */
    PTX_SET,     /* comparison to a register */
    PTX_MOVE,    /* registers, addresses of variables, packing and unpacking */
    PTX_CONVERT, /* cvt */
    PTX_LOAD,
    PTX_STORE,
    PTX_ATOMIC,
    PTX_REDUCE, /* an atomic without a result */
    PTX_SPACE,  /* cvta, isspacep */
    PTX_COPY,   /* cp.async */
    PTX_BRANCH,
    PTX_INDEXED, /* brx.idx */
    PTX_CALL,
    PTX_RETURN,
    PTX_EXIT,
    PTX_TRAP,
    PTX_BARRIER, /* among the threads of a block */
    PTX_WARP,    /* among the threads of a warp */
    PTX_MBARRIER,
    PTX_FENCE,
    PTX_SLEEP,
    PTX_NOTHING, /* a hint without effect */
    PTX_TEXTURE,
    PTX_SURFACE,
    PTX_STACK,   /* alloca and its relatives */
    PTX_REFUSED, /* known, and not executed here: the note says what it is */
    PTX_UNKNOWN, /* of an outline: in no row */
};

struct ptx_row {
    const char *opcode;
    const char *modifiers;
    const char *operands;
    enum ptx_family family;
    const char *note; /* for PTX_REFUSED: what it belongs to */
};

extern const struct ptx_row ptx_rows[];
extern const size_t ptx_n_rows;
extern const struct ptx_row ptx_unknown_row; /* the one of family PTX_UNKNOWN */

/* An opcode and the dotted tokens behind it, matched with a row. */
struct ptx_match {
    const struct ptx_row *row;
    enum ptx_type types[2]; /* T and U; PTX_NONE: the row has none */
    unsigned vector;        /* of .v2, .v4, .v8; 1 otherwise */
    /* opcode, modifiers that matter and types, joined by `_`: names the function */
    char function[64];
};

/*
 * Finds the row for tokens[0] (a word) and the n - 1 dots behind it. 0; INPUT_REJECTED with the
 * token that no row allows; a row of family PTX_REFUSED is an answer, not an error.
 */
int ptx_match(const struct ptx_source *source, const struct ptx_token *tokens, size_t n,
              struct ptx_match *ret_match, struct input_error *ret_error);

#endif
