/*
 * The boundary between the work-groups of two neighbouring devices while they run. One device works
 * upwards from the lower end, the other downwards from the upper end. Each has its own part, by
 * measured speed. A device that has finished its part continues beyond it and takes up to half of
 * the groups that the other still has. So a device that is delayed (by a more urgent client, its
 * clock or its host) delays the launch only a little. Lock-free; pure.
 */
#ifndef SPREAD_BOUNDARY_H
#define SPREAD_BOUNDARY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum boundary_side { BOUNDARY_LOW, BOUNDARY_HIGH };

struct boundary {
    _Atomic uint64_t open; /* groups not yet taken: begin in the upper half, end in the lower half */
    uint32_t begin, end;   /* of both parts together */
    uint32_t nominal;      /* the end of the lower part, the beginning of the upper one */
    uint32_t least, most;  /* how far down the upper device, and up the lower device may go */
    uint32_t grain;        /* groups are taken from the other device's part in multiples of it */
};

/* Groups [begin, end), divided at `nominal`. */
void boundary_init(struct boundary *boundary, uint32_t begin, uint32_t nominal, uint32_t end, uint32_t grain);

/*
 * The next groups for one side, in one range. At most `step` of its own part, or of the other's at
 * most that or a grain. False: nothing is left for this side.
 */
bool boundary_take(struct boundary *boundary, enum boundary_side side, uint32_t step, uint32_t *ret_begin,
                   uint32_t *ret_end);

/*
 * A good step if pieces serve only the boundary: half of what the side still has, but at least a
 * thirty-second of its part.
 */
uint32_t boundary_step(const struct boundary *boundary, enum boundary_side side);

/* The groups not yet taken; empty when both sides have finished. */
void boundary_open(const struct boundary *boundary, uint32_t *ret_begin, uint32_t *ret_end);

#endif
