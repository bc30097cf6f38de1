/* Buffers, sub-buffers, images, SVM. An image is its bytes with a row and a slice pitch. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

static cl_int check_flags(cl_mem_flags flags, const void *host_ptr)
{
    bool wants = (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0;
    cl_mem_flags access = flags & (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY);

    if ((access & (access - 1)) || flags >= (1 << 13))
        return CL_INVALID_VALUE;
    return wants != (host_ptr != NULL) ? CL_INVALID_HOST_PTR : CL_SUCCESS;
}

static cl_mem make_mem(cl_context context, cl_mem_flags flags, cl_mem_object_type type, size_t size,
                       void *host_ptr)
{
    cl_mem mem = calloc(1, sizeof *mem);

    fake_object_init(&mem->object, FAKE_MEM);
    mem->context = context;
    mem->flags = flags & (CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY) ? flags : flags | CL_MEM_READ_WRITE;
    mem->type = type;
    mem->size = size;
    atomic_fetch_add(&context->object.refs, 1);
    if (flags & CL_MEM_USE_HOST_PTR) {
        mem->bytes = host_ptr;
        mem->host_ptr = host_ptr;
        return mem;
    }
    mem->bytes = aligned_alloc(128, (size + 127) / 128 * 128);
    mem->owns_bytes = true;
    if (flags & CL_MEM_COPY_HOST_PTR)
        memcpy(mem->bytes, host_ptr, size);
    else
        memset(mem->bytes, 0, size);
    return mem;
}

FAKE_API cl_mem CL_API_CALL fake_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size,
                                                void *host_ptr, cl_int *ret_code)
{
    cl_int code = fake_script_fail("CreateBuffer");
    cl_mem mem = NULL;

    if (!fake_is(context, FAKE_CONTEXT))
        code = CL_INVALID_CONTEXT;
    else if (size == 0)
        code = CL_INVALID_BUFFER_SIZE;
    else if (code == CL_SUCCESS)
        code = check_flags(flags, host_ptr);
    if (code == CL_SUCCESS)
        mem = make_mem(context, flags, CL_MEM_OBJECT_BUFFER, size, host_ptr);
    if (ret_code)
        *ret_code = code;
    return mem;
}

FAKE_API cl_mem CL_API_CALL fake_clCreateBufferWithProperties(cl_context context,
                                                              const cl_mem_properties *properties,
                                                              cl_mem_flags flags, size_t size, void *host_ptr,
                                                              cl_int *ret_code)
{
    (void)properties;
    return fake_clCreateBuffer(context, flags, size, host_ptr, ret_code);
}

/* A buffer of another interface: of 1024 bytes, whatever its name. */
FAKE_API cl_mem CL_API_CALL fake_clCreateFromGLBuffer(cl_context context, cl_mem_flags flags, cl_GLuint name,
                                                      cl_int *ret_code)
{
    (void)name;
    return fake_clCreateBuffer(context, flags, 1024, NULL, ret_code);
}

FAKE_API cl_mem CL_API_CALL fake_clCreateSubBuffer(cl_mem parent, cl_mem_flags flags,
                                                   cl_buffer_create_type type, const void *info,
                                                   cl_int *ret_code)
{
    const cl_buffer_region *region = info;
    cl_int code = fake_script_fail("CreateSubBuffer");
    cl_mem mem = NULL;

    if (!fake_is(parent, FAKE_MEM) || parent->parent || parent->type != CL_MEM_OBJECT_BUFFER)
        code = CL_INVALID_MEM_OBJECT;
    else if (type != CL_BUFFER_CREATE_TYPE_REGION || !region || region->origin + region->size > parent->size)
        code = CL_INVALID_VALUE;
    else if (region->size == 0)
        code = CL_INVALID_BUFFER_SIZE;
    else if (region->origin % 128)
        code = CL_MISALIGNED_SUB_BUFFER_OFFSET;
    if (code == CL_SUCCESS) {
        mem = calloc(1, sizeof *mem);
        fake_object_init(&mem->object, FAKE_MEM);
        mem->context = parent->context;
        mem->parent = parent;
        mem->flags = flags ? flags : parent->flags;
        mem->type = CL_MEM_OBJECT_BUFFER;
        mem->size = region->size;
        mem->origin = region->origin;
        mem->bytes = parent->bytes + region->origin;
        mem->host_ptr = parent->host_ptr ? (char *)parent->host_ptr + region->origin : NULL;
        atomic_fetch_add(&parent->context->object.refs, 1);
        atomic_fetch_add(&parent->object.refs, 1);
    }
    if (ret_code)
        *ret_code = code;
    return mem;
}

static size_t element_size(const cl_image_format *format)
{
    size_t channels = format->image_channel_order == CL_RGBA ? 4
                      : format->image_channel_order == CL_R  ? 1
                                                             : 0;
    size_t bytes =
        format->image_channel_data_type == CL_UNSIGNED_INT8 ||
                format->image_channel_data_type == CL_UNORM_INT8
            ? 1
        : format->image_channel_data_type == CL_FLOAT || format->image_channel_data_type == CL_UNSIGNED_INT32
            ? 4
            : 0;

    return channels * bytes;
}

FAKE_API cl_mem CL_API_CALL fake_clCreateImage(cl_context context, cl_mem_flags flags,
                                               const cl_image_format *format, const cl_image_desc *desc,
                                               void *host_ptr, cl_int *ret_code)
{
    cl_int code = fake_script_fail("CreateImage");
    size_t element = format ? element_size(format) : 0;
    size_t height, depth, row, slice;
    cl_mem mem = NULL;

    if (!fake_is(context, FAKE_CONTEXT))
        code = CL_INVALID_CONTEXT;
    else if (!format)
        code = CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
    else if (!element)
        code = CL_IMAGE_FORMAT_NOT_SUPPORTED;
    else if (!desc || desc->image_width == 0)
        code = CL_INVALID_IMAGE_DESCRIPTOR;
    else if (code == CL_SUCCESS)
        code = check_flags(flags, host_ptr);
    if (code == CL_SUCCESS) {
        height = desc->image_type == CL_MEM_OBJECT_IMAGE1D         ? 1
                 : desc->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? desc->image_array_size
                                                                   : desc->image_height;
        depth = desc->image_type == CL_MEM_OBJECT_IMAGE3D         ? desc->image_depth
                : desc->image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY ? desc->image_array_size
                                                                  : 1;
        /* The images of a one-dimensional array are kept as the rows of one. */
        row = desc->image_row_pitch ? desc->image_row_pitch : desc->image_width * element;
        slice = desc->image_slice_pitch ? desc->image_slice_pitch : row * height;
        mem = make_mem(context, flags, desc->image_type, slice * depth, host_ptr);
        mem->format = *format;
        mem->desc = *desc;
        mem->desc.image_height = height;
        mem->desc.image_depth = depth;
        mem->element = element;
        mem->row_pitch = row;
        mem->slice_pitch = slice;
    }
    if (ret_code)
        *ret_code = code;
    return mem;
}

FAKE_API cl_mem CL_API_CALL fake_clCreateImageWithProperties(
    cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
    const cl_image_format *format, const cl_image_desc *desc, void *host_ptr, cl_int *ret_code)
{
    (void)properties;
    return fake_clCreateImage(context, flags, format, desc, host_ptr, ret_code);
}

void fake_mem_release(cl_mem mem)
{
    if (atomic_fetch_sub(&mem->object.refs, 1) != 1)
        return;
    while (mem->destructors) {
        struct fake_destructor *destructor = mem->destructors;
        mem->destructors = destructor->next;
        destructor->run(mem, destructor->data);
        free(destructor);
    }
    while (mem->mappings) {
        struct fake_mapping *next = mem->mappings->next;
        free(mem->mappings);
        mem->mappings = next;
    }
    mem->object.kind = 0;
    if (mem->owns_bytes)
        free(mem->bytes);
    if (mem->parent)
        fake_mem_release(mem->parent);
    fake_context_release(mem->context);
    free(mem);
}

FAKE_API cl_int CL_API_CALL fake_clSetMemObjectDestructorCallback(cl_mem mem,
                                                                  void(CL_CALLBACK *run)(cl_mem, void *),
                                                                  void *data)
{
    struct fake_destructor *destructor;

    if (!fake_is(mem, FAKE_MEM))
        return CL_INVALID_MEM_OBJECT;
    if (!run)
        return CL_INVALID_VALUE;
    destructor = calloc(1, sizeof *destructor);
    destructor->run = run;
    destructor->data = data;
    destructor->next = mem->destructors; /* called in reverse order of registration */
    mem->destructors = destructor;
    return CL_SUCCESS;
}

FAKE_API cl_int CL_API_CALL fake_clGetMemObjectInfo(cl_mem mem, cl_mem_info name, size_t room,
                                                    void *ret_value, size_t *ret_size)
{
    cl_uint n = 0;

    if (!fake_is(mem, FAKE_MEM))
        return CL_INVALID_MEM_OBJECT;
    switch (name) {
    case CL_MEM_TYPE:
        FAKE_ANSWER(cl_mem_object_type, mem->type);
    case CL_MEM_FLAGS:
        FAKE_ANSWER(cl_mem_flags, mem->flags);
    case CL_MEM_SIZE:
        FAKE_ANSWER(size_t, mem->size);
    case CL_MEM_HOST_PTR:
        FAKE_ANSWER(void *, mem->host_ptr);
    case CL_MEM_MAP_COUNT:
        pthread_mutex_lock(&fake_lock);
        for (const struct fake_mapping *at = mem->mappings; at; at = at->next)
            n++;
        pthread_mutex_unlock(&fake_lock);
        FAKE_ANSWER(cl_uint, n);
    case CL_MEM_REFERENCE_COUNT:
        FAKE_ANSWER(cl_uint, atomic_load(&mem->object.refs));
    case CL_MEM_CONTEXT:
        FAKE_ANSWER(cl_context, mem->context);
    case CL_MEM_ASSOCIATED_MEMOBJECT:
        FAKE_ANSWER(cl_mem, mem->parent);
    case CL_MEM_OFFSET:
        FAKE_ANSWER(size_t, mem->origin);
    case CL_MEM_USES_SVM_POINTER:
        FAKE_ANSWER(cl_bool, CL_FALSE);
    default:
        return CL_INVALID_VALUE;
    }
}

size_t fake_slice_pitch(cl_mem image)
{
    if (image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY)
        return image->row_pitch;
    return image->type == CL_MEM_OBJECT_IMAGE1D || image->type == CL_MEM_OBJECT_IMAGE2D ? 0
                                                                                        : image->slice_pitch;
}

FAKE_API cl_int CL_API_CALL fake_clGetImageInfo(cl_mem mem, cl_image_info name, size_t room, void *ret_value,
                                                size_t *ret_size)
{
    if (!fake_is(mem, FAKE_MEM) || mem->type == CL_MEM_OBJECT_BUFFER)
        return CL_INVALID_MEM_OBJECT;
    switch (name) {
    case CL_IMAGE_FORMAT:
        FAKE_ANSWER(cl_image_format, mem->format);
    case CL_IMAGE_ELEMENT_SIZE:
        FAKE_ANSWER(size_t, mem->element);
    case CL_IMAGE_ROW_PITCH:
        FAKE_ANSWER(size_t, mem->row_pitch);
    case CL_IMAGE_SLICE_PITCH:
        FAKE_ANSWER(size_t, fake_slice_pitch(mem));
    case CL_IMAGE_WIDTH:
        FAKE_ANSWER(size_t, mem->desc.image_width);
    case CL_IMAGE_HEIGHT:
        FAKE_ANSWER(size_t, mem->type == CL_MEM_OBJECT_IMAGE1D || mem->type == CL_MEM_OBJECT_IMAGE1D_ARRAY
                                ? 0
                                : mem->desc.image_height);
    case CL_IMAGE_DEPTH:
        FAKE_ANSWER(size_t, mem->type == CL_MEM_OBJECT_IMAGE3D ? mem->desc.image_depth : 0);
    case CL_IMAGE_ARRAY_SIZE:
        FAKE_ANSWER(size_t, mem->type == CL_MEM_OBJECT_IMAGE2D_ARRAY   ? mem->desc.image_depth
                            : mem->type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? mem->desc.image_height
                                                                       : 0);
    default:
        return CL_INVALID_VALUE;
    }
}

FAKE_API cl_int CL_API_CALL fake_clGetSupportedImageFormats(cl_context context, cl_mem_flags flags,
                                                            cl_mem_object_type type, cl_uint n,
                                                            cl_image_format *ret_formats, cl_uint *ret_n)
{
    static const cl_image_format formats[] = {
        {CL_RGBA, CL_UNSIGNED_INT8}, {CL_RGBA, CL_FLOAT}, {CL_R, CL_FLOAT}};

    (void)flags;
    (void)type;
    if (!fake_is(context, FAKE_CONTEXT))
        return CL_INVALID_CONTEXT;
    if (!n && ret_formats)
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; ret_formats && i < n && i < 3; i++)
        ret_formats[i] = formats[i];
    if (ret_n)
        *ret_n = 3;
    return CL_SUCCESS;
}

FAKE_API void *CL_API_CALL fake_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size,
                                           cl_uint alignment)
{
    (void)flags;
    (void)alignment;
    return fake_is(context, FAKE_CONTEXT) && size ? aligned_alloc(128, (size + 127) / 128 * 128) : NULL;
}

FAKE_API void CL_API_CALL fake_clSVMFree(cl_context context, void *pointer)
{
    (void)context;
    free(pointer);
}
