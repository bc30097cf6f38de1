/* Which unit executes a PTX instruction, and what it waits for: one table. */
#ifndef MAKESPAN_PATH_UNITS_H
#define MAKESPAN_PATH_UNITS_H

#include <stdbool.h>
#include <stddef.h>

#include "makespan/kernel.h"

/*
 * Classifies an opcode with all its suffixes ("ld.global.v4.f32"), length characters. Loads,
 * stores, atomics and textures are L; transcendental functions, square roots, reciprocals and
 * divisions S; arithmetic on .f64 D, whatever it computes; the rest C. false: no such instruction
 * is known.
 */
bool units_of(const char *opcode, size_t length, enum kernel_unit *ret_unit);

/* What a warp waits for besides its unit. */
enum units_wait {
    UNITS_NO_WAIT,
    /* Every warp of the group, if the instruction names no number of threads: bar.sync ... */
    UNITS_WAIT_GROUP,
    /* Other warps, groups or time, in a way that the model does not have: bar.arrive ... */
    UNITS_WAIT_OTHER,
};

/* Of an opcode that units_of() knows. */
enum units_wait units_wait_of(const char *opcode, size_t length);

#endif
