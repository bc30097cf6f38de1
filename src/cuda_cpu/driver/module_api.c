/* Calls about modules: loading, unloading, functions and variables. Linking: link_api.c. */
#include <stdint.h>
#include <stdlib.h>

#include "base/file.h"
#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/handles.h"
#include "cuda_cpu/driver/module.h"

#define MOST_FILE ((size_t)1 << 30)

struct module_log module_log_of(const CUjit_option options[], void *const values[], unsigned n)
{
    struct module_log log = {0};

    for (unsigned i = 0; i < n; i++) {
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
            log.text = values[i];
        else if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            log.size = (size_t)(uintptr_t)values[i];
    }
    if (!log.text)
        log.size = 0;
    else if (log.size)
        log.text[0] = 0;
    return log;
}

DRIVER_EXPORT CUresult cuModuleLoadDataEx(CUmodule *ret_module, const void *image, unsigned int n,
                                          CUjit_option *options, void **values)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_module || !image || (n && (!options || !values)))
        return CUDA_ERROR_INVALID_VALUE;
    return module_load(context_of_thread(), image, module_log_of(options, values, n), ret_module);
}

DRIVER_EXPORT CUresult cuModuleLoadData(CUmodule *ret_module, const void *image)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    return code != CUDA_SUCCESS ? code : cuModuleLoadDataEx(ret_module, image, 0, NULL, NULL);
}

DRIVER_EXPORT CUresult cuModuleLoadFatBinary(CUmodule *ret_module, const void *image)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    return code != CUDA_SUCCESS ? code : cuModuleLoadDataEx(ret_module, image, 0, NULL, NULL);
}

DRIVER_EXPORT CUresult cuModuleLoad(CUmodule *ret_module, const char *path)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    char *text;
    size_t size;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_module || !path)
        return CUDA_ERROR_INVALID_VALUE;
    if (file_read(path, MOST_FILE, &text, &size) < 0)
        return CUDA_ERROR_FILE_NOT_FOUND;
    code = size < 4 ? CUDA_ERROR_INVALID_IMAGE : cuModuleLoadDataEx(ret_module, text, 0, NULL, NULL);
    free(text);
    return code;
}

DRIVER_EXPORT CUresult cuModuleUnload(CUmodule module)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (!handle_is(module, HANDLE_MODULE) || module->library || !handle_remove(module, HANDLE_MODULE))
        return CUDA_ERROR_INVALID_HANDLE;
    module_unload(module);
    return CUDA_SUCCESS;
}

static CUresult enter(const char *name, CUmodule module, bool has_arguments)
{
    CUresult code = api_enter(name, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (!handle_is(module, HANDLE_MODULE))
        return CUDA_ERROR_INVALID_HANDLE;
    return has_arguments ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_EXPORT CUresult cuModuleGetFunction(CUfunction *ret_function, CUmodule module, const char *name)
{
    CUresult code = enter(__func__, module, ret_function && name);
    const struct image_entry *entry;

    if (code != CUDA_SUCCESS || !ret_function || !name)
        return code;
    entry = image_find_entry(module->image, name);
    if (!entry)
        return CUDA_ERROR_NOT_FOUND;
    *ret_function = (CUfunction)(void *)&module->functions[entry->index];
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuModuleGetFunctionCount(unsigned int *ret_count, CUmodule module)
{
    CUresult code = enter(__func__, module, ret_count);

    if (code == CUDA_SUCCESS)
        *ret_count = (unsigned)image_entries(module->image);
    return code;
}

DRIVER_EXPORT CUresult cuModuleEnumerateFunctions(CUfunction *ret_functions, unsigned int room,
                                                  CUmodule module)
{
    CUresult code = enter(__func__, module, ret_functions);

    for (unsigned i = 0; code == CUDA_SUCCESS && i < room && i < image_entries(module->image); i++)
        ret_functions[i] = (CUfunction)(void *)&module->functions[i];
    return code;
}

DRIVER_EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr *ret_address, size_t *ret_size, CUmodule module,
                                            const char *name)
{
    CUresult code = enter(__func__, module, name);
    const struct image_variable *variable;

    if (code != CUDA_SUCCESS)
        return code;
    variable = image_find_variable(module->image, name);
    if (!variable)
        return CUDA_ERROR_NOT_FOUND;
    if (ret_address)
        *ret_address = variable->address;
    if (ret_size)
        *ret_size = variable->size;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuModuleGetLoadingMode(int *ret_mode)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code == CUDA_SUCCESS && !ret_mode)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        *ret_mode = 1; /* eager */
    return code;
}
