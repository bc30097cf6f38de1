#include "cuda_cpu/driver/library.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/driver_state.h"
#include "cuda_cpu/driver/handles.h"
#include "cuda_cpu/driver/source.h"

#define MOST_FILE ((size_t)1 << 30)

static bool enter(CUlibrary library)
{
    CUlibrary *grown;

    pthread_mutex_lock(&driver.libraries.lock);
    grown = realloc(driver.libraries.items, (driver.libraries.n + 1) * sizeof(CUlibrary));
    if (grown) {
        driver.libraries.items = grown;
        grown[driver.libraries.n++] = library;
    }
    pthread_mutex_unlock(&driver.libraries.lock);
    return grown != NULL;
}

static void leave(CUlibrary library)
{
    pthread_mutex_lock(&driver.libraries.lock);
    for (size_t i = 0; i < driver.libraries.n; i++)
        if (driver.libraries.items[i] == library)
            driver.libraries.items[i--] = driver.libraries.items[--driver.libraries.n];
    pthread_mutex_unlock(&driver.libraries.lock);
}

void library_forget_context(CUcontext context)
{
    pthread_mutex_lock(&driver.libraries.lock);
    for (size_t i = 0; i < driver.libraries.n; i++) {
        CUlibrary library = driver.libraries.items[i];

        pthread_mutex_lock(&library->lock);
        for (size_t k = 0; k < library->n_modules; k++)
            if (library->modules[k].context == context)
                library->modules[k--] = library->modules[--library->n_modules];
        pthread_mutex_unlock(&library->lock);
    }
    pthread_mutex_unlock(&driver.libraries.lock);
}

/* Under the library's lock. */
static CUresult make_module(CUlibrary library, CUcontext context, struct module_log log, CUmodule *ret_module)
{
    struct library_module *grown =
        realloc(library->modules, (library->n_modules + 1) * sizeof *library->modules);
    CUresult code;

    if (!grown)
        return CUDA_ERROR_OUT_OF_MEMORY;
    library->modules = grown;
    code = module_load(context, library->text, log, ret_module);
    if (code == CUDA_SUCCESS) {
        (*ret_module)->library = library;
        grown[library->n_modules++] = (struct library_module){context, *ret_module};
    }
    return code;
}

CUresult library_module(CUlibrary library, CUcontext context, CUmodule *ret_module)
{
    CUresult code = CUDA_SUCCESS;
    CUmodule found = NULL;

    pthread_mutex_lock(&library->lock);
    for (size_t i = 0; i < library->n_modules; i++)
        if (library->modules[i].context == context)
            found = library->modules[i].module;
    if (!found)
        code = make_module(library, context, (struct module_log){0}, &found);
    pthread_mutex_unlock(&library->lock);
    if (code == CUDA_SUCCESS)
        *ret_module = found;
    return code;
}

CUresult kernel_function(CUkernel kernel, CUcontext context, struct function **ret_function)
{
    const struct image_entry *entry;
    CUmodule module = NULL;
    CUresult code = library_module(kernel->library, context, &module);

    if (code != CUDA_SUCCESS)
        return code;
    entry = image_find_entry(module->image, kernel->name);
    if (!entry)
        return CUDA_ERROR_NOT_FOUND;
    *ret_function = &module->functions[entry->index];
    if (kernel->most_dynamic >= 0)
        (*ret_function)->most_dynamic = kernel->most_dynamic;
    return CUDA_SUCCESS;
}

/* --- calls --- */

static void library_free(CUlibrary library)
{
    for (size_t i = 0; i < library->n_modules; i++) {
        handle_remove(library->modules[i].module, HANDLE_MODULE);
        module_unload(library->modules[i].module);
    }
    for (size_t i = 0; i < library->n_kernels; i++) {
        handle_remove(library->kernels[i], HANDLE_KERNEL);
        free(library->kernels[i]->name);
        free(library->kernels[i]);
    }
    pthread_mutex_destroy(&library->lock);
    free(library->modules);
    free(library->kernels);
    free(library->text);
    free(library);
}

/*
 * Reads and checks the code, so that errors are reported here as documented. Compiles nothing yet.
 */
static CUresult library_fill(CUlibrary library, const void *image, struct module_log log)
{
    struct image_options options = {.log = log.text, .log_size = log.size};
    struct source source;
    CUresult code = source_read(image, &source);

    if (code == CUDA_SUCCESS)
        code = status_code(image_check(source.texts, source.n, &options));
    if (code == CUDA_SUCCESS) {
        size_t size;

        library->text = source.owned[0] ? source_pack(source.texts, source.n, &size) : strdup(image);
        code = library->text ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    source_done(&source);
    return code;
}

DRIVER_EXPORT CUresult cuLibraryLoadData(CUlibrary *ret_library, const void *image, CUjit_option *jit,
                                         void **jit_values, unsigned int n_jit, void *library_options,
                                         void **library_values, unsigned int n_library)
{
    CUresult code = api_enter(__func__, API_READY);
    CUlibrary library;

    (void)library_options;
    (void)library_values;
    (void)n_library;
    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_library || !image || (n_jit && (!jit || !jit_values)))
        return CUDA_ERROR_INVALID_VALUE;
    library = calloc(1, sizeof *library);
    if (!library)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_init(&library->lock, NULL);
    code = library_fill(library, image, module_log_of(jit, jit_values, n_jit));
    if (code == CUDA_SUCCESS && (!enter(library) || !handle_put(library, HANDLE_LIBRARY, NULL)))
        code = CUDA_ERROR_OUT_OF_MEMORY;
    if (code != CUDA_SUCCESS) {
        leave(library);
        library_free(library);
        return code;
    }
    *ret_library = library;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuLibraryLoadFromFile(CUlibrary *ret_library, const char *path, CUjit_option *jit,
                                             void **jit_values, unsigned int n_jit, void *library_options,
                                             void **library_values, unsigned int n_library)
{
    CUresult code = api_enter(__func__, API_READY);
    char *text;
    size_t size;

    if (code != CUDA_SUCCESS)
        return code;
    if (!path)
        return CUDA_ERROR_INVALID_VALUE;
    if (file_read(path, MOST_FILE, &text, &size) < 0)
        return CUDA_ERROR_FILE_NOT_FOUND;
    code = cuLibraryLoadData(ret_library, text, jit, jit_values, n_jit, library_options, library_values,
                             n_library);
    free(text);
    return code;
}

DRIVER_EXPORT CUresult cuLibraryUnload(CUlibrary library)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (!handle_remove(library, HANDLE_LIBRARY))
        return CUDA_ERROR_INVALID_HANDLE;
    leave(library);
    library_free(library);
    return CUDA_SUCCESS;
}

static CUresult find_library(const char *name, CUlibrary library, bool has_arguments)
{
    CUresult code = api_enter(name, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (!handle_is(library, HANDLE_LIBRARY))
        return CUDA_ERROR_INVALID_HANDLE;
    return has_arguments ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Under the library's lock: the kernel of this name, made at its first use. */
static CUkernel make_kernel(CUlibrary library, const char *name)
{
    CUkernel *grown, kernel;

    for (size_t i = 0; i < library->n_kernels; i++)
        if (strcmp(library->kernels[i]->name, name) == 0)
            return library->kernels[i];
    grown = realloc(library->kernels, (library->n_kernels + 1) * sizeof(CUkernel));
    kernel = grown ? calloc(1, sizeof *kernel) : NULL;
    if (grown)
        library->kernels = grown;
    if (!kernel || !(kernel->name = strdup(name)) || !handle_put(kernel, HANDLE_KERNEL, NULL)) {
        if (kernel)
            free(kernel->name);
        free(kernel);
        return NULL;
    }
    kernel->library = library;
    kernel->most_dynamic = -1;
    grown[library->n_kernels++] = kernel;
    return kernel;
}

DRIVER_EXPORT CUresult cuLibraryGetKernel(CUkernel *ret_kernel, CUlibrary library, const char *name)
{
    CUresult code = find_library(__func__, library, ret_kernel && name);
    CUmodule module = NULL;
    CUkernel kernel;

    if (code == CUDA_SUCCESS)
        code = library_module(library, context_of_thread(), &module);
    if (code != CUDA_SUCCESS || !ret_kernel || !name)
        return code;
    if (!image_find_entry(module->image, name))
        return CUDA_ERROR_NOT_FOUND;
    pthread_mutex_lock(&library->lock);
    kernel = make_kernel(library, name);
    pthread_mutex_unlock(&library->lock);
    if (kernel)
        *ret_kernel = kernel;
    return kernel ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

DRIVER_EXPORT CUresult cuLibraryGetKernelCount(unsigned int *ret_count, CUlibrary library)
{
    CUresult code = find_library(__func__, library, ret_count);
    CUmodule module = NULL;

    if (code == CUDA_SUCCESS)
        code = library_module(library, context_of_thread(), &module);
    if (code == CUDA_SUCCESS)
        *ret_count = (unsigned)image_entries(module->image);
    return code;
}

DRIVER_EXPORT CUresult cuLibraryEnumerateKernels(CUkernel *ret_kernels, unsigned int room, CUlibrary library)
{
    CUresult code = find_library(__func__, library, ret_kernels);
    CUmodule module = NULL;

    if (code == CUDA_SUCCESS)
        code = library_module(library, context_of_thread(), &module);
    for (unsigned i = 0; i < room && code == CUDA_SUCCESS && i < image_entries(module->image); i++)
        code = cuLibraryGetKernel(&ret_kernels[i], library, image_entry_at(module->image, i)->name);
    return code;
}

DRIVER_EXPORT CUresult cuLibraryGetModule(CUmodule *ret_module, CUlibrary library)
{
    CUresult code = find_library(__func__, library, ret_module);

    return code == CUDA_SUCCESS ? library_module(library, context_of_thread(), ret_module) : code;
}

DRIVER_EXPORT CUresult cuLibraryGetGlobal(CUdeviceptr *ret_address, size_t *ret_size, CUlibrary library,
                                          const char *name)
{
    CUresult code = find_library(__func__, library, name);
    CUmodule module = NULL;

    if (code == CUDA_SUCCESS)
        code = library_module(library, context_of_thread(), &module);
    return code == CUDA_SUCCESS ? cuModuleGetGlobal_v2(ret_address, ret_size, module, name) : code;
}

DRIVER_EXPORT CUresult cuLibraryGetManaged(CUdeviceptr *ret_address, size_t *ret_size, CUlibrary library,
                                           const char *name)
{
    CUresult code = find_library(__func__, library, name);
    const struct image_variable *variable;
    CUmodule module = NULL;

    if (code == CUDA_SUCCESS)
        code = library_module(library, context_of_thread(), &module);
    if (code != CUDA_SUCCESS)
        return code;
    variable = image_find_variable(module->image, name);
    if (!variable || !variable->is_managed)
        return CUDA_ERROR_NOT_FOUND;
    if (ret_address)
        *ret_address = variable->address;
    if (ret_size)
        *ret_size = variable->size;
    return CUDA_SUCCESS;
}
