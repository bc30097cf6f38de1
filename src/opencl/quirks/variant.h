/*
 * QUIRK_WIDE_GRIDS: which forms of a rewritten kernel the driver has compiled. The driver compiles
 * when a command runs: once per local size, and once more for grids with rows of VARIANT_WIDE_GRID
 * work-items or more. Each compilation takes 30 to 70 ms.
 *
 * All pieces of a first launch may be narrower than that. The next launch, by then known to be
 * short, runs as one command and is wide. So the first launch that is wide as a whole runs one wide
 * piece, if wide pieces are short enough to be used at all. If it ran none, later pieces stay
 * narrow. Either way, no later launch of the kernel with this local size compiles.
 *
 * Other drivers compile when a program is built. Then every function here changes nothing.
 */
#ifndef OPENCL_QUIRKS_VARIANT_H
#define OPENCL_QUIRKS_VARIANT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct opencl_device;

enum {
    /* remembered pairs of local size and device of a kernel; a further one replaces the oldest */
    VARIANT_SHAPES = 8,
    VARIANT_WIDE_GRID = 65536,
};

/* A launch as the driver would see it whole. */
struct variant_launch {
    size_t local[3];
    uint32_t n_groups;
};

/* The state of one kernel of a program, over all its kernel objects. All zero: nothing is known. */
struct variants {
    struct variant {
        const struct opencl_device *device; /* NULL: free */
        size_t local[3];
        enum variant_state {
            VARIANT_NEW,    /* no launch that is wide as a whole has ended yet */
            VARIANT_NARROW, /* the first such launch ran no wide piece */
            VARIANT_WIDE,   /* compiled for both forms */
        } state;
    } shapes[VARIANT_SHAPES];
    unsigned oldest;
    pthread_mutex_t lock;
};

/* n of them. NULL: no memory; every function here then does nothing. */
struct variants *variants_new(size_t n);
void variants_free(struct variants *variants, size_t n);

/*
 * Groups of the next piece, of `left`: step, unless that would make a later launch compile. fits:
 * groups that fill a piece's time, 0: unknown.
 */
uint32_t variant_step(struct variants *variants, const struct opencl_device *device,
                      const struct variant_launch *launch, uint32_t step, double fits, uint32_t left);

/* A piece of so many groups, or the whole launch, was given to the driver. */
void variant_ran(struct variants *variants, const struct opencl_device *device,
                 const struct variant_launch *launch, uint32_t groups);
void variant_done(struct variants *variants, const struct opencl_device *device,
                  const struct variant_launch *launch);

/* May the launch run as one command? */
bool variant_allows_one(struct variants *variants, const struct opencl_device *device,
                        const struct variant_launch *launch);

#endif
