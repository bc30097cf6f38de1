/*
 * A PTX module: variables, functions, instructions with operands, each with its place in the text.
 * Everything lives in the module's arena and refers to the text, which the caller keeps.
 *
 * One reader has two depths. ptx_module_read() accepts only what the table knows in full and checks
 * every operand: for executing a module. ptx_module_outline() accepts any module whose structure
 * can be seen: for analysing and rewriting. There a statement that the table does not know, or
 * whose operands do not agree with it, is *flat*. Its operands are the names in its text, in order.
 * Which of them it writes is not known.
 */
#ifndef PTX_PTX_MODULE_H
#define PTX_PTX_MODULE_H

#include "ptx/instruction_table.h"

enum ptx_space { PTX_REG, PTX_CONST, PTX_GLOBAL, PTX_LOCAL, PTX_PARAM, PTX_SHARED, PTX_GENERIC };
enum ptx_linkage { PTX_PRIVATE, PTX_VISIBLE, PTX_EXTERN, PTX_WEAK, PTX_COMMON };

struct ptx_name {
    const char *text; /* not terminated; borrowed from the source */
    uint32_t length;
};

/* `.reg .b32 %r<10>` declares ten registers, `.reg .b64 %SP` one: count 0. */
struct ptx_register {
    struct ptx_name name;
    enum ptx_type type;
    unsigned vector; /* 1, 2 or 4 elements */
    uint32_t count;
    uint32_t id;      /* unique in its routine */
    uint8_t *used;    /* [count, or 1]: PTX_IS_READ, PTX_IS_WRITTEN; higher bits are the caller's */
    bool is_implicit; /* in an outline: not declared */
    uint32_t user;    /* the caller's own number for it */
    struct ptx_register *next;
};
enum { PTX_IS_READ = 1, PTX_IS_WRITTEN = 2 };

/* One element of an initialiser. */
struct ptx_value {
    uint64_t bits;          /* the element, or what is added to the symbol */
    struct ptx_name symbol; /* length 0: none */
    uint64_t index;         /* of the element in the array */
    uint64_t mask;          /* mask(symbol): the bits of the address, shifted down; 0: all */
    bool is_generic;        /* generic(symbol) */
    const struct ptx_token *token;
};

struct ptx_variable {
    struct ptx_name name;
    enum ptx_space space;
    enum ptx_linkage linkage;
    enum ptx_type type;
    unsigned vector;
    uint64_t elements; /* of the array; 1 for a scalar; 0: an extern array without a size */
    uint64_t size;     /* bytes */
    uint32_t alignment;
    bool is_managed;
    bool is_formal;           /* a parameter or result of a routine, not of a call in its body */
    struct ptx_value *values; /* n_values of them; the rest is 0 */
    size_t n_values;
    uint32_t id;                   /* unique in its routine, or in the module */
    uint32_t offset;               /* of an entry's parameter */
    const struct ptx_token *token; /* its name */
    struct ptx_routine *routine;   /* NULL: of the module */
    uint32_t user;                 /* the caller's own number for it */
    struct ptx_variable *next;
};

enum ptx_operand_kind {
    PTX_OP_REGISTER,
    PTX_OP_INT,      /* bits */
    PTX_OP_F32,      /* bits of a float */
    PTX_OP_F64,      /* bits of a double */
    PTX_OP_SPECIAL,  /* %tid.x ...: name and component */
    PTX_OP_VARIABLE, /* its address, plus bits */
    PTX_OP_ROUTINE,  /* its address */
    PTX_OP_LABEL,
    PTX_OP_VECTOR,  /* {a, b, ...}: parts */
    PTX_OP_ADDRESS, /* [parts[0] + bits] */
    PTX_OP_OBJECT,  /* [parts[0], parts[1]] of a texture or surface */
    PTX_OP_PAIR,    /* parts[0] | parts[1] */
    PTX_OP_SINK,    /* _ */
    PTX_OP_NAME,    /* in an outline: a name that nothing declares */
};

struct ptx_operand {
    enum ptx_operand_kind kind;
    enum ptx_type type; /* of a register */
    bool is_negated;    /* !p */
    bool may_write;     /* in a flat statement: the instruction may write it */
    uint8_t component;  /* 0: none, else 1 to 4: x to w */
    uint32_t index;     /* in reg's range */
    struct ptx_register *reg;
    struct ptx_variable *variable;
    struct ptx_routine *routine;
    const struct ptx_special *special;
    size_t label; /* index of the statement it names */
    uint64_t bits;
    struct ptx_operand *parts;
    unsigned n_parts;
    const struct ptx_token *token;
};

struct ptx_special {
    const char *name; /* with its % */
    enum ptx_type type;
    bool has_components;
};

/* `.callprototype` and the shape of a function. */
struct ptx_prototype {
    struct ptx_name name;
    struct ptx_variable *returns, *parameters; /* lists */
    const struct ptx_token *token;
    struct ptx_prototype *next;
};

enum ptx_statement_kind { PTX_STATEMENT_OPERATION, PTX_STATEMENT_LABEL };

struct ptx_statement {
    enum ptx_statement_kind kind;
    const struct ptx_token *first, *end; /* its tokens; `end` is the one behind */
    struct ptx_name label;
    /* of an operation: */
    const struct ptx_token *opcode;
    unsigned n_modifiers; /* dots behind the opcode */
    struct ptx_match match;
    bool is_flat;                 /* in an outline: see above */
    struct ptx_operand *guard;    /* @p; NULL: none */
    struct ptx_operand *operands; /* in order; an optional one that is not there ends the list */
    unsigned n_operands;
    /* of a call: */
    struct ptx_operand *results, *arguments, *callee;
    unsigned n_results, n_arguments;
    const struct ptx_prototype *prototype; /* NULL: direct */
    /* of brx.idx: */
    const struct ptx_operand *targets; /* labels */
    unsigned n_targets;
};

struct ptx_routine {
    struct ptx_name name;
    bool is_entry, has_body;
    enum ptx_linkage linkage;
    struct ptx_variable *returns, *parameters; /* lists, in order */
    unsigned n_returns, n_parameters;
    struct ptx_variable *variables; /* of the body: local, shared, param */
    struct ptx_register *registers; /* a list */
    struct ptx_prototype *prototypes;
    struct ptx_statement *statements;
    size_t n;
    uint32_t max_threads[3], required_threads[3], max_registers;
    uint32_t id;
    uint32_t parameter_bytes;
    const struct ptx_token *token;       /* its name */
    const struct ptx_token *first, *end; /* from .entry or .func to behind its last token */
    const struct ptx_token *cluster;     /* of an outline: a directive of clusters; NULL: none */
    const struct ptx_token *attribute;   /* .attribute; NULL: none */
    uint32_t user;                       /* the caller's own number for it */
    struct ptx_routine *next;
};

struct ptx_module {
    struct arena arena;
    struct ptx_source source;
    unsigned version; /* 10 * major + minor */
    unsigned target;  /* 80 for sm_80 */
    unsigned address_bits;
    struct ptx_variable *variables; /* a list, in order */
    struct ptx_routine *routines;   /* a list: definitions, and declarations that have none */
    size_t n_variables, n_routines;
};

/*
 * Reads a text. 0, -ENOMEM or INPUT_REJECTED with *ret_error; *ret_refused is set when the text is
 * valid but names what the table refuses. ptx_module_done() accepts a zeroed module.
 */
int ptx_module_read(struct ptx_module *module, const char *name, const char *text, size_t size,
                    bool *ret_refused, struct input_error *ret_error);
void ptx_module_done(struct ptx_module *module);

/*
 * Reads the structure of a text, whatever its instructions are. 0, -ENOMEM or INPUT_REJECTED with
 * *ret_error.
 */
int ptx_module_outline(struct ptx_module *module, const char *name, const char *text, size_t size,
                       struct input_error *ret_error);

/* Is there such a modifier behind the opcode? Without the dot. */
bool ptx_has(const struct ptx_module *module, const struct ptx_statement *statement, const char *modifier);
bool ptx_name_is(struct ptx_name name, const char *text);
bool ptx_names_equal(struct ptx_name a, struct ptx_name b);

/* The first space among the modifiers; PTX_GENERIC: none. */
enum ptx_space ptx_statement_space(const struct ptx_module *module, const struct ptx_statement *statement);

enum { PTX_NEWEST_VERSION = 99 };

#endif
