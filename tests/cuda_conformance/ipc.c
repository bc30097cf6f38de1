/*
 * Memory, events and pools of one process in another, and what becomes of them when one of the two
 * dies.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "children.h"
#include "conformance.h"
#include "cuda_abi/memory_calls.h"

enum { BYTES = 5000, UNIT = 2 << 20 };

/* What parent and child know of each other: a file that both map. */
struct board {
    volatile int begun, release;
    int file; /* a descriptor that the child inherits */
    CUipcMemHandle memory;
    CUipcEventHandle event;
    CUmemPoolPtrExportData pointer;
};

/* --- children; what they find wrong is their exit status --- */

/* Opens the parent's memory, finds its bytes, adds one to the first word. */
static int child_opens(struct board *board)
{
    CUdeviceptr address, again;
    void *parameters[] = {&address};
    unsigned char bytes[BYTES];

    if (cuIpcOpenMemHandle_v2(&address, board->memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != CUDA_SUCCESS)
        return 11;
    if (cuIpcOpenMemHandle_v2(&again, board->memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != CUDA_SUCCESS ||
        again != address)
        return 12;
    MUST(cuMemcpyDtoH_v2(bytes, address, BYTES));
    for (int i = 4; i < BYTES; i++)
        if (bytes[i] != (unsigned char)(i * 7))
            return 13;
    MUST(launch_one(kernel("increment"), NULL, parameters));
    MUST(cuCtxSynchronize());
    if (cuMemFree_v2(address) != CUDA_ERROR_INVALID_VALUE)
        return 14;
    if (cuIpcCloseMemHandle(address) != CUDA_SUCCESS ||
        cuMemsetD8_v2(address + BYTES - 1, 9, 1) != CUDA_SUCCESS ||
        cuIpcCloseMemHandle(address) != CUDA_SUCCESS)
        return 15;
    if (cuIpcCloseMemHandle(address) != CUDA_ERROR_INVALID_VALUE ||
        cuMemsetD8_v2(address, 0, 1) != CUDA_ERROR_INVALID_VALUE)
        return 16;
    return 0;
}

/* Exports memory and an event whose record waits for the word `release`, and stays. */
static int child_exports(struct board *board)
{
    CUdeviceptr address, word;
    CUevent event;
    CUstream stream = stream_new(0);

    MUST(cuMemAlloc_v2(&address, BYTES));
    MUST(cuMemsetD8_v2(address, 5, BYTES));
    MUST(cuIpcGetMemHandle(&board->memory, address));
    MUST(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    MUST(cuIpcGetEventHandle(&board->event, event));
    MUST(cuMemHostRegister_v2(board, sizeof *board, CU_MEMHOSTREGISTER_DEVICEMAP));
    MUST(cuMemHostGetDevicePointer_v2(&word, (void *)&board->release, 0));
    MUST(cuStreamWaitValue32_v2(stream, word, 1, CU_STREAM_WAIT_VALUE_EQ));
    MUST(cuMemsetD8Async(address, 6, BYTES, stream));
    MUST(cuEventRecord(event, stream));
    board->begun = 1;
    MUST(cuCtxSynchronize());
    return becomes(&board->release, 2) ? 0 : 21; /* the parent still has it open */
}

/* A descriptor of memory that the parent made; it was inherited. */
static int child_maps(struct board *board)
{
    const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;

    if (cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)board->file,
                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != CUDA_SUCCESS)
        return 31;
    MUST(cuMemAddressReserve(&address, UNIT, 0, 0, 0));
    MUST(cuMemMap(address, UNIT, 0, handle, 0));
    MUST(cuMemSetAccess(address, UNIT, &access, 1));
    MUST(cuMemRelease(handle));
    if (word_at(address) != 1234)
        return 32;
    MUST(cuMemsetD32_v2(address + 4, 4321, 1));
    MUST(cuCtxSynchronize());
    return 0;
}

static int child_pool(struct board *board)
{
    CUmemoryPool pool;
    CUdeviceptr address, none;

    if (cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)board->file,
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) != CUDA_SUCCESS)
        return 41;
    if (cuMemAllocFromPoolAsync(&none, 64, pool, NULL) != CUDA_ERROR_NOT_PERMITTED)
        return 42;
    if (cuMemPoolImportPointer(&address, pool, &board->pointer) != CUDA_SUCCESS || word_at(address) != 99)
        return 43;
    MUST(cuMemsetD32_v2(address, 100, 1));
    return cuMemFreeAsync(address, NULL) == CUDA_SUCCESS && cuCtxSynchronize() == CUDA_SUCCESS &&
                   cuMemcpyDtoH_v2(&none, address, 4) == CUDA_ERROR_INVALID_VALUE
               ? 0
               : 44;
}

int ipc_child(const char *role, const char *path)
{
    struct board *board = share_file(path, sizeof(struct board));

    MUST(cuInit(0));
    (void)context_open();
    return strcmp(role, "ipc-opens") == 0     ? child_opens(board)
           : strcmp(role, "ipc-exports") == 0 ? child_exports(board)
           : strcmp(role, "ipc-maps") == 0    ? child_maps(board)
           : strcmp(role, "ipc-pool") == 0    ? child_pool(board)
                                              : 2;
}

/* --- the group --- */

static void memory_cases(struct board *board, const char *path)
{
    unsigned char bytes[BYTES];
    CUipcMemHandle other;
    CUdeviceptr address, found;

    for (int i = 0; i < BYTES; i++)
        bytes[i] = i < 4 ? 0 : (unsigned char)(i * 7);
    MUST(cuMemAlloc_v2(&address, BYTES));
    MUST(cuMemcpyHtoD_v2(address, bytes, BYTES));
    answer("a handle of memory", CUDA_SUCCESS, cuIpcGetMemHandle(&board->memory, address));
    answer("may be had again", CUDA_SUCCESS, cuIpcGetMemHandle(&other, address));
    holds("and is the same", memcmp(&other, &board->memory, sizeof other) == 0);
    memset(bytes, 0, BYTES);
    MUST(cuMemcpyDtoH_v2(bytes, address, BYTES));
    holds("the memory keeps its bytes",
          bytes[4] == 28 && bytes[BYTES - 1] == (unsigned char)((BYTES - 1) * 7));
    holds("another process opens it, uses it, closes it", run_child("ipc-opens", path, NULL) == 0);
    holds("what it wrote is here", word_at(address) == 1);
    answer("its own process does not open it", CUDA_ERROR_INVALID_CONTEXT,
           cuIpcOpenMemHandle_v2(&found, board->memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    answer("without the flag", CUDA_ERROR_INVALID_VALUE, cuIpcOpenMemHandle_v2(&found, board->memory, 0));
    answer("not from its middle", CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(&other, address + 4));
    answer("memory of the host", CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(&other, (uintptr_t)pinned(64)));
    memset(&other, 0x5a, sizeof other);
    answer("what is no handle", CUDA_ERROR_INVALID_HANDLE,
           cuIpcOpenMemHandle_v2(&found, other, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    answer("memory that was not opened is not closed", CUDA_ERROR_INVALID_VALUE,
           cuIpcCloseMemHandle(address));
    MUST(cuMemFree_v2(address));
    holds("freed memory is not opened", run_child("ipc-opens", path, NULL) == 11);
}

static void event_cases(struct board *board, const char *path, bool dies)
{
    CUdeviceptr address, word;
    CUstream stream = stream_new(0);
    CUevent event;
    pid_t child;

    board->begun = board->release = 0;
    word = device_words(1);
    child = start_child("ipc-exports", path);
    holds("a process exports memory and an event", becomes(&board->begun, 1));
    answer("its event", CUDA_SUCCESS, cuIpcOpenEventHandle(&event, board->event));
    answer("its memory", CUDA_SUCCESS,
           cuIpcOpenMemHandle_v2(&address, board->memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    holds("with its bytes", word_at(address) == 0x05050505);
    answer("the record is not complete", CUDA_ERROR_NOT_READY, cuEventQuery(event));
    answer("a stream waits for it", CUDA_SUCCESS, cuStreamWaitEvent(stream, event, 0));
    MUST(cuMemsetD32Async(word, 3, 1, stream));
    answer("and stands", CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    if (dies)
        kill(child, SIGKILL);
    else
        __atomic_store_n(&board->release, 1, __ATOMIC_SEQ_CST);
    answer(dies ? "until the process dies" : "until the other process comes there", CUDA_SUCCESS,
           cuStreamSynchronize(stream));
    holds("then it goes on", word_at(word) == 3);
    answer("the event is complete", CUDA_SUCCESS, cuEventQuery(event));
    answer("and waited for", CUDA_SUCCESS, cuEventSynchronize(event));
    holds("the memory is as the other process left it", word_at(address) == (dies ? 0x05050505 : 0x06060606));
    board->release = 2;
    holds("the process ends", end_of(child) == (dies ? -SIGKILL : 0));
    answer("its memory stays", CUDA_SUCCESS, cuMemsetD8_v2(address, 1, BYTES));
    answer("until it is closed", CUDA_SUCCESS, cuIpcCloseMemHandle(address));
    answer("and is not opened again", CUDA_ERROR_MAP_FAILED,
           cuIpcOpenMemHandle_v2(&address, board->memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    answer("its event neither", CUDA_ERROR_MAP_FAILED, cuIpcOpenEventHandle(&event, board->event));
    MUST(cuStreamDestroy_v2(stream));
}

static void event_error_cases(void)
{
    CUipcEventHandle handle;
    CUevent event;

    MUST(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    answer("an event that is not for others", CUDA_ERROR_INVALID_HANDLE, cuIpcGetEventHandle(&handle, event));
    answer("an event for others with timing", CUDA_ERROR_INVALID_VALUE,
           cuEventCreate(&event, CU_EVENT_INTERPROCESS));
    MUST(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    answer("an event that was never recorded", CUDA_SUCCESS, cuEventQuery(event));
    MUST(cuEventRecord(event, NULL));
    answer("is recorded as others are", CUDA_SUCCESS, cuEventSynchronize(event));
    MUST(cuIpcGetEventHandle(&handle, event));
    answer("its own process does not open it", CUDA_ERROR_INVALID_CONTEXT,
           cuIpcOpenEventHandle(&event, handle));
    memset(&handle, 0, sizeof handle);
    answer("what is no handle", CUDA_ERROR_INVALID_HANDLE, cuIpcOpenEventHandle(&event, handle));
}

static void descriptor_cases(struct board *board, const char *path)
{
    const CUmemAllocationProp about = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                       .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                       .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemPoolProps pool_about = {
        .allocType = 1, .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, .location = {1, 0}};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    CUmemoryPool pool;

    MUST(cuMemCreate(&handle, UNIT, &about, 0));
    MUST(cuMemAddressReserve(&address, UNIT, 0, 0, 0));
    MUST(cuMemMap(address, UNIT, 0, handle, 0));
    MUST(cuMemSetAccess(address, UNIT, &access, 1));
    MUST(cuMemsetD32_v2(address, 1234, 1));
    MUST(cuCtxSynchronize());
    MUST(cuMemExportToShareableHandle(&board->file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    holds("another process maps memory by its descriptor", run_child("ipc-maps", path, NULL) == 0);
    holds("what it wrote is here", word_at(address + 4) == 4321);
    close(board->file);
    MUST(cuMemUnmap(address, UNIT));
    MUST(cuMemAddressFree(address, UNIT));
    MUST(cuMemRelease(handle));
    answer("a pool that is shared", CUDA_SUCCESS, cuMemPoolCreate(&pool, &pool_about));
    MUST(cuMemAllocFromPoolAsync(&address, 4096, pool, NULL));
    MUST(cuMemsetD32_v2(address, 99, 1));
    MUST(cuCtxSynchronize());
    answer("its descriptor", CUDA_SUCCESS,
           cuMemPoolExportToShareableHandle(&board->file, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    answer("its memory", CUDA_SUCCESS, cuMemPoolExportPointer(&board->pointer, address));
    holds("another process uses it", run_child("ipc-pool", path, NULL) == 0);
    holds("what it wrote is here", word_at(address) == 100);
    close(board->file);
    MUST(cuMemFree_v2(address));
    MUST(cuMemPoolDestroy(pool));
    pool_about.handleTypes = 0;
    MUST(cuMemPoolCreate(&pool, &pool_about));
    answer("a pool that is not", CUDA_ERROR_INVALID_VALUE,
           cuMemPoolExportToShareableHandle(&board->file, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    MUST(cuMemAllocFromPoolAsync(&address, 64, pool, NULL));
    answer("nor its memory", CUDA_ERROR_INVALID_VALUE, cuMemPoolExportPointer(&board->pointer, address));
    MUST(cuMemFree_v2(address));
    MUST(cuMemPoolDestroy(pool));
}

void ipc_group(void)
{
    char path[] = "/tmp/cuda-conformance.XXXXXX";
    int fd = mkstemp(path);
    CUcontext context = context_open();
    struct board *board;

    holds("a temporary file", fd >= 0);
    if (fd < 0)
        return;
    close(fd);
    board = share_file(path, sizeof(struct board));
    memory_cases(board, path);
    event_cases(board, path, false);
    event_cases(board, path, true);
    event_error_cases();
    descriptor_cases(board, path);
    munmap(board, sizeof *board);
    unlink(path);
    context_close(context);
}
