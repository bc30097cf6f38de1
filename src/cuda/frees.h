/*
 * Allocations whose cuMemFreeAsync is held back: the program has freed them, the driver does not
 * know yet. A second free of one is a mistake of the program's that the driver could not see.
 */
#ifndef CUDA_FREES_H
#define CUDA_FREES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "cuda/entries.h"

/* The address is to be freed. False: it is already. */
bool frees_hold(CUdeviceptr address);
bool frees_held(CUdeviceptr address);

/* The driver's call, in its turn. */
CUresult frees_issue(const struct call *call);

/* Frees that are held back (cuda_front.frees). */
struct cuda_frees {
    pthread_mutex_t lock; /* guards the list; a leaf */
    struct held_free *list;
    atomic_uint n; /* entries of the list; readable without the lock */
};

#endif
