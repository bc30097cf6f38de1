/*
 * What the program has said about ranges of managed memory (cuMemAdvise, cuMemPrefetchAsync). The
 * device does not act on advice, because host and devices reach all of this memory. Advice only
 * answers questions about ranges (cuMemRangeGetAttribute). All functions may be called from any
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

/* All advice, in order. Later advice replaces earlier advice. */
struct driver_advices {
    pthread_mutex_t lock;
    struct advice *all;
    size_t n, room;
};

/*
 * Gives the range this advice; is_set false: removes it. location: the location that the advice
 * names, for ADVICE_ACCESSED_BY the accessing one; ADVICE_READ_MOSTLY has none. False: no memory.
 */
bool advice_note(enum advice_kind kind, uint64_t address, uint64_t size, CUmemLocation location, bool is_set);
/* The memory has been freed: forgets the advice about it. */
void advice_forget(uint64_t address, uint64_t size);
/*
 * Does every byte of the range have the same advice of this kind? *ret_location: its location. For
 * ADVICE_ACCESSED_BY the caller sets *ret_location to the location in question.
 */
bool advice_holds(enum advice_kind kind, uint64_t address, uint64_t size, CUmemLocation *ret_location);

#endif
