#include "cuda_cpu/driver/driver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/driver_state.h"
#include "cuda_cpu/driver/inject.h"
#include "cuda_cpu/driver/memory.h"
#include "cuda_cpu/driver/visible.h"

CUresult api_enter(const char *name, enum api_needs needs)
{
    int code = inject_call(name);
    CUcontext context;
    int state;

    if (code)
        return (CUresult)code;
    if (needs == API_NOTHING)
        return CUDA_SUCCESS;
    state = atomic_load_explicit(&driver.state, memory_order_acquire);
    if (state != DRIVER_READY)
        return state == DRIVER_CLOSED ? CUDA_ERROR_DEINITIALIZED : CUDA_ERROR_NOT_INITIALIZED;
    if (work_in_callback())
        return CUDA_ERROR_NOT_PERMITTED;
    if (needs == API_READY)
        return CUDA_SUCCESS;
    context = context_of_thread();
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!context_current_is_live())
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return (CUresult)atomic_load_explicit(&context->work.error, memory_order_relaxed);
}

CUresult api_unsupported(const char *name, atomic_bool *said)
{
    if (!atomic_exchange(said, true))
        fprintf(stderr, "baton-cuda-cpu: %s is not supported by the CPU device\n", name);
    return CUDA_ERROR_NOT_SUPPORTED;
}

void api_refuse_static_runtime(void)
{
    fprintf(stderr,
            "baton-cuda-cpu: this program has NVIDIA's runtime library linked statically, which works with "
            "NVIDIA's driver only; build it with 'nvcc -cudart shared' to run it on the CPU device\n");
}

/* A number of the environment within limits; the default when it is not set. */
static bool read_number(const char *name, unsigned long least, unsigned long most, unsigned long *value)
{
    const char *text = getenv(name);
    char *end;
    unsigned long number;

    if (!text || !*text)
        return true;
    errno = 0;
    number = strtoul(text, &end, 10);
    if (errno || *end || number < least || number > most) {
        fprintf(stderr, "baton-cuda-cpu: %s: expected a number from %lu to %lu, found '%s'\n", name, least,
                most, text);
        return false;
    }
    *value = number;
    return true;
}

static CUresult open_devices(void)
{
    unsigned long devices = 1, megabytes = 4096;
    struct space *space;
    unsigned n;

    if (!read_number("BATON_CUDA_CPU_DEVICES", 0, ARRIVAL_DEVICES, &devices) ||
        !read_number("BATON_CUDA_CPU_MEMORY_MB", 16, 1 << 20, &megabytes))
        return CUDA_ERROR_INVALID_VALUE;
    n = visible_read(getenv("CUDA_VISIBLE_DEVICES"), (unsigned)devices, driver.machine_devices);
    if (n == 0)
        return CUDA_ERROR_NO_DEVICE;
    if (space_new((uint64_t)(n + 1) * megabytes << 22, &space) < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (work_open(driver.machine_devices, n) < 0) {
        space_free(space);
        return CUDA_ERROR_OPERATING_SYSTEM;
    }
    driver.n_devices = n;
    driver.device_bytes = (size_t)megabytes << 20;
    memory_open(space, driver.n_devices, driver.device_bytes);
    return CUDA_SUCCESS;
}

/* Stops all threads of the library before the C library tears the process down. */
static void at_exit(void)
{
    int ready = DRIVER_READY;

    if (atomic_compare_exchange_strong(&driver.state, &ready, DRIVER_CLOSED))
        work_close();
}

static void in_child(void)
{
    atomic_store(&driver.state, DRIVER_FORKED);
}

/*
 * What cuInit answers in the present state; CUDA_ERROR_NOT_READY: initialisation is still to be
 * done.
 */
static CUresult in_state(void)
{
    switch (atomic_load_explicit(&driver.state, memory_order_acquire)) {
    case DRIVER_NEW:
        return CUDA_ERROR_NOT_READY;
    case DRIVER_READY:
        return CUDA_SUCCESS;
    case DRIVER_CLOSED:
        return CUDA_ERROR_DEINITIALIZED;
    default:
        return CUDA_ERROR_NOT_INITIALIZED;
    }
}

DRIVER_EXPORT CUresult cuInit(unsigned int flags)
{
    CUresult code = api_enter(__func__, API_NOTHING);

    if (code != CUDA_SUCCESS)
        return code;
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    code = in_state();
    if (code != CUDA_ERROR_NOT_READY)
        return code;
    pthread_mutex_lock(&driver.lock);
    code = in_state();
    if (code == CUDA_ERROR_NOT_READY) {
        code = open_devices();
        if (code == CUDA_SUCCESS && (atexit(at_exit) != 0 || pthread_atfork(NULL, NULL, in_child) != 0))
            code = CUDA_ERROR_OUT_OF_MEMORY;
        if (code == CUDA_SUCCESS)
            atomic_store_explicit(&driver.state, DRIVER_READY, memory_order_release);
    }
    pthread_mutex_unlock(&driver.lock);
    return code;
}

DRIVER_EXPORT CUresult cuDriverGetVersion(int *version)
{
    CUresult code = api_enter(__func__, API_NOTHING);

    if (code != CUDA_SUCCESS)
        return code;
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = CUDA_ABI_VERSION;
    return CUDA_SUCCESS;
}

struct error_text {
    CUresult code;
    const char *name, *text;
};

static const struct error_text *error_find(CUresult code)
{
    static const struct error_text errors[] = {
#define ERROR_ROW(name, value, text) {name, #name, text},
        CUDA_ABI_RESULTS(ERROR_ROW)
#undef ERROR_ROW
    };

    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (errors[i].code == code)
            return &errors[i];
    return NULL;
}

DRIVER_EXPORT CUresult cuGetErrorName(CUresult error, const char **ret_name)
{
    const struct error_text *found = error_find(error);

    if (!ret_name)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_name = found ? found->name : NULL;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_EXPORT CUresult cuGetErrorString(CUresult error, const char **ret_text)
{
    const struct error_text *found = error_find(error);

    if (!ret_text)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_text = found ? found->text : NULL;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
