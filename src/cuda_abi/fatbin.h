/*
 * Containers of device code, as nvcc embeds them in programs: a wrapper in the program's data, a
 * header, and entries for several architectures, PTX or machine code, compressed or not. Only PTX
 * is of use here.
 */
#ifndef CUDA_ABI_FATBIN_H
#define CUDA_ABI_FATBIN_H

#include <stdbool.h>
#include <stddef.h>

enum {
    FATBIN_NO_PTX = 1, /* well formed, but has machine code only */
    FATBIN_MALFORMED = 2,
};

/* Is this a fatbin (a wrapper or the container itself), as opposed to PTX text? */
bool fatbin_is(const void *image);

/*
 * The containers of the files that a linked program was compiled from, up to a NULL. NULL: the
 * image is no such wrapper.
 */
const void *const *fatbin_parts(const void *image);

/*
 * The PTX for a device of the architecture (80: sm_80): the newest up to its own, else the oldest
 * above. The caller frees the text, which has a terminating 0. 0, -ENOMEM or an answer above. The
 * container states its own size, which is trusted as far as its parts lie within it.
 */
int fatbin_ptx(const void *image, unsigned architecture, char **ret_text, size_t *ret_size);

#endif
