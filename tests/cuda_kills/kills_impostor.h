/*
 * A process that listens where batond does and speaks garbage: bytes, frames of every kind with
 * random content, pages of a wrong size, calls for leases, and silence before it hangs up.
 */
#ifndef TESTS_CUDA_KILLS_IMPOSTOR_H
#define TESTS_CUDA_KILLS_IMPOSTOR_H

#include <stdint.h>
#include <sys/types.h>

struct kills_impostor {
    pid_t pid;
    int listener;
};

/* Returns once it listens. It serves until its end. */
void kills_impostor_start(struct kills_impostor *impostor, const char *socket_path, uint64_t seed);
/* Kills it. From then on no process listens there. */
void kills_impostor_end(struct kills_impostor *impostor);

#endif
