/*
 * Copies of every kind become one kind: rows of bytes from one place to another, in up to three
 * dimensions. The calls describe both sides as the interface does (CUDA_MEMCPY3D); copy_submit()
 * checks the description and submits the copy to a stream.
 *
 * Pageable host memory behaves as documented for asynchronous copies. A source is copied aside
 * before the call returns. A copy to pageable memory is complete when the call returns.
 */
#ifndef CUDA_CPU_DRIVER_COPY_H
#define CUDA_CPU_DRIVER_COPY_H

#include "cuda_cpu/driver/stream.h"

/*
 * An action for the copy, for a stream or a graph's node; NULL and a code on failure. A copy of
 * nothing: NULL and success.
 */
struct action *copy_action(const CUDA_MEMCPY3D *copy, CUresult *ret_code);

/* stage: the call is asynchronous, so pageable memory is treated as described above. */
CUresult copy_submit(const CUDA_MEMCPY3D *copy, struct stream *stream, bool wait);

/*
 * The description of a row of bytes between two addresses, whose kinds follow from the addresses.
 */
CUDA_MEMCPY3D copy_line(uint64_t to, uint64_t from, size_t size);

#endif
