#include "cuda/migrate/migrate_answers.h"

#include <string.h>

#include "cuda/front.h"
#include "cuda/migrate/inside.h"
#include "cuda/migrate/moved_memory.h"

#define IDS (UINT64_C(1) << 48) /* numbers of allocations, beyond those of the driver */

/* --- memory --- */

/* Does the call mean the home context? */
static bool is_ours(void)
{
    CUcontext current = NULL;

    return cuda_front.genuine.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current &&
           current == cuda_front.migrate.home;
}

CUresult own_alloc(struct call *call)
{
    CUdeviceptr *ret_address = (CUdeviceptr *)call->args[0];
    CUresult code = CUDA_ERROR_INVALID_CONTEXT;
    bool follows;

    if (!ret_address || !call->args[1])
        return call_invoke(call);
    follows = inside_begin();
    if (follows && is_ours())
        code = memory_alloc((size_t)call->args[1], ret_address);
    inside_end();
    if (code == CUDA_SUCCESS)
        return code;
    if (follows) /* the driver may have memory of another kind, which cannot move */
        code = migrate_stay_home("memory that cannot be replaced");
    return !follows || code == CUDA_SUCCESS ? call_invoke(call) : code;
}

/* The driver's own row length, learnt from one row. */
CUresult own_alloc_pitch(struct call *call)
{
    size_t *ret_pitch = (size_t *)call->args[1], height = (size_t)call->args[3];
    struct call row = *call, whole;
    CUdeviceptr address = 0;
    CUresult code;

    if (!call->args[0] || !ret_pitch || !call->args[2] || !height || !is_ours())
        return call_invoke(call);
    row.args[0] = (uint64_t)&address;
    row.args[3] = 1;
    code = call_invoke(&row);
    if (code != CUDA_SUCCESS || *ret_pitch > SIZE_MAX / height)
        return code != CUDA_SUCCESS ? code : CUDA_ERROR_OUT_OF_MEMORY;
    (void)cuda_front.genuine.cuMemFree_v2(address);
    whole = (struct call){.entry = entry_at(ENTRY_cuMemAlloc_v2),
                          .genuine = front_genuine(ENTRY_cuMemAlloc_v2),
                          .args = {call->args[0], *ret_pitch * height}};
    return own_alloc(&whole);
}

/* Waits until nothing of the process uses memory. The answer is the driver's. */
static CUresult finish_all(void)
{
    CUcontext current = NULL;
    struct context_visit visit;
    CUresult code;

    objects_drain();
    if (front_captures()) /* as unlawful as to free */
        return cuda_front.genuine.cuCtxSynchronize();
    code = cuda_front.genuine.cuCtxGetCurrent(&current);
    if (code != CUDA_SUCCESS || !current || !cuda_front.migrate.home)
        return code != CUDA_SUCCESS ? code : CUDA_ERROR_INVALID_CONTEXT;
    context_visit_begin(cuda_front.migrate.places[HOME].context, &visit);
    code = cuda_front.genuine.cuCtxSynchronize();
    context_visit_end(&visit);
    return code;
}

static CUresult free_ours(CUdeviceptr address)
{
    CUresult code = finish_all();
    bool freed;

    if (code != CUDA_SUCCESS)
        return code;
    (void)inside_begin();
    freed = memory_free(address);
    inside_end();
    return freed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult own_free(struct call *call)
{
    struct allocation about;
    bool ours;

    (void)memory_find(call->args[0], &about, &ours);
    return ours ? free_ours(call->args[0]) : follow_original(call);
}

/* Of memory that is not of a pool: at once, when all that uses it is over. */
CUresult own_free_async(struct call *call)
{
    CUresult code = migrate_stay_home(call->entry->base);
    struct allocation about;
    bool ours;

    (void)memory_find(call->args[0], &about, &ours);
    if (code != CUDA_SUCCESS)
        return code;
    return ours ? free_ours(call->args[0]) : follow_original(call);
}

/* Memory that is replaced cannot be shared: the driver has no handle for it. */
CUresult own_share(struct call *call)
{
    CUresult code = migrate_stay_home(call->entry->base);
    struct allocation about;
    bool ours;

    (void)memory_find(call->args[1], &about, &ours);
    if (code != CUDA_SUCCESS)
        return code;
    objects_drain();
    return ours ? CUDA_ERROR_NOT_SUPPORTED : call_invoke(call);
}

/* --- questions --- */

CUresult own_address_range(struct call *call)
{
    CUdeviceptr *ret_begin = (CUdeviceptr *)call->args[0];
    size_t *ret_size = (size_t *)call->args[1];
    struct allocation about;
    bool ours;

    if (!memory_find(call->args[2], &about, &ours))
        return ours ? CUDA_ERROR_NOT_FOUND : follow_original(call);
    if (ret_begin)
        *ret_begin = about.address;
    if (ret_size)
        *ret_size = about.size;
    return CUDA_SUCCESS;
}

/* As if the program's memory, and nothing else of it, were on the device that it opened. */
CUresult own_info(struct call *call)
{
    CUresult code = follow_original(call);
    size_t bytes, at_home, free;

    if (code != CUDA_SUCCESS || !is_ours())
        return code;
    memory_count(&bytes, &at_home);
    free = *(size_t *)call->args[0] + at_home;
    free = free > bytes ? free - bytes : 0;
    *(size_t *)call->args[0] = free < *(size_t *)call->args[1] ? free : *(size_t *)call->args[1];
    return code;
}

/* What memory of cuMemAlloc answers. Bytes of the answer; 0: the driver's to say. */
static size_t answer(int attribute, CUdeviceptr address, const struct allocation *about, uint64_t *ret_value)
{
    *ret_value = 0;
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *ret_value = (uint64_t)cuda_front.migrate.home;
        return sizeof(void *);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *ret_value = CU_MEMORYTYPE_DEVICE;
        return 4;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *ret_value = address;
        return 8;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *ret_value = IDS + about->id;
        return 8;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *ret_value = (uint64_t)cuda_front.migrate.places[HOME].device->device;
        return 4;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *ret_value = about->address;
        return 8;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *ret_value = about->size;
        return 8;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: /* none */
        return 8;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE: /* no */
        return 4;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *ret_value = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        return 4;
    default:
        return 0;
    }
}

CUresult own_attribute(struct call *call)
{
    struct allocation about;
    uint64_t value;
    size_t size;
    bool ours;

    if (!call->args[0])
        return follow_original(call);
    if (!memory_find(call->args[2], &about, &ours))
        return ours ? CUDA_ERROR_INVALID_VALUE : follow_original(call);
    size = answer((int)call->args[1], call->args[2], &about, &value);
    if (!size)
        return follow_original(call);
    memcpy((void *)call->args[0], &value, size);
    return CUDA_SUCCESS;
}

/* The driver's answers first; then ours in their place. */
CUresult own_attributes(struct call *call)
{
    const CUpointer_attribute *attributes = (const CUpointer_attribute *)call->args[1];
    void **ret_data = (void **)call->args[2];
    CUresult code = follow_original(call);
    struct allocation about;
    uint64_t value;
    bool ours;

    if (code != CUDA_SUCCESS || !memory_find(call->args[3], &about, &ours))
        return code;
    for (unsigned i = 0; i < (unsigned)call->args[0]; i++) {
        size_t size = answer((int)attributes[i], call->args[3], &about, &value);

        if (size)
            memcpy(ret_data[i], &value, size);
    }
    return code;
}
