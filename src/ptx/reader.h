/* What the files of the reader share: a cursor over the tokens and the names in scope. */
#ifndef PTX_READER_H
#define PTX_READER_H

#include "ptx/ptx_module.h"

enum ptx_symbol_kind {
    PTX_SYMBOL_REGISTER,
    PTX_SYMBOL_VARIABLE,
    PTX_SYMBOL_ROUTINE,
    PTX_SYMBOL_LABEL,
    PTX_SYMBOL_PROTOTYPE,
    PTX_SYMBOL_TARGETS
};

struct ptx_symbol {
    struct ptx_name name;
    enum ptx_symbol_kind kind;
    unsigned scope; /* depth: 0 for the module */
    void *object;
    size_t index;
    struct ptx_symbol *next;    /* in its bucket; inner scopes first */
    struct ptx_symbol *sibling; /* of the same scope */
};

struct ptx_pending {
    struct ptx_operand *operand;
    struct ptx_pending *next;
};

/* A .branchtargets list. */
struct ptx_targets {
    struct ptx_operand *labels;
    unsigned n;
};

enum { PTX_BUCKETS = 4096, PTX_DEEPEST = 64 };

struct ptx_reader {
    struct ptx_module *module;
    const struct ptx_token *at;
    struct input_error *error;
    struct ptx_symbol *buckets[PTX_BUCKETS];
    struct ptx_symbol *scopes[PTX_DEEPEST]; /* the symbols of each open scope */
    unsigned depth;
    bool refused;
    bool is_outline;             /* ptx_module.h: keeps unknown statements instead of rejecting them */
    struct ptx_routine *routine; /* whose body is being read */
    struct ptx_variable **variables_end;
    struct ptx_routine **routines_end;
    uint32_t next_id;
    struct ptx_pending *pending[PTX_DEEPEST]; /* labels that are used and not yet defined */
    struct ptx_statement *statements;         /* grows with realloc */
    size_t n, room;
};

/* Tokens. */
bool ptx_at(const struct ptx_reader *reader, const char *text);
bool ptx_accept(struct ptx_reader *reader, const char *text);
int ptx_expect(struct ptx_reader *reader, const char *text);
int ptx_expect_word(struct ptx_reader *reader, const char *what, struct ptx_name *ret_name);
/* A constant expression of integers. */
int ptx_constant(struct ptx_reader *reader, uint64_t *ret_value);
int ptx_bad(struct ptx_reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct ptx_name ptx_name_of(const struct ptx_reader *reader, const struct ptx_token *token);

/* Names. ptx_declare: -ENOMEM, or INPUT_REJECTED for a second one in the same scope. */
int ptx_declare(struct ptx_reader *reader, enum ptx_symbol_kind kind, const struct ptx_token *token,
                void *object);
struct ptx_symbol *ptx_find(const struct ptx_reader *reader, struct ptx_name name);
/* A register, alone or of a range `%r<n>`. */
struct ptx_register *ptx_find_register(const struct ptx_reader *reader, struct ptx_name name,
                                       uint32_t *ret_index);
const struct ptx_special *ptx_find_special(struct ptx_name name);
int ptx_open_scope(struct ptx_reader *reader);
int ptx_close_scope(struct ptx_reader *reader);

/* Declarations. */
int ptx_read_variable(struct ptx_reader *reader, enum ptx_linkage linkage, struct ptx_variable ***list_end);
int ptx_read_registers(struct ptx_reader *reader);
int ptx_read_parameters(struct ptx_reader *reader, struct ptx_variable **ret_list, unsigned *ret_n);
int ptx_read_routine(struct ptx_reader *reader, enum ptx_linkage linkage);
int ptx_read_prototype(struct ptx_reader *reader, const struct ptx_token *name);

/* Statements and operands. */
int ptx_read_body(struct ptx_reader *reader, struct ptx_routine *routine);
int ptx_read_operation(struct ptx_reader *reader);
int ptx_read_operand(struct ptx_reader *reader, struct ptx_operand *ret_operand);
int ptx_read_call(struct ptx_reader *reader, struct ptx_statement *statement);
int ptx_check_operands(struct ptx_reader *reader, struct ptx_statement *statement);
struct ptx_statement *ptx_add_statement(struct ptx_reader *reader);
/* An unknown name may be a label of this scope or an outer one. */
int ptx_expect_label(struct ptx_reader *reader, struct ptx_operand *operand);
int ptx_read_targets(struct ptx_reader *reader, const struct ptx_token *name);

/* An outline. ptx_read_flat: the operands up to `;`, from behind the modifiers. */
int ptx_read_flat(struct ptx_reader *reader, struct ptx_statement *statement);
/* A register without a declaration. */
struct ptx_register *ptx_add_implicit(struct ptx_reader *reader, const struct ptx_token *name);
/* Skips to behind the next `;`, or to behind a block in braces if that comes first. */
int ptx_skip_directive(struct ptx_reader *reader);

#endif
