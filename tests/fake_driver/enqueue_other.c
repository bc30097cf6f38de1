/* Kernels, maps, markers, and the calls whose command does nothing here but must keep its place. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

struct launch {
    struct fake_signature signature; /* a copy: the program may be gone before the command runs */
    struct fake_arg args[FAKE_MAX_ARGS];
    struct fake_range range;
};

static void act_launch(struct fake_command *command)
{
    const struct launch *launch = command->data;

    fake_builtin_run(&launch->signature, launch->args, &launch->range);
}

static cl_int fill_range(const struct fake_signature *signature, struct fake_range *ret_range, cl_uint dim,
                         const size_t *offset, const size_t *global, const size_t *local)
{
    static const size_t limits[3] = {1024, 1024, 64};
    const size_t *wanted = fake_builtin_local(signature->builtin);

    if (dim < 1 || dim > 3)
        return CL_INVALID_WORK_DIMENSION;
    ret_range->dim = dim;
    for (cl_uint d = 0; d < 3; d++) {
        ret_range->offset[d] = d < dim && offset ? offset[d] : 0;
        ret_range->global[d] = d < dim && global ? global[d] : d < dim ? 0 : 1;
        ret_range->local[d] = d < dim && local ? local[d] : 1;
        if (!ret_range->global[d] && fake_script_old())
            return CL_INVALID_GLOBAL_WORK_SIZE;
        if (!ret_range->local[d] || (local && wanted[0] && ret_range->local[d] != wanted[d]))
            return CL_INVALID_WORK_GROUP_SIZE;
        if (ret_range->global[d] % ret_range->local[d] && !fake_script_uneven())
            return CL_INVALID_WORK_GROUP_SIZE;
    }
    if (ret_range->local[0] * ret_range->local[1] * ret_range->local[2] > fake_group_limit(signature))
        return CL_INVALID_WORK_GROUP_SIZE;
    for (cl_uint d = 0; d < 3; d++)
        if (ret_range->local[d] > limits[d])
            return CL_INVALID_WORK_ITEM_SIZE;
    for (size_t n = 8; !local && n > 1; n /= 2)
        if (ret_range->global[0] % n == 0) {
            ret_range->local[0] = n;
            break;
        }
    return CL_SUCCESS;
}

/* Logs the first launch of a kernel with this local size. */
static void compile(cl_command_queue queue, cl_kernel kernel, const struct fake_range *range, size_t groups)
{
    cl_program program = kernel->program;
    size_t i = 0;

    pthread_mutex_lock(&fake_lock);
    while (i < program->n_compiled &&
           (program->compiled[i].kernel != kernel->signature ||
            memcmp(program->compiled[i].local, range->local, sizeof range->local) != 0))
        i++;
    if (i == program->n_compiled && i < FAKE_MAX_COMPILED && fake_script_late()) {
        program->compiled[i].kernel = kernel->signature;
        memcpy(program->compiled[i].local, range->local, sizeof range->local);
        program->n_compiled++;
        fake_script_log("Compile", queue->number, fake_now(), fake_now(), groups, 0, 0);
    }
    pthread_mutex_unlock(&fake_lock);
}

static cl_int launch_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dim, const size_t *offset,
                            const size_t *global, const size_t *local, cl_command_type type, const char *call,
                            cl_uint n_waits, const cl_event *waits, cl_event *ret_event)
{
    struct fake_command draft = {.call = call, .act = act_launch};
    struct launch *launch;
    struct fake_range range;
    cl_int code;

    if (!fake_is(queue, FAKE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (!fake_is(kernel, FAKE_KERNEL))
        return CL_INVALID_KERNEL;
    if (kernel->program->context != queue->context)
        return CL_INVALID_CONTEXT;
    for (cl_uint i = 0; i < kernel->signature->n_args; i++)
        if (!kernel->args[i].set)
            return CL_INVALID_KERNEL_ARGS;
    if ((code = fill_range(kernel->signature, &range, dim, offset, global, local)) ||
        (code = fake_waits_check(queue, n_waits, waits)) || (code = fake_script_fail(call)))
        return code;
    draft.data = launch = malloc(sizeof *launch);
    launch->signature = *kernel->signature;
    launch->range = range;
    memcpy(launch->args, kernel->args, sizeof launch->args);
    for (cl_uint i = 0; i < kernel->signature->n_args; i++)
        if (kernel->signature->args[i].address == CL_KERNEL_ARG_ADDRESS_GLOBAL &&
            fake_is(kernel->args[i].value.mem, FAKE_MEM))
            draft.mems[draft.n_mems++] = kernel->args[i].value.mem;
    draft.groups = 1;
    for (int d = 0; d < 3; d++)
        draft.groups *= (range.global[d] + range.local[d] - 1) / range.local[d];
    compile(queue, kernel, &range, draft.groups);
    draft.duration_ns = fake_script_group_ns(kernel->signature->name) * (int64_t)draft.groups *
                        fake_script_slowness(queue->device) / 100;
    draft.abort_with = fake_script_abort_on(queue->device);
    if (fake_script_pointers(kernel->signature->name) >= 0 &&
        fake_script_pointers(kernel->signature->name) != kernel->n_pointers)
        draft.abort_with = CL_OUT_OF_RESOURCES;
    return fake_submit(queue, &draft, type, n_waits, waits, CL_FALSE, ret_event);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dim,
                                                        const size_t *offset, const size_t *global,
                                                        const size_t *local, cl_uint n_waits,
                                                        const cl_event *waits, cl_event *ret_event)
{
    return launch_kernel(queue, kernel, dim, offset, global, local, CL_COMMAND_NDRANGE_KERNEL,
                         "NDRangeKernel", n_waits, waits, ret_event);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint n_waits,
                                               const cl_event *waits, cl_event *ret_event)
{
    static const size_t one = 1;

    return launch_kernel(queue, kernel, 1, NULL, &one, &one, CL_COMMAND_TASK, "Task", n_waits, waits,
                         ret_event);
}

/* The general command: checks, then act (may be NULL) in its turn. Takes data over. */
static cl_int plain(cl_command_queue queue, const char *call, cl_command_type type,
                    const struct fake_command *draft, cl_bool blocking, cl_uint n_waits,
                    const cl_event *waits, cl_event *ret_event)
{
    struct fake_command command = *draft;
    cl_int code;

    command.call = call;
    if (!fake_is(queue, FAKE_QUEUE))
        code = CL_INVALID_COMMAND_QUEUE;
    else if ((code = fake_waits_check(queue, n_waits, waits)) == CL_SUCCESS)
        code = fake_script_fail(call);
    if (code == CL_SUCCESS)
        return fake_submit(queue, &command, type, n_waits, waits, blocking, ret_event);
    free(command.data);
    return code;
}

struct native {
    void(CL_CALLBACK *run)(void *);
    unsigned char args[];
};

static void act_native(struct fake_command *command)
{
    struct native *native = command->data;

    native->run(native->args);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueNativeKernel(cl_command_queue queue, void(CL_CALLBACK *run)(void *),
                                                       void *args, size_t size, cl_uint n, const cl_mem *mems,
                                                       const void **places, cl_uint n_waits,
                                                       const cl_event *waits, cl_event *ret_event)
{
    struct fake_command draft = {.act = act_native};
    struct native *native;

    if (!fake_is(queue, FAKE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (!run || (args == NULL) != (size == 0) || (n > 0) != (mems != NULL) || (n > 0) != (places != NULL) ||
        n > FAKE_MAX_ARGS)
        return CL_INVALID_VALUE;
    draft.data = native = malloc(sizeof *native + size);
    native->run = run;
    if (size)
        memcpy(native->args, args, size);
    for (cl_uint i = 0; i < n; i++) {
        if (!fake_is(mems[i], FAKE_MEM)) {
            free(native);
            return CL_INVALID_MEM_OBJECT;
        }
        draft.mems[draft.n_mems++] = mems[i];
        memcpy(native->args + ((const char *)places[i] - (const char *)args), &mems[i]->bytes,
               sizeof(void *));
    }
    return plain(queue, "NativeKernel", CL_COMMAND_NATIVE_KERNEL, &draft, CL_FALSE, n_waits, waits,
                 ret_event);
}

static void *map(cl_command_queue queue, cl_mem mem, const char *call, cl_command_type type, cl_bool blocking,
                 size_t offset, cl_uint n_waits, const cl_event *waits, cl_event *ret_event, cl_int *ret_code)
{
    struct fake_command draft = {.mems = {mem}, .n_mems = 1};
    struct fake_mapping *mapping;
    cl_int code = plain(queue, call, type, &draft, blocking, n_waits, waits, ret_event);

    if (ret_code)
        *ret_code = code;
    if (code)
        return NULL;
    mapping = calloc(1, sizeof *mapping);
    mapping->pointer = mem->bytes + offset;
    pthread_mutex_lock(&fake_lock);
    mapping->next = mem->mappings;
    mem->mappings = mapping;
    pthread_mutex_unlock(&fake_lock);
    return mapping->pointer;
}

static void *refuse(cl_int code, cl_int *ret_code)
{
    if (ret_code)
        *ret_code = code;
    return NULL;
}

/* By the flags that it was made with. */
static bool unmappable(cl_mem mem, cl_map_flags flags)
{
    return (mem->flags & CL_MEM_HOST_NO_ACCESS) ||
           (mem->flags & CL_MEM_HOST_WRITE_ONLY && flags & CL_MAP_READ) ||
           (mem->flags & CL_MEM_HOST_READ_ONLY && flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION));
}

FAKE_API void *CL_API_CALL fake_clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking,
                                                   cl_map_flags flags, size_t offset, size_t size,
                                                   cl_uint n_waits, const cl_event *waits,
                                                   cl_event *ret_event, cl_int *ret_code)
{
    if (!fake_is(queue, FAKE_QUEUE))
        return refuse(CL_INVALID_COMMAND_QUEUE, ret_code);
    if (!fake_is(mem, FAKE_MEM) || mem->type != CL_MEM_OBJECT_BUFFER)
        return refuse(CL_INVALID_MEM_OBJECT, ret_code);
    if (mem->context != queue->context)
        return refuse(CL_INVALID_CONTEXT, ret_code);
    if (!size || offset > mem->size || size > mem->size - offset || flags > 7)
        return refuse(CL_INVALID_VALUE, ret_code);
    if (unmappable(mem, flags))
        return refuse(CL_INVALID_OPERATION, ret_code);
    return map(queue, mem, "MapBuffer", CL_COMMAND_MAP_BUFFER, blocking, offset, n_waits, waits, ret_event,
               ret_code);
}

FAKE_API void *CL_API_CALL fake_clEnqueueMapImage(cl_command_queue queue, cl_mem mem, cl_bool blocking,
                                                  cl_map_flags flags, const size_t *origin,
                                                  const size_t *region, size_t *ret_row, size_t *ret_slice,
                                                  cl_uint n_waits, const cl_event *waits, cl_event *ret_event,
                                                  cl_int *ret_code)
{
    if (!fake_is(queue, FAKE_QUEUE))
        return refuse(CL_INVALID_COMMAND_QUEUE, ret_code);
    if (!fake_is(mem, FAKE_MEM) || mem->type == CL_MEM_OBJECT_BUFFER)
        return refuse(CL_INVALID_MEM_OBJECT, ret_code);
    if (mem->context != queue->context)
        return refuse(CL_INVALID_CONTEXT, ret_code);
    if (!ret_row || !origin || !region || flags > 7 || origin[0] + region[0] > mem->desc.image_width ||
        origin[1] + region[1] > mem->desc.image_height || origin[2] + region[2] > mem->desc.image_depth)
        return refuse(CL_INVALID_VALUE, ret_code);
    if (unmappable(mem, flags))
        return refuse(CL_INVALID_OPERATION, ret_code);
    *ret_row = mem->row_pitch;
    if (ret_slice)
        *ret_slice = fake_slice_pitch(mem);
    return map(queue, mem, "MapImage", CL_COMMAND_MAP_IMAGE, blocking,
               origin[0] * mem->element + origin[1] * mem->row_pitch + origin[2] * mem->slice_pitch, n_waits,
               waits, ret_event, ret_code);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem mem, void *pointer,
                                                         cl_uint n_waits, const cl_event *waits,
                                                         cl_event *ret_event)
{
    struct fake_command draft = {.mems = {mem}, .n_mems = 1};
    struct fake_mapping **at, *found = NULL;

    if (!fake_is(queue, FAKE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (!fake_is(mem, FAKE_MEM))
        return CL_INVALID_MEM_OBJECT;
    if (mem->context != queue->context)
        return CL_INVALID_CONTEXT;
    pthread_mutex_lock(&fake_lock);
    for (at = &mem->mappings; *at && (*at)->pointer != pointer; at = &(*at)->next)
        ;
    if ((found = *at))
        *at = found->next;
    pthread_mutex_unlock(&fake_lock);
    if (!found)
        return CL_INVALID_VALUE;
    free(found);
    return plain(queue, "UnmapMemObject", CL_COMMAND_UNMAP_MEM_OBJECT, &draft, CL_FALSE, n_waits, waits,
                 ret_event);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueMigrateMemObjects(cl_command_queue queue, cl_uint n,
                                                            const cl_mem *mems, cl_mem_migration_flags flags,
                                                            cl_uint n_waits, const cl_event *waits,
                                                            cl_event *ret_event)
{
    if (!fake_is(queue, FAKE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (!n || !mems || flags > 3)
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < n; i++)
        if (!fake_is(mems[i], FAKE_MEM))
            return CL_INVALID_MEM_OBJECT;
    return plain(queue, "MigrateMemObjects", CL_COMMAND_MIGRATE_MEM_OBJECTS, &(struct fake_command){0},
                 CL_FALSE, n_waits, waits, ret_event);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint n_waits,
                                                             const cl_event *waits, cl_event *ret_event)
{
    return plain(queue, "Marker", CL_COMMAND_MARKER, &(struct fake_command){.all_before = !n_waits}, CL_FALSE,
                 n_waits, waits, ret_event);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint n_waits,
                                                              const cl_event *waits, cl_event *ret_event)
{
    return plain(queue, "Barrier", CL_COMMAND_BARRIER,
                 &(struct fake_command){.barrier = true, .all_before = !n_waits}, CL_FALSE, n_waits, waits,
                 ret_event);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueMarker(cl_command_queue queue, cl_event *ret_event)
{
    return ret_event ? fake_clEnqueueMarkerWithWaitList(queue, 0, NULL, ret_event) : CL_INVALID_VALUE;
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueBarrier(cl_command_queue queue)
{
    return fake_clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueWaitForEvents(cl_command_queue queue, cl_uint n_waits,
                                                        const cl_event *waits)
{
    if (!fake_is(queue, FAKE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (!n_waits || !waits)
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < n_waits; i++)
        if (!fake_is(waits[i], FAKE_EVENT))
            return CL_INVALID_EVENT;
    return fake_clEnqueueBarrierWithWaitList(queue, n_waits, waits, NULL);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueAcquireGLObjects(cl_command_queue queue, cl_uint n,
                                                           const cl_mem *mems, cl_uint n_waits,
                                                           const cl_event *waits, cl_event *ret_event)
{
    (void)n;
    (void)mems;
    return plain(queue, "AcquireGLObjects", CL_COMMAND_ACQUIRE_GL_OBJECTS, &(struct fake_command){0},
                 CL_FALSE, n_waits, waits, ret_event);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueReleaseGLObjects(cl_command_queue queue, cl_uint n,
                                                           const cl_mem *mems, cl_uint n_waits,
                                                           const cl_event *waits, cl_event *ret_event)
{
    (void)n;
    (void)mems;
    return plain(queue, "ReleaseGLObjects", CL_COMMAND_RELEASE_GL_OBJECTS, &(struct fake_command){0},
                 CL_FALSE, n_waits, waits, ret_event);
}

struct svm_free {
    cl_command_queue queue;
    cl_uint n;
    void(CL_CALLBACK *run)(cl_command_queue, cl_uint, void *[], void *);
    void *user;
    void *pointers[];
};

static void act_svm_free(struct fake_command *command)
{
    struct svm_free *job = command->data;

    if (job->run)
        job->run(job->queue, job->n, job->pointers, job->user);
    else
        for (cl_uint i = 0; i < job->n; i++)
            free(job->pointers[i]);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueSVMFree(cl_command_queue queue, cl_uint n, void *pointers[],
                                                  void(CL_CALLBACK *run)(cl_command_queue, cl_uint, void *[],
                                                                         void *),
                                                  void *user, cl_uint n_waits, const cl_event *waits,
                                                  cl_event *ret_event)
{
    struct fake_command draft = {.act = act_svm_free};
    struct svm_free *job;

    if (!fake_is(queue, FAKE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if ((n == 0) != (pointers == NULL))
        return CL_INVALID_VALUE;
    draft.data = job = malloc(sizeof *job + n * sizeof(void *));
    *job = (struct svm_free){.queue = queue, .n = n, .run = run, .user = user};
    if (n)
        memcpy(job->pointers, pointers, n * sizeof(void *));
    return plain(queue, "SVMFree", CL_COMMAND_SVM_FREE, &draft, CL_FALSE, n_waits, waits, ret_event);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueSVMMap(cl_command_queue queue, cl_bool blocking, cl_map_flags flags,
                                                 void *pointer, size_t size, cl_uint n_waits,
                                                 const cl_event *waits, cl_event *ret_event)
{
    if (!fake_is(queue, FAKE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (!pointer || !size || flags > 7)
        return CL_INVALID_VALUE;
    return plain(queue, "SVMMap", CL_COMMAND_SVM_MAP, &(struct fake_command){0}, blocking, n_waits, waits,
                 ret_event);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueSVMUnmap(cl_command_queue queue, void *pointer, cl_uint n_waits,
                                                   const cl_event *waits, cl_event *ret_event)
{
    if (!fake_is(queue, FAKE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (!pointer)
        return CL_INVALID_VALUE;
    return plain(queue, "SVMUnmap", CL_COMMAND_SVM_UNMAP, &(struct fake_command){0}, CL_FALSE, n_waits, waits,
                 ret_event);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueSVMMigrateMem(cl_command_queue queue, cl_uint n,
                                                        const void **pointers, const size_t *sizes,
                                                        cl_mem_migration_flags flags, cl_uint n_waits,
                                                        const cl_event *waits, cl_event *ret_event)
{
    (void)sizes;
    if (!fake_is(queue, FAKE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if (!n || !pointers || flags > 3)
        return CL_INVALID_VALUE;
    return plain(queue, "SVMMigrateMem", CL_COMMAND_SVM_MIGRATE_MEM, &(struct fake_command){0}, CL_FALSE,
                 n_waits, waits, ret_event);
}
