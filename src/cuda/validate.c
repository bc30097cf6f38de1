#include "cuda/validate.h"

#include "cuda/cuda_kinds.h"
#include "cuda/function.h"
#include "cuda/front.h"
#include "cuda/migrate/moved_memory.h"

/*
 * CUDA_ERROR_INVALID_VALUE says that the driver does not know the address. A driver that fails
 * otherwise is asked in another way.
 */
static bool ask(void *ret_value, CUpointer_attribute attribute, CUdeviceptr address)
{
    CUresult code = cuda_front.genuine.cuPointerGetAttribute(ret_value, attribute, address);

    if (code != CUDA_SUCCESS && code != CUDA_ERROR_INVALID_VALUE && cuda_front.genuine.cuPointerGetAttributes)
        code = cuda_front.genuine.cuPointerGetAttributes(1, &attribute, &ret_value, address);
    return code == CUDA_SUCCESS;
}

/* Of what the driver knows; 0: it does not know it. */
static unsigned memory_type(CUdeviceptr address)
{
    unsigned type = 0;

    return ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) ? type : 0;
}

/*
 * The memory that the address lies in, of a device or pinned. A driver that does not tell it in one
 * way may tell it in the other. If it is not known, the call waits for its turn, which a program
 * may not expect.
 */
static bool known_range(CUdeviceptr address, CUdeviceptr *ret_begin, size_t *ret_length)
{
    unsigned type;

    if (cuda_front.genuine.cuMemGetAddressRange_v2(ret_begin, ret_length, address) == CUDA_SUCCESS)
        return true;
    type = memory_type(address);
    return (type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_HOST) &&
           ask(ret_begin, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address) &&
           ask(ret_length, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address);
}

bool validate_device_range(CUdeviceptr address, size_t size)
{
    CUdeviceptr begin = 0;
    size_t length = 0;

    if (migrate_on() && !memory_may_touch(address, size))
        return false;
    return known_range(address, &begin, &length) && address - begin <= length &&
           size <= length - (address - begin);
}

bool validate_known(const void *memory)
{
    return memory_type((CUdeviceptr)memory) != 0;
}

bool validate_is_device(CUdeviceptr address)
{
    return memory_type(address) == CU_MEMORYTYPE_DEVICE;
}

bool validate_word(CUdeviceptr address, size_t size)
{
    return address % size == 0 &&
           (memory_type(address) == CU_MEMORYTYPE_HOST || validate_device_range(address, size));
}

bool validate_managed(CUdeviceptr address)
{
    int managed = 0;

    return ask(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) && managed;
}

/* One side of a copy: `height` rows of `width` bytes, `pitch` apart. */
static bool side_is_valid(CUmemorytype type, const void *host, CUdeviceptr device, size_t x, size_t y,
                          size_t pitch, size_t width, size_t height)
{
    size_t row = pitch ? pitch : width;

    if (x + width > row || width == 0 || height == 0)
        return false;
    if (type == CU_MEMORYTYPE_HOST)
        return host && validate_known((const char *)host + y * row + x);
    return type == CU_MEMORYTYPE_DEVICE &&
           validate_device_range(device + y * row + x, (height - 1) * row + width);
}

bool validate_copy_2d(const CUDA_MEMCPY2D *about)
{
    return side_is_valid(about->srcMemoryType, about->srcHost, about->srcDevice, about->srcXInBytes,
                         about->srcY, about->srcPitch, about->WidthInBytes, about->Height) &&
           side_is_valid(about->dstMemoryType, about->dstHost, about->dstDevice, about->dstXInBytes,
                         about->dstY, about->dstPitch, about->WidthInBytes, about->Height);
}

bool validate_cuda_launch(const struct cuda_command *command)
{
    const struct command_launch *launch = &command->u.launch;
    const struct device_record *device = command->stream->context->device;
    uint64_t threads = 1;

    if (!launch->function || (!launch->params && !launch->buffer && launch->function->n_params) ||
        (launch->buffer && launch->buffer_size < launch->function->bytes))
        return false;
    for (int i = 0; i < 3; i++) {
        if (launch->grid[i] == 0 || launch->grid[i] > (uint32_t)device->grid_limit[i] ||
            launch->block[i] == 0 || launch->block[i] > (uint32_t)device->block_limit[i])
            return false;
        threads *= launch->block[i];
    }
    return function_takes(launch->function, threads, launch->shared);
}

bool validate_cuda_copy(const struct cuda_command *command)
{
    const struct command_copy *copy = &command->u.copy;
    bool to_device = copy->direction != COPY_OUT, from_device = copy->direction != COPY_IN;

    return copy->size > 0 && (to_device || copy->to) && (from_device || copy->from) &&
           (!to_device || validate_device_range(copy->to, copy->size)) &&
           (!from_device || validate_device_range(copy->from, copy->size));
}

bool validate_told(const struct cuda_command *command)
{
    return command->valid;
}

bool validate_command(const struct cuda_command *command)
{
    const struct cuda_kind *kind = cuda_kind_of(command);

    return !kind->validate || kind->validate(command);
}
