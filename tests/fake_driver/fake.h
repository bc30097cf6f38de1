/*
 * A small OpenCL driver for tests: asynchronous, scriptable, and honest about data. Copies, fills
 * and a few built-in kernels (kernels.c) really run, so that a test can check bytes. A script says
 * how long a command takes and which call fails. Select it with
 * OCL_ICD_VENDORS=/path/libfake-opencl.so.
 *
 * FAKE_CL holds the script, entries separated by ';' (CALL is an entry point without "clEnqueue" or
 * "cl"):
 *   duration CALL US         each such command occupies the device for US microseconds
 *                            (BuildProgram: the caller)
 *   lag CALL US              each such command that does not block begins US microseconds late, and
 *                            leaves the device to others meanwhile
 *   group_ns NAME NS         kernel NAME takes NS nanoseconds per work-group
 *   fail CALL NTH CODE       the NTH call (from 1; 0: every one) answers CODE at once
 *   abort CALL NTH CODE      the NTH command ends with CODE as its event status
 *   clock ahead US           the profiling clock is US microseconds ahead of CLOCK_MONOTONIC
 *   devices N                so many devices, at most 8; 2 if nothing is said
 *   slow DEVICE PERCENT      kernels on that device take so much of their time: 400 is four times
 *                            as long
 *   abort_on DEVICE NTH CODE the NTH launch (0: every one) on that device ends with CODE
 *   pointers NAME N          launches of kernel NAME fail unless clSetKernelExecInfo named N SVM
 *                            pointers
 *   sync                     commands run inside the enqueue call, as PoCL's basic device does
 *   twin_group ITEMS         a kernel that takes a piece descriptor allows no larger work-groups
 *   uneven                   the last work-group of a row may be smaller
 *   late                     compiles with the first launch of each kernel and local size: the log
 *                            gets a line Compile
 *   reuse                    a release that ends a user event returns when another thread has made
 *                            one at the same address, or after two seconds
 *   version 1.2              no clCloneKernel, SVM and clCreateProgramWithIL, as an old driver
 *   buffers VERSION          the version of cl_khr_command_buffer, such as 0.9.5; 0.0.0: none
 *
 * FAKE_CL_LOG names a file that gets one line per executed command: CALL queue begin_ns end_ns
 * groups bytes active thread. active: how many commands of its queue, with it, were enqueued and
 * not complete when it ended. thread: what ran it.
 */
#ifndef FAKE_H
#define FAKE_H

#include <CL/cl_icd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fake_kind {
    FAKE_PLATFORM = 0x46414b01,
    FAKE_DEVICE,
    FAKE_CONTEXT,
    FAKE_QUEUE,
    FAKE_MEM,
    FAKE_SAMPLER,
    FAKE_PROGRAM,
    FAKE_KERNEL,
    FAKE_EVENT,
};

/* Every handle begins so: the loader reads the table, we check the kind. */
struct fake_object {
    const cl_icd_dispatch *dispatch;
    enum fake_kind kind;
    atomic_uint refs;
};

enum {
    FAKE_MAX_DEVICES = 8,
    FAKE_MAX_COMPILED = 64,
    FAKE_MAX_KERNELS = 32,
    FAKE_MAX_ARGS = 16,
    FAKE_NAME = 64
};

struct _cl_platform_id {
    struct fake_object object;
};

struct _cl_device_id {
    struct fake_object object;
    pthread_mutex_t engine; /* one command at a time, whatever the queue: a GPU's execution engine */
};

struct _cl_context {
    struct fake_object object;
    cl_uint n_devices;
    cl_device_id devices[FAKE_MAX_DEVICES];
};

struct fake_mapping {
    struct fake_mapping *next;
    void *pointer;
};

struct fake_destructor {
    struct fake_destructor *next;
    void(CL_CALLBACK *run)(cl_mem, void *);
    void *data;
};

struct _cl_mem {
    struct fake_object object;
    cl_context context;
    cl_mem parent; /* sub-buffers: owned reference */
    cl_mem_flags flags;
    cl_mem_object_type type;
    unsigned char *bytes; /* owned, unless a sub-buffer or USE_HOST_PTR */
    bool owns_bytes;
    void *host_ptr;
    size_t size, origin;
    cl_image_format format; /* images */
    cl_image_desc desc;
    size_t element, row_pitch, slice_pitch;
    struct fake_mapping *mappings; /* fake_lock */
    struct fake_destructor *destructors;
};

struct _cl_sampler {
    struct fake_object object;
    cl_context context;
    cl_bool normalized;
    cl_addressing_mode addressing;
    cl_filter_mode filter;
};

struct fake_builtin;

struct fake_signature {
    const struct fake_builtin *builtin;
    char name[FAKE_NAME];
    cl_uint n_args;
    bool sliced; /* the last argument is Baton's range descriptor */
    struct fake_arg_info {
        char type[FAKE_NAME], name[FAKE_NAME];
        cl_kernel_arg_address_qualifier address;
        size_t size; /* of a value argument; 0: unknown */
    } args[FAKE_MAX_ARGS];
};

struct _cl_program {
    struct fake_object object;
    cl_context context;
    char *source; /* owned */
    bool from_binary;
    cl_build_status status;
    cl_program_binary_type binary_type;
    char options[256];
    const char *log;
    atomic_uint n_attached; /* kernel objects */
    cl_uint n_kernels;
    struct fake_signature kernels[FAKE_MAX_KERNELS];
    struct {
        const struct fake_signature *kernel;
        size_t local[3];
    } compiled[FAKE_MAX_COMPILED]; /* fake_lock */
    size_t n_compiled;
};

struct fake_arg {
    bool set;
    size_t size;
    union {
        unsigned char bytes[256];
        cl_mem mem;
        void *svm;
    } value;
};

struct _cl_kernel {
    struct fake_object object;
    cl_program program; /* owned reference */
    const struct fake_signature *signature;
    struct fake_arg args[FAKE_MAX_ARGS];
    long n_pointers; /* SVM pointers that it uses beside its arguments */
};

struct fake_callback {
    struct fake_callback *next;
    cl_int at;
    void(CL_CALLBACK *run)(cl_event, cl_int, void *);
    void *data;
};

struct _cl_event {
    struct fake_object object;
    cl_context context;
    cl_command_queue queue; /* NULL: a user event */
    cl_command_type type;
    cl_int status; /* fake_lock */
    cl_ulong times[4];
    struct fake_callback *callbacks;
};

/* One enqueued command; act() does the work with no lock held. */
struct fake_command {
    struct fake_command *next;
    const char *call;
    cl_event event; /* owned reference */
    cl_uint n_waits;
    cl_event *waits;  /* owned, with references */
    bool barrier;     /* later commands wait for it */
    bool all_before;  /* waits for everything enqueued before */
    int64_t ready_at; /* of fake_now() */
    cl_int abort_with;
    int64_t duration_ns;
    size_t groups, bytes;
    cl_mem mems[FAKE_MAX_ARGS]; /* owned references until done */
    cl_uint n_mems;
    void (*act)(struct fake_command *command);
    void *data; /* owned, freed when done */
};

struct _cl_command_queue {
    struct fake_object object;
    cl_context context;
    cl_device_id device;
    cl_command_queue_properties properties;
    unsigned number;
    pthread_t thread;
    bool stop, running; /* fake_lock */
    struct fake_command *head;
    size_t n_active; /* enqueued and not yet complete */
};

extern const cl_icd_dispatch fake_dispatch;
extern struct _cl_platform_id fake_platform;
extern struct _cl_device_id fake_devices[FAKE_MAX_DEVICES];
extern pthread_mutex_t fake_lock; /* guards statuses, queues, mappings */
extern pthread_cond_t fake_changed;

/* script.c */
cl_int fake_script_fail(const char *call); /* the code to answer now, or CL_SUCCESS */
cl_int fake_script_abort(const char *call);
int64_t fake_script_duration(const char *call);
int64_t fake_script_lag(const char *call); /* when a command may begin; 0: at once */
int64_t fake_script_group_ns(const char *kernel);
long fake_script_pointers(const char *kernel);                    /* that it needs; -1: not said */
int64_t fake_script_slowness(const struct _cl_device_id *device); /* percent */
cl_int fake_script_abort_on(const struct _cl_device_id *device);  /* for its next launch */
cl_uint fake_script_devices(void);                                /* of fake_devices */
bool fake_script_sync(void);
bool fake_script_uneven(void);
size_t fake_script_twin_group(void);
bool fake_script_late(void);
bool fake_script_reuse(void);
bool fake_script_old(void);
cl_version fake_script_buffers(void); /* of cl_khr_command_buffer */
void fake_script_log(const char *call, unsigned queue, int64_t begin, int64_t end, size_t groups,
                     size_t bytes, size_t active);
int64_t fake_now(void);
int64_t fake_profiling_now(void); /* what events tell */

/* object.c */
void fake_object_init(struct fake_object *object, enum fake_kind kind);
bool fake_is(const void *handle, enum fake_kind kind);
cl_int fake_answer(const void *value, size_t size, size_t room, void *ret_value, size_t *ret_size);
#define FAKE_ANSWER(type, value)                                                                             \
    do {                                                                                                     \
        const type answer_ = (value);                                                                        \
        return fake_answer(&answer_, sizeof answer_, room, ret_value, ret_size);                             \
    } while (0)
void fake_context_release(cl_context context);
void fake_list_devices(cl_device_id ret_devices[FAKE_MAX_DEVICES]);
void fake_mem_release(cl_mem mem);
/* What OpenCL tells of an image: 0 where it has no slices. */
size_t fake_slice_pitch(cl_mem image);
void fake_kernel_release(cl_kernel kernel);
void fake_program_release(cl_program program);
void fake_event_release(cl_event event);
void fake_queue_release(cl_command_queue queue);

/* queue.c */
cl_int fake_waits_check(cl_command_queue queue, cl_uint n, const cl_event *waits);
/* Takes over *draft (copied). blocking waits for the end; ret_event may be NULL. */
cl_int fake_submit(cl_command_queue queue, const struct fake_command *draft, cl_command_type type,
                   cl_uint n_waits, const cl_event *waits, cl_bool blocking, cl_event *ret_event);
void fake_event_set(cl_event event, cl_int status); /* with callbacks; takes fake_lock itself */

/* kernels.c */
struct fake_range {
    cl_uint dim;
    size_t offset[3], global[3], local[3];
};
/* Of cl_khr_il_program: the only way with SPIR-V of a driver of OpenCL 1.2. */
cl_program CL_API_CALL fake_create_program_with_il_khr(cl_context context, const void *il, size_t length,
                                                       cl_int *ret_code);
/* Takes over the source. */
cl_program fake_program_new(cl_context context, char *source);

const struct fake_builtin *fake_builtin_find(const char *name);
cl_uint fake_builtin_args(const struct fake_builtin *builtin);        /* without a piece descriptor */
const size_t *fake_builtin_local(const struct fake_builtin *builtin); /* reqd_work_group_size; 0: none */
size_t fake_group_limit(const struct fake_signature *signature);      /* work-items of a group, at most */
void fake_builtin_run(const struct fake_signature *signature, const struct fake_arg *args,
                      const struct fake_range *range);

#define FAKE_API CL_API_ENTRY

/* The entry points, by file. */
#include "entry_points.h"
#endif
