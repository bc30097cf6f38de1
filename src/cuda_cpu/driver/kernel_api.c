/* Calls about functions and kernels: finding them, their attributes, their parameters. */
#include <string.h>

#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/driver_state.h"
#include "cuda_cpu/driver/handles.h"
#include "cuda_cpu/driver/library.h"
#include "cuda_cpu/launch.h"

CUresult function_of_handle(CUfunction handle, struct function **ret_function)
{
    if (handle_is(handle, HANDLE_FUNCTION)) {
        *ret_function = (struct function *)(void *)handle;
        return CUDA_SUCCESS;
    }
    if (handle_is(handle, HANDLE_KERNEL))
        return kernel_function((CUkernel)(void *)handle, context_of_thread(), ret_function);
    return CUDA_ERROR_INVALID_HANDLE;
}

static CUresult get_attribute(const struct function *function, int attribute, int *ret_value)
{
    const struct image_entry *entry = function->entry;

    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *ret_value = entry->max_threads ? (int)entry->max_threads : LAUNCH_MOST_THREADS;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *ret_value = (int)entry->static_shared_bytes;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        *ret_value = 0;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *ret_value = (int)entry->local_bytes;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *ret_value = (int)entry->registers;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        *ret_value = (int)image_target(function->module->image);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *ret_value = 10 * DRIVER_COMPUTE_MAJOR + DRIVER_COMPUTE_MINOR;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *ret_value = function->most_dynamic;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *ret_value = function->carveout;
        return CUDA_SUCCESS;
    default:
        if (attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX)
            return CUDA_ERROR_INVALID_VALUE;
        *ret_value = 0;
        return CUDA_SUCCESS;
    }
}

static CUresult set_attribute(struct function *function, int attribute, int value)
{
    int most = LAUNCH_MOST_SHARED - (int)function->entry->static_shared_bytes;

    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value < 0 || value > most)
            return CUDA_ERROR_INVALID_VALUE;
        function->most_dynamic = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        if (value < -1 || value > 100)
            return CUDA_ERROR_INVALID_VALUE;
        function->carveout = value;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult find(const char *name, CUfunction handle, struct function **ret_function)
{
    CUresult code = api_enter(name, API_CONTEXT);

    return code == CUDA_SUCCESS ? function_of_handle(handle, ret_function) : code;
}

DRIVER_EXPORT CUresult cuFuncGetAttribute(int *ret_value, CUfunction_attribute attribute, CUfunction handle)
{
    struct function *function = NULL;
    CUresult code = find(__func__, handle, &function);

    if (code != CUDA_SUCCESS)
        return code;
    return ret_value ? get_attribute(function, attribute, ret_value) : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_EXPORT CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value)
{
    struct function *function = NULL;
    CUresult code = find(__func__, handle, &function);

    return code == CUDA_SUCCESS ? set_attribute(function, attribute, value) : code;
}

DRIVER_EXPORT CUresult cuFuncSetCacheConfig(CUfunction handle, int config)
{
    struct function *function = NULL;
    CUresult code = find(__func__, handle, &function);

    if (code == CUDA_SUCCESS && (config < 0 || config > 3))
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        function->cache_config = config;
    return code;
}

DRIVER_EXPORT CUresult cuFuncSetSharedMemConfig(CUfunction handle, int config)
{
    struct function *function = NULL;
    CUresult code = find(__func__, handle, &function);

    return code == CUDA_SUCCESS && (config < 0 || config > 2) ? CUDA_ERROR_INVALID_VALUE : code;
}

DRIVER_EXPORT CUresult cuFuncGetModule(CUmodule *ret_module, CUfunction handle)
{
    struct function *function = NULL;
    CUresult code = find(__func__, handle, &function);

    if (code == CUDA_SUCCESS && !ret_module)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        *ret_module = function->module;
    return code;
}

DRIVER_EXPORT CUresult cuFuncGetName(const char **ret_name, CUfunction handle)
{
    struct function *function = NULL;
    CUresult code = find(__func__, handle, &function);

    if (code == CUDA_SUCCESS && !ret_name)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        *ret_name = function->entry->name;
    return code;
}

static CUresult parameter_info(const struct function *function, size_t index, size_t *ret_offset,
                               size_t *ret_size)
{
    if (!ret_offset || index >= function->entry->n_parameters)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_offset = function->entry->parameters[index].offset;
    if (ret_size)
        *ret_size = function->entry->parameters[index].size;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *ret_offset,
                                          size_t *ret_size)
{
    struct function *function = NULL;
    CUresult code = find(__func__, handle, &function);

    return code == CUDA_SUCCESS ? parameter_info(function, index, ret_offset, ret_size) : code;
}

DRIVER_EXPORT CUresult cuFuncIsLoaded(int *ret_state, CUfunction handle)
{
    struct function *function = NULL;
    CUresult code = find(__func__, handle, &function);

    if (code == CUDA_SUCCESS && !ret_state)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        *ret_state = 1;
    return code;
}

DRIVER_EXPORT CUresult cuFuncLoad(CUfunction handle)
{
    struct function *function = NULL;

    return find(__func__, handle, &function);
}

/* --- kernels of libraries --- */

static CUresult find_kernel(const char *name, CUkernel kernel, struct function **ret_function)
{
    CUresult code = api_enter(name, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    return handle_is(kernel, HANDLE_KERNEL) ? kernel_function(kernel, context_of_thread(), ret_function)
                                            : CUDA_ERROR_INVALID_HANDLE;
}

DRIVER_EXPORT CUresult cuKernelGetFunction(CUfunction *ret_function, CUkernel kernel)
{
    struct function *function = NULL;
    CUresult code = find_kernel(__func__, kernel, &function);

    if (code == CUDA_SUCCESS && !ret_function)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        *ret_function = (CUfunction)(void *)function;
    return code;
}

DRIVER_EXPORT CUresult cuKernelGetAttribute(int *ret_value, CUfunction_attribute attribute, CUkernel kernel,
                                            CUdevice device)
{
    struct function *function = NULL;
    CUresult code = find_kernel(__func__, kernel, &function);

    if (code == CUDA_SUCCESS && (device < 0 || (unsigned)device >= driver.n_devices))
        code = CUDA_ERROR_INVALID_DEVICE;
    if (code != CUDA_SUCCESS)
        return code;
    return ret_value ? get_attribute(function, attribute, ret_value) : CUDA_ERROR_INVALID_VALUE;
}

/* The attribute applies to the kernel in all contexts, including later ones. */
DRIVER_EXPORT CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                                            CUdevice device)
{
    struct function *function = NULL;
    CUresult code = find_kernel(__func__, kernel, &function);

    if (code == CUDA_SUCCESS && (device < 0 || (unsigned)device >= driver.n_devices))
        code = CUDA_ERROR_INVALID_DEVICE;
    if (code == CUDA_SUCCESS)
        code = set_attribute(function, attribute, value);
    if (code == CUDA_SUCCESS && attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        kernel->most_dynamic = value;
    return code;
}

DRIVER_EXPORT CUresult cuKernelSetCacheConfig(CUkernel kernel, int config, CUdevice device)
{
    struct function *function = NULL;
    CUresult code = find_kernel(__func__, kernel, &function);

    if (code == CUDA_SUCCESS && (device < 0 || (unsigned)device >= driver.n_devices))
        code = CUDA_ERROR_INVALID_DEVICE;
    if (code == CUDA_SUCCESS && (config < 0 || config > 3))
        code = CUDA_ERROR_INVALID_VALUE;
    return code;
}

DRIVER_EXPORT CUresult cuKernelGetName(const char **ret_name, CUkernel kernel)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (!handle_is(kernel, HANDLE_KERNEL))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!ret_name)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_name = kernel->name;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuKernelGetLibrary(CUlibrary *ret_library, CUkernel kernel)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (!handle_is(kernel, HANDLE_KERNEL))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!ret_library)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_library = kernel->library;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *ret_offset,
                                            size_t *ret_size)
{
    struct function *function = NULL;
    CUresult code = find_kernel(__func__, kernel, &function);

    return code == CUDA_SUCCESS ? parameter_info(function, index, ret_offset, ret_size) : code;
}
