/*
 * Transfers: the bytes that they move, the largest chunk, and their chunks. Most functions are rows
 * of kinds.h; chunk_size() and chunk_issue() serve all kinds.
 */
#ifndef OPENCL_GRAPH_CHUNK_H
#define OPENCL_GRAPH_CHUNK_H

#include "engine/pipe.h"
#include "opencl/graph/opencl_command.h"

/*
 * A transfer that is cut: the parameters of the driver's call, without what the graph keeps beside
 * them.
 */
struct chunk_cut {
    struct piece_cut base;
    struct opencl_command request; /* the whole transfer, with every pitch explicit */
    /* rows of a slice: units are rows, and a piece stays within one slice; 0: units are bytes */
    size_t rows;
    size_t element; /* bytes in a unit */
};

/* The largest chunk for the transfer; SIZE_MAX: it runs whole. */
size_t chunk_size(const struct opencl_command *command);

/* kind::issue and kind::issue_range of every transfer. */
cl_int chunk_issue(struct piece_pipe *pipe, struct opencl_command *command, cl_event *ret_event);
cl_int chunk_issue_range(struct opencl_command *command, struct piece_cut *cut, uint64_t begin,
                         uint64_t limit, uint64_t *ret_end, cl_event *ret_event);

/* kind::bytes */
size_t chunk_bytes_linear(const struct opencl_command *command);
size_t chunk_bytes_svm(const struct opencl_command *command);
size_t chunk_bytes_rect(const struct opencl_command *command);
size_t chunk_bytes_from_image(const struct opencl_command *command); /* also within images */
size_t chunk_bytes_to_image(const struct opencl_command *command);

/* kind::plan_chunks */
uint64_t chunk_plan_linear(struct chunk_cut *cut, size_t bytes, size_t chunk);
uint64_t chunk_plan_fill(struct chunk_cut *cut, size_t bytes, size_t chunk);
uint64_t chunk_plan_svm_fill(struct chunk_cut *cut, size_t bytes, size_t chunk);
uint64_t chunk_plan_box(struct chunk_cut *cut, size_t bytes, size_t chunk);

/* kind::chunk */
#define CHUNK(name)                                                                                          \
    void chunk_##name(const struct chunk_cut *cut, size_t begin, size_t end, struct opencl_command *ret_chunk)

CHUNK(linear);
CHUNK(svm_memcpy);
CHUNK(svm_fill);
CHUNK(box_both);  /* boxes on both sides: rect forms, image to image */
CHUNK(box_host);  /* an image and host memory */
CHUNK(box_bytes); /* an image and a buffer */
CHUNK(box_fill);

#endif
