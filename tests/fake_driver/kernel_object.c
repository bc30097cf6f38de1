/* Kernel objects and their arguments. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

static cl_kernel make_kernel(cl_program program, const struct fake_signature *signature)
{
    cl_kernel kernel = calloc(1, sizeof *kernel);

    fake_object_init(&kernel->object, FAKE_KERNEL);
    kernel->program = program;
    kernel->signature = signature;
    atomic_fetch_add(&program->object.refs, 1);
    atomic_fetch_add(&program->n_attached, 1);
    return kernel;
}

FAKE_API cl_kernel CL_API_CALL fake_clCreateKernel(cl_program program, const char *name, cl_int *ret_code)
{
    cl_int code = fake_script_fail("CreateKernel");
    cl_kernel kernel = NULL;

    if (!fake_is(program, FAKE_PROGRAM))
        code = CL_INVALID_PROGRAM;
    else if (!name)
        code = CL_INVALID_VALUE;
    else if (program->status != CL_BUILD_SUCCESS)
        code = CL_INVALID_PROGRAM_EXECUTABLE;
    else if (code == CL_SUCCESS) {
        code = CL_INVALID_KERNEL_NAME;
        for (cl_uint i = 0; i < program->n_kernels && !kernel; i++)
            if (!strcmp(program->kernels[i].name, name)) {
                kernel = make_kernel(program, &program->kernels[i]);
                code = CL_SUCCESS;
            }
    }
    if (ret_code)
        *ret_code = code;
    return kernel;
}

FAKE_API cl_int CL_API_CALL fake_clCreateKernelsInProgram(cl_program program, cl_uint n,
                                                          cl_kernel *ret_kernels, cl_uint *ret_n)
{
    if (!fake_is(program, FAKE_PROGRAM))
        return CL_INVALID_PROGRAM;
    if (program->status != CL_BUILD_SUCCESS)
        return CL_INVALID_PROGRAM_EXECUTABLE;
    if (ret_kernels && n < program->n_kernels)
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; ret_kernels && i < program->n_kernels; i++)
        ret_kernels[i] = make_kernel(program, &program->kernels[i]);
    if (ret_n)
        *ret_n = program->n_kernels;
    return CL_SUCCESS;
}

FAKE_API cl_kernel CL_API_CALL fake_clCloneKernel(cl_kernel source, cl_int *ret_code)
{
    cl_int code = !fake_is(source, FAKE_KERNEL) ? CL_INVALID_KERNEL : fake_script_fail("CloneKernel");
    cl_kernel kernel = NULL;

    if (code == CL_SUCCESS) {
        kernel = make_kernel(source->program, source->signature);
        memcpy(kernel->args, source->args, sizeof kernel->args);
        kernel->n_pointers = source->n_pointers;
    }
    if (ret_code)
        *ret_code = code;
    return kernel;
}

void fake_kernel_release(cl_kernel kernel)
{
    if (atomic_fetch_sub(&kernel->object.refs, 1) != 1)
        return;
    kernel->object.kind = 0;
    atomic_fetch_sub(&kernel->program->n_attached, 1);
    fake_program_release(kernel->program);
    free(kernel);
}

FAKE_API cl_int CL_API_CALL fake_clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size,
                                                const void *value)
{
    const struct fake_arg_info *info;
    struct fake_arg *arg;
    cl_int code;

    if (!fake_is(kernel, FAKE_KERNEL))
        return CL_INVALID_KERNEL;
    if ((code = fake_script_fail("SetKernelArg")))
        return code;
    if (index >= kernel->signature->n_args)
        return CL_INVALID_ARG_INDEX;
    info = &kernel->signature->args[index];
    arg = &kernel->args[index];
    if (info->address == CL_KERNEL_ARG_ADDRESS_LOCAL) {
        if (value)
            return CL_INVALID_ARG_VALUE;
        if (!size)
            return CL_INVALID_ARG_SIZE;
    } else if (info->address == CL_KERNEL_ARG_ADDRESS_GLOBAL) {
        if (size != sizeof(cl_mem))
            return CL_INVALID_ARG_SIZE;
        if (value && *(const cl_mem *)value && !fake_is(*(const cl_mem *)value, FAKE_MEM))
            return CL_INVALID_MEM_OBJECT;
    } else {
        if (!value)
            return CL_INVALID_ARG_VALUE;
        if (size > sizeof arg->value.bytes || (info->size && size != info->size))
            return CL_INVALID_ARG_SIZE;
    }
    arg->set = true;
    arg->size = size;
    memset(&arg->value, 0, sizeof arg->value);
    if (value)
        memcpy(arg->value.bytes, value, size);
    return CL_SUCCESS;
}

FAKE_API cl_int CL_API_CALL fake_clSetKernelArgSVMPointer(cl_kernel kernel, cl_uint index,
                                                          const void *pointer)
{
    if (!fake_is(kernel, FAKE_KERNEL))
        return CL_INVALID_KERNEL;
    if (index >= kernel->signature->n_args)
        return CL_INVALID_ARG_INDEX;
    if (kernel->signature->args[index].address != CL_KERNEL_ARG_ADDRESS_GLOBAL)
        return CL_INVALID_ARG_VALUE;
    kernel->args[index].set = true;
    kernel->args[index].size = sizeof pointer;
    kernel->args[index].value.svm = (void *)(uintptr_t)pointer;
    return CL_SUCCESS;
}

FAKE_API cl_int CL_API_CALL fake_clSetKernelExecInfo(cl_kernel kernel, cl_kernel_exec_info name, size_t size,
                                                     const void *value)
{
    if (!fake_is(kernel, FAKE_KERNEL))
        return CL_INVALID_KERNEL;
    if (!size || !value || name != CL_KERNEL_EXEC_INFO_SVM_PTRS)
        return CL_INVALID_VALUE;
    kernel->n_pointers = (long)(size / sizeof(void *));
    return CL_SUCCESS;
}

FAKE_API cl_int CL_API_CALL fake_clGetKernelInfo(cl_kernel kernel, cl_kernel_info name, size_t room,
                                                 void *ret_value, size_t *ret_size)
{
    if (!fake_is(kernel, FAKE_KERNEL))
        return CL_INVALID_KERNEL;
    switch (name) {
    case CL_KERNEL_FUNCTION_NAME:
        return fake_answer(kernel->signature->name, strlen(kernel->signature->name) + 1, room, ret_value,
                           ret_size);
    case CL_KERNEL_NUM_ARGS:
        FAKE_ANSWER(cl_uint, kernel->signature->n_args);
    case CL_KERNEL_REFERENCE_COUNT:
        FAKE_ANSWER(cl_uint, atomic_load(&kernel->object.refs));
    case CL_KERNEL_CONTEXT:
        FAKE_ANSWER(cl_context, kernel->program->context);
    case CL_KERNEL_PROGRAM:
        FAKE_ANSWER(cl_program, kernel->program);
    case CL_KERNEL_ATTRIBUTES:
        return fake_answer("", 1, room, ret_value, ret_size);
    default:
        return CL_INVALID_VALUE;
    }
}

FAKE_API cl_int CL_API_CALL fake_clGetKernelArgInfo(cl_kernel kernel, cl_uint index, cl_kernel_arg_info name,
                                                    size_t room, void *ret_value, size_t *ret_size)
{
    const struct fake_arg_info *info;

    if (!fake_is(kernel, FAKE_KERNEL))
        return CL_INVALID_KERNEL;
    if (index >= kernel->signature->n_args)
        return CL_INVALID_ARG_INDEX;
    info = &kernel->signature->args[index];
    switch (name) {
    case CL_KERNEL_ARG_ADDRESS_QUALIFIER:
        FAKE_ANSWER(cl_kernel_arg_address_qualifier, info->address);
    case CL_KERNEL_ARG_ACCESS_QUALIFIER:
        FAKE_ANSWER(cl_kernel_arg_access_qualifier, CL_KERNEL_ARG_ACCESS_NONE);
    case CL_KERNEL_ARG_NAME:
        return fake_answer(info->name, strlen(info->name) + 1, room, ret_value, ret_size);
    case CL_KERNEL_ARG_TYPE_NAME:
        return fake_answer(info->type, strlen(info->type) + 1, room, ret_value, ret_size);
    default:
        return CL_INVALID_VALUE;
    }
}

size_t fake_group_limit(const struct fake_signature *signature)
{
    return signature->sliced ? fake_script_twin_group() : 1024;
}

FAKE_API cl_int CL_API_CALL fake_clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
                                                          cl_kernel_work_group_info name, size_t room,
                                                          void *ret_value, size_t *ret_size)
{
    if (!fake_is(kernel, FAKE_KERNEL))
        return CL_INVALID_KERNEL;
    if (device && !fake_is(device, FAKE_DEVICE))
        return CL_INVALID_DEVICE;
    switch (name) {
    case CL_KERNEL_WORK_GROUP_SIZE:
        FAKE_ANSWER(size_t, fake_group_limit(kernel->signature));
    case CL_KERNEL_COMPILE_WORK_GROUP_SIZE:
        return fake_answer(fake_builtin_local(kernel->signature->builtin), 3 * sizeof(size_t), room,
                           ret_value, ret_size);
    case CL_KERNEL_LOCAL_MEM_SIZE:
    case CL_KERNEL_PRIVATE_MEM_SIZE:
        FAKE_ANSWER(cl_ulong, 0);
    case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE:
        FAKE_ANSWER(size_t, 8);
    default:
        return CL_INVALID_VALUE;
    }
}

FAKE_API cl_int CL_API_CALL fake_clGetDeviceAndHostTimer(cl_device_id device, cl_ulong *ret_device,
                                                         cl_ulong *ret_host)
{
    if (!fake_is(device, FAKE_DEVICE))
        return CL_INVALID_DEVICE;
    if (!ret_device || !ret_host)
        return CL_INVALID_VALUE;
    *ret_device = *ret_host = (cl_ulong)fake_now();
    return CL_SUCCESS;
}

FAKE_API cl_int CL_API_CALL fake_clGetHostTimer(cl_device_id device, cl_ulong *ret_host)
{
    if (!fake_is(device, FAKE_DEVICE))
        return CL_INVALID_DEVICE;
    if (!ret_host)
        return CL_INVALID_VALUE;
    *ret_host = (cl_ulong)fake_now();
    return CL_SUCCESS;
}
