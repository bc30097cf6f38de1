/* Shared virtual memory. */
#include "opencl/enqueue/enqueue.h"

#define FORWARD(name, ...) front.target.name(__VA_ARGS__, n, waits, event)

CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueSVMMemcpy(cl_command_queue handle, cl_bool blocking, void *to,
                                                         const void *from, size_t size, cl_uint n,
                                                         const cl_event *waits, cl_event *event)
{
    struct opencl_command draft = {.kind = COMMAND_SVM_MEMCPY,
                                   .u.svm = {.to = to, .from = from, .size = size}};

    ENQUEUE_BEGIN(handle, FORWARD(clEnqueueSVMMemcpy, handle, blocking, to, from, size));
    draft.queue = queue;
    return enqueue_end(&draft, blocking, n, waits, event);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueSVMMemFill(cl_command_queue handle, void *to,
                                                          const void *pattern, size_t pattern_size,
                                                          size_t size, cl_uint n, const cl_event *waits,
                                                          cl_event *event)
{
    struct opencl_command draft = {.kind = COMMAND_SVM_FILL,
                                   .u.svm = {.to = to, .pattern_size = pattern_size, .size = size}};

    ENQUEUE_BEGIN(handle, FORWARD(clEnqueueSVMMemFill, handle, to, pattern, pattern_size, size));
    ENQUEUE_REQUIRE(pattern && pattern_size && pattern_size <= sizeof draft.u.svm.pattern, CL_INVALID_VALUE,
                    FORWARD(clEnqueueSVMMemFill, handle, to, pattern, pattern_size, size));
    memcpy(draft.u.svm.pattern, pattern, pattern_size);
    draft.queue = queue;
    return enqueue_end(&draft, CL_FALSE, n, waits, event);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueSVMMap(cl_command_queue handle, cl_bool blocking,
                                                      cl_map_flags flags, void *pointer, size_t size,
                                                      cl_uint n, const cl_event *waits, cl_event *event)
{
    struct opencl_command draft = {.kind = COMMAND_SVM_MAP,
                                   .u.svm = {.to = pointer, .size = size, .flags = flags}};

    ENQUEUE_BEGIN(handle, FORWARD(clEnqueueSVMMap, handle, blocking, flags, pointer, size));
    draft.queue = queue;
    return enqueue_end(&draft, blocking, n, waits, event);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueSVMUnmap(cl_command_queue handle, void *pointer, cl_uint n,
                                                        const cl_event *waits, cl_event *event)
{
    struct opencl_command draft = {.kind = COMMAND_SVM_UNMAP, .u.svm = {.to = pointer}};

    ENQUEUE_BEGIN(handle, FORWARD(clEnqueueSVMUnmap, handle, pointer));
    draft.queue = queue;
    return enqueue_end(&draft, CL_FALSE, n, waits, event);
}

CL_API_ENTRY cl_int CL_API_CALL
entry_clEnqueueSVMFree(cl_command_queue handle, cl_uint n_pointers, void *pointers[],
                       void(CL_CALLBACK *run)(cl_command_queue, cl_uint, void *[], void *), void *user,
                       cl_uint n, const cl_event *waits, cl_event *event)
{
    struct opencl_command draft = {
        .kind = COMMAND_SVM_FREE, .u.svm = {.n = n_pointers, .pointers = pointers, .run = run, .user = user}};

    ENQUEUE_BEGIN(handle, FORWARD(clEnqueueSVMFree, handle, n_pointers, pointers, run, user));
    draft.queue = queue;
    return enqueue_end(&draft, CL_FALSE, n, waits, event);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueSVMMigrateMem(cl_command_queue handle, cl_uint n_pointers,
                                                             const void **pointers, const size_t *sizes,
                                                             cl_mem_migration_flags flags, cl_uint n,
                                                             const cl_event *waits, cl_event *event)
{
    struct opencl_command draft = {
        .kind = COMMAND_SVM_MIGRATE,
        .u.svm = {.n = n_pointers, .pointers = (void **)(uintptr_t)pointers, .sizes = sizes, .flags = flags}};

    ENQUEUE_BEGIN(handle, FORWARD(clEnqueueSVMMigrateMem, handle, n_pointers, pointers, sizes, flags));
    draft.queue = queue;
    return enqueue_end(&draft, CL_FALSE, n, waits, event);
}
