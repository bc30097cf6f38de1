/*
 * Which copy of a buffer holds which bytes: the coherence record (GPU-SPARC Sec. III-B, "coherent
 * memory"). One per root buffer; sub-buffers are ranges of it, so overlapping ones need no special
 * care. Places: the program's own buffer (home), memory of the host (the shadow), and one copy per
 * further device. Pure; the caller moves the bytes and reports what it has done.
 *
 * A byte is valid at a place if that copy holds what one device alone would hold. After a split
 * launch the written ranges are *partial*: no device is valid there. Each device has the writes of
 * its own share. If the merge needs it, the shadow holds the bytes from which all of them began.
 * Every byte outside partial ranges is valid at one place at least. Home is that place whenever the
 * program can see the buffer.
 */
#ifndef SPREAD_COHERENCE_H
#define SPREAD_COHERENCE_H

#include "spread/ranges.h"

enum { PLACE_HOME, PLACE_HOST, PLACE_DEVICE, PLACE_MAX = PLACE_DEVICE + 15, PLACE_NONE = -1 };

struct coherence {
    size_t size;
    struct ranges valid[PLACE_MAX];
    struct ranges partial; /* results of a split launch that are not merged yet */
};

/* A buffer without further copies: valid at home. */
void coherence_init(struct coherence *coherence, size_t size);

/* Is every byte of the range valid there? */
bool coherence_valid(const struct coherence *coherence, int place, struct range range);

/*
 * The next copy that makes `range` valid at `to`: its part in *ret_part; the answer is the place to
 * copy from. Among several the host is preferred (one transfer), then home. PLACE_NONE: nothing is
 * missing, or the missing part is partial and must be merged first.
 */
int coherence_next_copy(const struct coherence *coherence, int to, struct range range,
                        struct range *ret_part);
void coherence_copied(struct coherence *coherence, int to, struct range range);

/* A command wrote there: the other copies become invalid. */
void coherence_written(struct coherence *coherence, int place, struct range range);

/* A split launch may have written there, on several devices. */
void coherence_split(struct coherence *coherence, struct range range);
/*
 * The partial results of the range have been merged into `place`. The caller reports further copies
 * by coherence_copied().
 */
void coherence_merged(struct coherence *coherence, int place, struct range range);

/*
 * Too finely divided: the caller should copy everything home; coherence_written(home) then
 * simplifies the record.
 */
bool coherence_tight(const struct coherence *coherence);

#endif
