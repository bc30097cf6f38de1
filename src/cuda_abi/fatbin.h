/*
 * Containers of device code, as nvcc embeds them in programs: a wrapper in the program's data, a
 * header, and entries. An entry is PTX or machine code for one architecture, compressed or not.
 * Only PTX is of use here.
 */
#ifndef CUDA_ABI_FATBIN_H
#define CUDA_ABI_FATBIN_H

#include <stdbool.h>
#include <stddef.h>

enum {
    FATBIN_NO_PTX = 1, /* well formed, but has no such PTX */
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

/*
 * The PTX of the code that a driver runs on each of the n devices, or FATBIN_NO_PTX if that is not
 * certain. A driver prefers machine code: of the device's major number, and not above its minor
 * one. The newest such code counts as made from the PTX of its own architecture, and from no other.
 * Without it, the driver compiles the newest PTX that is not above the device. Code with a suffix
 * (sm_90a, sm_100f) is made for single devices: where it may run, nothing is certain.
 */
int fatbin_ptx_run(const void *image, const unsigned devices[], size_t n, char **ret_text, size_t *ret_size);

#endif
