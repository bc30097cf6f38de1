/* Wrong arguments, dead handles, other contexts, limits of launches, faults. */
#include <string.h>
#include <unistd.h>

#include "children.h"
#include "conformance.h"

void arguments_group(void)
{
    CUcontext context = context_open(), none = NULL;
    CUdeviceptr address;
    CUmodule module;
    CUfunction function;
    void *host;
    size_t size;
    int value;
    const char *text = NULL;
    char name[4];

    answer("cuInit has no flags", CUDA_ERROR_INVALID_VALUE, cuInit(1));
    answer("no place for a version", CUDA_ERROR_INVALID_VALUE, cuDriverGetVersion(NULL));
    answer("no place for a count", CUDA_ERROR_INVALID_VALUE, cuDeviceGetCount(NULL));
    answer("no such device", CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&value, 99));
    answer("no such attribute", CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(&value, 100000, 0));
    answer("a device's name is cut to its room", CUDA_SUCCESS, cuDeviceGetName(name, sizeof name, 0));
    holds("and ends", strlen(name) == 3);
    answer("an unknown code has no name", CUDA_ERROR_INVALID_VALUE, cuGetErrorName((CUresult)12345, &text));
    holds("NULL", text == NULL);
    answer("zero bytes", CUDA_ERROR_INVALID_VALUE, cuMemAlloc_v2(&address, 0));
    answer("no place for an address", CUDA_ERROR_INVALID_VALUE, cuMemAlloc_v2(NULL, 4));
    answer("more memory than there is", CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&address, (size_t)1 << 50));
    answer("zero bytes of the host", CUDA_ERROR_INVALID_VALUE, cuMemHostAlloc(&host, 0, 0));
    answer("unknown flags of host memory", CUDA_ERROR_INVALID_VALUE, cuMemHostAlloc(&host, 4, 64));
    answer("managed memory needs its flag", CUDA_ERROR_INVALID_VALUE, cuMemAllocManaged(&address, 4, 0));
    answer("pitched memory needs an element of 4, 8 or 16", CUDA_ERROR_INVALID_VALUE,
           cuMemAllocPitch_v2(&address, &size, 16, 16, 3));
    answer("no module", CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(&module, NULL));
    answer("no such file", CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&module, "/nowhere/at.all"));
    answer("no such kernel", CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&function, module_now(), "absent"));
    answer("no such variable", CUDA_ERROR_NOT_FOUND,
           cuModuleGetGlobal_v2(&address, &size, module_now(), "absent"));
    answer("no name", CUDA_ERROR_INVALID_VALUE, cuModuleGetFunction(&function, module_now(), NULL));
    answer("an unknown limit", CUDA_ERROR_INVALID_VALUE, cuCtxSetLimit(99, 1));
    answer("a limit of device-side launches", CUDA_ERROR_UNSUPPORTED_LIMIT,
           cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 1));
    answer("unknown flags of a context", CUDA_ERROR_INVALID_VALUE, cuCtxCreate_v2(&none, 0x4000, 0));
    answer("two ways to wait at once", CUDA_ERROR_INVALID_VALUE, cuCtxCreate_v2(&none, 3, 0));
    answer("a context of no device", CUDA_ERROR_INVALID_DEVICE, cuCtxCreate_v2(&none, 0, -1));
    context_close(context);
}

void handles_group(void)
{
    CUcontext context = context_open();
    CUdeviceptr address = device_words(4);
    CUmodule module;
    CUfunction function;
    CUlibrary library;
    CUkernel of_library;
    int bytes;

    MUST(cuMemFree_v2(address));
    answer("freed memory is freed no more", CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(address));
    answer("nor written", CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(address, &bytes, 4));
    answer("nor read", CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(&bytes, address, 4));
    answer("nor set", CUDA_ERROR_INVALID_VALUE, cuMemsetD8_v2(address, 0, 1));
    answer("NULL is freed at any time", CUDA_SUCCESS, cuMemFree_v2(0));
    answer("host memory as well", CUDA_SUCCESS, cuMemFreeHost(NULL));
    address = device_words(4);
    answer("the middle of an allocation is not freed", CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(address + 4));
    answer("a copy must lie inside of one", CUDA_ERROR_INVALID_VALUE,
           cuMemcpyHtoD_v2(address + 12, "12345678", 8));
    answer("device memory is not freed as host memory", CUDA_ERROR_INVALID_VALUE,
           cuMemFreeHost((void *)(uintptr_t)address));
    MUST(cuModuleLoad(&module, kernels_path()));
    MUST(cuModuleGetFunction(&function, module, "nothing"));
    answer("a module is unloaded", CUDA_SUCCESS, cuModuleUnload(module));
    answer("but not twice", CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(module));
    answer("its kernels are gone", CUDA_ERROR_INVALID_HANDLE, launch_one(function, NULL, NULL));
    MUST(cuLibraryLoadFromFile(&library, kernels_path(), NULL, NULL, 0, NULL, NULL, 0));
    MUST(cuLibraryGetKernel(&of_library, library, "nothing"));
    answer("a kernel of a library is launched as a function", CUDA_SUCCESS,
           launch_one((CUfunction)(void *)of_library, NULL, NULL));
    answer("a library is unloaded", CUDA_SUCCESS, cuLibraryUnload(library));
    answer("its kernels are gone, too", CUDA_ERROR_INVALID_HANDLE,
           launch_one((CUfunction)(void *)of_library, NULL, NULL));
    answer("but not twice", CUDA_ERROR_INVALID_HANDLE, cuLibraryUnload(library));
    context_close(context);
}

/* --- contexts --- */

static void stack_cases(void)
{
    CUcontext first = context_open(), second, current;
    CUdevice device = -1;

    answer("a new context is current", CUDA_SUCCESS, cuCtxGetCurrent(&current));
    holds("it is", current == first);
    MUST(cuCtxCreate_v2(&second, 0, 0));
    answer("contexts are a stack", CUDA_SUCCESS, cuCtxPopCurrent_v2(&current));
    holds("the latest comes first", current == second);
    MUST(cuCtxGetCurrent(&current));
    holds("then the one below", current == first);
    answer("device of the context", CUDA_SUCCESS, cuCtxGetDevice(&device));
    holds("is device 0", device == 0);
    answer("a context is destroyed from outside", CUDA_SUCCESS, cuCtxDestroy_v2(second));
    answer("and is none any more", CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent_v2(second));
    answer("nor destroyed again", CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy_v2(second));
    context_close(first);
    MUST(cuCtxGetCurrent(&current));
    holds("no context is left", current == NULL);
    answer("and calls need one", CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
    answer("a pop finds nothing", CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent_v2(&current));
}

/* A context ends with everything that belongs to it. */
static void end_cases(void)
{
    CUcontext outer = context_open(), context, again;
    CUdeviceptr words;
    CUstream stream;
    CUevent event;
    CUarray array;
    CUmodule module;
    struct gate gate;

    MUST(cuCtxCreate_v2(&context, 0, 0));
    words = device_words(4);
    stream = stream_new(0);
    MUST(cuEventCreate(&event, 0));
    MUST(cuArrayCreate_v2(&array, &(CUDA_ARRAY_DESCRIPTOR){4, 4, CU_AD_FORMAT_FLOAT, 1}));
    MUST(cuModuleLoad(&module, kernels_path()));
    gate = gate_close(stream);
    MUST(cuMemsetD32Async(words, 1, 4, stream));
    MUST(cuEventRecord(event, stream));
    gate_open(gate);
    answer("a context with work is destroyed", CUDA_SUCCESS, cuCtxDestroy_v2(context));
    MUST(cuCtxSetCurrent(outer));
    answer("its streams are gone", CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(stream));
    answer("its events", CUDA_ERROR_INVALID_HANDLE, cuEventQuery(event));
    answer("its arrays", CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(array));
    answer("its modules", CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(module));
    answer("its memory", CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(words));
    for (int i = 0; i < 50; i++) {
        MUST(cuCtxCreate_v2(&again, 0, 0));
        MUST(cuCtxDestroy_v2(again));
    }
    MUST(cuCtxSetCurrent(outer));
    holds("many contexts come and go", true);
    context_close(outer);
}

static void primary_cases(void)
{
    CUcontext first, second, own;
    unsigned flags;
    int active = -1;
    CUdeviceptr address;

    MUST(cuDevicePrimaryCtxGetState(0, &flags, &active));
    holds("the primary context is not active at first", active == 0);
    answer("released too often", CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(0));
    answer("retained", CUDA_SUCCESS, cuDevicePrimaryCtxRetain(&first, 0));
    MUST(cuDevicePrimaryCtxRetain(&second, 0));
    holds("there is one", first == second);
    MUST(cuDevicePrimaryCtxGetState(0, &flags, &active));
    holds("it is active", active == 1);
    answer("it cannot be destroyed", CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy_v2(first));
    MUST(cuCtxSetCurrent(first));
    MUST(cuMemAlloc_v2(&address, 64));
    answer("reset", CUDA_SUCCESS, cuDevicePrimaryCtxReset_v2(0));
    answer("what it had is gone", CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(address));
    answer("it is used again at once", CUDA_SUCCESS, cuMemAlloc_v2(&address, 64));
    answer("a reset does not release", CUDA_SUCCESS, cuDevicePrimaryCtxRelease_v2(0));
    answer("the second release ends it", CUDA_SUCCESS, cuDevicePrimaryCtxRelease_v2(0));
    answer("the thread's context is gone", CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc_v2(&address, 64));
    MUST(cuCtxSetCurrent(NULL));
    answer("a context of its own beside it", CUDA_SUCCESS, cuCtxCreate_v2(&own, 0, 0));
    MUST(cuCtxDestroy_v2(own));
}

void contexts_group(void)
{
    stack_cases();
    end_cases();
    primary_cases();
}

/* --- launches --- */

static CUresult shape(CUfunction function, unsigned grid, unsigned grid_y, unsigned block, unsigned block_z,
                      unsigned shared, void **parameters)
{
    return cuLaunchKernel(function, grid, grid_y, 1, block, 1, block_z, shared, NULL, parameters, NULL);
}

void launches_group(void)
{
    CUcontext context = context_open();
    CUfunction nothing = kernel("nothing"), bounded = kernel("bounded"), reversed = kernel("reversed");
    CUdeviceptr out = device_words(1024);
    int n = 1024, most = 0;
    void *parameters[] = {&out}, *two[] = {&out, &n};
    struct {
        CUdeviceptr out;
        int n;
    } buffer = {out, 4};
    size_t size = sizeof buffer;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};

    answer("no blocks", CUDA_ERROR_INVALID_VALUE, shape(nothing, 0, 1, 1, 1, 0, NULL));
    answer("no threads", CUDA_ERROR_INVALID_VALUE, shape(nothing, 1, 1, 0, 1, 0, NULL));
    answer("more than 1024 threads", CUDA_ERROR_INVALID_VALUE, shape(nothing, 1, 1, 1025, 1, 0, NULL));
    answer("more than 64 in z", CUDA_ERROR_INVALID_VALUE, shape(nothing, 1, 1, 1, 65, 0, NULL));
    answer("more than 65535 blocks in y", CUDA_ERROR_INVALID_VALUE, shape(nothing, 1, 65536, 1, 1, 0, NULL));
    answer("more threads than the kernel's bounds", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
           shape(bounded, 1, 1, 128, 1, 0, parameters));
    answer("within them", CUDA_SUCCESS, shape(bounded, 1, 1, 64, 1, 0, parameters));
    answer("no parameters", CUDA_ERROR_INVALID_VALUE, shape(bounded, 1, 1, 64, 1, 0, NULL));
    answer("parameters in both ways", CUDA_ERROR_INVALID_VALUE,
           cuLaunchKernel(reversed, 1, 1, 1, 4, 1, 1, 16, NULL, two, extra));
    answer("parameters as a buffer", CUDA_SUCCESS,
           cuLaunchKernel(reversed, 1, 1, 1, 4, 1, 1, 16, NULL, NULL, extra));
    holds("are read", word_at(out) == 3 && word_at(out + 12) == 0);
    size = 4;
    answer("a buffer that is too small", CUDA_ERROR_INVALID_VALUE,
           cuLaunchKernel(reversed, 1, 1, 1, 4, 1, 1, 16, NULL, NULL, extra));
    answer("dynamic shared memory above 48 KiB", CUDA_ERROR_INVALID_VALUE,
           shape(reversed, 1, 1, 1024, 1, 65536, two));
    answer("is allowed by an attribute", CUDA_SUCCESS,
           cuFuncSetAttribute(reversed, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536));
    answer("then", CUDA_SUCCESS, shape(reversed, 1, 1, 1024, 1, 65536, two));
    holds("and works", word_at(out) == 1023);
    answer("but not without end", CUDA_ERROR_INVALID_VALUE,
           cuFuncSetAttribute(reversed, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 20));
    answer("the attribute can be read", CUDA_SUCCESS,
           cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, reversed));
    holds("as it was set", most == 65536);
    answer("bounds can be read", CUDA_SUCCESS,
           cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, bounded));
    holds("as compiled", most == 64);
    answer("a cooperative launch of too many blocks", CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
           cuLaunchCooperativeKernel(nothing, 1 << 20, 1, 1, 1024, 1, 1, 0, NULL, NULL));
    answer("no function", CUDA_ERROR_INVALID_HANDLE, launch_one(NULL, NULL, NULL));
    context_close(context);
}

/* --- faults --- */

static void fault_case(const char *what, const char *name, CUresult documented, void **parameters)
{
    CUcontext context = context_open();
    CUstream stream = stream_new(0);
    CUdeviceptr address;

    if (parameters)
        *(CUdeviceptr *)parameters[0] += parameters[1] ? device_words(4) : 0;
    MUST(launch_one(kernel(name), stream, parameters));
    answer(what, documented, cuStreamSynchronize(stream));
    answer("the context stays broken", documented, cuCtxSynchronize());
    answer("for every call", documented, cuMemAlloc_v2(&address, 4));
    answer("but can be destroyed", CUDA_SUCCESS, cuCtxDestroy_v2(context));
    context = context_open();
    MUST(launch_one(kernel("nothing"), NULL, NULL));
    answer("and a new one is sound", CUDA_SUCCESS, cuCtxSynchronize());
    context_close(context);
}

static void note(void *user)
{
    *(int *)user = 1;
}

static void note_status(CUstream stream, CUresult status, void *user)
{
    (void)stream;
    *(volatile int *)user = (int)status;
}

static void after_cases(void)
{
    CUcontext sound = context_open(), broken;
    CUdeviceptr nowhere = 4096, word = device_words(1);
    void *parameters[] = {&nowhere};
    CUstream stream, other = stream_new(0);
    volatile int status = CUDA_SUCCESS;
    int called = 0;
    struct gate gate;

    MUST(cuCtxCreate_v2(&broken, 0, 0));
    broken = (MUST(cuCtxDestroy_v2(broken)), context_open());
    stream = stream_new(0);
    gate = gate_close(stream);
    MUST(launch_one(kernel("stray"), stream, parameters));
    MUST(cuLaunchHostFunc(stream, note, &called));
    MUST(cuStreamAddCallback(stream, note_status, (void *)&status, 0));
    gate_open(gate);
    /* A call in a broken context need not wait for what comes behind the fault. */
    (void)becomes(&status, CUDA_ERROR_ILLEGAL_ADDRESS);
    holds("a host function is not called after a fault", called == 0);
    answer("a callback is, and told", CUDA_ERROR_ILLEGAL_ADDRESS, (CUresult)status);
    MUST(cuCtxSetCurrent(sound));
    MUST(cuMemsetD32Async(word, 5, 1, other));
    answer("another context of the process works on", CUDA_SUCCESS, cuStreamSynchronize(other));
    holds("as if nothing had happened", word_at(word) == 5);
    MUST(cuCtxDestroy_v2(broken));
    MUST(cuCtxSetCurrent(sound));
    context_close(sound);
}

void faults_group(void)
{
    CUdeviceptr nowhere = 4096, bytes = 0;
    int zero = 0;
    void *stray[] = {&nowhere, NULL}, *misaligned[] = {&bytes, &bytes}, *asserted[] = {&zero};
    CUcontext context;

    fault_case("an access to nowhere", "stray", CUDA_ERROR_ILLEGAL_ADDRESS, stray);
    fault_case("an access that is not aligned", "misaligned", CUDA_ERROR_MISALIGNED_ADDRESS, misaligned);
    fault_case("a trap", "trapped", CUDA_ERROR_LAUNCH_FAILED, NULL);
    context = context_open();
    MUST(launch_one(kernel("asserted"), NULL, asserted));
    answer("a failed assertion", CUDA_ERROR_ASSERT, cuCtxSynchronize());
    MUST(cuCtxDestroy_v2(context));
    after_cases();
    holds("another process is sound", run_child("sound", NULL, NULL) == 0);
}
