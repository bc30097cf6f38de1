#include "client/opencl.h"

#include <dlfcn.h>
#include <stddef.h>

#include "client/client_process.h"

static void load(void)
{
    void *loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!loader)
        return;
    client_process.opencl_complete = true;
#define OPENCL_LOAD(name)                                                                                    \
    *(void **)&client_process.opencl.name = dlsym(loader, #name);                                            \
    client_process.opencl_complete = client_process.opencl_complete && client_process.opencl.name;
    OPENCL_FUNCTIONS(OPENCL_LOAD)
#undef OPENCL_LOAD
}

const struct opencl *opencl_get(void)
{
    (void)pthread_once(&client_process.opencl_once, load);
    return client_process.opencl_complete ? &client_process.opencl : NULL;
}

const char *opencl_error_name(cl_int error)
{
    static const struct {
        cl_int error;
        const char *name;
    } names[] = {
#define NAME(error) {error, #error}
        NAME(CL_DEVICE_NOT_FOUND),
        NAME(CL_DEVICE_NOT_AVAILABLE),
        NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE),
        NAME(CL_OUT_OF_RESOURCES),
        NAME(CL_OUT_OF_HOST_MEMORY),
        NAME(CL_MEM_COPY_OVERLAP),
        NAME(CL_MISALIGNED_SUB_BUFFER_OFFSET),
        NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
        NAME(CL_BUILD_PROGRAM_FAILURE),
        NAME(CL_INVALID_VALUE),
        NAME(CL_INVALID_DEVICE),
        NAME(CL_INVALID_CONTEXT),
        NAME(CL_INVALID_COMMAND_QUEUE),
        NAME(CL_INVALID_MEM_OBJECT),
        NAME(CL_INVALID_PROGRAM_EXECUTABLE),
        NAME(CL_INVALID_KERNEL),
        NAME(CL_INVALID_ARG_INDEX),
        NAME(CL_INVALID_ARG_VALUE),
        NAME(CL_INVALID_ARG_SIZE),
        NAME(CL_INVALID_KERNEL_ARGS),
        NAME(CL_INVALID_WORK_DIMENSION),
        NAME(CL_INVALID_WORK_GROUP_SIZE),
        NAME(CL_INVALID_WORK_ITEM_SIZE),
        NAME(CL_INVALID_GLOBAL_OFFSET),
        NAME(CL_INVALID_OPERATION),
        NAME(CL_INVALID_BUFFER_SIZE),
        NAME(CL_INVALID_GLOBAL_WORK_SIZE),
#undef NAME
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].error == error)
            return names[i].name;
    }
    return "an unknown OpenCL error";
}
