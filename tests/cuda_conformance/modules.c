/* Modules, libraries, linking, containers, images, names, stream memory operations, devices. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"
#include "cuda_abi/legacy_calls.h"
#include "containers.h"

static void variable_cases(CUcontext context)
{
    CUdeviceptr out = device_words(4), counter;
    void *parameters[] = {&out};
    size_t size = 0;
    unsigned n = 0;

    MUST(launch_one(kernel("variables"), NULL, parameters));
    MUST(cuCtxSynchronize());
    holds("variables have their first values",
          word_at(out) == 7 && word_at(out + 4) == 3 && word_at(out + 8) == 11);
    answer("a variable is found", CUDA_SUCCESS,
           cuModuleGetGlobal_v2(&counter, &size, module_now(), "counter"));
    holds("with its size and value", size == 4 && word_at(counter) == 8);
    answer("kernels are counted", CUDA_SUCCESS, cuModuleGetFunctionCount(&n, module_now()));
    holds("all of them", n == 15);
    (void)context;
}

static void text_cases(void)
{
    static const char bad[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f()\n{\n  frob.u32 %r1;\n}\n";
    static const char newer[] = ".version 99.0\n.target sm_80\n.address_size 64\n";
    static const char elf[64] = "\177ELF";
    char log[512] = "", none[1] = {0};
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    CUmodule module;

    answer("text that is no PTX", CUDA_ERROR_INVALID_PTX,
           cuModuleLoadDataEx(&module, bad, 2, options, values));
    holds("the log names the line", strstr(log, ":6:") != NULL);
    answer("PTX of a later time", CUDA_ERROR_UNSUPPORTED_PTX_VERSION, cuModuleLoadData(&module, newer));
    answer("machine code", CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&module, elf));
    answer("empty text", CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&module, none));
}

static const char link_caller[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                                  ".extern .func (.param .b32 r) seven();\n"
                                  ".visible .entry call(.param .u64 out)\n{\n"
                                  "  .reg .b32 %r<2>;\n  .reg .b64 %d<3>;\n"
                                  "  ld.param.u64 %d1, [out];\n  cvta.to.global.u64 %d2, %d1;\n"
                                  "  {\n  .param .b32 back;\n  call.uni (back), seven, ();\n"
                                  "  ld.param.b32 %r1, [back];\n  }\n"
                                  "  st.global.u32 [%d2], %r1;\n  ret;\n}\n";
static const char link_callee[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .func (.param .b32 r) seven()\n{\n"
    "  .reg .b32 %r<2>;\n  mov.u32 %r1, 7;\n  st.param.b32 [r], %r1;\n  ret;\n}\n";

static void link_cases(void)
{
    CUdeviceptr out = device_words(1);
    void *parameters[] = {&out}, *image;
    CUlinkState state;
    CUmodule module;
    CUfunction function;
    size_t size;

    answer("a linker", CUDA_SUCCESS, cuLinkCreate_v2(0, NULL, NULL, &state));
    answer("takes PTX", CUDA_SUCCESS,
           cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, (void *)link_caller, sizeof link_caller, "caller", 0,
                            NULL, NULL));
    answer("machine code not", CUDA_ERROR_NO_BINARY_FOR_GPU,
           cuLinkAddData_v2(state, CU_JIT_INPUT_CUBIN, (void *)link_caller, 8, "cubin", 0, NULL, NULL));
    answer("a symbol is missing", CUDA_ERROR_INVALID_PTX, cuLinkComplete(state, &image, &size));
    MUST(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, (void *)link_callee, sizeof link_callee, "callee", 0, NULL,
                          NULL));
    answer("with it the link is complete", CUDA_SUCCESS, cuLinkComplete(state, &image, &size));
    answer("and loaded", CUDA_SUCCESS, cuModuleLoadData(&module, image));
    answer("the linker may go", CUDA_SUCCESS, cuLinkDestroy(state));
    answer("once", CUDA_ERROR_INVALID_HANDLE, cuLinkDestroy(state));
    MUST(cuModuleGetFunction(&function, module, "call"));
    MUST(launch_one(function, NULL, parameters));
    MUST(cuCtxSynchronize());
    holds("the call crosses files", word_at(out) == 7);
    MUST(cuModuleUnload(module));
}

/* One container: what loading it answers, and that its kernel runs. */
static void container_case(const char *what, const struct container *container, CUresult documented)
{
    CUmodule module;
    CUfunction function;

    answer(what, documented, cuModuleLoadData(&module, container->bytes));
    if (documented != CUDA_SUCCESS)
        return;
    answer("its kernel is there", CUDA_SUCCESS, cuModuleGetFunction(&function, module, "nothing"));
    MUST(cuModuleUnload(module));
}

static void container_cases(void)
{
    char *text = kernels_text();
    struct container container;

    container = container_make(text, CONTAINER_PLAIN);
    container_case("a container of PTX", &container, CUDA_SUCCESS);
    container_free(&container);
    container = container_make(text, CONTAINER_ZSTD);
    container_case("compressed by zstd", &container, CUDA_SUCCESS);
    container_free(&container);
    container = container_make(text, CONTAINER_LZ4);
    container_case("compressed as LZ4", &container, CUDA_SUCCESS);
    container_free(&container);
    container = container_make(text, CONTAINER_MACHINE_CODE);
    container_case("of machine code only", &container, CUDA_ERROR_NO_BINARY_FOR_GPU);
    container_free(&container);
    container = container_make(text, CONTAINER_BROKEN);
    container_case("whose parts do not lie in it", &container, CUDA_ERROR_INVALID_IMAGE);
    container_free(&container);
    free(text);
}

static void library_cases(void)
{
    CUlibrary library;
    CUkernel found, kernels[32];
    CUmodule module;
    CUdeviceptr address;
    CUfunction function;
    unsigned n = 0;
    size_t size;
    const char *name;

    MUST(cuLibraryLoadFromFile(&library, kernels_path(), NULL, NULL, 0, NULL, NULL, 0));
    answer("a kernel of a library", CUDA_SUCCESS, cuLibraryGetKernel(&found, library, "fill"));
    answer("has a name", CUDA_SUCCESS, cuKernelGetName(&name, found));
    holds("its own", strcmp(name, "fill") == 0);
    answer("and a function in the context", CUDA_SUCCESS, cuKernelGetFunction(&function, found));
    answer("kernels are counted", CUDA_SUCCESS, cuLibraryGetKernelCount(&n, library));
    answer("and listed", CUDA_SUCCESS, cuLibraryEnumerateKernels(kernels, 32, library));
    holds("all of them", n == 15);
    answer("a variable", CUDA_SUCCESS, cuLibraryGetGlobal(&address, &size, library, "counter"));
    answer("a managed one", CUDA_SUCCESS, cuLibraryGetManaged(&address, &size, library, "shared_by_all"));
    answer("an ordinary one is not managed", CUDA_ERROR_NOT_FOUND,
           cuLibraryGetManaged(&address, &size, library, "counter"));
    answer("a library has a module in the context", CUDA_SUCCESS, cuLibraryGetModule(&module, library));
    answer("that is not unloaded by itself", CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(module));
    answer("no such kernel", CUDA_ERROR_NOT_FOUND, cuLibraryGetKernel(&found, library, "absent"));
    MUST(cuLibraryUnload(library));
}

/* Launches as they were before cuLaunchKernel. */
static void legacy_cases(void)
{
    CUfunction fill = kernel("fill");
    CUdeviceptr out = device_words(64);
    int config = 9;

    answer("a block has a shape", CUDA_SUCCESS, cuFuncSetBlockShape(fill, 16, 1, 1));
    answer("of at least one thread", CUDA_ERROR_INVALID_VALUE, cuFuncSetBlockShape(fill, 0, 1, 1));
    answer("shared memory is set", CUDA_SUCCESS, cuFuncSetSharedSize(fill, 0));
    answer("a parameter by address", CUDA_SUCCESS, cuParamSetv(fill, 0, &out, sizeof out));
    answer("a word", CUDA_SUCCESS, cuParamSeti(fill, 8, 40));
    answer("and another", CUDA_SUCCESS, cuParamSeti(fill, 12, 5));
    answer("beyond the buffer", CUDA_ERROR_INVALID_VALUE, cuParamSeti(fill, 1 << 20, 0));
    answer("the size of all", CUDA_SUCCESS, cuParamSetSize(fill, 16));
    answer("the grid is launched", CUDA_SUCCESS, cuLaunchGrid(fill, 4, 1));
    MUST(cuCtxSynchronize());
    holds("and has its parameters",
          word_at(out) == 5 && word_at(out + 4 * 39) == 5 && word_at(out + 4 * 40) == 0);
    answer("an empty grid", CUDA_ERROR_INVALID_VALUE, cuLaunchGrid(fill, 0, 1));
    answer("the width of a bank", CUDA_SUCCESS, cuCtxSetSharedMemConfig(2));
    answer("is kept", CUDA_SUCCESS, cuCtxGetSharedMemConfig(&config));
    holds("as it was set", config == 2);
    answer("no such width", CUDA_ERROR_INVALID_VALUE, cuCtxSetSharedMemConfig(3));
    answer("a kernel's", CUDA_SUCCESS, cuFuncSetSharedMemConfig(fill, 1));
    answer("a profiler starts", CUDA_SUCCESS, cuProfilerStart());
    answer("and stops", CUDA_SUCCESS, cuProfilerStop());
}

/* Names by which other processes find the same device. */
static void identity_cases(void)
{
    char id[32] = "", again[32] = "";
    CUuuid uuid, other;
    CUdevice found = -1;

    answer("a device has a place on the bus", CUDA_SUCCESS, cuDeviceGetPCIBusId(id, sizeof id, 0));
    holds("domain, bus, device and function",
          strlen(id) == 12 && id[4] == ':' && id[7] == ':' && id[10] == '.');
    answer("it is found by it", CUDA_SUCCESS, cuDeviceGetByPCIBusId(&found, id));
    holds("again", found == 0);
    answer("room for less", CUDA_ERROR_INVALID_VALUE, cuDeviceGetPCIBusId(again, 5, 0));
    MUST(cuDeviceGetUuid_v2(&uuid, 0));
    MUST(cuDeviceGetUuid_v2(&other, 0));
    holds("its uuid stays", memcmp(&uuid, &other, sizeof uuid) == 0);
    holds("and is none of zeros",
          ((const char *)&uuid)[0] || memcmp(&uuid, (const char *)&uuid + 1, sizeof uuid - 1) != 0);
}

void modules_group(void)
{
    CUcontext context = context_open();

    variable_cases(context);
    text_cases();
    link_cases();
    container_cases();
    library_cases();
    legacy_cases();
    identity_cases();
    context_close(context);
}

/* --- images --- */

void images_group(void)
{
    CUcontext context = context_open();
    CUDA_ARRAY3D_DESCRIPTOR about = {4, 4, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST};
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY}, found;
    CUDA_TEXTURE_DESC reading = {.addressMode = {CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP}};
    CUtexObject texture;
    CUsurfObject surface;
    CUdeviceptr out = device_words(16);
    float texels[16];
    int four = 4;
    void *write[] = {&surface, &four, &four}, *read[] = {&texture, &out, &four, &four};
    bool right = true;

    MUST(cuArray3DCreate_v2(&resource.res.array.hArray, &about));
    answer("a surface", CUDA_SUCCESS, cuSurfObjectCreate(&surface, &resource));
    answer("a texture", CUDA_SUCCESS, cuTexObjectCreate(&texture, &resource, &reading, NULL));
    MUST(cuLaunchKernel(kernel("write_surface"), 1, 1, 1, 4, 4, 1, 0, NULL, write, NULL));
    MUST(cuLaunchKernel(kernel("read_texture"), 1, 1, 1, 4, 4, 1, 0, NULL, read, NULL));
    MUST(cuMemcpyDtoH_v2(texels, out, sizeof texels));
    for (int i = 0; i < 16; i++) {
        int wanted = 10 * (i / 4) + i % 4;

        right = right && texels[i] == (float)wanted;
    }
    holds("what the one writes the other reads", right);
    answer("a texture's resource", CUDA_SUCCESS, cuTexObjectGetResourceDesc(&found, texture));
    holds("is the array", found.res.array.hArray == resource.res.array.hArray);
    answer("destroyed", CUDA_SUCCESS, cuTexObjectDestroy(texture));
    answer("once", CUDA_ERROR_INVALID_VALUE, cuTexObjectDestroy(texture));
    answer("a surface as well", CUDA_SUCCESS, cuSurfObjectDestroy(surface));
    reading.filterMode = 7;
    answer("no such filter", CUDA_ERROR_INVALID_VALUE,
           cuTexObjectCreate(&texture, &resource, &reading, NULL));
    reading.filterMode = CU_TR_FILTER_MODE_POINT;
    resource.res.array.hArray = NULL;
    answer("a texture of nothing", CUDA_ERROR_INVALID_HANDLE,
           cuTexObjectCreate(&texture, &resource, &reading, NULL));
    context_close(context);
}

/* --- names --- */

enum form { PLAIN, PTDS, PTSZ };

static const struct {
    const char *symbol, *base;
    int since;
    enum form form;
} rows[] = {
#define NAME(symbol, base, since, form) {#symbol, #base, since, form},
#include "cuda_abi/names.def"
#undef NAME
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

/* The documented rule in its plainest form: the newest row of the base that the version may see. */
static const char *expected(const char *base, int version, bool per_thread)
{
    const char *symbol = NULL;
    int since = 0;

    for (int pass = per_thread ? 0 : 1; pass < 2 && !symbol; pass++)
        for (int i = 0; i < N_ROWS; i++)
            if (strcmp(rows[i].base, base) == 0 && (rows[i].form == PLAIN) == (pass == 1) &&
                rows[i].since <= version && (!symbol || rows[i].since > since)) {
                symbol = rows[i].symbol;
                since = rows[i].since;
            }
    return symbol;
}

static unsigned look_up_all(void *library, int version, uint64_t flags)
{
    unsigned wrong = 0;

    for (int i = 0; i < N_ROWS; i++) {
        const char *symbol =
            expected(rows[i].base, version, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
        CUdriverProcAddressQueryResult status = 9;
        void *address = NULL;
        CUresult code = cuGetProcAddress_v2(rows[i].base, &address, version, flags, &status);
        bool right = symbol ? code == CUDA_SUCCESS && address == dlsym(library, symbol) &&
                                  status == CU_GET_PROC_ADDRESS_SUCCESS
                            : code == CUDA_ERROR_NOT_FOUND && !address &&
                                  status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;

        if (!right && wrong++ < 5)
            fprintf(stderr, "%s, version %d, flags %d: not %s\n", rows[i].base, version, (int)flags,
                    symbol ? symbol : "too new");
    }
    return wrong;
}

/* Calls a name without arguments, as only one that looks at none may be called. */
static CUresult call_bare(void *library, const char *name)
{
    CUresult (*call)(void);
    void *address = dlsym(library, name);

    memcpy(&call, &address, sizeof call);
    return call ? call() : CUDA_ERROR_NOT_FOUND;
}

void names_group(void)
{
    static const int versions[] = {3020, 7000, 11000, 12000, 12080, 13000};
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *address;
    CUdriverProcAddressQueryResult status;
    unsigned wrong = 0, missing = 0;

    for (int i = 0; i < N_ROWS; i++)
        missing += dlsym(library, rows[i].symbol) == NULL;
    holds("every name is exported", missing == 0);
    for (unsigned i = 0; i < sizeof versions / sizeof versions[0]; i++)
        for (uint64_t flags = 0; flags <= 2; flags++)
            wrong += look_up_all(library, versions[i], flags);
    holds("every name is found in every version and form", wrong == 0);
    answer("an unknown name", CUDA_ERROR_NOT_FOUND,
           cuGetProcAddress_v2("cuFrobnicate", &address, 13000, 0, &status));
    holds("says so", status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND && !address);
    answer("a version above the driver's", CUDA_ERROR_INVALID_VALUE,
           cuGetProcAddress_v2("cuInit", &address, 99000, 0, &status));
    answer("unknown flags", CUDA_ERROR_INVALID_VALUE,
           cuGetProcAddress_v2("cuInit", &address, 13000, 8, &status));
    answer("no name", CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2(NULL, &address, 13000, 0, &status));
    answer("a name that is exported but not implemented", CUDA_ERROR_NOT_SUPPORTED,
           call_bare(library, "cuTexRefCreate"));
    answer("several devices as one", CUDA_ERROR_NOT_SUPPORTED, call_bare(library, "cuMulticastCreate"));
    dlclose(library);
}

/* --- stream memory operations --- */

void values_group(void)
{
    CUcontext context = context_open();
    CUstream stream = stream_new(CU_STREAM_NON_BLOCKING);
    CUdeviceptr words = device_words(4);
    volatile uint32_t *flag = pinned(16);
    CUstreamBatchMemOpParams batch[2];

    answer("a stream writes a word", CUDA_SUCCESS, cuStreamWriteValue32_v2(stream, words, 17, 0));
    MUST(cuStreamSynchronize(stream));
    holds("it did", word_at(words) == 17);
    answer("a stream waits for a word at least", CUDA_SUCCESS,
           cuStreamWaitValue32_v2(stream, (uintptr_t)flag, 5, CU_STREAM_WAIT_VALUE_GEQ));
    __atomic_store_n(flag, 4, __ATOMIC_SEQ_CST);
    answer("not less", CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    __atomic_store_n(flag, 6, __ATOMIC_SEQ_CST);
    answer("but more", CUDA_SUCCESS, cuStreamSynchronize(stream));
    MUST(cuStreamWaitValue32_v2(stream, (uintptr_t)flag, 8, CU_STREAM_WAIT_VALUE_AND));
    answer("a bit", CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    __atomic_store_n(flag, 12, __ATOMIC_SEQ_CST);
    answer("is set", CUDA_SUCCESS, cuStreamSynchronize(stream));
    batch[0].waitValue = (CUstreamMemOpWaitValueParams){.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32,
                                                        .address = (uintptr_t)flag,
                                                        .value = 99,
                                                        .flags = CU_STREAM_WAIT_VALUE_EQ};
    batch[1].writeValue = (CUstreamMemOpWriteValueParams){
        .operation = CU_STREAM_MEM_OP_WRITE_VALUE_64, .address = words + 8, .value64 = UINT64_C(5) << 32};
    answer("several at once", CUDA_SUCCESS, cuStreamBatchMemOp_v2(stream, 2, batch, 0));
    answer("in order", CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    __atomic_store_n(flag, 99, __ATOMIC_SEQ_CST);
    MUST(cuStreamSynchronize(stream));
    holds("both were done", word_at(words + 8) == 0 && word_at(words + 12) == 5);
    batch[0].operation = 77;
    answer("an unknown one", CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp_v2(stream, 2, batch, 0));
    answer("a word that is not aligned", CUDA_ERROR_INVALID_VALUE,
           cuStreamWriteValue32_v2(stream, words + 2, 1, 0));
    answer("a word of nobody", CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32_v2(stream, 4096, 1, 0));
    context_close(context);
}

/* --- devices --- */

static void occupancy_cases(void)
{
    int blocks = 0, grid = 0, block = 0;
    size_t dynamic = 0;

    answer("blocks that fit", CUDA_SUCCESS,
           cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel("bounded"), 64, 0));
    holds("at least one", blocks >= 1);
    answer("not of more threads than its bounds", CUDA_SUCCESS,
           cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel("bounded"), 128, 0));
    holds("none", blocks == 0);
    answer("the block size for most threads", CUDA_SUCCESS,
           cuOccupancyMaxPotentialBlockSize(&grid, &block, kernel("bounded"), NULL, 0, 0));
    holds("within its bounds", block == 64 && grid >= 1);
    answer("shared memory that is left", CUDA_SUCCESS,
           cuOccupancyAvailableDynamicSMemPerBlock(&dynamic, kernel("reversed"), 1, 64));
    holds("some", dynamic > 0);
    answer("no threads", CUDA_ERROR_INVALID_VALUE,
           cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel("bounded"), 0, 0));
}

void devices_group(void)
{
    CUcontext context = context_open(), far;
    CUdeviceptr here = device_words(4), there;
    int n = 0, can = 9, major = 0;

    answer("devices are counted", CUDA_SUCCESS, cuDeviceGetCount(&n));
    MUST(cuDeviceGetAttribute(&major, 75, 0));
    holds("the compute capability is a sensible one", major >= 5);
    occupancy_cases();
    if (n > 1) {
        MUST(cuCtxCreate_v2(&far, 0, 1));
        there = device_words(4);
        answer("a device can reach another", CUDA_SUCCESS, cuDeviceCanAccessPeer(&can, 0, 1));
        MUST(cuCtxSetCurrent(context));
        answer("access is enabled", CUDA_SUCCESS, cuCtxEnablePeerAccess(far, 0));
        answer("once", CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(far, 0));
        MUST(cuMemsetD32_v2(here, 3, 4));
        answer("a copy to another device", CUDA_SUCCESS, cuMemcpyPeer(there, far, here, context, 16));
        MUST(cuCtxSynchronize());
        holds("arrives", word_at(there + 12) == 3);
        answer("access is disabled", CUDA_SUCCESS, cuCtxDisablePeerAccess(far));
        answer("once", CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(far));
        MUST(cuCtxDestroy_v2(far));
        MUST(cuCtxSetCurrent(context));
    }
    answer("a device is no peer of itself", CUDA_ERROR_INVALID_CONTEXT, cuCtxEnablePeerAccess(context, 0));
    context_close(context);
}
