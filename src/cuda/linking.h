/*
 * cuLink*: a driver links PTX into machine code, which cannot be cut. So each PTX text is rewritten
 * when the program adds it, and what was cut is remembered. It is kept with the link state, then
 * with the linked image, which the program loads before it destroys the state.
 */
#ifndef CUDA_LINKING_H
#define CUDA_LINKING_H

#include <pthread.h>
#include <stdbool.h>

#include "base/list.h"
#include "ptx/cut/ptx_cut.h"

/*
 * What was cut in a linked image, as module_prepare() wants it: entries, and a text that is not
 * NULL but is not to be loaded. False: the image is not one of a link with rewritten kernels.
 */
bool linking_find(const void *image, struct ptx_cut *ret_cut);

/* Links of the program (cuda_front.links). */
struct cuda_links {
    pthread_mutex_t lock; /* guards the list and its records; a leaf */
    struct list all;
};

#endif
