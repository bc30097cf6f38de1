/*
 * PTX to C. The text of a unit uses the functions of src/cuda_cpu/device, which precede it. All
 * names in it are generated: no name of the PTX text gets into it.
 *
 *     f3    routine 3 of the unit        v12   a variable of a routine, or of a call's parameters
 *     p12   a parameter of a function    r7_2  register 2 of the range that has id 7
 *     L9    the label at statement 9     G P   the image's variables, an entry's parameters
 *     R9    behind the barrier at 9      F S   the frame of a thread, the stage of its block
 */
#ifndef CUDA_CPU_EMIT_H
#define CUDA_CPU_EMIT_H

#include "cuda_cpu/unit.h"

#include <stdio.h>

/*
 * Writes the whole unit behind the device texts. 0 or -ENOMEM; the caller checks `out` for errors.
 */
int emit_unit(const struct unit *unit, FILE *out);

/* What follows is shared by the files of this folder. */

/* How generated code keeps a register. */
enum emit_storage { EMIT_U8, EMIT_U16, EMIT_U32, EMIT_U64, EMIT_F32, EMIT_F64, EMIT_W128 };

/* Bits in ptx_register::used beyond the reader's: how a register is defined. */
enum { EMIT_REAL = 4, EMIT_OTHER = 8, EMIT_RAW_REAL = 16 };

/* The check of an access: its own, or one for the whole group of accesses that it leads. */
struct emit_check {
    size_t leader, last; /* statements; the leader of a group is its own leader */
    int64_t low, high;   /* a leader: lowest and highest offset of its group */
    uint32_t n;          /* a leader: accesses of its group; 0: no leader */
};

struct rows;   /* emit_rows.c: a kernel whose rows of threads may run without checks */
struct stages; /* emit_stages.c: a kernel whose threads wait only all together */

struct emitter {
    FILE *out;
    const struct unit *unit;
    const struct unit_routine *routine; /* the routine whose body is being written */
    const struct ptx_module *module;
    const struct ptx_statement *statement;
    size_t index;                    /* of the statement */
    const struct emit_check *checks; /* by statement */
    const struct rows *rows;         /* NULL: every access is checked */
    const struct stages *stages;     /* NULL: a thread runs without returning at barriers */
    bool is_checked;                 /* the address of this statement needs no further check */
    unsigned closing;                /* parentheses to close at the end of an assignment */
};

const char *emit_c_type(enum ptx_type type);
const char *emit_storage_name(enum emit_storage storage);
enum emit_storage emit_storage_of(const struct ptx_register *reg, uint32_t index);
/* May the register hold a NaN whose bits differ from the one that PTX defines? */
bool emit_is_loose(const struct ptx_register *reg, uint32_t index);
void emit_register(struct emitter *e, const struct ptx_operand *operand);

/* A source as an expression of the type. exact: the code looks at its bits. */
void emit_source(struct emitter *e, const struct ptx_operand *operand, enum ptx_type type, bool exact);
/*
 * Writes `destination =` and the conversion of a value of the type; emit_end() ends the statement.
 */
void emit_begin(struct emitter *e, const struct ptx_operand *destination, enum ptx_type type,
                bool is_arithmetic);
void emit_end(struct emitter *e);
/* The address of a variable as a 64-bit expression in its own space. */
void emit_variable(struct emitter *e, const struct ptx_variable *variable, uint64_t offset);
/* A pointer to this many bytes of checked memory. */
void emit_pointer(struct emitter *e, const struct ptx_operand *address, enum ptx_space space, unsigned bytes);
bool emit_has(const struct emitter *e, const char *modifier);
unsigned emit_line(const struct emitter *e);

void emit_value(struct emitter *e);
void emit_compare(struct emitter *e);
void emit_move(struct emitter *e);
void emit_memory(struct emitter *e);
void emit_atomic(struct emitter *e);
void emit_space(struct emitter *e);
void emit_flow(struct emitter *e);
void emit_call(struct emitter *e);
void emit_barrier(struct emitter *e);
void emit_warp(struct emitter *e);
void emit_mbarrier(struct emitter *e);
void emit_texture(struct emitter *e);
void emit_surface(struct emitter *e);

/* Decides which accesses are checked together; the caller frees the list. 0 or -ENOMEM. */
int emit_plan_checks(const struct unit_routine *routine, struct emit_check **ret_checks);
/*
 * Before a load or store: writes the check of its group if it is the first of the group. True: the
 * address needs no other check.
 */
bool emit_group_check(struct emitter *e);

/*
 * For a staged entry: finds the registers that each barrier keeps. 0, -ENOMEM, or -E2BIG: the
 * kernel is too large for that and runs with a stack per thread.
 */
int emit_study_stages(const struct unit_routine *routine, struct stages **ret_stages);
void emit_free_stages(struct stages *stages); /* NULL is fine */
/* The type of a frame; the jump to where the thread left off; a barrier. */
void emit_frame(const struct stages *stages, size_t index, FILE *out);
void emit_resume(const struct stages *stages, FILE *out);
void emit_stage_barrier(struct emitter *e);

/* Rows without checks; *ret_rows is NULL if the kernel has none. 0 or -ENOMEM. */
int emit_study_rows(const struct unit_routine *routine, struct rows **ret_rows);
void emit_free_rows(struct rows *rows); /* NULL is fine */
/* Does the probe function of a thread need the result of statement i? */
bool emit_is_needed(const struct rows *rows, size_t i);
/* The pointer of this statement in a row without checks. False: the statement has none. */
bool emit_row_pointer(struct emitter *e, const struct ptx_operand *address);
unsigned emit_probes(const struct rows *rows);
/* Values A[...] of one thread; the conditions on A of the first thread and B of the last. */
void emit_probe_values(struct emitter *e, const struct rows *rows);
void emit_row_condition(const struct rows *rows, FILE *out);

/* (*ret_first)[id of a range] is the number of its first register, of n in all. 0 or -ENOMEM. */
int emit_number_registers(const struct ptx_routine *routine, size_t **ret_first, size_t *ret_n);

/* Call before a body is written: finds how each register is defined. */
void emit_study_registers(const struct unit_routine *routine);

#endif
