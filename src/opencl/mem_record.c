/*
 * Memory objects. Each has a record, so that arguments can be recognised, sizes checked and
 * deferred maps found.
 */
#include <stdlib.h>
#include <string.h>

#include "opencl/entry.h"
#include "opencl/layer.h"
#include "opencl/graph/deferred_map.h"
#include "opencl/opencl_objects.h"
#include "opencl/spread/spread.h"
#include "opencl/spread/spread_lock.h"

struct mem_record *mem_find(cl_mem handle)
{
    return handle_table_find(&front.mems, handle);
}

void mem_unref(struct mem_record *mem)
{
    object_unref(&mem->object);
}

static void free_mem(struct object *object)
{
    struct mem_record *mem = (struct mem_record *)(void *)object;

    while (mem->maps) {
        struct map_record *next = mem->maps->next;
        map_free(mem->maps);
        mem->maps = next;
    }
    spread_forget(mem);
    if (mem->root)
        mem_unref(mem->root);
    free(mem);
}

void mem_hold(struct mem_record *mem)
{
    atomic_fetch_add(&mem_root(mem)->n_held, 1);
}

void mem_let_go(struct mem_record *mem)
{
    if (atomic_fetch_sub(&mem_root(mem)->n_held, 1) == 1)
        spread_unused(mem_root(mem));
}

static void released(struct object *object)
{
    mem_let_go((struct mem_record *)(void *)object);
}

static const struct object_class mem_class = {.free = free_mem, .released = released};

/* For a part of a buffer, or an image on one: finds the root. */
static void find_root(struct mem_record *record)
{
    cl_mem parent = NULL;
    struct mem_record *root;

    front.target.clGetMemObjectInfo(record->handle, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent,
                                    NULL);
    root = parent ? mem_find(parent) : NULL;
    if (!root)
        return;
    if (record->image) {
        spread_pin(mem_root(root));
        mem_unref(root);
        return;
    }
    front.target.clGetMemObjectInfo(record->handle, CL_MEM_OFFSET, sizeof record->origin, &record->origin,
                                    NULL);
    record->root = root;
}

/* shared: another interface may change the object unnoticed, so it stays on its device. */
static cl_mem note_object(cl_mem handle, bool shared)
{
    struct mem_record *record = handle && !runtime_off() ? calloc(1, sizeof *record) : NULL;
    cl_mem_object_type type = CL_MEM_OBJECT_BUFFER;

    if (!record)
        return handle;
    object_init(&record->object, &mem_class);
    record->handle = handle;
    front.target.clGetMemObjectInfo(handle, CL_MEM_CONTEXT, sizeof record->context, &record->context, NULL);
    front.target.clGetMemObjectInfo(handle, CL_MEM_TYPE, sizeof type, &type, NULL);
    front.target.clGetMemObjectInfo(handle, CL_MEM_SIZE, sizeof record->size, &record->size, NULL);
    front.target.clGetMemObjectInfo(handle, CL_MEM_FLAGS, sizeof record->flags, &record->flags, NULL);
    front.target.clGetMemObjectInfo(handle, CL_MEM_HOST_PTR, sizeof record->host_ptr, &record->host_ptr,
                                    NULL);
    record->image = type != CL_MEM_OBJECT_BUFFER;
    atomic_init(&record->pinned, shared);
    find_root(record);
    mem_hold(record);
    if (!handle_table_put(&front.mems, handle, record)) {
        mem_let_go(record);
        mem_unref(record);
    }
    return handle;
}

static cl_mem note(cl_mem handle)
{
    return note_object(handle, false);
}

static cl_mem note_shared(cl_mem handle)
{
    return note_object(handle, true);
}

CL_API_ENTRY cl_mem CL_API_CALL entry_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size,
                                                     void *host, cl_int *ret_code)
{
    return note(front.target.clCreateBuffer(context, flags, size, host, ret_code));
}

CL_API_ENTRY cl_mem CL_API_CALL entry_clCreateBufferWithProperties(cl_context context,
                                                                   const cl_mem_properties *properties,
                                                                   cl_mem_flags flags, size_t size,
                                                                   void *host, cl_int *ret_code)
{
    return note(front.target.clCreateBufferWithProperties(context, properties, flags, size, host, ret_code));
}

CL_API_ENTRY cl_mem CL_API_CALL entry_clCreateSubBuffer(cl_mem buffer, cl_mem_flags flags,
                                                        cl_buffer_create_type type, const void *info,
                                                        cl_int *ret_code)
{
    return note(front.target.clCreateSubBuffer(buffer, flags, type, info, ret_code));
}

CL_API_ENTRY cl_mem CL_API_CALL entry_clCreateImage(cl_context context, cl_mem_flags flags,
                                                    const cl_image_format *format, const cl_image_desc *desc,
                                                    void *host, cl_int *ret_code)
{
    return note(front.target.clCreateImage(context, flags, format, desc, host, ret_code));
}

CL_API_ENTRY cl_mem CL_API_CALL entry_clCreateImageWithProperties(
    cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
    const cl_image_format *format, const cl_image_desc *desc, void *host, cl_int *ret_code)
{
    return note(
        front.target.clCreateImageWithProperties(context, properties, flags, format, desc, host, ret_code));
}

CL_API_ENTRY cl_mem CL_API_CALL entry_clCreateImage2D(cl_context context, cl_mem_flags flags,
                                                      const cl_image_format *format, size_t width,
                                                      size_t height, size_t row, void *host, cl_int *ret_code)
{
    return note(front.target.clCreateImage2D(context, flags, format, width, height, row, host, ret_code));
}

CL_API_ENTRY cl_mem CL_API_CALL entry_clCreateImage3D(cl_context context, cl_mem_flags flags,
                                                      const cl_image_format *format, size_t width,
                                                      size_t height, size_t depth, size_t row, size_t slice,
                                                      void *host, cl_int *ret_code)
{
    return note(front.target.clCreateImage3D(context, flags, format, width, height, depth, row, slice, host,
                                             ret_code));
}

CL_API_ENTRY cl_mem CL_API_CALL entry_clCreatePipe(cl_context context, cl_mem_flags flags, cl_uint packet,
                                                   cl_uint n, const cl_pipe_properties *properties,
                                                   cl_int *ret_code)
{
    return note(front.target.clCreatePipe(context, flags, packet, n, properties, ret_code));
}

CL_API_ENTRY cl_mem CL_API_CALL entry_clCreateFromGLBuffer(cl_context context, cl_mem_flags flags,
                                                           cl_GLuint name, cl_int *ret_code)
{
    return note_shared(front.target.clCreateFromGLBuffer(context, flags, name, ret_code));
}

CL_API_ENTRY cl_mem CL_API_CALL entry_clCreateFromGLTexture(cl_context context, cl_mem_flags flags,
                                                            cl_GLenum kind, cl_GLint level, cl_GLuint name,
                                                            cl_int *ret_code)
{
    return note_shared(front.target.clCreateFromGLTexture(context, flags, kind, level, name, ret_code));
}

CL_API_ENTRY cl_mem CL_API_CALL entry_clCreateFromGLTexture2D(cl_context context, cl_mem_flags flags,
                                                              cl_GLenum kind, cl_GLint level, cl_GLuint name,
                                                              cl_int *ret_code)
{
    return note_shared(front.target.clCreateFromGLTexture2D(context, flags, kind, level, name, ret_code));
}

CL_API_ENTRY cl_mem CL_API_CALL entry_clCreateFromGLTexture3D(cl_context context, cl_mem_flags flags,
                                                              cl_GLenum kind, cl_GLint level, cl_GLuint name,
                                                              cl_int *ret_code)
{
    return note_shared(front.target.clCreateFromGLTexture3D(context, flags, kind, level, name, ret_code));
}

CL_API_ENTRY cl_mem CL_API_CALL entry_clCreateFromGLRenderbuffer(cl_context context, cl_mem_flags flags,
                                                                 cl_GLuint name, cl_int *ret_code)
{
    return note_shared(front.target.clCreateFromGLRenderbuffer(context, flags, name, ret_code));
}

CL_API_ENTRY cl_mem CL_API_CALL entry_clCreateFromEGLImageKHR(cl_context context, CLeglDisplayKHR display,
                                                              CLeglImageKHR image, cl_mem_flags flags,
                                                              const cl_egl_image_properties_khr *properties,
                                                              cl_int *ret_code)
{
    return note_shared(
        front.target.clCreateFromEGLImageKHR(context, display, image, flags, properties, ret_code));
}

CL_API_ENTRY cl_int CL_API_CALL entry_clRetainMemObject(cl_mem handle)
{
    if (!runtime_off())
        object_app_retain(&front.mems, handle);
    return front.target.clRetainMemObject(handle);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clReleaseMemObject(cl_mem handle)
{
    if (!runtime_off())
        object_app_release(&front.mems, handle);
    return front.target.clReleaseMemObject(handle);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clGetMemObjectInfo(cl_mem handle, cl_mem_info name, size_t room,
                                                         void *ret_value, size_t *ret_size)
{
    cl_int code = front.target.clGetMemObjectInfo(handle, name, room, ret_value, ret_size);
    struct mem_record *mem;
    cl_uint n;

    if (runtime_off() || code != CL_SUCCESS || name != CL_MEM_MAP_COUNT || !ret_value ||
        !(mem = mem_find(handle)))
        return code;
    memcpy(&n, ret_value, sizeof n);
    n += map_n_deferred(mem);
    memcpy(ret_value, &n, sizeof n);
    mem_unref(mem);
    return code;
}
