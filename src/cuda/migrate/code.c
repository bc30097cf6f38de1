#include "cuda/migrate/code.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/front.h"
#include "cuda_abi/fatbin.h"
#include "engine/handle_table.h"

struct code_function {
    struct code_function *next;
    const void *handle; /* at home */
    struct {
        void *function, *piece; /* NULL: not there yet */
    } at[PLACES];
};

struct code_module {
    struct list link;
    void *handle; /* at home */
    char *text;   /* owned; as it was loaded at home */
    CUmodule at[PLACES];
    struct code_function *functions;
};

static void init(void)
{
    handle_table_init(&cuda_front.migrate.code.kernels, NULL);
    handle_table_init(&cuda_front.migrate.code.libraries, NULL);
}

/* --- what is kept --- */

/* Options that only say where to write what. */
static bool are_harmless(const CUjit_option *options, uint64_t n)
{
    for (uint64_t i = 0; i < (unsigned)n; i++)
        if (options[i] < CU_JIT_WALL_TIME || options[i] > CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            return false;
    return true;
}

static bool has_options(const struct call *call)
{
    const uint64_t *args = call->args;

    if (strcmp(call->entry->base, "cuModuleLoadDataEx") == 0)
        return !are_harmless((const CUjit_option *)args[3], args[2]);
    if (strncmp(call->entry->base, "cuLibraryLoad", sizeof "cuLibraryLoad" - 1) == 0)
        return !are_harmless((const CUjit_option *)args[2], args[4]) || (unsigned)args[7] != 0;
    return false;
}

static const char *keep_module(void *handle, const char *text)
{
    struct code_module *module = calloc(1, sizeof *module);
    char *copy = strdup(text);

    if (!module || !copy) {
        free(module);
        free(copy);
        return "a module for which there is no memory";
    }
    module->handle = handle;
    module->text = copy;
    pthread_mutex_lock(&cuda_front.migrate.code.lock);
    list_append(&cuda_front.migrate.code.modules, &module->link);
    pthread_mutex_unlock(&cuda_front.migrate.code.lock);
    return NULL;
}

/* NULL, or why it cannot follow. The PTX of a container tells what it declares. */
static const char *keep(const struct call *call, const void *image, const char *text,
                        const struct device_record *device)
{
    bool is_library = call->entry->base[sizeof "cu" - 1] == 'L';
    const char *why = has_options(call) ? "a module with options" : NULL;
    char *within = NULL;
    size_t size;

    if (why)
        return why;
    if (!text && fatbin_is(image)) {
        if (!is_library || fatbin_parts(image) ||
            fatbin_ptx(image, (unsigned)device->architecture, &within, &size) != 0)
            return "a module without PTX";
        why = ptx_state(within);
        free(within);
        return why;
    }
    if (!text && memcmp(image, "\177ELF", 4) == 0)
        return "a module without PTX";
    text = text ? text : image;
    why = ptx_is(text) ? ptx_state(text) : "a module without PTX";
    return why || is_library ? why : keep_module(*(void **)call->args[0], text);
}

void code_loaded(const struct call *call, const void *image, const char *text,
                 const struct device_record *device)
{
    const char *why = keep(call, image, text, device);
    void *handle = *(void **)call->args[0];

    pthread_once(&cuda_front.migrate.code.once, init);
    if (!why && call->entry->base[sizeof "cu" - 1] == 'L' &&
        !handle_table_put(&cuda_front.migrate.code.libraries, handle, handle))
        why = "a library for which there is no memory";
    if (why)
        (void)migrate_stay_home(why);
}

static void unload(struct code_module *module)
{
    for (unsigned place = 0; place < cuda_front.migrate.n_places; place++) {
        struct context_visit visit;

        if (!module->at[place])
            continue;
        context_visit_begin(cuda_front.migrate.places[place].context, &visit);
        (void)cuda_front.genuine.cuModuleUnload(module->at[place]);
        context_visit_end(&visit);
    }
    while (module->functions) {
        struct code_function *gone = module->functions;

        module->functions = gone->next;
        free(gone);
    }
    free(module->text);
    free(module);
}

/* Under the lock. */
static struct code_module *find_module(const void *handle)
{
    list_for_each(link, &cuda_front.migrate.code.modules)
    {
        struct code_module *module = list_entry(link, struct code_module, link);

        if (module->handle == handle)
            return module;
    }
    return NULL;
}

void code_unloaded(void *handle)
{
    struct code_module *module;

    pthread_once(&cuda_front.migrate.code.once, init);
    (void)handle_table_remove(&cuda_front.migrate.code.libraries, handle);
    pthread_mutex_lock(&cuda_front.migrate.code.lock);
    module = find_module(handle);
    if (module) {
        list_remove(&module->link);
        unload(module);
    }
    pthread_mutex_unlock(&cuda_front.migrate.code.lock);
}

void code_same(void *function, void *kernel)
{
    pthread_once(&cuda_front.migrate.code.once, init);
    if (!handle_table_put(&cuda_front.migrate.code.kernels, function, kernel))
        (void)migrate_stay_home("no memory");
}

/* --- what runs elsewhere; the context is visited, under the lock --- */

static CUresult load(struct code_module *module, unsigned place)
{
    CUresult result = CUDA_SUCCESS;

    if (!module->at[place])
        result = cuda_front.genuine.cuModuleLoadData(&module->at[place], module->text);
    if (result != CUDA_SUCCESS)
        module->at[place] = NULL;
    return result;
}

static struct code_function *function_in(struct code_module *module, const void *handle)
{
    struct code_function *function = module->functions;

    while (function && function->handle != handle)
        function = function->next;
    if (function)
        return function;
    function = calloc(1, sizeof *function);
    if (!function)
        return NULL;
    function->handle = handle;
    function->next = module->functions;
    module->functions = function;
    return function;
}

/* The dynamic shared memory that the program allowed is allowed there. */
static CUresult allow(void *function, const struct function_record *like)
{
    int limit = atomic_load(&like->shared_limit), given = 0;
    CUresult result = cuda_front.genuine.cuFuncGetAttribute(
        &given, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (CUfunction)function);

    if (result != CUDA_SUCCESS || given == limit)
        return result;
    return cuda_front.genuine.cuFuncSetAttribute((CUfunction)function,
                                                 CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, limit);
}

static CUresult get_function(CUmodule module, const char *name, const struct function_record *like,
                             void **ret_function)
{
    void *function = NULL;
    CUresult result = cuda_front.genuine.cuModuleGetFunction((CUfunction *)&function, module, name);

    if (result == CUDA_SUCCESS)
        result = allow(function, like);
    if (result == CUDA_SUCCESS)
        *ret_function = function;
    return result;
}

static CUresult find_in_module(const struct function_record *record, unsigned place, void **ret_function,
                               void **ret_piece)
{
    struct code_module *module = find_module(record->module);
    struct code_function *function = module ? function_in(module, record->handle) : NULL;
    CUresult result = function ? load(module, place) : CUDA_ERROR_NOT_FOUND;
    const char *name = NULL;

    if (result == CUDA_SUCCESS && !function->at[place].function)
        result = get_function(module->at[place], record->name, record, &function->at[place].function);
    if (result == CUDA_SUCCESS && record->piece && !function->at[place].piece) {
        result = cuda_front.genuine.cuFuncGetName(&name, record->piece);
        if (result == CUDA_SUCCESS)
            result = get_function(module->at[place], name, record, &function->at[place].piece);
    }
    if (result == CUDA_SUCCESS) {
        *ret_function = function->at[place].function;
        *ret_piece = function->at[place].piece;
    }
    return result;
}

/* A kernel's handle means the same in each context. */
static CUresult find_kernel(void *handle, void **ret_function, void **ret_piece)
{
    struct function_record *kernel = function_find(handle);
    bool known = kernel && handle_table_find(&cuda_front.migrate.code.libraries, kernel->module);

    *ret_function = handle;
    *ret_piece = kernel ? kernel->piece : NULL;
    function_drop(kernel);
    return known ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult code_find(const struct function_record *function, unsigned place, void **ret_function,
                   void **ret_piece)
{
    struct context_visit visit;
    CUresult result;
    void *same;

    pthread_once(&cuda_front.migrate.code.once, init);
    same = handle_table_find(&cuda_front.migrate.code.kernels, function->handle);
    if (same || function->is_kernel)
        return find_kernel(same ? same : function->handle, ret_function, ret_piece);
    context_visit_begin(cuda_front.migrate.places[place].context, &visit);
    pthread_mutex_lock(&cuda_front.migrate.code.lock);
    result = find_in_module(function, place, ret_function, ret_piece);
    pthread_mutex_unlock(&cuda_front.migrate.code.lock);
    context_visit_end(&visit);
    return result;
}

/* --- attributes --- */

static void set_at(struct call *call, unsigned place, void *function)
{
    struct context_visit visit;

    if (!function)
        return;
    call->args[0] = (uint64_t)function;
    context_visit_begin(cuda_front.migrate.places[place].context, &visit);
    (void)call_invoke(call);
    context_visit_end(&visit);
}

void code_set(const struct call *call, const struct function_record *function)
{
    struct code_module *module;
    struct call same = *call;

    pthread_once(&cuda_front.migrate.code.once, init);
    if (handle_table_find(&cuda_front.migrate.code.kernels,
                          function->handle)) { /* only of the home context */
        (void)migrate_stay_home(call->entry->base);
        return;
    }
    pthread_mutex_lock(&cuda_front.migrate.code.lock);
    module = find_module(function->module);
    for (struct code_function *at = module ? module->functions : NULL; at; at = at->next)
        for (unsigned place = 0; at->handle == function->handle && place < cuda_front.migrate.n_places;
             place++) {
            set_at(&same, place, at->at[place].function);
            set_at(&same, place, at->at[place].piece);
        }
    pthread_mutex_unlock(&cuda_front.migrate.code.lock);
}
