/*
 * Which copy of a buffer holds what: the coherence record (GPU-SPARC Sec. III-B, "coherent
 * memory"). One per root buffer; sub-buffers are ranges of it, so overlapping ones need no care of
 * their own. Places: the program's own buffer (home), memory of the host (the shadow), and one copy
 * per further device. Pure; the caller moves the bytes and says what it has done.
 *
 * A byte is valid at a place if that copy holds what one device alone would hold. After a split
 * launch the written ranges are *partial*: no device is valid there, each has its own share's
 * writes, and the shadow holds what all of them began with (where the merge needs it). Every byte
 * outside partial ranges is valid at one place at least, and home is that place whenever the
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

/* A buffer that only its program knows: valid at home. */
void coherence_init(struct coherence *coherence, size_t size);

/* Every byte of it? */
bool coherence_valid(const struct coherence *coherence, int place, struct range range);

/*
 * The next thing to copy so that `range` becomes valid at `to`: the part in *ret_part, and the
 * place to take it from. Among several the host is preferred (one transfer), then home. PLACE_NONE:
 * nothing is missing, or what is missing is partial and must be merged first.
 */
int coherence_next_copy(const struct coherence *coherence, int to, struct range range,
                        struct range *ret_part);
void coherence_copied(struct coherence *coherence, int to, struct range range);

/* A command wrote there: the other copies are old. */
void coherence_written(struct coherence *coherence, int place, struct range range);

/* A split launch may have written there, on several devices. */
void coherence_split(struct coherence *coherence, struct range range);
/*
 * The partial results of the range have been merged, and `place` holds them; others are told by
 * coherence_copied().
 */
void coherence_merged(struct coherence *coherence, int place, struct range range);

/* Too finely divided: copy everything home (coherence_written(home) then makes it simple). */
bool coherence_tight(const struct coherence *coherence);

#endif
