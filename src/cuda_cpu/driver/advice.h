/*
 * What the program has said about ranges of managed memory (cuMemAdvise, cuMemPrefetchAsync).
 * Nothing here acts on it: the memory is where host and devices reach it. Only the questions about
 * ranges (cuMemRangeGetAttribute) are answered from it. All functions may be called from any
 * thread.
 */
#ifndef CUDA_CPU_DRIVER_ADVICE_H
#define CUDA_CPU_DRIVER_ADVICE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_abi/driver_abi.h"

enum advice_kind { ADVICE_READ_MOSTLY, ADVICE_PREFERRED, ADVICE_ACCESSED_BY, ADVICE_PREFETCHED };

struct advice;

/* What was said, in order. Later advice replaces earlier. */
struct driver_advices {
    pthread_mutex_t lock;
    struct advice *all;
    size_t n, room;
};

/*
 * The range has this advice from now on; is_set false: it has it no longer. location: of the
 * advice, for ADVICE_ACCESSED_BY whose it is; ADVICE_READ_MOSTLY has none. False: no memory.
 */
bool advice_note(enum advice_kind kind, uint64_t address, uint64_t size, CUmemLocation location, bool is_set);
/* The memory is gone, and what was said about it. */
void advice_forget(uint64_t address, uint64_t size);
/*
 * Does every byte of the range have this advice, and the same? *ret_location: its location. For
 * ADVICE_ACCESSED_BY *ret_location is the location that is asked about.
 */
bool advice_holds(enum advice_kind kind, uint64_t address, uint64_t size, CUmemLocation *ret_location);

#endif
