#include "opencl/quirks/variant.h"

#include <stdlib.h>
#include <string.h>

#include "opencl/opencl_objects.h"

struct variants *variants_new(size_t n)
{
    struct variants *made = calloc(n ? n : 1, sizeof *made);

    for (size_t i = 0; made && i < n; i++)
        pthread_mutex_init(&made[i].lock, NULL);
    return made;
}

void variants_free(struct variants *variants, size_t n)
{
    for (size_t i = 0; variants && i < n; i++)
        pthread_mutex_destroy(&variants[i].lock);
    free(variants);
}

/*
 * The groups that make a grid wide; 0: the whole launch is not wide, or the driver lacks the quirk.
 */
static uint32_t wide_groups(const struct opencl_device *device, const struct variant_launch *launch)
{
    size_t width = launch->local[0];
    size_t groups = width ? (VARIANT_WIDE_GRID + width - 1) / width : 0;

    if (!quirks_have(&device->quirks, QUIRK_WIDE_GRIDS))
        return 0;

    return groups && launch->n_groups >= groups ? (uint32_t)groups : 0;
}

/* Finds or makes the entry; returns with the lock held. */
static struct variant *open_shape(struct variants *variants, const struct opencl_device *device,
                                  const struct variant_launch *launch)
{
    struct variant *shape;

    pthread_mutex_lock(&variants->lock);
    for (unsigned i = 0; i < VARIANT_SHAPES; i++) {
        shape = &variants->shapes[i];
        if (shape->device == device && !memcmp(shape->local, launch->local, sizeof shape->local))
            return shape;
    }
    shape = &variants->shapes[variants->oldest++ % VARIANT_SHAPES];
    *shape = (struct variant){.device = device};
    memcpy(shape->local, launch->local, sizeof shape->local);
    return shape;
}

uint32_t variant_step(struct variants *variants, const struct opencl_device *device,
                      const struct variant_launch *launch, uint32_t step, double fits, uint32_t left)
{
    uint32_t wide = variants ? wide_groups(device, launch) : 0;
    enum variant_state state;

    if (!wide)
        return step;
    state = open_shape(variants, device, launch)->state;
    pthread_mutex_unlock(&variants->lock);
    if (state == VARIANT_NARROW && step >= wide && wide > 1)
        return wide - 1;
    if (state == VARIANT_NEW && step < wide && fits >= wide && left >= wide)
        return wide;
    return step;
}

static void reach(struct variants *variants, const struct opencl_device *device,
                  const struct variant_launch *launch, enum variant_state state)
{
    struct variant *shape = open_shape(variants, device, launch);

    if (shape->state < state)
        shape->state = state;
    pthread_mutex_unlock(&variants->lock);
}

void variant_ran(struct variants *variants, const struct opencl_device *device,
                 const struct variant_launch *launch, uint32_t groups)
{
    uint32_t wide = variants ? wide_groups(device, launch) : 0;

    if (wide && groups >= wide)
        reach(variants, device, launch, VARIANT_WIDE);
}

void variant_done(struct variants *variants, const struct opencl_device *device,
                  const struct variant_launch *launch)
{
    if (variants && wide_groups(device, launch))
        reach(variants, device, launch, VARIANT_NARROW);
}

bool variant_allows_one(struct variants *variants, const struct opencl_device *device,
                        const struct variant_launch *launch)
{
    enum variant_state state;

    if (!variants || !wide_groups(device, launch))
        return true;
    state = open_shape(variants, device, launch)->state;
    pthread_mutex_unlock(&variants->lock);
    return state != VARIANT_NARROW;
}
