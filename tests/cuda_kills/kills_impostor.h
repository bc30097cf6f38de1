/*
 * A process that listens where batond does and speaks garbage: bytes, frames of every kind with
 * random content, pages of a wrong size, calls for leases, and silence before it hangs up.
 */
#ifndef TESTS_CUDA_KILLS_IMPOSTOR_H
#define TESTS_CUDA_KILLS_IMPOSTOR_H

#include <stdint.h>
#include <sys/types.h>

/* Returns once it listens. It serves until it is killed. */
pid_t kills_impostor_start(const char *socket_path, uint64_t seed);

#endif
