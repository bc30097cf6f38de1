/* Images between split launches, and programs linked from parts. */
#include "cases.h"

#include <stdlib.h>
#include <string.h>

void case_images(void)
{
    enum { W = 128 };
    cl_image_format format = {CL_R, CL_UNSIGNED_INT8};
    cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = W, .image_height = W};
    size_t global[2] = {W, W}, local[2] = {8, 8}, origin[3] = {0}, region[3] = {W, W, 1};
    cl_int code;
    cl_sampler sampler =
        clCreateSampler(context, CL_FALSE, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_NEAREST, &code);
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &code);
    cl_mem in = filled(W * W, 41), out = filled(W * W, 42);
    cl_kernel paint = kernel("paint"), picture = kernel("picture"), place = kernel("in_place");
    unsigned char pixels[W * W];

    check(code, "clCreateImage");
    set_mem(place, 0, in);
    set_uint(place, 1, 5);
    set_mem(paint, 0, image);
    set_mem(paint, 1, in);
    set_uint(paint, 2, W);
    set_mem(picture, 0, image);
    set(picture, 1, sizeof sampler, &sampler);
    set_mem(picture, 2, out);
    set_uint(picture, 3, W);
    for (int i = 0; i < 3; i++) {
        run(place, W * W);
        check(clEnqueueNDRangeKernel(queue, paint, 2, NULL, global, local, 0, NULL, NULL), "paint");
        check(clEnqueueNDRangeKernel(queue, picture, 2, NULL, global, local, 0, NULL, NULL), "picture");
        say_mem("images out", out, W * W * 4);
        check(clEnqueueReadImage(queue, image, CL_TRUE, origin, region, 0, 0, pixels, 0, NULL, NULL),
              "clEnqueueReadImage");
        say("images", pixels, sizeof pixels);
        memset(pixels, i + 1, sizeof pixels / 2);
        check(clEnqueueWriteImage(queue, image, CL_TRUE, origin, region, 0, 0, pixels, 0, NULL, NULL),
              "clEnqueueWriteImage");
        check(clEnqueueNDRangeKernel(queue, picture, 2, NULL, global, local, 0, NULL, NULL), "picture");
        say_mem("images written", out, W * W * 4);
        check(clEnqueueCopyImageToBuffer(queue, image, in, origin, region, 0, 0, NULL, NULL),
              "image to buffer");
    }
    clReleaseKernel(paint);
    clReleaseKernel(picture);
    clReleaseKernel(place);
    clReleaseMemObject(image);
    clReleaseMemObject(in);
    clReleaseMemObject(out);
    clReleaseSampler(sampler);
}

/*
 * Four floats a pixel, a filter between them, in three dimensions and in layers; part of the pixels
 * is written.
 */
static void sampled(cl_mem_object_type type, const char *name, const char *reader, const char *writer)
{
    enum { W = 40, D = 6 };
    cl_image_format format = {CL_RGBA, CL_FLOAT};
    cl_image_desc desc = {.image_type = type,
                          .image_width = W,
                          .image_height = W,
                          .image_depth = type == CL_MEM_OBJECT_IMAGE3D ? D : 0,
                          .image_array_size = type == CL_MEM_OBJECT_IMAGE2D_ARRAY ? D : 0};
    size_t global[3] = {W, W, D}, local[3] = {8, 8, 1}, origin[3] = {0}, region[3] = {W, W, D};
    size_t size = (size_t)W * W * D * 16;
    uint32_t *bits = values(size / 4, 50);
    float *pixels = malloc(size);
    cl_int code;
    cl_sampler sampler = clCreateSampler(context, CL_TRUE, CL_ADDRESS_REPEAT, CL_FILTER_LINEAR, &code);
    cl_mem image, out = filled(size / 4, 51);
    cl_kernel read = kernel(reader), write = writer ? kernel(writer) : NULL;

    for (size_t i = 0; i < size / 4; i++)
        pixels[i] = (float)(bits[i] % 1000) / 7;
    image = clCreateImage(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, &format, &desc, pixels, &code);
    check(code, name);
    set_mem(read, 0, image);
    set(read, 1, sizeof sampler, &sampler);
    set_mem(read, 2, out);
    clRetainSampler(sampler); /* as every copy of a C++ wrapper does */
    clReleaseSampler(sampler);
    for (int i = 0; i < 3; i++) {
        float color[4] = {1, 2, (float)i, 4};
        size_t corner[3] = {3, 4, 1}, box[3] = {7, 9, 2};

        check(clEnqueueNDRangeKernel(queue, read, 3, NULL, global, local, 0, NULL, NULL), reader);
        if (i == 1) /* everything is let go of while the results are still apart */
            clReleaseSampler(sampler);
        say_mem(name, out, size);
        if (write) {
            set_mem(write, 0, image);
            set_mem(write, 1, out);
            check(clEnqueueNDRangeKernel(queue, write, 3, NULL, global, local, 0, NULL, NULL), writer);
        }
        check(clEnqueueFillImage(queue, image, color, corner, box, 0, NULL, NULL), "clEnqueueFillImage");
        check(clEnqueueReadImage(queue, image, CL_TRUE, origin, region, 0, 0, pixels, 0, NULL, NULL),
              "clEnqueueReadImage");
        say(name, pixels, size);
        if (i == 1) {
            sampler = clCreateSampler(context, CL_TRUE, CL_ADDRESS_MIRRORED_REPEAT, CL_FILTER_NEAREST, &code);
            set(read, 1, sizeof sampler, &sampler);
        }
    }
    clReleaseSampler(sampler);
    clReleaseKernel(read);
    if (write)
        clReleaseKernel(write);
    clReleaseMemObject(image);
    clReleaseMemObject(out);
    free(bits);
    free(pixels);
}

void case_volumes(void)
{
    sampled(CL_MEM_OBJECT_IMAGE3D, "volume", "probe", NULL);
    sampled(CL_MEM_OBJECT_IMAGE2D_ARRAY, "layers", "leaf", "print");
}

/* A map of an image between split launches, written through. */
void case_mapped_images(void)
{
    enum { W = 64 };
    cl_image_format format = {CL_R, CL_UNSIGNED_INT8};
    cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = W, .image_height = W};
    size_t global[2] = {W, W}, local[2] = {8, 8}, origin[3] = {0}, region[3] = {W, W, 1}, row;
    cl_int code;
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &code);
    cl_mem in = filled(W * W, 60);
    cl_kernel paint = kernel("paint"), some = kernel("paint_some");

    check(code, "clCreateImage");
    set_mem(paint, 0, image);
    set_mem(paint, 1, in);
    set_uint(paint, 2, W);
    set_mem(some, 0, image);
    set_mem(some, 1, in);
    set_uint(some, 2, W);
    for (int i = 0; i < 3; i++) {
        unsigned char *pixels;

        check(clEnqueueNDRangeKernel(queue, i ? some : paint, 2, NULL, global, local, 0, NULL, NULL),
              "paint");
        pixels = clEnqueueMapImage(queue, image, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, origin, region, &row,
                                   NULL, 0, NULL, NULL, &code);
        check(code, "clEnqueueMapImage");
        for (int y = 0; y < W; y++) {
            say("mapped image row", pixels + row * (size_t)y, W);
            pixels[row * (size_t)y + 5] ^= 3;
        }
        check(clEnqueueUnmapMemObject(queue, image, pixels, 0, NULL, NULL), "clEnqueueUnmapMemObject");
    }
    clReleaseKernel(paint);
    clReleaseKernel(some);
    clReleaseMemObject(image);
    clReleaseMemObject(in);
}

/* A program linked from two compiled ones, a kernel of each. */
void case_linked(void)
{
    const char *texts[] = {
        "uint twist(uint x, uint k) { return (x ^ (x >> 7)) * k; }\n"
        "__kernel void first(__global const uint *in, __global uint *out, uint k) {\n"
        "    uint i = get_global_id(0); out[(i * 40503u) & 65535u] = twist(in[i], k) + get_group_id(0); }\n",
        "__kernel void second(__global const uint *in, __global uint *out, uint k) {\n"
        "    uint i = get_global_id(0); out[65535 - i] += in[i] % k + get_num_groups(0); }\n"};
    static const char *const names[] = {"first", "second"};
    cl_program parts[2], whole;
    cl_mem in = filled(N, 70), out = filled(N, 71);
    cl_int code;

    for (int i = 0; i < 2; i++) {
        parts[i] = clCreateProgramWithSource(context, 1, &texts[i], NULL, &code);
        check(clCompileProgram(parts[i], 1, &device, "", 0, NULL, NULL, NULL, NULL), "clCompileProgram");
    }
    whole = clLinkProgram(context, 1, &device, "", 2, parts, NULL, NULL, &code);
    check(code, "clLinkProgram");
    for (cl_uint i = 0; i < 4; i++) {
        cl_kernel k = clCreateKernel(whole, names[i % 2], &code);

        check(code, names[i % 2]);
        set_mem(k, 0, in);
        set_mem(k, 1, out);
        set_uint(k, 2, 3 + i);
        run(k, N);
        say_mem("linked", out, N * 4);
        clReleaseKernel(k);
    }
    clReleaseProgram(whole);
    clReleaseProgram(parts[0]);
    clReleaseProgram(parts[1]);
    clReleaseMemObject(in);
    clReleaseMemObject(out);
}
