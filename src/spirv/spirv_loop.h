/*
 * One loop of a function, for the search for waiting kernels (spirv/spirv_waits.h): what decides
 * its course, and whether it ends by itself. Only spirv_waits.c, loop_course.c and loop_end.c
 * include this.
 */
#ifndef SPIRV_SPIRV_LOOP_H
#define SPIRV_SPIRV_LOOP_H

#include "spirv/spirv_waits.h"

enum { LOOP_DEEPEST = 64 }; /* conversions, additions or conditions that are followed */

struct spirv_finder {
    struct arena *arena;
    const struct spirv_module *module;
    struct spirv_waits *functions;
    uint32_t *seen;  /* [bound]: the last loop, counted from 1, whose course the id decides */
    uint32_t *queue; /* [bound]: ids to be followed */
    uint32_t n_loops;
};

/* One loop of one function. */
struct spirv_loop {
    struct spirv_finder *finder;
    const struct spirv_flow *flow;
    const uint32_t *loop_of;
    uint32_t number;
    uint32_t header; /* SPIRV_NO_BLOCK: it can be entered in two places */
    uint32_t stamp;  /* in finder->seen */
    size_t n_queue;
    bool foreign; /* its course depends on memory that other groups write */
};

static inline const struct spirv_instruction *spirv_loop_define(const struct spirv_loop *loop, uint32_t id)
{
    return spirv_definition(loop->finder->module, id);
}

bool spirv_loop_has(const struct spirv_loop *loop, const struct spirv_instruction *i);

/* The variable of a function that the pointer points into; 0: not known. */
uint32_t spirv_loop_variable(const struct spirv_module *module, uint32_t pointer);

/* Is the variable's address used other than by loads, stores and chains? */
bool spirv_loop_escapes(const struct spirv_loop *loop, uint32_t variable);

/* Index of the function in module->functions; SIZE_MAX: it is none. */
size_t spirv_function_index(const struct spirv_module *module, uint32_t id);

/* Sets header, and foreign if memory that other groups write decides the loop's course. */
void spirv_loop_follow(struct spirv_loop *loop);

/* Does every round pass an exit that the loop itself brings about? */
bool spirv_loop_ends(const struct spirv_loop *loop);

#endif
