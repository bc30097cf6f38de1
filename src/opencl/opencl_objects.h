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

struct opencl_device {
    struct engine_device base;
    struct opencl_device *next;
    cl_device_id handle;
    cl_platform_id platform;
    cl_uint units; /* compute units: a piece has at least so many work-groups */
    cl_uint address_bits;
    bool empty_launches; /* of no work-items are allowed: OpenCL 2.1 */
    /* the last group of a row may be smaller, if the program was built so: OpenCL 2.0 */
    bool uneven_groups;
    struct quirks quirks;
    atomic_int
        /* other devices that could take a share of its kernels (spread/); -1: not counted yet */
        n_helpers;
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
    cl_command_queue_properties properties; /* as the program asked; ours has profiling besides */
    size_t list_size;                       /* bytes of the list that it gave; 0: none */
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
    struct map_record *maps; /* the graph's lock: maps that we answered ourselves */
    struct mem_record *root; /* of a sub-buffer: the buffer that it is a part of, a reference */
    size_t origin;           /* in it */
    /* Of a root, for its parts as well (spread/): */
    /* handles of the program and commands that may still use it */
    atomic_uint n_held;
    atomic_uint n_mapped; /* maps that the program holds */
    /* an image lies on the same memory, or another interface uses it */
    atomic_bool pinned;
    struct spread_buffer *_Atomic spread; /* owned; NULL: only its own device ever had it */
};

struct program_record;
struct spread_buffer;

static inline struct mem_record *mem_root(struct mem_record *mem)
{
    return mem->root ? mem->root : mem;
}

/*
 * What clSetKernelExecInfo sets is kept behind the arguments of a kernel, of a launch too: a value
 * each, ARG_UNSET where nothing was said.
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
        *args; /* owned: n_args, then KERNEL_EXEC_INFOS; the program's latest; it orders its own calls */
    pthread_mutex_t lock; /* the pools */
    struct private_kernel {
        struct private_kernel *next;
        cl_kernel handle;
        /* objects of our own to issue on; of the program, of its rewritten twin */
    } * idle, *idle_sliced;
    struct meter meter;             /* of work-items */
    atomic_int why_whole;           /* enum session_counter, when it is not cut */
    const char *_Atomic why_detail; /* the program's, or a constant */
    /* the counter that was last said of it, and its number with the session; 0: none */
    atomic_int noticed;
    atomic_int notice;
    atomic_int slice_state; /* enum launch_state, decided once (launch.c) */
    const struct translate_kernel
        *_Atomic about; /* the program's; set: every launch runs the rewritten kernel */
};

extern const struct object_class queue_class; /* also of queues of our own */

void object_tables_init(void);

/* What an info call answers with a value of so many bytes. */
cl_int info_answer(const void *value, size_t size, size_t room, void *ret_value, size_t *ret_size);

/* made on first sight; NULL: no memory */
struct opencl_device *device_record_of(cl_device_id device);
struct opencl_device *device_records(void); /* all of them, by next */

/* Kept by find; give back. */
struct queue_record *queue_find(cl_command_queue handle);
void queue_unref(struct queue_record *queue);
struct mem_record *mem_find(cl_mem handle);
void mem_unref(struct mem_record *mem);
/*
 * A handle or command may use it (again); none does any more. What was not merged by then never
 * needs to be.
 */
void mem_hold(struct mem_record *mem);
void mem_let_go(struct mem_record *mem);
struct kernel_record *kernel_find(cl_kernel handle);
void kernel_unref(struct kernel_record *kernel);

/*
 * As long as the program holds it. A look-up keeps the driver's sampler, not the record.
 */
struct sampler_record {
    cl_sampler handle;
    atomic_uint app_refs;
};

/* The sampler whose handle the bytes are, retained; NULL: none that we know. */
cl_sampler sampler_in(const void *bytes, size_t size);

/*
 * A kernel object of our own with these arguments set; sliced: of the rewritten program. NULL and a
 * code on failure.
 */
struct private_kernel *kernel_take(struct kernel_record *kernel, bool sliced, const struct arg_value *args,
                                   cl_uint n, cl_int *ret_code);
void kernel_give_back(struct kernel_record *kernel, bool sliced, struct private_kernel *private_kernel);

bool arg_value_copy(struct arg_value *to, const struct arg_value *from); /* false: no memory */
void arg_value_done(struct arg_value *arg);
const void *arg_value_bytes(const struct arg_value *arg); /* of ARG_BYTES */

#endif
