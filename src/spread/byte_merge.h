/*
 * Merges what a split kernel wrote (GPU-SPARC Sec. III-B, "correct data collection"). Every device
 * started from the same bytes, the shadow, and ran its share of the work-groups on its own copy. A
 * byte that differs from the shadow was written; a byte that no device changed stays. Pure code
 * over memory, without OpenCL.
 *
 * Why a granule. A device that stores an element may change only some of its bytes. If two devices
 * stored different values into one element, merging byte by byte could mix them into a value that
 * neither wrote. So a conflict is judged per granule. Two devices that both changed a granule and
 * differ in it are in conflict, even if their changed bytes do not overlap. A granule at least as
 * large as the kernel's largest store is therefore safe. A larger one can only report a false
 * conflict, and then the kernel runs on one device. Storing the value that was there already is no
 * change. Then the other device's value wins, which is one of the two that a single device could
 * have left.
 */
#ifndef SPREAD_MERGE_H
#define SPREAD_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* two devices wrote different values to one granule; the output is then undefined */
#define MERGE_CONFLICT    1
#define MERGE_MAX_COPIES  16
#define MERGE_MAX_GRANULE 128
/* bytes checked at a time: fits the first-level cache; a multiple of every granule */
#define MERGE_BLOCK 4096u

/*
 * Combines n copies (2 .. MERGE_MAX_COPIES) of size bytes with the shadow into ret_out. ret_out may
 * be one of the copies or the shadow, but must not overlap them otherwise. granule: a power of two,
 * 1 .. MERGE_MAX_GRANULE, counted from the beginning of the buffers.
 *
 * apart: two copies that both changed a granule are a conflict even if they agree, because the
 * writers also read it. On one device the second writer would have seen what the first wrote.
 * threads: the most to use; small merges use one. ret_writers, unless NULL, gets for each block of
 * MERGE_BLOCK bytes one bit per copy that changed it. 0, or MERGE_CONFLICT with *ret_at the offset
 * of one such granule.
 */
int merge_copies(void *ret_out, const void *shadow, const void *const copies[], size_t n, size_t size,
                 size_t granule, bool apart, unsigned threads, uint16_t *ret_writers, size_t *ret_at);

#endif
