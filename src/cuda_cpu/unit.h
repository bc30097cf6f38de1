/*
 * PTX modules that become one piece of code. Names are resolved across modules, variables are
 * placed, and each routine is examined for what decides how it runs. Pure functions over what
 * src/ptx has read.
 */
#ifndef CUDA_CPU_UNIT_H
#define CUDA_CPU_UNIT_H

#include "cuda_cpu/cpu_status.h"
#include "ptx/ptx_module.h"

/* What the `user` field of a routine or variable holds once the unit is made, besides an index. */
enum {
    UNIT_DYNAMIC = 0x7ffffff0, /* extern .shared without a size */
    UNIT_NOTHING,              /* nothing defines it */
    UNIT_PRINT,                /* functions that the library provides */
    UNIT_ASSERT,
    UNIT_MALLOC,
    UNIT_FREE,
};

enum unit_fact {
    UNIT_BARRIER = 1,    /* waits at a barrier of the block */
    UNIT_WARP = 2,       /* warp operations */
    UNIT_SPIN = 4,       /* a loop that may wait for another thread */
    UNIT_INDIRECT = 8,   /* calls through registers */
    UNIT_WORKSPACE = 16, /* reads the registers of the grid barrier */
    UNIT_CALLS = 32,     /* any call */
    UNIT_LANE = 64,      /* reads its place in the warp */
    UNIT_RECURSIVE = 128,
};

struct unit_routine {
    struct ptx_module *module;
    struct ptx_routine *routine;
    unsigned facts;     /* of this routine alone */
    unsigned all_facts; /* including all that it may call */
    bool is_address_taken;
    uint32_t function; /* index in the table of functions, if its address is taken */
    uint64_t shape;    /* of parameters and results */
    uint64_t local_bytes, all_local_bytes;
    uint32_t *callees; /* indices, sorted, without repetition */
    size_t n_callees;
    bool *spins;           /* per statement: a branch back in a loop that may wait; NULL: none */
    uint64_t shared_bytes; /* an entry: of all static variables it can reach */
};

struct unit_variable {
    struct ptx_module *module;
    struct ptx_variable *variable; /* its definition */
    uint64_t offset;               /* in the image's block, or in shared memory */
};

struct unit {
    struct ptx_module *modules; /* borrowed */
    size_t n_modules;
    struct unit_routine *routines; /* those with bodies */
    size_t n_routines;
    uint32_t *functions; /* routines whose address is taken */
    size_t n_functions;
    struct unit_variable *variables; /* global, const and shared */
    size_t n_variables;
    uint64_t globals_bytes, data_bytes; /* globals first, then constants */
    uint64_t data_alignment;
};

/*
 * Resolves and analyses. If the answer is not CPU_OK, text[0..size) has the reason. The caller
 * calls unit_done() in any case.
 */
enum cpu_status unit_make(struct unit *unit, struct ptx_module *modules, size_t n, char *text, size_t size);
void unit_done(struct unit *unit);

/* The steps of unit_make, in order; each 0, -ENOMEM or a status. */
int unit_resolve(struct unit *unit, char *text, size_t size);
int unit_analyse(struct unit *unit);
int unit_place_shared(struct unit *unit);

/* Does the entry wait for other threads? */
bool unit_switches(const struct unit_routine *routine);
/* Does the entry wait only at barriers of the whole block, in its own body? */
bool unit_is_staged(const struct unit *unit, const struct unit_routine *routine);

/*
 * The shape of parameters and results. Functions with equal shapes may be called through the same
 * prototype.
 */
uint64_t unit_shape(const struct ptx_variable *returns, const struct ptx_variable *parameters);

#endif
