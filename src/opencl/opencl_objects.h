/* The records beside the program's handles: devices, queues, memory objects, kernels, programs. */
#ifndef OPENCL_OPENCL_OBJECTS_H
#define OPENCL_OPENCL_OBJECTS_H

#include <pthread.h>

#include "engine/command_queue.h"
#include "engine/engine_device.h"
#include "engine/meter.h"
#include "engine/handle_table.h"
#include "opencl/graph/opencl_command.h"
#include "opencl/object.h"
#include "opencl/quirks/quirks.h"

enum { CONTEXT_DEVICES = 64 }; /* the most devices of a context that the layer looks at */

struct opencl_device {
    struct engine_device base;
    struct opencl_device *next;
    cl_device_id handle;
    cl_platform_id platform;
    cl_uint units; /* compute units: a piece has at least as many work-groups */
    cl_uint address_bits;
    bool empty_launches; /* launches without work-items are allowed: OpenCL 2.1 */
    /* the last group of a row may be smaller, if the program was built so: OpenCL 2.0 */
    bool uneven_groups;
    struct quirks quirks;
    /* other devices that could take a share of its kernels (spread/); -1: not counted yet */
    atomic_int n_helpers;
    atomic_bool has_queues; /* the program made one */
    /* number of the plan that was found to name this device (spread/spread_placement.h) */
    atomic_uint planned_home;
};

enum { QUEUE_MAX_PROPERTIES = 32 };

struct queue_record {
    struct object object;
    struct command_queue base;
    cl_command_queue handle;
    cl_context context;
    struct opencl_device *device;           /* for ever */
    cl_command_queue_properties properties; /* as the program asked; the layer's queue also has profiling */
    size_t list_size;                       /* bytes of the list that the program gave; 0: none */
    cl_queue_properties list[QUEUE_MAX_PROPERTIES];
};

struct mem_record {
    struct object object;
    cl_mem handle;
    cl_context context;
    bool image;
    size_t size;
    cl_mem_flags flags;
    void *host_ptr;
    struct map_record *maps; /* the graph's lock: maps that the layer answered */
    struct mem_record *root; /* a sub-buffer: a reference to the buffer that it is a part of */
    size_t origin;           /* its offset in root */
    /* A root, for its parts as well (spread/): */
    /* handles of the program and commands that may still use it */
    atomic_uint n_held;
    atomic_uint n_mapped; /* maps that the program holds */
    /* an image lies on the same memory, or another interface uses it */
    atomic_bool pinned;
    struct spread_buffer *_Atomic spread; /* owned; NULL: it was only ever on its own device */
    atomic_uint n_landing;                /* commands under way that may write it (landing.h) */
    atomic_bool unused;                   /* in spread_state::unused, by next_unused, with a reference */
    struct mem_record *next_unused;
};

struct program_record;
struct spread_buffer;

static inline struct mem_record *mem_root(struct mem_record *mem)
{
    return mem->root ? mem->root : mem;
}

/*
 * The values of clSetKernelExecInfo follow the arguments of a kernel, or of a launch: one value
 * each, ARG_UNSET if not set.
 */
enum { KERNEL_EXEC_INFOS = 2 };

struct kernel_record {
    struct object object;
    cl_kernel handle;
    struct program_record *program; /* a reference; may be NULL (no record) */
    cl_context context;
    char *name; /* owned */
    cl_uint n_args;
    struct arg_value
        *args; /* owned: n_args, then KERNEL_EXEC_INFOS; the latest values; the program orders its calls */
    pthread_mutex_t lock; /* guards the pools */
    struct private_kernel {
        struct private_kernel *next;
        cl_kernel handle;
        /* the layer's kernel objects, for issuing: of the program, of its twin */
    } * idle, *idle_sliced;
    struct meter meter;             /* counts work-items */
    atomic_int why_whole;           /* enum session_counter, if the kernel is not cut */
    const char *_Atomic why_detail; /* the program's, or a constant */
    /* the counter of its latest notice, and the notice's number in the session; 0: none */
    atomic_int noticed;
    atomic_int notice;
    atomic_int slice_state; /* enum launch_state, decided once (kernel_launch.c) */
    const struct translate_kernel
        *_Atomic about; /* the twin's description; set: every launch runs the rewritten kernel */
};

extern const struct object_class queue_class; /* also for the layer's own queues */

void object_tables_init(void);

/* Answers an info call with a value of this size. */
cl_int info_answer(const void *value, size_t size, size_t room, void *ret_value, size_t *ret_size);

/* made on first sight; NULL: no memory */
struct opencl_device *device_record_of(cl_device_id device);
struct opencl_device *device_records(void); /* all of them, by next */

/* Adds a reference, which the caller drops. */
struct queue_record *queue_find(cl_command_queue handle);
/*
 * Does the process end, with commands of the queue that will never run? Calls on it fail from then
 * on: what they read would not be what the program computed.
 */
bool queue_lost(cl_command_queue handle);
void queue_unref(struct queue_record *queue);
struct mem_record *mem_find(cl_mem handle);
void mem_unref(struct mem_record *mem);
/*
 * mem_hold(): a handle or command may use the object. mem_let_go(): one use ends. Results that are
 * not merged when the last use ends are not needed.
 */
void mem_hold(struct mem_record *mem);
void mem_let_go(struct mem_record *mem);
struct kernel_record *kernel_find(cl_kernel handle);
void kernel_unref(struct kernel_record *kernel);

/*
 * The program's last reference to the driver's sampler ends with the record. So the sampler lives
 * as long as a launch that is kept has the record, and its count is the program's own.
 */
struct sampler_record {
    struct object object;
    cl_sampler handle; /* NULL: released already */
};

/* The sampler whose handle these bytes are; NULL: no known sampler. A reference of the caller's. */
struct sampler_record *sampler_in(const void *bytes, size_t size);
void sampler_unref(struct sampler_record *sampler);

/*
 * A kernel object of the layer with these arguments set; sliced: of the rewritten program. NULL and
 * a code on failure.
 */
struct private_kernel *kernel_take(struct kernel_record *kernel, bool sliced, const struct arg_value *args,
                                   cl_uint n, cl_int *ret_code);
void kernel_give_back(struct kernel_record *kernel, bool sliced, struct private_kernel *private_kernel);

bool arg_value_copy(struct arg_value *to, const struct arg_value *from); /* false: no memory */
void arg_value_done(struct arg_value *arg);
const void *arg_value_bytes(const struct arg_value *arg); /* of ARG_BYTES */

#endif
