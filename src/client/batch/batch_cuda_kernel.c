/* The kernels of batches on CUDA devices: their sizes and parameters, checked and copied. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "client/batch/batch_cuda.h"

#define MAX_PARAMETER_BYTES 32764 /* of a kernel, in CUDA 12.1 and later */

void cuda_kernel_free(void *data, void *kernel_data)
{
    struct cuda_kernel *kernel = kernel_data;

    (void)data;
    if (!kernel)
        return;
    free(kernel->parameters);
    free(kernel);
}

/* The driver's size of a parameter; 0: there is no such parameter. */
static CUresult size_of_parameter(const struct cuda_driver *cu, CUfunction function, size_t index,
                                  size_t *ret_size)
{
    size_t offset;
    CUresult code = cu->cuFuncGetParamInfo(function, index, &offset, ret_size);

    if (code == CUDA_ERROR_INVALID_HANDLE && cu->cuKernelGetParamInfo)
        code = cu->cuKernelGetParamInfo((CUkernel)(void *)function, index, &offset, ret_size);
    if (code == CUDA_ERROR_INVALID_VALUE) {
        *ret_size = 0;
        code = CUDA_SUCCESS;
    }
    return code;
}

/*
 * The driver reads as many parameters as the kernel has, with their sizes. Drivers older than CUDA
 * 12.4 do not report them.
 */
static const char *check_parameters(struct cuda_device *device, const struct baton_kernel *given)
{
    CUresult code = CUDA_SUCCESS;
    const char *wrong = NULL;
    struct cuda_visit visit;

    if (!device->cu->cuFuncGetParamInfo)
        return NULL;
    if (cuda_visit_begin(device, &visit) != CUDA_SUCCESS)
        return "its CUDA context has become invalid";
    for (size_t a = 0; a <= given->n_args && !wrong && code == CUDA_SUCCESS; a++) {
        size_t size = 0;

        code = size_of_parameter(device->cu, given->function, a, &size);
        if (code == CUDA_SUCCESS && size != (a < given->n_args ? given->args[a].size : 0))
            wrong =
                "an argument of its kernel is not valid: number and sizes must be those of the parameters";
    }
    cuda_visit_end(&visit);
    return code == CUDA_SUCCESS ? wrong : "its kernel is not valid";
}

static const char *fill_sizes(const struct baton_kernel *given, struct cuda_kernel *kernel)
{
    for (cl_uint d = 0; d < 3; d++) {
        bool counts = d < given->dimensions;

        if (counts && (given->grid[d] == 0 || given->grid[d] > UINT_MAX || given->block[d] == 0 ||
                       given->block[d] > UINT_MAX))
            return "a CUDA kernel needs a grid and a block";
        kernel->grid[d] = counts ? (unsigned)given->grid[d] : 1;
        kernel->block[d] = counts ? (unsigned)given->block[d] : 1;
    }
    return NULL;
}

static size_t aligned(size_t size)
{
    const size_t align = _Alignof(max_align_t);

    return (size + align - 1) / align * align;
}

/* One block of memory: the pointers, then the values, each aligned for any type. */
static const char *fill_parameters(const struct baton_kernel *given, struct cuda_kernel *kernel)
{
    size_t pointers = aligned(given->n_args * sizeof(void *));
    size_t total = 0;
    unsigned char *values;

    if (given->n_args > MAX_PARAMETER_BYTES)
        return "an argument of its kernel is not valid: there are too many";
    for (size_t a = 0; a < given->n_args; a++) {
        if (!given->args[a].value || given->args[a].size == 0 || given->args[a].size > MAX_PARAMETER_BYTES)
            return "an argument of its kernel is not valid: a CUDA parameter has a size and a value";
        total += aligned(given->args[a].size);
    }
    values = calloc(1, pointers + total + 1);
    if (!values)
        return "no memory for its kernel";
    kernel->parameters = (void **)(void *)values;
    values += pointers;
    for (size_t a = 0; a < given->n_args; a++) {
        kernel->parameters[a] = memcpy(values, given->args[a].value, given->args[a].size);
        values += aligned(given->args[a].size);
    }
    return NULL;
}

const char *cuda_kernel_new(void *data, const struct baton_kernel *given, void **ret_kernel)
{
    struct cuda_kernel *kernel = calloc(1, sizeof *kernel);
    const char *wrong;

    if (!kernel)
        return "no memory for its kernel";
    kernel->function = given->function;
    kernel->shared_bytes = given->shared_bytes;
    wrong = fill_sizes(given, kernel);
    if (!wrong)
        wrong = fill_parameters(given, kernel);
    if (!wrong)
        wrong = check_parameters(data, given);
    if (wrong)
        cuda_kernel_free(data, kernel);
    else
        *ret_kernel = kernel;
    return wrong;
}
