/*
 * Memory of graphs. A node that allocates owns its memory, at one address, as long as it exists. So
 * the nodes behind it can be checked and run like any other. The memory belongs to the program from
 * a launch of the graph to the free, which is a node of the graph or a call. Launching again before
 * the free is an error, as documented.
 */
#ifndef CUDA_CPU_DRIVER_GRAPH_MEMORY_H
#define CUDA_CPU_DRIVER_GRAPH_MEMORY_H

#include "cuda_cpu/driver/cuda_graph.h"
#include "cuda_cpu/driver/stream.h"

/* A stream-ordered allocation or free in a capturing stream. */
CUresult graph_memory_capture(struct stream *stream, int device, size_t size, CUdeviceptr *ret_address);
CUresult graph_memory_capture_free(struct stream *stream, CUdeviceptr address);

/* Actions for nodes; NULL and a code on failure. */
struct action *graph_memory_allocate(int device, size_t size, CUresult *ret_code);
struct action *graph_memory_free(CUdeviceptr address, CUresult *ret_code);

/*
 * A launch of the executable graph: its allocations begin. CUDA_ERROR_INVALID_VALUE: some are still
 * live.
 */
CUresult graph_memory_launch(CUgraphExec exec);

#endif
