/*
 * Images on further devices: an equal image in their contexts. An image is copied and merged as
 * packed bytes, that is, rows and slices without padding. An image moves whole: its coherence
 * record never divides it.
 */
#ifndef OPENCL_SPREAD_IMAGE_H
#define OPENCL_SPREAD_IMAGE_H

#include "opencl/opencl_objects.h"

struct spread_image {
    cl_image_format format;
    cl_image_desc desc;
    size_t region[3]; /* the whole image, as the region of a transfer */
    size_t pixel;     /* bytes: a power of two */
    size_t bytes;     /* of all pixels */
};

/*
 * NULL: no memory, or an image that depends on another object (on a buffer or image), or has mip
 * levels or samples.
 */
struct spread_image *image_describe(cl_mem handle);

/*
 * An equal image in another context, with the program's own access flags. NULL and a code on
 * failure.
 */
cl_mem image_create(const struct spread_image *image, cl_context context, cl_mem_flags flags,
                    cl_int *ret_code);

/*
 * Transfers all pixels between the image and memory of the host. Enters the engine once for at most
 * `chunk` bytes of whole rows, at least one row. A driver's code.
 */
cl_int image_transfer(const struct spread_image *image, const struct queue_record *queue, cl_mem mem,
                      bool out, unsigned char *memory, size_t chunk);

/* A sampler like the one given, in another context; NULL on failure. */
cl_sampler image_sampler(cl_sampler sampler, cl_context context);

#endif
