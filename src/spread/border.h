/*
 * The border between two neighbours' work-groups while they run. One works upwards from the lower
 * end, the other downwards from the upper end. Each has its own part, by measured speed; the one
 * that is done with it goes on beyond it and takes up to half of what the other one still has. So a
 * device that is held up (by a more urgent client, by its clock, by its host) holds up the launch
 * by little. Lock-free; pure.
 */
#ifndef SPREAD_BORDER_H
#define SPREAD_BORDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum border_side { BORDER_LOW, BORDER_HIGH };

struct border {
    _Atomic uint64_t open; /* not yet taken: begin in the upper half, end in the lower one */
    uint32_t begin, end;   /* of both parts together */
    uint32_t nominal;      /* the end of the lower part, the beginning of the upper one */
    uint32_t least, most;  /* how far down the upper one, and up the lower one may go */
    uint32_t grain;        /* where groups are taken from another one's part: multiples of it */
};

/* Groups [begin, end), divided at `nominal`. */
void border_init(struct border *border, uint32_t begin, uint32_t nominal, uint32_t end, uint32_t grain);

/*
 * The next groups for one side, in one range: at most `step` of its own, at most that or a grain of
 * the other's. False: nothing is left for it.
 */
bool border_take(struct border *border, enum border_side side, uint32_t step, uint32_t *ret_begin,
                 uint32_t *ret_end);

/*
 * A good step where pieces serve nothing but the border: half of what the side still has, down to a
 * thirty-second of its part.
 */
uint32_t border_step(const struct border *border, enum border_side side);

/* What is not yet taken; empty when both sides have come to their ends. */
void border_open(const struct border *border, uint32_t *ret_begin, uint32_t *ret_end);

#endif
