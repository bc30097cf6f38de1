/*
 * A batch operation as a file describes it (Batch, sec. 3.1): streams that start and end together
 * from the program's view. Each stream is a copy, a kernel, or a copy to a GPU followed by a kernel
 * there.
 */
#ifndef MODEL_BATCH_FILE_H
#define MODEL_BATCH_FILE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/input_error.h"
#include "model/topology.h"

#define BATCH_MAX_STREAMS 64

struct batch_stream {
    const char *name;  /* for messages and pictures */
    int from, to;      /* nodes; both -1: no copy */
    int64_t bytes;     /* 0: no copy */
    int gpu;           /* node that runs the kernel, or -1 */
    baton_nsec kernel; /* its predicted length; 0: none */
};

struct batch_file {
    struct arena arena; /* owns what follows */
    struct batch_stream *streams;
    size_t n_streams;
};

/*
 * Reads `streams: [{from: MEM0, to: GPU0, bytes: 256 MiB, kernel_ms: 10}, {to: GPU1, kernel_ms: 3},
 * ...]`. Errors name the position of unknown nodes, copies without a route, and kernels after
 * copies to host memory. On success the caller calls batch_file_done().
 */
int batch_read_file(const char *path, const struct topology *topology, struct batch_file *ret_batch,
                    struct input_error *ret_error);
int batch_read(const char *name, const char *text, size_t size, const struct topology *topology,
               struct batch_file *ret_batch, struct input_error *ret_error);
void batch_file_done(struct batch_file *batch);

#endif
