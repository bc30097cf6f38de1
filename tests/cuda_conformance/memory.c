/* Kinds of memory, what pointers are, copies of every shape, pools. */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

void memory_group(void)
{
    CUcontext context = context_open();
    CUdeviceptr managed, device = 0, other;
    int *words, *mapped, own[256], n = 256, value = 6;
    void *parameters[] = {&device, &n, &value};
    size_t free_before, free_after, total, pitch;
    unsigned flags = 0;

    answer("managed memory", CUDA_SUCCESS, cuMemAllocManaged(&managed, 1024, CU_MEM_ATTACH_GLOBAL));
    words = (int *)(uintptr_t)managed;
    words[0] = 3;
    device = managed;
    MUST(cuLaunchKernel(kernel("fill"), 1, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
    MUST(cuCtxSynchronize());
    holds("is the same for host and device", words[0] == 6 && words[255] == 6);
    answer("advice about it", CUDA_SUCCESS, cuMemAdvise_v2(managed, 1024, 1, (CUmemLocation){1, 0}));
    answer("a prefetch of it", CUDA_SUCCESS,
           cuMemPrefetchAsync_v2(managed, 1024, (CUmemLocation){1, 0}, 0, NULL));
    mapped = pinned(1024);
    answer("mapped memory has a device address", CUDA_SUCCESS,
           cuMemHostGetDevicePointer_v2(&device, mapped, 0));
    MUST(cuLaunchKernel(kernel("fill"), 1, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
    MUST(cuCtxSynchronize());
    holds("kernels write it", mapped[7] == 6);
    answer("its flags", CUDA_SUCCESS, cuMemHostGetFlags(&flags, mapped));
    holds("as it was made", flags == CU_MEMHOSTALLOC_DEVICEMAP);
    answer("memory of the program is registered", CUDA_SUCCESS,
           cuMemHostRegister_v2(own, sizeof own, CU_MEMHOSTREGISTER_DEVICEMAP));
    answer("but not twice", CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
           cuMemHostRegister_v2(own, sizeof own, 0));
    MUST(cuMemHostGetDevicePointer_v2(&device, own, 0));
    MUST(cuLaunchKernel(kernel("fill"), 1, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
    MUST(cuCtxSynchronize());
    holds("kernels write it", own[255] == 6);
    answer("it is unregistered", CUDA_SUCCESS, cuMemHostUnregister(own));
    answer("once", CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(own));
    MUST(cuMemGetInfo_v2(&free_before, &total));
    MUST(cuMemAllocPitch_v2(&other, &pitch, 100, 10, 4));
    holds("a pitch is no smaller than the width", pitch >= 100);
    MUST(cuMemGetInfo_v2(&free_after, &total));
    holds("free memory becomes less", free_after < free_before);
    MUST(cuMemFree_v2(other));
    MUST(cuMemGetInfo_v2(&free_after, &total));
    holds("and the same again", free_after == free_before && free_after <= total);
    answer("a range of memory", CUDA_SUCCESS, cuMemGetAddressRange_v2(&other, &pitch, managed + 5));
    holds("is found from its middle", other == managed && pitch == 1024);
    answer("but not for an address of nothing", CUDA_ERROR_NOT_FOUND,
           cuMemGetAddressRange_v2(&other, &pitch, 64));
    context_close(context);
}

static unsigned attribute(CUpointer_attribute which, CUdeviceptr pointer)
{
    unsigned value = 99;

    MUST(cuPointerGetAttribute(&value, which, pointer));
    return value;
}

void pointers_group(void)
{
    CUcontext context = context_open(), of = NULL;
    CUdeviceptr device = device_words(4), managed, variable;
    int *host = pinned(64), own = 0;
    CUmemorytype type = 0;
    unsigned long long id = 0, other_id = 0;
    size_t size;
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_POINTER};
    CUdeviceptr address = 5;
    void *answers[] = {&type, &address};

    MUST(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
    holds("device memory is of the device",
          attribute(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 4) == CU_MEMORYTYPE_DEVICE);
    holds("pinned memory is of the host",
          attribute(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)host) == CU_MEMORYTYPE_HOST);
    holds("managed memory says so", attribute(CU_POINTER_ATTRIBUTE_IS_MANAGED, managed) == 1);
    holds("other memory is not", attribute(CU_POINTER_ATTRIBUTE_IS_MANAGED, device) == 0);
    MUST(cuModuleGetGlobal_v2(&variable, &size, module_now(), "shared_by_all"));
    holds("a managed variable says so",
          size == 4 && attribute(CU_POINTER_ATTRIBUTE_IS_MANAGED, variable) == 1);
    answer("a variable is not freed", CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(variable));
    holds("memory has a device", attribute(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, device) == 0);
    MUST(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_CONTEXT, device));
    holds("and a context", of == context);
    MUST(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, device));
    MUST(cuPointerGetAttribute(&other_id, CU_POINTER_ATTRIBUTE_BUFFER_ID, managed));
    holds("and an id of its own", id != other_id);
    MUST(cuPointerGetAttribute(&address, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, device + 8));
    holds("and a beginning", address == device);
    answer("the program's memory is unknown", CUDA_ERROR_INVALID_VALUE,
           cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)&own));
    answer("but no error among several questions", CUDA_SUCCESS,
           cuPointerGetAttributes(2, wanted, answers, (uintptr_t)&own));
    holds("they are answered with zeros", type == 0 && address == 0);
    answer("device memory has no host address", CUDA_ERROR_INVALID_VALUE,
           cuPointerGetAttribute(&address, CU_POINTER_ATTRIBUTE_HOST_POINTER, device));
    answer("no such attribute", CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&address, 77, device));
    context_close(context);
}

/* --- copies --- */

static void plane_cases(void)
{
    enum { WIDTH = 20, ROWS = 5 };
    unsigned char from[ROWS][32], to[ROWS][WIDTH];
    CUdeviceptr pitched;
    size_t pitch;
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = from,
                          .srcPitch = 32,
                          .srcXInBytes = 3,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .WidthInBytes = WIDTH,
                          .Height = ROWS};
    bool same = true;

    for (int i = 0; i < ROWS * 32; i++)
        from[i / 32][i % 32] = (unsigned char)(i * 7);
    MUST(cuMemAllocPitch_v2(&pitched, &pitch, WIDTH, ROWS, 4));
    copy.dstDevice = pitched;
    copy.dstPitch = pitch;
    answer("a plane to pitched memory", CUDA_SUCCESS, cuMemcpy2D_v2(&copy));
    copy = (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = pitched,
                           .srcPitch = pitch,
                           .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = to,
                           .dstPitch = WIDTH,
                           .WidthInBytes = WIDTH,
                           .Height = ROWS};
    answer("and back", CUDA_SUCCESS, cuMemcpy2D_v2(&copy));
    for (int y = 0; y < ROWS; y++)
        same = same && memcmp(to[y], from[y] + 3, WIDTH) == 0;
    holds("is the same", same);
    copy.dstPitch = WIDTH - 1;
    answer("a pitch below the width", CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&copy));
    copy.dstPitch = WIDTH;
    copy.Height = 1000000;
    answer("more rows than there are", CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&copy));
    copy.srcPitch = (size_t)1 << 62;
    copy.Height = 5;
    answer("sizes that overflow", CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&copy));
    answer("no description", CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(NULL));
    answer("a set of a plane", CUDA_SUCCESS, cuMemsetD2D8_v2(pitched, pitch, 9, WIDTH, ROWS));
    answer("whose pitch is too small", CUDA_ERROR_INVALID_VALUE, cuMemsetD2D32_v2(pitched, 8, 9, 5, ROWS));
    answer("an address that is not aligned", CUDA_ERROR_INVALID_VALUE, cuMemsetD32_v2(pitched + 2, 9, 1));
}

static void box_cases(void)
{
    int from[3][4][5], to[3][4][5];
    CUdeviceptr device = device_words(60);
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = from,
                          .srcPitch = 20,
                          .srcHeight = 4,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = device,
                          .dstPitch = 20,
                          .dstHeight = 4,
                          .WidthInBytes = 20,
                          .Height = 4,
                          .Depth = 3};

    for (int i = 0; i < 60; i++)
        from[i / 20][i / 5 % 4][i % 5] = i;
    memset(to, 0, sizeof to);
    answer("a box to the device", CUDA_SUCCESS, cuMemcpy3D_v2(&copy));
    copy = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = device,
                           .srcXInBytes = 4,
                           .srcY = 1,
                           .srcZ = 1,
                           .srcPitch = 20,
                           .srcHeight = 4,
                           .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = to,
                           .dstPitch = 20,
                           .dstHeight = 4,
                           .WidthInBytes = 8,
                           .Height = 2,
                           .Depth = 2};
    answer("a part of it back", CUDA_SUCCESS, cuMemcpy3D_v2(&copy));
    holds("is that part", to[0][0][0] == from[1][1][1] && to[1][1][1] == from[2][2][2] && to[0][0][2] == 0);
    copy.srcHeight = 2;
    answer("slices smaller than the box", CUDA_ERROR_INVALID_VALUE, cuMemcpy3D_v2(&copy));
}

static void async_cases(void)
{
    CUstream stream = stream_new(CU_STREAM_NON_BLOCKING);
    CUdeviceptr words = device_words(4);
    int word = 41, *host = pinned(16);
    struct gate gate = gate_close(stream);

    answer("pageable memory is copied aside", CUDA_SUCCESS, cuMemcpyHtoDAsync_v2(words, &word, 4, stream));
    word = 42;
    host[0] = 7;
    answer("pinned memory is not", CUDA_SUCCESS, cuMemcpyHtoDAsync_v2(words + 4, host, 4, stream));
    host[0] = 8;
    gate_open(gate);
    MUST(cuStreamSynchronize(stream));
    holds("the one has the value of the call", word_at(words) == 41);
    holds("the other that of its turn", word_at(words + 4) == 8);
    answer("a copy to pageable memory", CUDA_SUCCESS, cuMemcpyDtoHAsync_v2(&word, words, 4, stream));
    holds("is there when the call returns", word == 41);
    answer("a copy of no bytes", CUDA_SUCCESS, cuMemcpyHtoD_v2(words, &word, 0));
    answer("any address to any other", CUDA_SUCCESS, cuMemcpy((uintptr_t)host, words, 4));
    holds("was copied", host[0] == 41);
    answer("a host address where a device's is asked for", CUDA_ERROR_INVALID_VALUE,
           cuMemcpyHtoD_v2((uintptr_t)&word, host, 4));
    answer("a copy from NULL", CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(words, NULL, 4));
}

void copies_group(void)
{
    CUcontext context = context_open();

    plane_cases();
    box_cases();
    async_cases();
    context_close(context);
}

/* --- arrays --- */

void arrays_group(void)
{
    CUcontext context = context_open();
    CUDA_ARRAY_DESCRIPTOR about = {8, 4, CU_AD_FORMAT_FLOAT, 1}, read;
    CUDA_ARRAY3D_DESCRIPTOR layered = {8, 4, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED}, found;
    CUarray array, level;
    CUmipmappedArray mipmap;
    uint32_t from[8], to[8] = {0}; /* the bits of floats: copies do not look at them */

    for (uint32_t i = 0; i < 8; i++)
        from[i] = 0x3f800000u + i;
    answer("an array", CUDA_SUCCESS, cuArrayCreate_v2(&array, &about));
    answer("is described", CUDA_SUCCESS, cuArrayGetDescriptor_v2(&read, array));
    holds("as it was made", read.Width == 8 && read.Height == 4 && read.NumChannels == 1);
    answer("host to array", CUDA_SUCCESS, cuMemcpyHtoA_v2(array, 0, from, sizeof from));
    answer("array to host", CUDA_SUCCESS, cuMemcpyAtoH_v2(to, array, 0, sizeof to));
    holds("is the same", memcmp(from, to, sizeof to) == 0);
    answer("beyond its row", CUDA_ERROR_INVALID_VALUE, cuMemcpyAtoH_v2(to, array, 4, sizeof to));
    about.NumChannels = 3;
    answer("three channels", CUDA_ERROR_INVALID_VALUE, cuArrayCreate_v2(&level, &about));
    about.NumChannels = 1;
    about.Width = 0;
    answer("no width", CUDA_ERROR_INVALID_VALUE, cuArrayCreate_v2(&level, &about));
    answer("layers need a depth", CUDA_ERROR_INVALID_VALUE, cuArray3DCreate_v2(&level, &layered));
    answer("destroyed", CUDA_SUCCESS, cuArrayDestroy(array));
    answer("once", CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(array));
    answer("a copy to an array that is gone", CUDA_ERROR_INVALID_HANDLE, cuMemcpyHtoA_v2(array, 0, from, 4));
    layered.Flags = 0;
    answer("a mipmapped array", CUDA_SUCCESS, cuMipmappedArrayCreate(&mipmap, &layered, 3));
    answer("has levels", CUDA_SUCCESS, cuMipmappedArrayGetLevel(&level, mipmap, 1));
    MUST(cuArray3DGetDescriptor_v2(&found, level));
    holds("of half the size", found.Width == 4 && found.Height == 2);
    answer("that are its own", CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(level));
    answer("not more than it was made with", CUDA_ERROR_INVALID_VALUE,
           cuMipmappedArrayGetLevel(&level, mipmap, 3));
    answer("and end with it", CUDA_SUCCESS, cuMipmappedArrayDestroy(mipmap));
    context_close(context);
}

/* --- pools --- */

static void order_cases(void)
{
    CUstream stream = stream_new(0);
    CUdeviceptr address, second;
    struct gate gate;

    answer("memory in stream order", CUDA_SUCCESS, cuMemAllocAsync(&address, 4096, stream));
    MUST(cuMemsetD32Async(address, 4, 1024, stream));
    gate = gate_close(stream);
    answer("is freed in stream order", CUDA_SUCCESS, cuMemFreeAsync(address, stream));
    answer("not twice", CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(address, stream));
    answer("nor at once meanwhile", CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(address));
    gate_open(gate);
    MUST(cuStreamSynchronize(stream));
    answer("and is gone then", CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(&second, address, 4));
    answer("no bytes", CUDA_ERROR_INVALID_VALUE, cuMemAllocAsync(&address, 0, stream));
    MUST(cuMemAlloc_v2(&address, 64));
    answer("ordinary memory may be freed in stream order", CUDA_SUCCESS, cuMemFreeAsync(address, stream));
    MUST(cuMemAllocAsync(&address, 64, stream));
    answer("and memory of a stream at once", CUDA_SUCCESS, cuMemFree_v2(address));
    answer("NULL in stream order", CUDA_SUCCESS, cuMemFreeAsync(0, stream));
}

void pools_group(void)
{
    CUcontext context = context_open();
    CUmemPoolProps about = {.allocType = 1, .location = {1, 0}};
    CUmemoryPool pool, found;
    CUdeviceptr address;
    uint64_t used = 9, zero = 0, five = 5;

    order_cases();
    answer("the device's pool", CUDA_SUCCESS, cuDeviceGetDefaultMemPool(&found, 0));
    answer("cannot be destroyed", CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(found));
    answer("a pool", CUDA_SUCCESS, cuMemPoolCreate(&pool, &about));
    answer("memory of it", CUDA_SUCCESS, cuMemAllocFromPoolAsync(&address, 4096, pool, NULL));
    answer("is counted", CUDA_SUCCESS, cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    holds("by its bytes", used == 4096);
    MUST(cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address));
    holds("the pointer knows its pool", found == pool);
    answer("a counter is not set", CUDA_ERROR_INVALID_VALUE,
           cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &zero));
    answer("a mark only to zero", CUDA_ERROR_INVALID_VALUE,
           cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &five));
    answer("to zero", CUDA_SUCCESS, cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
    answer("a pool with memory in use is destroyed", CUDA_SUCCESS, cuMemPoolDestroy(pool));
    answer("and gives no more", CUDA_ERROR_INVALID_VALUE, cuMemAllocFromPoolAsync(&address, 64, pool, NULL));
    answer("its memory lives on", CUDA_SUCCESS, cuMemsetD8_v2(address, 1, 4096));
    answer("until it is freed", CUDA_SUCCESS, cuMemFreeAsync(address, NULL));
    MUST(cuCtxSynchronize());
    about.location.id = 99;
    answer("a pool of no device", CUDA_ERROR_INVALID_DEVICE, cuMemPoolCreate(&pool, &about));
    about.location.id = 0;
    about.handleTypes = 2;
    answer("pools are not shared by handles of Windows", CUDA_ERROR_NOT_SUPPORTED,
           cuMemPoolCreate(&pool, &about));
    context_close(context);
}
