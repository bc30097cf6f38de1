/*
 * Execution of a grid on the calling thread. A worker is what one thread needs for it: stacks of
 * device threads, shared memory, a signal stack. A worker belongs to one host thread at a time;
 * several workers run side by side.
 *
 * A kernel's fault (a stray access, trap, stack overflow) ends its launch with a status and leaves
 * the process unharmed. While a launch runs, SIGSEGV, SIGBUS, SIGILL and SIGFPE that the launching
 * thread causes end the launch. All others go to the handlers that the program has installed. Each
 * launch looks for these handlers again, so the program may change them at any time.
 */
#ifndef CUDA_CPU_LAUNCH_H
#define CUDA_CPU_LAUNCH_H

#include "cuda_cpu/image.h"

struct worker;

/* 0 or -ENOMEM. */
int worker_new(struct space *space, struct worker **ret_worker);
void worker_free(
    struct worker *worker); /* NULL is fine; from the thread that used it, or after that thread has ended */

/*
 * From any thread: the worker's present launch and all later ones end with CPU_ABORTED within
 * microseconds.
 */
void worker_abort(struct worker *worker);

enum texture_address { TEXTURE_WRAP, TEXTURE_CLAMP, TEXTURE_MIRROR, TEXTURE_BORDER };
enum texture_format {
    TEXTURE_UNSIGNED_8,
    TEXTURE_UNSIGNED_16,
    TEXTURE_UNSIGNED_32,
    TEXTURE_SIGNED_8,
    TEXTURE_SIGNED_16,
    TEXTURE_SIGNED_32,
    TEXTURE_HALF,
    TEXTURE_FLOAT,
};

/* An image in device memory: a CUDA array, pitched memory, or linear memory. */
struct texture_image {
    uint64_t address;              /* in the space */
    uint64_t row_pitch;            /* bytes from row to row */
    uint64_t slice_pitch;          /* bytes from slice (or layer, or face) to slice */
    uint32_t width, height, depth; /* texels; height 0: one-dimensional; depth 0: no third dimension */
    uint32_t layers;               /* of a layered image, 6 per cube; 0: not layered */
    uint32_t channels;             /* 1, 2 or 4 */
    enum texture_format format;
    bool is_linear_memory; /* 1D: integer coordinates only, no filtering */
};

struct texture {
    struct texture_image levels[16]; /* mipmap; [0] is the whole image */
    uint32_t n_levels;
    enum texture_address address[3];
    bool is_linear;      /* filtering; point otherwise */
    bool is_mip_linear;  /* between levels */
    bool is_normalized;  /* coordinates in [0, 1) */
    bool reads_as_float; /* 8- and 16-bit integers are read as [0, 1] or [-1, 1] */
    bool is_srgb;
    float border[4];
    float level_bias, level_low, level_high;
};

struct surface {
    struct texture_image image;
};

/* Functions of the caller. Each may be NULL; all are called from the launching thread only. */
struct launch_calls {
    void *context;
    /*
     * The object behind a handle that the kernel uses; NULL: none (CPU_ILLEGAL_INSTRUCTION). Valid
     * until the launch ends.
     */
    const struct texture *(*texture)(void *context, uint64_t handle);
    const struct surface *(*surface)(void *context, uint64_t handle);
    /*
     * Text that the kernel prints, in order: complete calls of printf, without a terminating 0.
     * NULL: to standard output.
     */
    void (*print)(void *context, const char *text, size_t length);
    /*
     * Is [address, address + size), which is outside of the space, memory that kernels may use
     * (registered host memory)?
     */
    bool (*may_access)(void *context, uint64_t address, uint64_t size, bool is_write);
    /* %globaltimer, in nanoseconds; NULL: CLOCK_REALTIME. */
    uint64_t (*global_time)(void *context);
};

struct launch {
    const struct image *image;
    const struct image_entry *entry;
    uint32_t grid[3], block[3];
    uint64_t first_block, end_block; /* linear, x fastest: run only [first_block, end_block); 0, 0: all */
    uint32_t dynamic_shared_bytes;
    const void *parameters; /* entry->parameter_bytes bytes, copied */
    bool is_cooperative;    /* all blocks are resident at once; the grid barrier works */
    uint32_t stack_bytes;   /* the context's stack limit, for recursion; 0: 1024 */
    uint64_t heap_bytes;    /* the context's malloc heap limit; 0: 8 MiB */
    uint64_t grid_id;       /* %gridid */
    struct launch_calls calls;
};

enum {
    LAUNCH_MOST_THREADS = 1024,       /* of a block */
    LAUNCH_MOST_SHARED = 227 * 1024,  /* static and dynamic, per block */
    LAUNCH_MOST_RESIDENT = 32 * 1024, /* threads of a cooperative launch */
    LAUNCH_WARP = 32,
    LAUNCH_MOST_PARAMETERS = 32764, /* bytes */
};

struct launch_fault {
    uint64_t address; /* of the access, where the status has one */
    uint32_t block[3], thread[3];
    unsigned line;  /* in the PTX text; 0: unknown */
    char text[160]; /* one sentence; empty for CPU_OK */
};

/* Runs to the end. *ret_fault may be NULL; it is filled for every status but CPU_OK. */
enum cpu_status worker_launch(struct worker *worker, const struct launch *launch,
                              struct launch_fault *ret_fault);

#endif
