/*
 * Real programs in small. Each workload is OpenCL C, host code through the standard API, and a
 * second computation of the same results on the CPU. The latter shares nothing with the kernels.
 * Written from the algorithms; they are the programs of GPU-SPARC's Table V and Table II and of
 * GPES' Table II. Nothing here knows of Baton.
 *
 * A workload says three things:
 *   prepare  makes the host arrays from the generator and declares the buffers; called once
 *   run      enqueues its launches (and reads between them, if it must decide on the host); called
 *            once per job
 *   check    computes the outputs again and compares; called after the last job
 *
 * Every job is the same: buffers with an `in` are written, run() enqueues, buffers with an `out`
 * are read. So jobs of one work give the same bytes. Any failure of OpenCL or of memory ends the
 * program with exit status 3 and one line on standard error.
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/random.h"

enum { WORK_DEVICES = 16, WORK_BUFFERS = 12, WORK_KERNELS = 8, WORK_ARRAYS = 48 };
enum work_size { SIZE_SMALL, SIZE_MEDIUM, SIZE_LARGE };

/*
 * The OpenCL C between the parentheses as a string: formatted and highlighted like the C around it.
 * No # lines inside.
 */
#define OPENCL(...) #__VA_ARGS__

struct work;

struct workload {
    const char *name;
    const char *row;  /* how the paper's table calls it */
    const char *unit; /* what a size counts: "rows", "pixels a side" */
    size_t sizes
        /*
         * by enum work_size: some ms with the layer's pieces, about 10 ms, 50 ms and more if it
         * computes
         */
        [3];
    const char *source;                 /* OpenCL C 1.2 */
    void (*prepare)(struct work *work); /* may round work->size up to what its kernels need */
    void (*run)(struct work *work);
    bool (*check)(const struct work *work); /* false: after one line on standard error */
};

/* All of them, in the order of --list. */
extern const struct workload *const workloads[];
extern const size_t n_workloads;
const struct workload *workload_find(const char *name); /* NULL: there is none */

struct work_buffer {
    cl_mem object;
    const void *in; /* borrowed from work->arrays; NULL: not written before the job */
    void *out;      /* borrowed from work->arrays; NULL: not read after it */
    size_t bytes;
    size_t width, height; /* of an image of RGBA bytes; 0: a buffer */
};

/* One instance of a workload on one device of the first platform. */
struct work {
    const struct workload *workload;
    size_t size;
    size_t rounds; /* of one that iterates on its own results, how often; 0: as it likes */
    struct random_state random;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    struct work_buffer buffers[WORK_BUFFERS]; /* indexed as the workload likes */
    struct {
        const char *name;
        cl_kernel kernel;
    } kernels[WORK_KERNELS];
    void *arrays[WORK_ARRAYS]; /* owned */
    struct work_cuda *cuda;    /* what a program of CUDA has instead of the objects above (work_cuda.c) */
    size_t n_kernels, n_arrays;
    /* Of the last job: */
    bool staged;                         /* finish after each stage, so that its time is its own */
    double write_ms, kernel_ms, read_ms; /* when staged; else 0 */
    size_t launches;
    size_t bytes_in, bytes_out;
};

/*
 * size: see struct workload. The same seed gives the same inputs. device: which one of the
 * platform, from 0.
 */
void work_open(struct work *work, const struct workload *workload, size_t size, size_t rounds, uint64_t seed,
               unsigned device);
void work_close(struct work *work);
/* One job, until its last byte is there. */
void work_job(struct work *work);
/* Over the bytes of all outputs. */
uint64_t work_hash(const struct work *work);

/* ---- for prepare ---- */

/* Zeroed, aligned to a page, freed with the work. */
void *work_array(struct work *work, size_t bytes);
float *work_floats(struct work *work, size_t n, double low, double high);
uint32_t *work_words(struct work *work, size_t n, uint32_t below);
/* in and out may each be NULL; both NULL: scratch of the device, with no particular content. */
void work_buffer(struct work *work, size_t index, const void *in, void *out, size_t bytes);
/* 8-bit RGBA, read or written through image functions. */
void work_image(struct work *work, size_t index, const void *in, void *out, size_t width, size_t height);
/* Rounds up to a multiple, at least one of it. */
size_t work_rounded(size_t size, size_t multiple);
/* The power of two at or above the size, at least `least` (itself a power of two). */
size_t work_power_of_two(size_t size, size_t least);

/* ---- for run ---- */

struct work_shape {
    cl_uint dimensions;
    size_t global[3], local[3];
};
#define SHAPE1(n, local_)              ((struct work_shape){1, {(n)}, {(local_)}})
#define SHAPE2(nx, ny, lx, ly)         ((struct work_shape){2, {(nx), (ny)}, {(lx), (ly)}})
#define SHAPE3(nx, ny, nz, lx, ly, lz) ((struct work_shape){3, {(nx), (ny), (nz)}, {(lx), (ly), (lz)}})

struct work_argument {
    enum { ARGUMENT_BUFFER, ARGUMENT_INT, ARGUMENT_FLOAT, ARGUMENT_LOCAL } kind;
    size_t number; /* index of the buffer, bytes of local memory, or the int's value */
    float real;
};
#define BUFFER(index) ((struct work_argument){ARGUMENT_BUFFER, (index), 0})
#define INT(value)    ((struct work_argument){ARGUMENT_INT, (size_t)(value), 0})
#define FLOAT(value)  ((struct work_argument){ARGUMENT_FLOAT, 0, (float)(value)})
#define LOCAL(bytes)  ((struct work_argument){ARGUMENT_LOCAL, (bytes), 0})

void work_launch(struct work *work, const char *kernel, struct work_shape shape,
                 const struct work_argument *arguments, size_t n);
#define LAUNCH(work, kernel, shape, ...)                                                                     \
    work_launch(work, kernel, shape, (const struct work_argument[]){__VA_ARGS__},                            \
                sizeof((const struct work_argument[]){__VA_ARGS__}) / sizeof(struct work_argument))
/*
 * Between launches: from the host, to the host (which waits), from buffer to buffer, a repeated
 * word.
 */
void work_write(struct work *work, size_t index, const void *from, size_t bytes);
void work_read(struct work *work, size_t index, void *to, size_t bytes);
void work_copy(struct work *work, size_t from, size_t to, size_t bytes);
void work_fill(struct work *work, size_t index, uint32_t word, size_t bytes);

/* ---- for check: the first difference is printed ---- */

bool check_bytes(const struct work *work, const void *got, const void *want, size_t bytes);
bool check_words(const struct work *work, const uint32_t *got, const uint32_t *want, size_t n);
/* |got - want| <= tolerance * (1 + |want|); not a number is never right. */
bool check_floats(const struct work *work, const float *got, const float *want, size_t n, double tolerance);
/* Prints what is wrong and answers false. */
bool check_failed(const struct work *work, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Memory for a check; ends the program when there is none. The caller frees it. */
void *check_array(size_t bytes);

#endif
