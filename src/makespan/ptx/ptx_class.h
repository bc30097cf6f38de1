/* Which unit executes a PTX instruction, and how it changes the flow of control: one table. */
#ifndef MAKESPAN_PTX_CLASS_H
#define MAKESPAN_PTX_CLASS_H

#include <stdbool.h>
#include <stddef.h>

#include "makespan/kernel.h"

enum ptx_flow {
    PTX_NEXT,   /* goes on with the next instruction */
    PTX_BRANCH, /* to a label */
    PTX_TABLE,  /* to one of the labels of a .branchtargets list */
    PTX_CALL,
    PTX_END, /* leaves the function (ret) or the kernel (exit) */
};

/*
 * Classifies an opcode with all its suffixes ("ld.global.v4.f32"), length characters. Loads, stores, atomics and textures are L; transcendental
 * functions, square roots, reciprocals and divisions S; arithmetic on .f64 D, whatever it computes; the rest C. false: no
 * such instruction is known.
 */
bool ptx_classify(const char *opcode, size_t length, enum unit *ret_unit, enum ptx_flow *ret_flow);

/* What a warp waits for besides its unit. */
enum ptx_wait {
    PTX_NO_WAIT,
    PTX_WAIT_GROUP, /* every warp of the group, if the instruction names no number of threads: bar.sync, barrier.red ... */
    PTX_WAIT_OTHER, /* other warps, other groups or time, in a way that the model does not have: bar.arrive, nanosleep ... */
};

/* Of an opcode that ptx_classify() knows. */
enum ptx_wait ptx_wait_of(const char *opcode, size_t length);

#endif
