#include "cuda/function_private.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/front.h"
#include "cuda/linking.h"
#include "cuda_abi/fatbin.h"
#include "engine/handle_table.h"
#include "engine/policy.h"
#include "engine/runtime.h"
#include "translate/translate_cut.h"

enum {
    THREADS_WITHOUT_LIMIT = 1024, /* of a block, on every device */
    NOT_TOLD = -1,                /* the driver has not told the attribute */
};

static void keep_record(void *record)
{
    function_keep(record);
}

void functions_init(void)
{
    handle_table_init(&cuda_front.known.modules, NULL);
    handle_table_init(&cuda_front.known.functions, keep_record);
    list_init(&cuda_front.known.all);
}

/* --- records of kernels --- */

struct function_record *function_find(const void *handle)
{
    return handle ? handle_table_find(&cuda_front.known.functions, handle) : NULL;
}

void function_keep(struct function_record *function)
{
    refs_keep(&function->refs);
}

void function_drop(struct function_record *function)
{
    if (!function || !refs_drop(&function->refs))
        return;
    free(function->name);
    free(function->params);
    function_drop(function->kernel);
    free(function->why);
    free(function);
}

/* Does one block fit on a multiprocessor? The driver counts all limits of the kernel then. */
static bool block_fits(const struct function_record *function, uint64_t threads, uint32_t shared)
{
    int blocks = 0;

    return threads <= THREADS_WITHOUT_LIMIT &&
           cuda_front.genuine.cuOccupancyMaxActiveBlocksPerMultiprocessor &&
           cuda_front.genuine.cuOccupancyMaxActiveBlocksPerMultiprocessor(
               &blocks, function->handle, (int)threads, shared) == CUDA_SUCCESS &&
           blocks > 0;
}

bool function_takes(const struct function_record *function, uint64_t threads, uint32_t shared)
{
    int limit = atomic_load_explicit(&function->shared_limit, memory_order_relaxed);

    if (function->threads_limit == NOT_TOLD || limit == NOT_TOLD)
        return block_fits(function, threads, shared);
    return threads <= (uint64_t)function->threads_limit && shared <= (uint32_t)(limit > 0 ? limit : 0);
}

/* handle: the kernel's, or its sibling's. */
static CUresult ask_once(const struct function_record *function, void *handle, CUfunction_attribute attribute,
                         CUdevice device, int *ret_value)
{
    return function->is_kernel ? cuda_front.genuine.cuKernelGetAttribute(ret_value, attribute, handle, device)
                               : cuda_front.genuine.cuFuncGetAttribute(ret_value, attribute, handle);
}

static int ask_attribute(const struct function_record *function, void *handle, CUfunction_attribute attribute,
                         CUdevice device, int otherwise)
{
    int value = otherwise;
    CUresult code = CUDA_ERROR_UNKNOWN;

    for (int i = 0; i < GENUINE_ASKS && code != CUDA_SUCCESS; i++)
        code = ask_once(function, handle, attribute, device, &value);
    return code == CUDA_SUCCESS ? value : otherwise;
}

/* The handle of a kernel or a sibling of the module; NULL: the driver gives none. */
static void *find_named(bool is_kernel, void *module, const char *name)
{
    void *found = NULL;
    CUresult code;

    if (is_kernel)
        code = cuda_front.genuine.cuLibraryGetKernel((CUkernel *)&found, module, name);
    else
        code = cuda_front.genuine.cuModuleGetFunction((CUfunction *)&found, module, name);
    return code == CUDA_SUCCESS ? found : NULL;
}

/* What of the reasons that are counted this is; the sentence goes with it. */
static enum session_counter counter_of(enum ptx_whole reason)
{
    switch (reason) {
    case PTX_WHOLE_UNREADABLE:
        return COUNTER_UNSLICED_REWRITE;
    case PTX_WHOLE_WAITS:
        return COUNTER_UNSLICED_WAITS;
    default:
        return COUNTER_UNSLICED_CONSTRUCT;
    }
}

static void read_cut(struct function_record *function, const struct module_record *module, void *handle)
{
    const struct ptx_cut_entry *entry = ptx_cut_find(&module->cut, function->name);

    function->whole = module->whole;
    if (module->whole == COUNTER_UNSLICED_OTHER && module->cut.reason != PTX_CUT) {
        function->whole = counter_of(module->cut.reason);
        function->why = module->cut.detail ? strdup(module->cut.detail) : NULL;
    }
    if (!entry || module->whole != COUNTER_UNSLICED_OTHER)
        return;
    if (entry->reason == PTX_CUT && module->cut.text) {
        function->n_own = entry->n_parameters;
        function->piece_offset = entry->piece_offset;
        function->piece = find_named(function->is_kernel, handle, entry->piece_name);
        return;
    }
    if (entry->reason != PTX_CUT) {
        function->whole = counter_of(entry->reason);
        function->why = strdup(ptx_whole_sentence(entry->reason));
    }
}

static struct module_record *find_module(void *handle)
{
    struct module_record *module = handle_table_find(&cuda_front.known.modules, handle);

    return module && module->library ? module->library : module;
}

static void add_function(struct function_record *function, struct module_record *module)
{
    if (!handle_table_put(&cuda_front.known.functions, function->handle, function)) {
        function_drop(function);
        return;
    }
    pthread_mutex_lock(&cuda_front.known.lock);
    function->next = module->functions;
    module->functions = function;
    pthread_mutex_unlock(&cuda_front.known.lock);
}

/* What the kernel and its sibling allow, which may need more registers. */
static void read_limits(struct function_record *function, CUdevice device)
{
    function->threads_limit =
        ask_attribute(function, function->handle, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device, NOT_TOLD);
    atomic_init(&function->shared_limit,
                ask_attribute(function, function->handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                              device, NOT_TOLD));
    if (!function->piece)
        return;
    function->piece_threads_limit = ask_attribute(
        function, function->piece, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device, function->threads_limit);
    for (int i = CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH; i <= CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH; i++)
        function_is_set(function, (CUfunction_attribute)i,
                        ask_attribute(function, function->handle, (CUfunction_attribute)i, device, 0));
}

/* of: the record of the library's kernel that it is the same as; NULL: none. */
static void make_function(void *handle, bool is_kernel, void *module_handle, const char *name,
                          CUdevice device, struct function_record *of)
{
    struct function_record *function = function_find(handle);
    struct module_record *module = handle_table_find(&cuda_front.known.modules, module_handle);

    if (function || !module) {
        function_drop(function);
        return;
    }
    function = calloc(1, sizeof *function);
    if (!function)
        return;
    refs_init(&function->refs);
    atomic_init(&function->notice, -1);
    function->handle = handle;
    function->module = module_handle;
    function->is_kernel = is_kernel;
    function->name = strdup(name);
    if (!function->name) {
        function_drop(function);
        return;
    }
    function->meter.name = function->name;
    function_read_params(function, module->library ? module->library : module, of);
    read_cut(function, module->library ? module->library : module, module_handle);
    read_limits(function, device);
    if (of)
        function_keep(of);
    function->kernel = of;
    add_function(function, module);
}

void function_found(void *handle, bool is_kernel, void *module, const char *name, CUdevice device)
{
    make_function(handle, is_kernel, module, name, device, NULL);
}

/* The module in the current context of a library's kernel. */
static bool find_library_module(CUfunction function, CUlibrary library, CUmodule *ret_module)
{
    const struct genuine *genuine = &cuda_front.genuine;

    return (genuine->cuFuncGetModule && genuine->cuFuncGetModule(ret_module, function) == CUDA_SUCCESS) ||
           (genuine->cuLibraryGetModule && genuine->cuLibraryGetModule(ret_module, library) == CUDA_SUCCESS);
}

void function_of_kernel(void *handle, void *kernel)
{
    struct function_record *of = function_find(kernel), *function = function_find(handle);
    CUmodule module = NULL;

    if (of && !function && find_library_module(handle, of->module, &module)) {
        module_alias(module, of->module, context_current_handle());
        make_function(handle, false, module, of->name, 0, of); /* a CUfunction has its own device */
    }
    function_drop(function);
    function_drop(of);
}

/* --- modules --- */

/* The architectures of that device, or, of a library, of all that the process has. */
static size_t find_architectures(const struct device_record *device, unsigned ret_found[static DEVICE_MOST])
{
    int n = 0;

    if (device) {
        ret_found[0] = (unsigned)device->architecture;
        return 1;
    }
    if (cuda_front.genuine.cuDeviceGetCount(&n) != CUDA_SUCCESS || n > DEVICE_MOST)
        return 0;
    for (CUdevice i = 0; i < n; i++) {
        device = device_record_find(i);
        if (!device)
            return 0;
        ret_found[i] = (unsigned)device->architecture;
    }
    return n > 0 ? (size_t)n : 0;
}

/*
 * Of a container only what the driver itself would run. A library that is not tried in a context
 * (route_module.c) may be refused too late: it stays as it is.
 */
static char *text_of_fatbin(const void *image, const struct device_record *device, size_t *ret_size)
{
    unsigned architectures[DEVICE_MOST];
    size_t n = device || context_current() ? find_architectures(device, architectures) : 0;
    char *text = NULL;

    return n > 0 && fatbin_ptx_run(image, architectures, n, &text, ret_size) == 0 ? text : NULL;
}

/* The text in an image, as a fresh string; NULL: there is none, and *ret_whole says why. */
static char *text_of(const void *image, const struct device_record *device, size_t *ret_size,
                     enum session_counter *ret_whole)
{
    char *text;

    *ret_whole = COUNTER_UNSLICED_BINARY;
    if (fatbin_is(image))
        return text_of_fatbin(image, device, ret_size);
    if (strncmp(image, "\177ELF", 4) == 0) /* a text may be shorter */
        return NULL;
    text = strdup(image);
    *ret_size = text ? strlen(text) : 0;
    return text;
}

struct module_record *module_prepare(const void *image, const struct device_record *device,
                                     const char **ret_text)
{
    struct module_record *module = calloc(1, sizeof *module);
    size_t size = 0;
    char *text;

    *ret_text = NULL;
    if (!module)
        return NULL;
    if (!policy_slicing()) {
        if (!fatbin_is(image))
            module->text = text_of(image, device, &size, &module->whole);
        module->whole = COUNTER_UNSLICED_OFF;
        return module;
    }
    if (linking_find(image, &module->cut)) {
        module->whole = COUNTER_UNSLICED_OTHER;
        return module;
    }
    text = text_of(image, device, &size, &module->whole);
    if (!text)
        return module;
    module->whole = COUNTER_UNSLICED_OTHER;
    if (translate_cut(text, size, &module->cut, NULL) == 0)
        *ret_text = module->cut.text;
    free(text);
    return module;
}

void module_refused(struct module_record *module)
{
    free(module->cut.text); /* what the text says of its kernels remains true */
    module->cut.text = NULL;
    module->whole = COUNTER_UNSLICED_DRIVER;
}

/* In the table and in the list, or not at all. */
static bool add_module(struct module_record *module, void *handle, CUcontext context)
{
    module->handle = handle;
    module->context = context;
    if (!handle_table_put(&cuda_front.known.modules, handle, module))
        return false;
    pthread_mutex_lock(&cuda_front.known.lock);
    list_append(&cuda_front.known.all, &module->link);
    pthread_mutex_unlock(&cuda_front.known.lock);
    return true;
}

void module_loaded(struct module_record *module, void *handle, CUcontext context)
{
    module_forget(handle);
    if (!add_module(module, handle, context))
        module_discard(module);
}

void module_discard(struct module_record *module)
{
    struct ptx_cut *studied = module ? atomic_load(&module->studied) : NULL;

    if (!module)
        return;
    if (studied)
        ptx_cut_done(studied);
    free(studied);
    free(module->text);
    ptx_cut_done(&module->cut);
    free(module);
}

/* From now on its kernels are not known. */
static void forget_functions(struct module_record *module)
{
    struct function_record *function;

    pthread_mutex_lock(&cuda_front.known.lock);
    while ((function = module->functions)) {
        module->functions = function->next;
        (void)handle_table_remove(&cuda_front.known.functions, function->handle);
        function_drop(function);
    }
    pthread_mutex_unlock(&cuda_front.known.lock);
}

static void unlink_module(struct module_record *module)
{
    pthread_mutex_lock(&cuda_front.known.lock);
    list_remove(&module->link);
    pthread_mutex_unlock(&cuda_front.known.lock);
}

/* A library's module in one context goes, the library stays. */
static void leave_library(struct module_record *module)
{
    pthread_mutex_lock(&cuda_front.known.lock);
    for (struct module_record **at = &module->library->aliases; *at; at = &(*at)->next)
        if (*at == module) {
            *at = module->next;
            break;
        }
    pthread_mutex_unlock(&cuda_front.known.lock);
}

void module_forget(void *handle)
{
    struct module_record *module = handle_table_remove(&cuda_front.known.modules, handle), *alias;

    if (!module)
        return;
    while ((alias = module->aliases)) { /* nothing of a library is used while it is unloaded */
        module->aliases = alias->next;
        (void)handle_table_remove(&cuda_front.known.modules, alias->handle);
        forget_functions(alias);
        unlink_module(alias);
        free(alias);
    }
    forget_functions(module);
    unlink_module(module);
    if (module->library)
        leave_library(module);
    module_discard(module);
}

void modules_forget_context(CUcontext context)
{
    void *handle;

    do {
        handle = NULL;
        pthread_mutex_lock(&cuda_front.known.lock);
        list_for_each(at, &cuda_front.known.all)
        {
            struct module_record *module = list_entry(at, struct module_record, link);

            if (!handle && module->context == context)
                handle = module->handle;
        }
        pthread_mutex_unlock(&cuda_front.known.lock);
        if (handle)
            module_forget(handle);
    } while (handle);
}

void module_alias(void *handle, void *library, CUcontext context)
{
    struct module_record *of = handle_table_find(&cuda_front.known.modules, library), *module;

    if (!of || handle_table_find(&cuda_front.known.modules, handle))
        return;
    module = calloc(1, sizeof *module);
    if (!module)
        return;
    module->library = of;
    if (!add_module(module, handle, context)) {
        free(module);
        return;
    }
    pthread_mutex_lock(&cuda_front.known.lock);
    module->next = of->aliases;
    of->aliases = module;
    pthread_mutex_unlock(&cuda_front.known.lock);
}

unsigned module_n_pieces(void *handle)
{
    const struct module_record *module = find_module(handle);
    unsigned n = 0;

    if (!module || !module->cut.text)
        return 0;
    for (size_t i = 0; i < module->cut.n_entries; i++)
        n += module->cut.entries[i].reason == PTX_CUT;
    return n;
}

bool module_is_piece(void *handle, const char *name)
{
    const struct module_record *module = find_module(handle);

    if (!module || !module->cut.text)
        return false;
    for (size_t i = 0; i < module->cut.n_entries; i++)
        if (module->cut.entries[i].reason == PTX_CUT && strcmp(module->cut.entries[i].piece_name, name) == 0)
            return true;
    return false;
}

const char *module_name_of(void *handle, const void *kernel, bool is_kernel)
{
    const struct module_record *module = find_module(handle);

    for (size_t i = 0; module && i < module->cut.n_entries; i++) {
        const struct ptx_cut_entry *entry = &module->cut.entries[i];

        if (find_named(is_kernel, handle, entry->name) == kernel)
            return entry->name;
        if (entry->reason == PTX_CUT && find_named(is_kernel, handle, entry->piece_name) == kernel)
            return entry->piece_name;
    }
    return NULL;
}
