/* Launches, tasks, native functions. */
#include "opencl/enqueue/enqueue.h"

#define FORWARD(name, ...) front.target.name(__VA_ARGS__, n, waits, event)

CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueNDRangeKernel(cl_command_queue handle, cl_kernel kernel,
                                                             cl_uint dim, const size_t *offset,
                                                             const size_t *global, const size_t *local,
                                                             cl_uint n, const cl_event *waits,
                                                             cl_event *event)
{
    struct opencl_command draft = {.kind = COMMAND_KERNEL};
    struct opencl_launch *launch = &draft.u.launch;
    struct kernel_record *record;
    cl_int code;

    ENQUEUE_BEGIN(handle, FORWARD(clEnqueueNDRangeKernel, handle, kernel, dim, offset, global, local));
    record = kernel_find(kernel);
    ENQUEUE_REQUIRE(record, CL_INVALID_KERNEL,
                    FORWARD(clEnqueueNDRangeKernel, handle, kernel, dim, offset, global, local));
    if (dim < 1 || dim > 3) {
        kernel_unref(record);
        ENQUEUE_REQUIRE(false, CL_INVALID_WORK_DIMENSION,
                        FORWARD(clEnqueueNDRangeKernel, handle, kernel, dim, offset, global, local));
    }
    launch->kernel = record;
    launch->dim = dim;
    launch->has_local = local != NULL;
    for (cl_uint d = 0; d < dim; d++) {
        launch->offset[d] = offset ? offset[d] : 0;
        launch->global[d] = global ? global[d] : 0; /* OpenCL treats a missing global size as 0 */
        launch->local[d] = local ? local[d] : 0;
    }
    draft.queue = queue;
    code = enqueue_end(&draft, CL_FALSE, n, waits, event);
    kernel_unref(record);
    return code;
}

CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueTask(cl_command_queue handle, cl_kernel kernel, cl_uint n,
                                                    const cl_event *waits, cl_event *event)
{
    struct opencl_command draft = {.kind = COMMAND_TASK};
    struct kernel_record *record;
    cl_int code;

    ENQUEUE_BEGIN(handle, FORWARD(clEnqueueTask, handle, kernel));
    record = kernel_find(kernel);
    ENQUEUE_REQUIRE(record, CL_INVALID_KERNEL, FORWARD(clEnqueueTask, handle, kernel));
    draft.u.launch.kernel = record;
    draft.u.launch.dim = 1;
    draft.u.launch.global[0] = draft.u.launch.local[0] = 1;
    draft.u.launch.has_local = true;
    draft.queue = queue;
    code = enqueue_end(&draft, CL_FALSE, n, waits, event);
    kernel_unref(record);
    return code;
}

CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueNativeKernel(cl_command_queue handle,
                                                            void(CL_CALLBACK *run)(void *), void *args,
                                                            size_t size, cl_uint n_mems, const cl_mem *list,
                                                            const void **places, cl_uint n,
                                                            const cl_event *waits, cl_event *event)
{
    struct opencl_command draft = {
        .kind = COMMAND_NATIVE,
        .u.native = {.run = run, .args = args, .size = size, .n = n_mems, .mems = list, .places = places}};

    ENQUEUE_BEGIN(handle, FORWARD(clEnqueueNativeKernel, handle, run, args, size, n_mems, list, places));
    draft.queue = queue;
    return enqueue_end(&draft, CL_FALSE, n, waits, event);
}
