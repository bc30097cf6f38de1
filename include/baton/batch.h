/*
 * Batch operations: several streams of copies and kernels over a shared interconnect, executed as
 * one operation whose length is known beforehand. After Verner, Mendelson, Schuster: Batch Method
 * for Efficient Resource Sharing in Real-time Multi-GPU Systems.
 *
 * A batcher owns queues of a set of OpenCL and CUDA devices. It runs batches one at a time, in the
 * order in which they were started. Streams of both APIs mix freely. To the program a batch is
 * atomic: no result counts until the batch has ended, and the next batch begins only then. Nothing
 * else may use the interconnect meanwhile; with a Baton daemon the batch asks for it.
 *
 * Results are 0 or -errno. All functions may be called from any thread. They print nothing, change
 * no signal, and leave each thread's current CUDA context as it is.
 *
 * Neither API's header nor library is needed. Without <CL/cl.h> its types are declared here. CUDA's
 * handles are pointers to the structs that CUDA's own types point to. libOpenCL.so.1 and
 * libcuda.so.1 are loaded when a batcher names a device of theirs.
 */
#ifndef BATON_BATCH_H
#define BATON_BATCH_H

#include <stddef.h>
#include <stdint.h>

#if !defined(__has_include)
#include <CL/cl.h>
#elif __has_include(<CL/cl.h>)
#include <CL/cl.h>
#else
typedef struct _cl_context *cl_context;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_kernel *cl_kernel;
typedef uint32_t cl_uint;
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define BATON_API __attribute__((visibility("default")))
#else
#define BATON_API
#endif

struct CUctx_st;  /* CUcontext is a pointer to it */
struct CUfunc_st; /* CUfunction is a pointer to it */

struct baton_batcher; /* opaque */
struct baton_batch;   /* opaque: one batch, running or ended */

/* How the interconnect is shared; `baton batch predict --help` says more. */
enum baton_method {
    BATON_ALIGNED,       /* all streams end together */
    BATON_PACED,         /* rates from a linear program */
    BATON_BANDWIDTH,     /* fixed shares */
    BATON_TIME_DIVISION, /* one copy at a time */
};

/* Which OpenCL device a GPU of the topology is. The batcher retains the context. */
struct baton_gpu {
    const char *node; /* "GPU0" */
    cl_context context;
    cl_device_id device;
};

/*
 * Which CUDA device a GPU of the topology is. The program keeps a context that it names, and does
 * not reset its device, until the batcher is freed. Peer access between contexts is enabled when a
 * batch first copies between them, if the devices can, and disabled with the batcher. Access that
 * the program had enabled before is left alone.
 */
struct baton_cuda_gpu {
    const char *node;         /* "GPU0" */
    struct CUctx_st *context; /* NULL: the primary context of `device`, which the batcher retains */
    int device;               /* CUdevice; used without a context */
};

struct baton_batcher_config {
    size_t size;          /* sizeof(struct baton_batcher_config): a later version may have more fields */
    const char *topology; /* path of a topology file, as `baton batch calibrate` writes it */
    const struct baton_gpu *gpus;
    size_t n_gpus;
    enum baton_method method;
    /*
     * Emulation, for machines whose devices share the host's memory: path of a topology to whose
     * links copies are slowed down, or NULL. Kernels then take at least their predicted time. One
     * byte copied stands for emulate_ratio bytes (0 means 1).
     */
    const char *emulate;
    double emulate_ratio;
    const struct baton_cuda_gpu *cuda_gpus; /* beside those of `gpus` */
    size_t n_cuda_gpus;
};

/*
 * Makes a batcher. On failure *ret_message (size bytes, may be NULL) says why in one line. -EINVAL:
 * a bad topology or configuration. -ENODEV: OpenCL or CUDA is missing or refuses. Or -ENOMEM.
 */
BATON_API int baton_batcher_new(const struct baton_batcher_config *config, struct baton_batcher **ret_batcher,
                                char *ret_message, size_t size);

/* Waits for all batches, then frees. Handles of batches stay valid. NULL is accepted. */
BATON_API void baton_batcher_free(struct baton_batcher *batcher);

/*
 * Where a copy begins or ends: a node of the topology, and a place there. On an OpenCL device that
 * is a buffer of its context, in host memory a pointer. On a CUDA device it is an address in its
 * memory or in managed memory.
 */
struct baton_place {
    const char *node; /* NULL: no copy */
    union {
        cl_mem buffer; /* OpenCL; retained until the batch has ended */
        /* CUDA: a CUdeviceptr. The program keeps its memory until the batch has ended */
        uint64_t address;
    };
    size_t offset; /* into the buffer, or from the address */
    /*
     * Host memory; the program keeps it valid, and unread or unwritten, until the batch has ended.
     */
    void *host;
};

/*
 * One argument, as for clSetKernelArg, or a parameter of a CUDA kernel; copied when the batch is
 * started.
 */
struct baton_arg {
    size_t size;
    const void *value;
};

struct baton_kernel {
    union {
        /*
         * OpenCL. NULL: none. A private copy is used where the driver can clone kernels (OpenCL
         * 2.1).
         */
        cl_kernel kernel;
        /* CUDA: a CUfunction of the GPU's context, or a CUkernel, which stay loaded */
        struct CUfunc_st *function;
    };
    cl_uint dimensions;    /* 1 to 3; CUDA: those above count as 1 */
    uint32_t shared_bytes; /* CUDA: dynamic shared memory of a block */
    union {
        size_t global[3]; /* OpenCL: work-items */
        size_t grid[3];   /* CUDA: blocks */
    };
    union {
        size_t local[3]; /* OpenCL: work-items of a group; all 0: the driver's choice */
        size_t block[3]; /* CUDA: threads of a block */
    };
    const struct baton_arg *args;
    size_t n_args;       /* OpenCL, 0: the arguments that the kernel has now. CUDA: all parameters */
    double predicted_ms; /* above 0 */
};

/*
 * A copy, a kernel on to.node, or a copy to a GPU followed by a kernel there. A copy inside one GPU
 * needs a link of the topology from that GPU to itself.
 */
struct baton_stream {
    const char *name; /* for messages; NULL: its number */
    struct baton_place from, to;
    size_t bytes; /* 0: no copy; then only to.node is used */
    struct baton_kernel kernel;
};

/*
 * Starts a batch of 1 to 64 streams after those started before; the array is copied. -EINVAL,
 * -ENOMEM. The batch itself reports an error of a single stream (no route, bad arguments), so that
 * the message can name it.
 */
BATON_API int baton_batch_start(struct baton_batcher *batcher, const struct baton_stream streams[], size_t n,
                                struct baton_batch **ret_batch);

/* 1: ended, 0: not yet. */
BATON_API int baton_batch_query(struct baton_batch *batch);

/*
 * Waits for the end. 0; -EIO when OpenCL or CUDA failed; -EINVAL when a stream was wrong; else the
 * daemon's error. After an error no stream counts: the contents of the batch's destinations are
 * undefined, the memory stays valid, and the next batch runs. A kernel that faults breaks its CUDA
 * context for good, as without batches.
 */
BATON_API int baton_batch_wait(struct baton_batch *batch);

/*
 * One line that names the stream that failed and why; "" if none did. Valid until the batch is
 * freed; call it after the wait.
 */
BATON_API const char *baton_batch_message(struct baton_batch *batch);

/* Waits for the end, then frees. NULL is accepted. */
BATON_API void baton_batch_free(struct baton_batch *batch);

/* The synchronous form: start, wait, free. ret_message (size bytes) may be NULL. */
BATON_API int baton_batch_run(struct baton_batcher *batcher, const struct baton_stream streams[], size_t n,
                              char *ret_message, size_t size);

/* Nanoseconds from the start of the batch. */
struct baton_times {
    int64_t copy_begin, copy_end, kernel_begin, kernel_end;
};

/* Predicted and measured length of an ended batch in nanoseconds; either may be NULL. */
BATON_API void baton_batch_length(struct baton_batch *batch, int64_t *ret_predicted, int64_t *ret_measured);

/* The same for one stream of an ended batch. -EINVAL if there is no such stream. */
BATON_API int baton_batch_stream(struct baton_batch *batch, size_t stream, struct baton_times *ret_predicted,
                                 struct baton_times *ret_measured);

/*
 * Predicts the length of a batch without running it. Only nodes, sizes and predicted_ms are used,
 * so buffers and kernels may be NULL (a stream has a kernel when predicted_ms is above 0). -EINVAL,
 * -ENOMEM.
 */
BATON_API int baton_batch_predict(struct baton_batcher *batcher, const struct baton_stream streams[],
                                  size_t n, int64_t *ret_length, int64_t *ret_bound);

/*
 * Predictions alone need no device: the same without a batcher. With worst_case, the lowest
 * measured bandwidths are used, lowered by margin (0.05: 5 %). ret_times (n entries) and ret_bound
 * may be NULL; ret_message as for baton_batcher_new().
 */
BATON_API int baton_predict(const char *topology, enum baton_method method, int worst_case, double margin,
                            const struct baton_stream streams[], size_t n, struct baton_times ret_times[],
                            int64_t *ret_length, int64_t *ret_bound, char *ret_message, size_t size);

/*
 * Host memory that the driver has pinned for the device of that GPU, if it can: copies from and to
 * it run at full speed. NULL without memory. Free it with baton_host_free() before the batcher is
 * freed.
 */
BATON_API void *baton_host_alloc(struct baton_batcher *batcher, const char *node, size_t bytes);
BATON_API void baton_host_free(struct baton_batcher *batcher, void *host);

#ifdef __cplusplus
}
#endif
#endif
