/*
 * Images of every kind: boxes read, written, copied and mapped, with pitches of the caller's and
 * without.
 */
#include "conformance.h"

#include <string.h>

enum {
    WIDE = 16,
    MORE = 5,
    ROW = 80,
    SLICE = ROW * 20,
    BYTES = WIDE * WIDE * MORE * PIXEL,
    HOST = SLICE * MORE
};

struct kind {
    const char *name;
    cl_image_desc desc;
    size_t region[3], origin[3], inner[3]; /* all of it, and a box inside */
    size_t slice; /* a slice pitch that is allowed with rows of ROW bytes; 0: none is */
};

static const struct kind kinds[] = {
    {"1D", {.image_type = CL_MEM_OBJECT_IMAGE1D, .image_width = WIDE}, {WIDE, 1, 1}, {3, 0, 0}, {9, 1, 1}, 0},
    {"2D",
     {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = WIDE, .image_height = WIDE},
     {WIDE, WIDE, 1},
     {3, 2, 0},
     {9, 11, 1},
     0},
    {"3D",
     {.image_type = CL_MEM_OBJECT_IMAGE3D, .image_width = WIDE, .image_height = WIDE, .image_depth = MORE},
     {WIDE, WIDE, MORE},
     {3, 2, 1},
     {9, 11, 3},
     SLICE},
    {"1D-array", /* a slice is one row, and PoCL takes the row pitch for both */
     {.image_type = CL_MEM_OBJECT_IMAGE1D_ARRAY, .image_width = WIDE, .image_array_size = WIDE},
     {WIDE, WIDE, 1},
     {3, 2, 0},
     {9, 11, 1},
     ROW},
    {"2D-array",
     {.image_type = CL_MEM_OBJECT_IMAGE2D_ARRAY,
      .image_width = WIDE,
      .image_height = WIDE,
      .image_array_size = MORE},
     {WIDE, WIDE, MORE},
     {3, 2, 1},
     {9, 11, 3},
     SLICE},
};

static cl_mem make(const struct world *world, const struct kind *kind, cl_int *ret_code)
{
    cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};

    return clCreateImage(world->context, CL_MEM_READ_WRITE, &format, &kind->desc, NULL, ret_code);
}

static uint32_t content(const struct world *world, const struct kind *kind, cl_mem image)
{
    static const size_t origin[3] = {0};
    unsigned char bytes[BYTES] = {0};
    cl_int code =
        clEnqueueReadImage(world->in_order, image, CL_TRUE, origin, kind->region, 0, 0, bytes, 0, NULL, NULL);

    return code ? (uint32_t)code : hash_bytes(0, bytes, sizeof bytes);
}

/* What is between the rows and behind the last one must stay as it is. */
static void transfers(const struct world *world, const struct kind *kind, cl_mem image, cl_mem other)
{
    static const size_t origin[3] = {0};
    static unsigned char host[HOST], back[HOST];
    cl_mem buffer = clCreateBuffer(world->context, CL_MEM_READ_WRITE, BYTES + 8, NULL, NULL);
    unsigned char bytes[BYTES + 8] = {0};
    cl_event read = NULL;
    cl_int code;

    for (size_t i = 0; i < sizeof host; i++)
        host[i] = (unsigned char)(i * 7 + i / 251);
    memset(back, 0, sizeof back);
    code = clEnqueueWriteImage(world->in_order, image, CL_FALSE, origin, kind->region, ROW, kind->slice, host,
                               0, NULL, NULL);
    line(kind->name, "write %d data %08x", code, content(world, kind, image));
    code = clEnqueueReadImage(world->in_order, image, CL_FALSE, kind->origin, kind->inner, ROW, kind->slice,
                              back, 0, NULL, &read);
    clWaitForEvents(1, &read);
    line(kind->name, "read %d data %08x", code, hash_bytes(0, back, sizeof back));
    code =
        clEnqueueWriteImage(world->in_order, other, CL_TRUE, origin, kind->region, 0, 0, host, 0, NULL, NULL);
    line(kind->name, "write without pitches %d data %08x", code, content(world, kind, other));
    code =
        clEnqueueCopyImage(world->in_order, image, other, origin, kind->origin, kind->inner, 0, NULL, NULL);
    line(kind->name, "copy %d data %08x", code, content(world, kind, other));
    clEnqueueWriteBuffer(world->in_order, buffer, CL_TRUE, 0, sizeof bytes, bytes, 0, NULL, NULL);
    code = clEnqueueCopyImageToBuffer(world->in_order, other, buffer, kind->origin, kind->inner, 4, 0, NULL,
                                      NULL);
    clEnqueueReadBuffer(world->in_order, buffer, CL_TRUE, 0, sizeof bytes, bytes, 0, NULL, NULL);
    line(kind->name, "to buffer %d data %08x", code, hash_bytes(0, bytes, sizeof bytes));
    code = clEnqueueCopyBufferToImage(world->in_order, buffer, image, 4, origin, kind->inner, 0, NULL, NULL);
    line(kind->name, "from buffer %d data %08x", code, content(world, kind, image));
    clReleaseEvent(read);
    clReleaseMemObject(buffer);
}

/*
 * The images of a one-dimensional array are a slice pitch apart, whatever the pitch of their single
 * rows is.
 */
static void map_behind_gate(const struct world *world, const struct kind *kind, cl_mem image)
{
    bool lines = kind->desc.image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
    cl_event gate = clCreateUserEvent(world->context, NULL), mapped = NULL;
    cl_uint color[4] = {1, 2, 3, 4};
    size_t row = 0, slice = 77;
    unsigned char *pointer;
    cl_int code = 99;
    uint32_t seen = 0;

    clEnqueueFillImage(world->in_order, image, color, kind->origin, kind->inner, 1, &gate, NULL);
    pointer = clEnqueueMapImage(world->in_order, image, CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, kind->origin,
                                kind->inner, &row, &slice, 0, NULL, &mapped, &code);
    clSetUserEventStatus(gate, CL_COMPLETE);
    clWaitForEvents(1, &mapped);
    for (size_t z = 0; pointer && z < kind->inner[2]; z++)
        for (size_t y = 0; y < kind->inner[1]; y++) {
            unsigned char *at = pointer + z * slice + y * (lines ? slice : row);
            seen = hash_bytes(seen, at, kind->inner[0] * PIXEL);
            at[0] = (unsigned char)(100 + 16 * z + y);
        }
    clEnqueueUnmapMemObject(world->in_order, image, pointer, 0, NULL, NULL);
    line(kind->name, "map %d %s seen %08x data %08x", code, slice ? "slices" : "no slices", seen,
         content(world, kind, image));
    clReleaseEvent(gate);
    clReleaseEvent(mapped);
}

void check_images(const struct world *world)
{
    for (size_t i = 0; world->images && i < sizeof kinds / sizeof kinds[0]; i++) {
        cl_int code = 99, other_code = 99;
        cl_mem image = make(world, &kinds[i], &code), other = make(world, &kinds[i], &other_code);

        line(kinds[i].name, "create %d %d", code, other_code);
        if (!image || !other)
            continue;
        transfers(world, &kinds[i], image, other);
        map_behind_gate(world, &kinds[i], image);
        clReleaseMemObject(image);
        clReleaseMemObject(other);
    }
}
