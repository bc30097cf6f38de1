/* What the loader asks for. */
#include "fake.h"

#include <string.h>

#define FAKE_ENTRY(name) .name = fake_##name,
const cl_icd_dispatch fake_dispatch = {FAKE_ENTRY_POINTS(FAKE_ENTRY)};

/*
 * An extension function that enqueues work behind a layer's back: a layer that hands it out
 * bypasses itself.
 */
static cl_int CL_API_CALL fake_enqueue_command_buffer(void)
{
    return CL_INVALID_OPERATION;
}

FAKE_API void *CL_API_CALL fake_clGetExtensionFunctionAddress(const char *name)
{
    if (!strcmp(name, "clIcdGetPlatformIDsKHR"))
        return (void *)(uintptr_t)fake_clGetPlatformIDs;
    if (strstr(name, "CommandBuffer") || !strncmp(name, "clCommand", strlen("clCommand")) ||
        !strcmp(name, "clCreateSemaphoreWithPropertiesKHR"))
        return (void *)(uintptr_t)fake_enqueue_command_buffer;
    if (!strcmp(name, "clCreateProgramWithILKHR"))
        return (void *)(uintptr_t)fake_create_program_with_il_khr;
    if (!strcmp(name, "clCreateCommandQueueWithPropertiesKHR"))
        return (void *)(uintptr_t)fake_clCreateCommandQueueWithProperties;
    return NULL;
}

FAKE_API void *CL_API_CALL fake_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform,
                                                                         const char *name)
{
    (void)platform;
    return fake_clGetExtensionFunctionAddress(name);
}

/* The three symbols the loader looks up by name. */
#pragma GCC visibility push(default)
FAKE_API void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
    return fake_clGetExtensionFunctionAddress(name);
}

FAKE_API cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint n, cl_platform_id *ret_platforms, cl_uint *ret_n)
{
    return fake_clGetPlatformIDs(n, ret_platforms, ret_n);
}

FAKE_API cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info name, size_t room,
                                              void *ret_value, size_t *ret_size)
{
    return fake_clGetPlatformInfo(platform, name, room, ret_value, ret_size);
}
#pragma GCC visibility pop
