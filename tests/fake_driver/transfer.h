/* What the transfers share: one call, and the box that it copies or fills. */
#ifndef FAKE_TRANSFER_H
#define FAKE_TRANSFER_H

#include "fake.h"

struct box {
    unsigned char *to;
    const unsigned char *from;
    size_t to_row, to_slice, from_row, from_slice;
    size_t bytes, rows, slices; /* bytes per row */
    unsigned char pattern[128];
    size_t pattern_size; /* not 0: fill instead of copy */
};

struct call {
    const char *name;
    cl_command_type type;
    cl_command_queue queue;
    cl_bool blocking;
    cl_uint n_waits;
    const cl_event *waits;
    cl_event *ret_event;
};

#define CALL(name_, type_, blocking_)                                                                        \
    {                                                                                                        \
        name_, type_, queue, blocking_, n_waits, waits, ret_event                                            \
    }

cl_int fake_begin(const struct call *call);
cl_int fake_check_mem(const struct call *call, cl_mem mem, bool image);
cl_int fake_submit_box(const struct call *call, const struct box *box, cl_mem a, cl_mem b);
bool fake_outside(cl_mem mem, size_t offset, size_t size);
bool fake_forbidden(cl_mem mem, bool reads);
cl_int fake_copy_box(const struct call *call, const struct box *box, cl_mem from, cl_mem to);
bool fake_empty_region(const size_t region[3]);

#endif
