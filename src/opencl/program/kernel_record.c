/*
 * Kernel objects. The layer remembers arguments as the program sets them. So a launch can be issued
 * later, on a kernel object of the layer, with the arguments of its enqueue call.
 */
#include <stdlib.h>
#include <string.h>

#include "opencl/entry.h"
#include "opencl/layer.h"
#include "opencl/opencl_objects.h"
#include "opencl/program/program_record.h"

struct kernel_record *kernel_find(cl_kernel handle)
{
    return handle_table_find(&front.kernels, handle);
}

void arg_value_done(struct arg_value *arg)
{
    if (arg->kind == ARG_BYTES && arg->size > sizeof arg->value.small)
        free(arg->value.large);
    if (arg->sampler)
        sampler_unref(arg->sampler);
    arg->sampler = NULL;
    arg->kind = ARG_UNSET;
    arg->size = 0;
}

static bool set_bytes(struct arg_value *arg, const void *bytes, size_t size)
{
    unsigned char *large = NULL;

    if (size > sizeof arg->value.small && !(large = malloc(size)))
        return false;
    arg_value_done(arg);
    arg->kind = ARG_BYTES;
    arg->size = size;
    if (large)
        arg->value.large = large;
    memcpy(large ? large : arg->value.small, bytes, size);
    return true;
}

const void *arg_value_bytes(const struct arg_value *arg)
{
    return arg->size > sizeof arg->value.small ? arg->value.large : arg->value.small;
}

bool arg_value_copy(struct arg_value *to, const struct arg_value *from)
{
    if (from->kind != ARG_BYTES) {
        *to = *from;
        return true;
    }
    if (!set_bytes(to, arg_value_bytes(from), from->size))
        return false;
    to->sampler = from->sampler ? from->sampler : sampler_in(arg_value_bytes(from), from->size);
    if (from->sampler)
        object_ref(&from->sampler->object);
    return true;
}

static void free_private(struct private_kernel *list)
{
    while (list) {
        struct private_kernel *next = list->next;
        front.target.clReleaseKernel(list->handle);
        free(list);
        list = next;
    }
}

void kernel_unref(struct kernel_record *kernel)
{
    object_unref(&kernel->object);
}

static void free_kernel(struct object *object)
{
    struct kernel_record *kernel = (struct kernel_record *)(void *)object;

    free_private(kernel->idle);
    free_private(kernel->idle_sliced);
    if (kernel->program)
        program_unref(kernel->program);
    for (cl_uint i = 0; kernel->args && i < kernel->n_args + KERNEL_EXEC_INFOS; i++)
        arg_value_done(&kernel->args[i]);
    pthread_mutex_destroy(&kernel->lock);
    free(kernel->args);
    free(kernel->name);
    free(kernel);
}

static const struct object_class kernel_class = {.free = free_kernel};

static struct kernel_record *make_record(cl_kernel handle)
{
    struct kernel_record *record = calloc(1, sizeof *record);
    cl_program program = NULL;
    size_t size = 0;

    if (!record)
        return NULL;
    object_init(&record->object, &kernel_class);
    record->handle = handle;
    pthread_mutex_init(&record->lock, NULL);
    front.target.clGetKernelInfo(handle, CL_KERNEL_NUM_ARGS, sizeof record->n_args, &record->n_args, NULL);
    front.target.clGetKernelInfo(handle, CL_KERNEL_CONTEXT, sizeof record->context, &record->context, NULL);
    front.target.clGetKernelInfo(handle, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
    front.target.clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, 0, NULL, &size);
    record->program = program_find(program);
    record->name = calloc(1, size + 1);
    record->meter.name = record->name;
    record->args = calloc(record->n_args + KERNEL_EXEC_INFOS, sizeof *record->args);
    if (!record->name || !record->args ||
        front.target.clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, size, record->name, NULL) !=
            CL_SUCCESS) {
        kernel_unref(record);
        return NULL;
    }
    return record;
}

static cl_kernel note(cl_kernel handle)
{
    struct kernel_record *record = handle && !runtime_off() ? make_record(handle) : NULL;

    if (!record)
        return handle;
    if (record->program)
        program_wanted(record->program);
    if (!handle_table_put(&front.kernels, handle, record))
        kernel_unref(record);
    return handle;
}

CL_API_ENTRY cl_kernel CL_API_CALL entry_clCreateKernel(cl_program program, const char *name,
                                                        cl_int *ret_code)
{
    return note(front.target.clCreateKernel(program, name, ret_code));
}

CL_API_ENTRY cl_int CL_API_CALL entry_clCreateKernelsInProgram(cl_program program, cl_uint n,
                                                               cl_kernel *ret_kernels, cl_uint *ret_n)
{
    cl_uint made = 0;
    cl_int code = front.target.clCreateKernelsInProgram(program, n, ret_kernels, &made);

    if (ret_n && code == CL_SUCCESS)
        *ret_n = made;
    for (cl_uint i = 0; code == CL_SUCCESS && ret_kernels && i < made && i < n; i++)
        (void)note(ret_kernels[i]);
    return code;
}

CL_API_ENTRY cl_kernel CL_API_CALL entry_clCloneKernel(cl_kernel source, cl_int *ret_code)
{
    cl_kernel handle = note(front.target.clCloneKernel(source, ret_code));
    struct kernel_record *from = runtime_off() ? NULL : kernel_find(source);
    struct kernel_record *to = handle && from ? kernel_find(handle) : NULL;

    for (cl_uint i = 0; to && i < to->n_args + KERNEL_EXEC_INFOS; i++)
        if (!arg_value_copy(&to->args[i], &from->args[i]))
            to->args[i].kind = ARG_UNSET;
    if (to)
        kernel_unref(to);
    if (from)
        kernel_unref(from);
    return handle;
}

CL_API_ENTRY cl_int CL_API_CALL entry_clRetainKernel(cl_kernel handle)
{
    if (!runtime_off())
        object_app_retain(&front.kernels, handle);
    return front.target.clRetainKernel(handle);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clReleaseKernel(cl_kernel handle)
{
    if (!runtime_off())
        object_app_release(&front.kernels, handle);
    return front.target.clReleaseKernel(handle);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clSetKernelArg(cl_kernel handle, cl_uint index, size_t size,
                                                     const void *value)
{
    cl_int code = front.target.clSetKernelArg(handle, index, size, value);
    struct kernel_record *kernel;
    struct arg_value *arg;

    if (code != CL_SUCCESS || runtime_off() || !(kernel = kernel_find(handle)))
        return code;
    if (index < kernel->n_args) {
        arg = &kernel->args[index];
        if (value) {
            if (!set_bytes(arg, value, size))
                code = CL_OUT_OF_HOST_MEMORY;
        } else { /* local memory, or no buffer: set again as it was */
            arg_value_done(arg);
            arg->kind = ARG_NULL;
            arg->size = size;
        }
    }
    kernel_unref(kernel);
    return code;
}

CL_API_ENTRY cl_int CL_API_CALL entry_clSetKernelArgSVMPointer(cl_kernel handle, cl_uint index,
                                                               const void *pointer)
{
    cl_int code = front.target.clSetKernelArgSVMPointer(handle, index, pointer);
    struct kernel_record *kernel;

    if (code != CL_SUCCESS || runtime_off() || !(kernel = kernel_find(handle)))
        return code;
    if (index < kernel->n_args) {
        arg_value_done(&kernel->args[index]);
        kernel->args[index].kind = ARG_SVM;
        kernel->args[index].size = sizeof pointer;
        kernel->args[index].value.svm = pointer;
    }
    kernel_unref(kernel);
    return code;
}

static const cl_kernel_exec_info exec_names[KERNEL_EXEC_INFOS] = {CL_KERNEL_EXEC_INFO_SVM_PTRS,
                                                                  CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM};

CL_API_ENTRY cl_int CL_API_CALL entry_clSetKernelExecInfo(cl_kernel handle, cl_kernel_exec_info name,
                                                          size_t size, const void *value)
{
    cl_int code = front.target.clSetKernelExecInfo(handle, name, size, value);
    struct kernel_record *kernel;

    if (code != CL_SUCCESS || runtime_off() || !(kernel = kernel_find(handle)))
        return code;
    for (int i = 0; i < KERNEL_EXEC_INFOS; i++)
        if (exec_names[i] == name && !set_bytes(&kernel->args[kernel->n_args + i], value, size))
            code = CL_OUT_OF_HOST_MEMORY;
    kernel_unref(kernel);
    return code;
}

static cl_int apply(cl_kernel handle, const struct arg_value *args, cl_uint n)
{
    cl_int code = CL_SUCCESS;

    for (cl_uint i = 0; i < n && code == CL_SUCCESS; i++)
        switch (args[i].kind) {
        case ARG_UNSET:
            return CL_INVALID_KERNEL_ARGS;
        case ARG_BYTES:
            code = front.target.clSetKernelArg(handle, i, args[i].size, arg_value_bytes(&args[i]));
            break;
        case ARG_NULL:
            code = front.target.clSetKernelArg(handle, i, args[i].size, NULL);
            break;
        case ARG_SVM:
            code = front.target.clSetKernelArgSVMPointer(handle, i, args[i].value.svm);
            break;
        }
    for (int i = 0; i < KERNEL_EXEC_INFOS && code == CL_SUCCESS; i++)
        if (args[n + i].kind == ARG_BYTES)
            code = front.target.clSetKernelExecInfo(handle, exec_names[i], args[n + i].size,
                                                    arg_value_bytes(&args[n + i]));
    return code;
}

struct private_kernel *kernel_take(struct kernel_record *kernel, bool sliced, const struct arg_value *args,
                                   cl_uint n, cl_int *ret_code)
{
    struct private_kernel **pool = sliced ? &kernel->idle_sliced : &kernel->idle, *taken;
    cl_program program = NULL;

    pthread_mutex_lock(&kernel->lock);
    taken = *pool;
    if (taken)
        *pool = taken->next;
    pthread_mutex_unlock(&kernel->lock);
    if (!taken) {
        taken = calloc(1, sizeof *taken);
        if (!taken) {
            *ret_code = CL_OUT_OF_HOST_MEMORY;
            return NULL;
        }
        if (sliced)
            program = program_sliced(kernel->program);
        else
            front.target.clGetKernelInfo(kernel->handle, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
        taken->handle = front.target.clCreateKernel(program, kernel->name, ret_code);
        if (!taken->handle) {
            free(taken);
            return NULL;
        }
    }
    *ret_code = apply(taken->handle, args, n);
    if (*ret_code != CL_SUCCESS) {
        kernel_give_back(kernel, sliced, taken);
        return NULL;
    }
    return taken;
}

void kernel_give_back(struct kernel_record *kernel, bool sliced, struct private_kernel *private_kernel)
{
    struct private_kernel **pool = sliced ? &kernel->idle_sliced : &kernel->idle;

    pthread_mutex_lock(&kernel->lock);
    private_kernel->next = *pool;
    *pool = private_kernel;
    pthread_mutex_unlock(&kernel->lock);
}
