/* PTX text to functions and their instructions; the meaning of operands does not matter here, only where control may go. */
#ifndef MAKESPAN_PTX_SCAN_H
#define MAKESPAN_PTX_SCAN_H

#include "base/arena.h"
#include "base/input_error.h"
#include "makespan/ptx/ptx_class.h"

struct ptx_text {
    const char *begin; /* borrowed from the file */
    size_t length;
};

struct ptx_label {
    struct ptx_text name;
    size_t at;               /* index of the instruction it stands before */
    struct ptx_text targets; /* of a .branchtargets list, else empty */
    unsigned line, column;
};

struct ptx_instruction {
    enum unit unit;
    enum ptx_flow flow;
    bool is_predicated;
    bool is_barrier;        /* of the whole group */
    struct ptx_text target; /* label or function, where flow says so */
    unsigned line, column;
};

struct ptx_function {
    struct ptx_text name;
    bool is_entry, has_body;
    struct ptx_instruction *instructions; /* n of them, in the arena */
    size_t n, room;
    struct ptx_label *labels; /* n_labels of them, in the arena, by name */
    size_t n_labels, labels_room;
    unsigned line;
    struct ptx_function *next;
    size_t index; /* among the functions of the file */
};

/* All functions of the file, into the arena. 0, -ENOMEM or INPUT_REJECTED. */
int ptx_scan(const char *path, const char *text, size_t size, struct arena *arena,
             struct ptx_function **ret_functions, struct input_error *ret_error);

bool ptx_text_equals(struct ptx_text text, const char *other, size_t length);
const struct ptx_label *ptx_find_label(const struct ptx_function *function, struct ptx_text name);

#endif
