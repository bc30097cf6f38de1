/* Loading device code, and handles of kernels. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cuda/front.h"
#include "cuda/function.h"
#include "cuda/jit_values.h"
#include "cuda/migrate/code.h"
#include "cuda/objects.h"

#define IMAGE_LIMIT ((size_t)1 << 30)
enum { MOST_HANDLES = 1 << 20 }; /* more kernels than a module has */

/* A library's name begins with cuL; it outlives its contexts. */
static bool is_library(const struct call *call)
{
    return call->entry->base[sizeof "cu" - 1] == 'L';
}

/*
 * A driver may compile a library when it is first used, and refuse it only then. So its module is
 * made in the current context at once. Without a context there is no such answer.
 */
static bool library_works(CUlibrary library, struct context_record *context)
{
    struct context_visit visit;
    CUmodule module;
    CUresult code;

    if (!context || !cuda_front.genuine.cuLibraryGetModule)
        return true;
    context_visit_begin(context, &visit);
    code = cuda_front.genuine.cuLibraryGetModule(&module, library);
    context_visit_end(&visit);
    return code == CUDA_SUCCESS;
}

/* Loads the rewritten text. After a failure nothing is loaded, and the call can be made again. */
static CUresult load_text(struct call *rewritten)
{
    struct jit_values values;
    CUresult code;

    jit_values_keep(rewritten, &values);
    code = call_invoke(rewritten);
    if (code == CUDA_SUCCESS && is_library(rewritten) &&
        !library_works(*(CUlibrary *)rewritten->args[0], context_current())) {
        if (cuda_front.genuine.cuLibraryUnload)
            (void)cuda_front.genuine.cuLibraryUnload(*(CUlibrary *)rewritten->args[0]);
        code = CUDA_ERROR_INVALID_PTX;
    }
    if (code != CUDA_SUCCESS)
        jit_values_restore(&values);
    return code;
}

/*
 * Loads an image as the call does, or by `data` with the rewritten text in place of the image where
 * there is one. The first argument is where the handle goes.
 */
static CUresult load(struct call *call, const struct call *data, const void *image,
                     const struct device_record *device)
{
    struct call rewritten = *data;
    struct module_record *module;
    const char *text = NULL;
    CUcontext owner = is_library(call) ? NULL : context_current_handle();
    CUresult code;

    if (!image || !call->args[0] || !device)
        return call_invoke(call);
    module = module_prepare(image, is_library(call) ? NULL : device, &text);
    rewritten.args[1] = (uint64_t)text;
    code = text ? load_text(&rewritten) : call_invoke(call);
    if (code != CUDA_SUCCESS && text) {
        code = call_invoke(call);
        if (code == CUDA_SUCCESS)
            module_refused(module);
        text = NULL;
    }
    front_stop_first();
    if (code == CUDA_SUCCESS && migrate_on())
        code_loaded(call, image, text, device);
    if (code == CUDA_SUCCESS && module)
        module_loaded(module, *(void **)call->args[0], owner);
    else
        module_discard(module);
    return code;
}

CUresult route_module_load_data(struct call *call)
{
    struct context_record *context = context_current();

    return load(call, call, (const void *)call->args[1], context ? context->device : NULL);
}

/* A library may be loaded before there is a context. */
CUresult route_library_load_data(struct call *call)
{
    struct context_record *context = context_current();

    return load(call, call, (const void *)call->args[1], context ? context->device : device_record_find(0));
}

/* From a file: as from memory, if the file can be read and something in it is rewritten. */
static CUresult load_file(struct call *call, unsigned data_index, const struct device_record *device)
{
    struct call same = *call;
    char *image = NULL;
    size_t size = 0;
    CUresult code;

    if (!call->args[0] || !call->args[1] || !device || !front_genuine(data_index) ||
        file_read((const char *)call->args[1], IMAGE_LIMIT, &image, &size) != 0)
        return call_invoke(call);
    same.entry = entry_at(data_index);
    same.genuine = front_genuine(data_index);
    code = load(call, &same, size < 64 ? NULL : image, device);
    free(image);
    return code;
}

CUresult route_module_load(struct call *call)
{
    struct context_record *context = context_current();

    return load_file(call, ENTRY_cuModuleLoadData, context ? context->device : NULL);
}

/* The rewritten text stays with the record until the library is unloaded: a driver may keep it. */
CUresult route_library_load(struct call *call)
{
    struct context_record *context = context_current();

    return load_file(call, ENTRY_cuLibraryLoadData, context ? context->device : device_record_find(0));
}

CUresult route_module_unload(struct call *call)
{
    void *module = (void *)call->args[0];

    objects_drain();
    if (migrate_on())
        code_unloaded(module);
    module_forget(module); /* before the driver can give the handle to another module */
    return call_invoke(call);
}

CUresult route_library_unload(struct call *call)
{
    return route_module_unload(call);
}

/* --- handles --- */

/* The program was given a kernel's handle. A kernel of a library needs no context for that. */
static void found(void *handle, bool is_kernel, void *module, const char *name)
{
    struct context_record *context = context_current();

    if (context || is_kernel)
        function_found(handle, is_kernel, module, name, context ? context->device->device : 0);
}

CUresult route_module_get_function(struct call *call)
{
    const char *name = (const char *)call->args[2];
    CUresult code;

    if (name && module_is_piece((void *)call->args[1], name))
        return CUDA_ERROR_NOT_FOUND;
    code = call_invoke(call);
    if (code == CUDA_SUCCESS)
        found(*(void **)call->args[0], false, (void *)call->args[1], name);
    return code;
}

CUresult route_library_get_kernel(struct call *call)
{
    const char *name = (const char *)call->args[2];
    CUresult code;

    if (name && module_is_piece((void *)call->args[1], name))
        return CUDA_ERROR_NOT_FOUND;
    code = call_invoke(call);
    if (code == CUDA_SUCCESS)
        found(*(void **)call->args[0], true, (void *)call->args[1], name);
    return code;
}

CUresult route_library_get_module(struct call *call)
{
    CUresult code = call_invoke(call);

    if (code == CUDA_SUCCESS)
        module_alias(*(void **)call->args[0], (void *)call->args[1], context_current_handle());
    return code;
}

CUresult route_kernel_get_function(struct call *call)
{
    CUresult code = call_invoke(call);

    if (code == CUDA_SUCCESS)
        function_of_kernel(*(void **)call->args[0], (void *)call->args[1]);
    if (code == CUDA_SUCCESS && migrate_on())
        code_same(*(void **)call->args[0], (void *)call->args[1]);
    return code;
}

/* --- lists: without siblings --- */

static CUresult count(struct call *call, void *module)
{
    CUresult code = call_invoke(call);

    if (code == CUDA_SUCCESS)
        *(unsigned *)call->args[0] -= module_n_pieces(module);
    return code;
}

CUresult route_module_count(struct call *call)
{
    return count(call, (void *)call->args[1]);
}

CUresult route_library_count(struct call *call)
{
    return count(call, (void *)call->args[1]);
}

/* NULL: the driver does not tell, and the module's text has no kernel of that handle. */
static const char *name_of(void *module, void *handle, bool is_kernel)
{
    const char *name = NULL;
    CUresult code = CUDA_ERROR_NOT_SUPPORTED;

    if (is_kernel && cuda_front.genuine.cuKernelGetName)
        code = cuda_front.genuine.cuKernelGetName(&name, handle);
    else if (!is_kernel && cuda_front.genuine.cuFuncGetName)
        code = cuda_front.genuine.cuFuncGetName(&name, handle);
    return code == CUDA_SUCCESS ? name : module_name_of(module, handle, is_kernel);
}

/* (handles, room, module): asks for all, and leaves the siblings out. */
static CUresult enumerate(struct call *call, bool is_kernel)
{
    void **handles = (void **)call->args[0];
    unsigned room = (unsigned)call->args[1], n = 0, all;
    void *module = (void *)call->args[2];
    struct call same = *call;
    CUresult code;

    if (!handles || room == 0)
        return call_invoke(call);
    room = room < MOST_HANDLES ? room : MOST_HANDLES;
    all = room + module_n_pieces(module);
    same.args[0] = (uint64_t)calloc(all, sizeof *handles);
    same.args[1] = all;
    if (!same.args[0])
        return CUDA_ERROR_OUT_OF_MEMORY;
    code = call_invoke(&same);
    for (unsigned i = 0; code == CUDA_SUCCESS && i < all && n < room; i++) {
        void *handle = ((void **)same.args[0])[i];
        const char *name = handle ? name_of(module, handle, is_kernel) : NULL;

        if (!handle || (name && module_is_piece(module, name)))
            continue;
        handles[n++] = handle;
        if (name)
            found(handle, is_kernel, module, name);
    }
    free((void *)same.args[0]);
    return code;
}

CUresult route_module_enumerate(struct call *call)
{
    return enumerate(call, false);
}

CUresult route_library_enumerate(struct call *call)
{
    return enumerate(call, true);
}

/* --- attributes: the sibling's are the kernel's --- */

/* The driver has taken an attribute of the kernel. */
static void note_attribute(struct function_record *function, CUfunction_attribute attribute, int value)
{
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        atomic_store(&function->shared_limit, value);
    function_is_set(function, attribute, value);
}

/*
 * handle is the argument of that number; so is an attribute, with its value behind it (-1: none).
 */
static CUresult set(struct call *call, int handle, int attribute)
{
    struct function_record *function = function_find((void *)call->args[handle]);
    struct call same = *call;
    CUresult code;

    objects_drain(); /* launches that are held back had the old value */
    code = call_invoke(call);
    if (code == CUDA_SUCCESS && function) {
        if (attribute >= 0)
            note_attribute(function, (CUfunction_attribute)call->args[attribute],
                           (int)call->args[attribute + 1]);
        same.args[handle] = (uint64_t)function->piece;
        if (function->piece && call_invoke(&same) != CUDA_SUCCESS)
            function_differs(function);
        if (migrate_on() && handle == 0)
            code_set(call, function);
    }
    function_drop(function);
    return code;
}

/* cuFuncSetAttribute(function, attribute, value), cuFuncSetCacheConfig(function, config) */
CUresult route_function_set(struct call *call)
{
    return set(call, 0, call->entry->arguments == 3 ? 1 : -1);
}

/*
 * cuKernelSetAttribute(attribute, value, kernel, device), cuKernelSetCacheConfig(kernel, config,
 * device)
 */
CUresult route_kernel_set(struct call *call)
{
    return call->entry->arguments == 4 ? set(call, 2, 0) : set(call, 0, -1);
}
