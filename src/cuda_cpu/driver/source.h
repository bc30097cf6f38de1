/*
 * Finds the PTX in what a program loads: text, a fatbin or its wrapper, or the output of
 * cuLinkComplete (source_pack()).
 */
#ifndef CUDA_CPU_DRIVER_SOURCE_H
#define CUDA_CPU_DRIVER_SOURCE_H

#include "cuda_abi/driver_abi.h"
#include "cuda_cpu/image.h"

enum { SOURCE_MOST_TEXTS = 256, SOURCE_ARCHITECTURE = 80 }; /* sm_80: what the device is */

struct source {
    struct image_text texts[SOURCE_MOST_TEXTS]; /* into the image, or into `owned` */
    size_t n;
    char *owned[SOURCE_MOST_TEXTS]; /* by text: the unpacked text; NULL: it was not packed */
};

CUresult source_read(const void *image, struct source *ret_source);
void source_done(struct source *source);

/*
 * Packs all texts into one string that source_read() unpacks. NULL: no memory. The caller frees it.
 */
char *source_pack(const struct image_text texts[], size_t n, size_t *ret_size);

#endif
