#include "cuda_cpu/driver/module.h"

#include <stdio.h>
#include <stdlib.h>

#include "cuda_cpu/driver/cuda_array.h"
#include "cuda_cpu/driver/driver_state.h"
#include "cuda_cpu/driver/handles.h"
#include "cuda_cpu/driver/library.h"
#include "cuda_cpu/driver/memory.h"
#include "cuda_cpu/driver/source.h"
#include "cuda_cpu/launch.h"

CUresult status_code(enum cpu_status status)
{
    switch (status) {
    case CPU_OK:
        return CUDA_SUCCESS;
    case CPU_OUT_OF_MEMORY:
        return CUDA_ERROR_OUT_OF_MEMORY;
    case CPU_UNSUPPORTED_VERSION:
        return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    case CPU_NO_COMPILER:
        return CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
    case CPU_SYSTEM:
        return CUDA_ERROR_OPERATING_SYSTEM;
    case CPU_BAD_LAUNCH:
        return CUDA_ERROR_INVALID_VALUE;
    case CPU_ILLEGAL_ADDRESS:
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    case CPU_MISALIGNED:
        return CUDA_ERROR_MISALIGNED_ADDRESS;
    case CPU_TRAP:
    case CPU_DEADLOCK:
    case CPU_ABORTED:
        return CUDA_ERROR_LAUNCH_FAILED;
    case CPU_ASSERT:
        return CUDA_ERROR_ASSERT;
    case CPU_ILLEGAL_INSTRUCTION:
        return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case CPU_STACK_OVERFLOW:
        return CUDA_ERROR_HARDWARE_STACK_ERROR;
    default: /* bad or unsupported PTX, unresolved symbols, a failed compiler: the log has the reason */
        return CUDA_ERROR_INVALID_PTX;
    }
}

/* --- loading --- */

CUmodule module_ref(CUmodule module)
{
    atomic_fetch_add_explicit(&module->refs, 1, memory_order_relaxed);
    return module;
}

void module_unref(CUmodule module)
{
    if (!module || atomic_fetch_sub(&module->refs, 1) != 1)
        return;
    for (size_t i = 0; module->functions && i < image_entries(module->image); i++)
        free(module->functions[i].legacy);
    image_free(module->image);
    free(module->functions);
    free(module);
}

/* Removes the handles of its kernels and variables. */
static void forget_parts(CUmodule module)
{
    struct memory_block block;

    for (size_t i = 0; module->functions && i < image_entries(module->image); i++)
        handle_remove(&module->functions[i], HANDLE_FUNCTION);
    for (size_t i = 0; module->image && i < image_variables(module->image); i++)
        (void)memory_remove(image_variable_at(module->image, i)->address,
                            1u << MEMORY_VARIABLE | 1u << MEMORY_MANAGED_VARIABLE, &block);
}

static bool make_functions(CUmodule module)
{
    size_t n = image_entries(module->image);

    module->functions = calloc(n ? n : 1, sizeof *module->functions);
    for (size_t i = 0; module->functions && i < n; i++) {
        struct function *function = &module->functions[i];

        function->module = module;
        function->entry = image_entry_at(module->image, i);
        function->most_dynamic = DRIVER_MOST_DYNAMIC - (int)function->entry->static_shared_bytes;
        function->carveout = -1;
        if (!handle_put(function, HANDLE_FUNCTION, NULL))
            return false;
    }
    return module->functions != NULL;
}

/* Enters variables as memory that the program may copy to and from. */
static bool enter_variables(CUmodule module)
{
    for (size_t i = 0; i < image_variables(module->image); i++) {
        const struct image_variable *variable = image_variable_at(module->image, i);
        struct memory_block block = {.address = variable->address,
                                     .size = variable->size,
                                     .kind = variable->is_managed ? MEMORY_MANAGED_VARIABLE : MEMORY_VARIABLE,
                                     .device = module->context->work.device,
                                     .context = module->context};

        if (variable->size && memory_enter(&block) != 0)
            return false;
    }
    return true;
}

CUresult module_load_texts(CUcontext context, const struct image_text texts[], size_t n,
                           struct module_log log, CUmodule *ret_module)
{
    struct image_options options = {.log = log.text, .log_size = log.size, .owner = context};
    CUmodule module = calloc(1, sizeof *module);
    CUresult code;

    if (!module)
        return CUDA_ERROR_OUT_OF_MEMORY;
    module->refs = 1;
    module->context = context;
    list_init(&module->link);
    code = status_code(image_load(memory_space(), texts, n, &options, &module->image));
    if (code == CUDA_SUCCESS && (!make_functions(module) || !enter_variables(module) ||
                                 !handle_put(module, HANDLE_MODULE, module->context)))
        code = CUDA_ERROR_OUT_OF_MEMORY;
    if (code != CUDA_SUCCESS) {
        forget_parts(module);
        module_unref(module);
        return code;
    }
    pthread_mutex_lock(&driver.modules.lock);
    list_append(&driver.modules.all, &module->link);
    pthread_mutex_unlock(&driver.modules.lock);
    *ret_module = module;
    return CUDA_SUCCESS;
}

CUresult module_load(CUcontext context, const void *image, struct module_log log, CUmodule *ret_module)
{
    struct source source;
    CUresult code = source_read(image, &source);

    if (code == CUDA_SUCCESS)
        code = module_load_texts(context, source.texts, source.n, log, ret_module);
    else if (log.size && code == CUDA_ERROR_NO_BINARY_FOR_GPU)
        snprintf(log.text, log.size,
                 "the image has machine code only; the CPU device needs PTX (nvcc -arch=sm_80 embeds it)");
    source_done(&source);
    return code;
}

void module_unload(CUmodule module)
{
    CUcontext context = module->context;

    (void)work_wait_context(&context->work);
    forget_parts(module);
    pthread_mutex_lock(&driver.modules.lock);
    list_remove(&module->link);
    pthread_mutex_unlock(&driver.modules.lock);
    module->context = NULL;
    module_unref(module);
}

/* One module of the context; NULL: none is left. */
static CUmodule any_of(CUcontext context)
{
    CUmodule found = NULL;

    pthread_mutex_lock(&driver.modules.lock);
    list_for_each(at, &driver.modules.all)
    {
        if (list_entry(at, struct CUmod_st, link)->context == context)
            found = list_entry(at, struct CUmod_st, link);
    }
    pthread_mutex_unlock(&driver.modules.lock);
    return found;
}

void module_free_all(CUcontext context)
{
    CUmodule module = NULL;

    library_forget_context(context);
    while ((module = any_of(context))) {
        handle_remove(module, HANDLE_MODULE);
        module_unload(module);
    }
}

/* --- running --- */

static const struct texture *find_texture(void *context, uint64_t handle)
{
    (void)context;
    return texture_find(handle);
}

static const struct surface *find_surface(void *context, uint64_t handle)
{
    (void)context;
    return surface_find(handle);
}

/*
 * Is it host memory that the program has registered, or other memory outside the space that kernels
 * may use?
 */
static bool may_access(void *context, uint64_t address, uint64_t size, bool is_write)
{
    struct memory_block block;

    (void)context;
    return memory_block_at(address, &block) && address + size <= block.address + block.size &&
           !(is_write && block.kind == MEMORY_REGISTERED && (block.flags & CU_MEMHOSTREGISTER_READ_ONLY));
}

static void stop_worker(void *worker)
{
    worker_abort(worker);
}

/* Each engine thread has its own worker, made at its first launch. */
static struct worker *thread_worker(void)
{
    struct worker **worker = &driver_thread.worker;
    bool made = !*worker;

    if (!*worker && worker_new(memory_space(), worker) < 0)
        *worker = NULL;
    if (made && *worker)
        work_on_stop(stop_worker, *worker);
    return *worker;
}

CUresult function_run(const struct action_launch *asked, struct work_context *work_context)
{
    CUcontext context = asked->function->module->context;
    struct worker *worker = thread_worker();
    struct launch_fault fault;
    struct launch launch;
    enum cpu_status status;

    (void)work_context;
    if (!worker)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!context) /* the module was unloaded between the graph's launch and now */
        return CUDA_ERROR_INVALID_HANDLE;
    launch = (struct launch){
        .image = asked->function->module->image,
        .entry = asked->function->entry,
        .grid = {asked->grid[0], asked->grid[1], asked->grid[2]},
        .block = {asked->block[0], asked->block[1], asked->block[2]},
        .dynamic_shared_bytes = asked->shared,
        .parameters = asked->parameters,
        .is_cooperative = asked->cooperative,
        .stack_bytes = (uint32_t)context->limits[CU_LIMIT_STACK_SIZE],
        .heap_bytes = context->limits[CU_LIMIT_MALLOC_HEAP_SIZE],
        .calls = {.texture = find_texture, .surface = find_surface, .may_access = may_access},
    };
    status = worker_launch(worker, &launch, &fault);
    if (status != CPU_OK && getenv("BATON_CUDA_CPU_EXPLAIN"))
        fprintf(stderr, "baton-cuda-cpu: %s: %s\n", launch.entry->name, fault.text);
    return status_code(status);
}
