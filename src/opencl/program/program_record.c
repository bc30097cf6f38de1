#include "opencl/program/program_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl/entry.h"
#include "opencl/program/known_binaries.h"
#include "opencl/layer.h"
#include "opencl/opencl_driver.h"
#include "opencl/program/twin.h"

struct program_record *program_find(cl_program handle)
{
    return handle_table_find(&front.programs, handle);
}

char *program_text_copy(const char *text, size_t length)
{
    char *copy = malloc(length + 1);

    if (!copy)
        return NULL;
    if (length)
        memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

static void forget_headers(struct program_record *program)
{
    for (size_t i = 0; i < program->n_headers; i++) {
        free((char *)program->headers[i].name);
        free((char *)program->headers[i].text);
    }
    free(program->headers);
    program->headers = NULL;
    program->n_headers = 0;
}

/* Copies embedded headers: the program may release them as soon as the compile call returns. */
static void keep_headers(struct program_record *program, cl_uint n, const cl_program *headers,
                         const char **names)
{
    forget_headers(program);
    program->headers = n && headers && names ? calloc(n, sizeof *program->headers) : NULL;
    program->lacks_header = n && !program->headers;
    for (cl_uint i = 0; program->headers && i < n; i++) {
        struct program_record *header = program_find(headers[i]);
        struct translate_header *copy = &program->headers[program->n_headers];

        if (header && header->source && names[i]) {
            copy->name = strdup(names[i]);
            copy->text = program_text_copy(header->source, header->length);
            copy->length = header->length;
            program->n_headers++;
        }
        program->lacks_header = program->lacks_header || !copy->name || !copy->text;
        if (header)
            program_unref(header);
    }
}

void program_unref(struct program_record *program)
{
    object_unref(&program->object);
}

static void free_program(struct object *object)
{
    struct program_record *program = (struct program_record *)(void *)object;

    front.builder.forget(program->spread);
    twin_done(program);
    for (size_t i = 0; i < program->n_parts; i++)
        program_unref(program->parts[i]);
    free(program->parts);
    forget_headers(program);
    free(program->files);
    free(program->source);
    free(program->options);
    free(program->constants);
    free(program);
}

static bool drop(struct object *object)
{
    return twin_let_go((struct program_record *)(void *)object);
}

const struct object_class program_class = {.free = free_program, .drop = drop};

static struct program_record *note(cl_program handle, cl_context context)
{
    struct program_record *record = handle && !runtime_off() ? calloc(1, sizeof *record) : NULL;

    if (!record)
        return NULL;
    object_init(&record->object, &program_class);
    record->handle = handle;
    record->context = context;
    record->why_whole = COUNTER_UNSLICED_OTHER;
    if (!handle_table_put(&front.programs, handle, record)) {
        free(record);
        return NULL;
    }
    return record;
}

static void not_from_source(struct program_record *record, const char *what)
{
    record->why_whole = COUNTER_UNSLICED_BINARY;
    (void)snprintf(record->why_detail, sizeof record->why_detail, "%s", what);
}

CL_API_ENTRY cl_program CL_API_CALL entry_clCreateProgramWithSource(cl_context context, cl_uint n,
                                                                    const char **strings,
                                                                    const size_t *lengths, cl_int *ret_code)
{
    cl_program handle = front.target.clCreateProgramWithSource(context, n, strings, lengths, ret_code);
    struct program_record *record = note(handle, context);
    size_t total = 0, at = 0;

    if (!record)
        return handle;
    for (cl_uint i = 0; i < n; i++)
        total += lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
    record->source = malloc(total + 1);
    for (cl_uint i = 0; record->source && i < n; i++) {
        size_t length = lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
        memcpy(record->source + at, strings[i], length);
        at += length;
    }
    if (record->source)
        record->source[total] = 0;
    record->length = total;
    return handle;
}

CL_API_ENTRY cl_program CL_API_CALL entry_clCreateProgramWithBinary(cl_context context, cl_uint n,
                                                                    const cl_device_id *devices,
                                                                    const size_t *lengths,
                                                                    const unsigned char **binaries,
                                                                    cl_int *ret_status, cl_int *ret_code)
{
    cl_int code = CL_SUCCESS;
    cl_program handle =
        front.target.clCreateProgramWithBinary(context, n, devices, lengths, binaries, ret_status, &code);
    struct program_record *record;

    if (handle && !runtime_off() && known_binaries_refuses(binaries, lengths, n, ret_status)) {
        front.target.clReleaseProgram(handle);
        handle = NULL;
        code = CL_INVALID_BINARY;
    }
    if (ret_code)
        *ret_code = code;
    record = note(handle, context);
    if (!record)
        return handle;
    not_from_source(record, "a binary");
    if (known_binaries_wanted())
        known_binaries_find(record, binaries, lengths, n);
    return handle;
}

/* The record's source is unknown from now on, so its kernels run whole. */
static void forget_source(struct program_record *record)
{
    free(record->source);
    record->source = NULL;
    not_from_source(record, "a constant that cannot be kept");
}

typedef cl_program(CL_API_CALL *il_function)(cl_context, const void *, size_t, cl_int *);

/* The driver's function: from the core API, or that of cl_khr_il_program before OpenCL 2.1. */
static il_function il_function_of(cl_context context)
{
    static const char name[] = "clCreateProgramWithILKHR";
    cl_platform_id platform = NULL;
    cl_device_id devices[64];
    char text[256] = ""; /* an answer that does not fit counts as none */
    unsigned major = 0, minor = 0;
    void *extension = NULL;

    if (front.target.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, NULL) ==
            CL_SUCCESS &&
        front.target.clGetDeviceInfo(devices[0], CL_DEVICE_VERSION, sizeof text - 1, text, NULL) ==
            CL_SUCCESS &&
        sscanf(text, "OpenCL %u.%u", &major, &minor) == 2 && (major < 2 || (major == 2 && minor == 0)) &&
        front.target.clGetDeviceInfo(devices[0], CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL) ==
            CL_SUCCESS)
        extension = front.target.clGetExtensionFunctionAddressForPlatform(platform, name);
    return extension ? (il_function)(uintptr_t)extension : front.target.clCreateProgramWithIL;
}

cl_program program_from_il(cl_context context, const void *il, size_t length, cl_int *ret_code)
{
    return il_function_of(context)(context, il, length, ret_code);
}

CL_API_ENTRY cl_program CL_API_CALL entry_clCreateProgramWithIL(cl_context context, const void *il,
                                                                size_t length, cl_int *ret_code)
{
    cl_program handle = program_from_il(context, il, length, ret_code);
    struct program_record *record = note(handle, context);

    if (!record)
        return handle;
    record->source = program_text_copy(il, length);
    record->length = length;
    if (!record->source)
        not_from_source(record, "an intermediate language");
    return handle;
}

static bool keep_constant(struct program_record *record, const struct program_constant *constant)
{
    struct program_constant *grown;

    for (size_t i = 0; i < record->n_constants; i++)
        if (record->constants[i].id == constant->id) {
            record->constants[i] = *constant;
            return true;
        }
    grown = realloc(record->constants, (record->n_constants + 1) * sizeof *grown);
    if (!grown)
        return false;
    grown[record->n_constants++] = *constant;
    record->constants = grown;
    return true;
}

CL_API_ENTRY cl_int CL_API_CALL entry_clSetProgramSpecializationConstant(cl_program program, cl_uint id,
                                                                         size_t size, const void *value)
{
    struct program_record *record = runtime_off() ? NULL : program_find(program);
    struct program_constant constant = {.id = id, .size = size};
    cl_int code = front.target.clSetProgramSpecializationConstant
                      ? front.target.clSetProgramSpecializationConstant(program, id, size, value)
                      : CL_INVALID_OPERATION;

    if (record && code == CL_SUCCESS && size <= sizeof constant.value) {
        memcpy(constant.value, value, size);
        if (!keep_constant(record, &constant))
            forget_source(record);
    } else if (record && code == CL_SUCCESS) {
        forget_source(record);
    }
    if (record)
        program_unref(record);
    return code;
}

CL_API_ENTRY cl_program CL_API_CALL entry_clCreateProgramWithBuiltInKernels(cl_context context, cl_uint n,
                                                                            const cl_device_id *devices,
                                                                            const char *names,
                                                                            cl_int *ret_code)
{
    cl_program handle = front.target.clCreateProgramWithBuiltInKernels(context, n, devices, names, ret_code);
    struct program_record *record = note(handle, context);

    if (record)
        not_from_source(record, "kernels of the driver");
    return handle;
}

/* For a binary whose link is known. */
static void share_parts(struct program_record *record, const struct program_record *old)
{
    record->linked = old->linked;
    record->parts = old->n_parts ? calloc(old->n_parts, sizeof(struct program_record *)) : NULL;
    for (size_t i = 0; record->parts && i < old->n_parts; i++) {
        object_ref(&old->parts[i]->object);
        record->parts[record->n_parts++] = old->parts[i];
    }
}

/*
 * A build is about to begin: from now on the handle means a program with these options. A program
 * that was built before gets a fresh record, because queued launches still need the twin of the old
 * one. Returns the record to restore if the driver refuses; NULL: none.
 */
static struct program_record *begin_build(cl_program handle, enum translate_mode mode, const char *options,
                                          cl_uint n_headers, const cl_program *headers, const char **names)
{
    struct program_record *old = runtime_off() ? NULL : program_find(handle), *record = old;

    if (!old)
        return NULL;
    if (old->built) {
        record = note(handle,
                      /*
                       * takes the place of the old record, whose reference from the table goes to
                       * the caller
                       */
                      old->context);
        if (!record)
            return old;
        atomic_store(&record->object.app_refs, atomic_load(&old->object.app_refs));
        record->why_whole = old->why_whole;
        memcpy(record->why_detail, old->why_detail, sizeof record->why_detail);
        record->known_binary = old->known_binary;
        record->length = old->length;
        record->source = old->source ? program_text_copy(old->source, old->length) : NULL;
        for (size_t i = 0; i < old->n_constants; i++)
            if (!keep_constant(record, &old->constants[i]))
                forget_source(record);
        if (old->known_binary && old->options)
            record->options = strdup(old->options);
        if (old->known_binary && old->files)
            record->files = strdup(old->files);
        if (old->known_binary)
            share_parts(record, old);
    }
    if (!record->known_binary) {
        free(record->options);
        record->options = strdup(options ? options : "");
        record->mode = mode;
    }
    keep_headers(record, n_headers, headers, names);
    record->built = true;
    program_unref(old);
    return record == old ? NULL : old;
}

static void note_files(cl_program handle)
{
    struct program_record *record = runtime_off() ? NULL : program_find(handle);

    if (record) {
        twin_note_files(record);
        program_unref(record);
    }
}

static void end_build(cl_program handle, cl_int code, struct program_record *old)
{
    struct program_record *refused;

    runtime_stop_at_exit(&opencl_driver);
    if (code == CL_SUCCESS)
        note_files(handle);
    if (!old)
        return;
    if (code == CL_INVALID_OPERATION) { /* kernels are attached: nothing was built */
        refused = program_find(handle);
        if (handle_table_put(&front.programs, handle, old)) {
            object_ref(&old->object);
            if (refused)
                program_unref(refused);
        }
        if (refused)
            program_unref(refused);
    }
    program_unref(old);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clBuildProgram(cl_program program, cl_uint n,
                                                     const cl_device_id *devices, const char *options,
                                                     void(CL_CALLBACK *notify)(cl_program, void *),
                                                     void *data)
{
    struct program_record *old = begin_build(program, TRANSLATE_BUILD, options, 0, NULL, NULL);
    cl_int code = front.target.clBuildProgram(program, n, devices, options, notify, data);

    end_build(program, code, old);
    return code;
}

CL_API_ENTRY cl_int CL_API_CALL entry_clCompileProgram(
    cl_program program, cl_uint n, const cl_device_id *devices, const char *options, cl_uint n_headers,
    const cl_program *headers, const char **names, void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    struct program_record *old = begin_build(program, TRANSLATE_COMPILE, options, n_headers, headers, names);
    cl_int code =
        front.target.clCompileProgram(program, n, devices, options, n_headers, headers, names, notify, data);

    end_build(program, code, old);
    return code;
}

CL_API_ENTRY cl_program CL_API_CALL entry_clLinkProgram(cl_context context, cl_uint n_devices,
                                                        const cl_device_id *devices, const char *options,
                                                        cl_uint n, const cl_program *inputs,
                                                        void(CL_CALLBACK *notify)(cl_program, void *),
                                                        void *data, cl_int *ret_code)
{
    cl_program handle =
        front.target.clLinkProgram(context, n_devices, devices, options, n, inputs, notify, data, ret_code);
    struct program_record *record = note(handle, context);

    runtime_stop_at_exit(&opencl_driver);
    if (!record)
        return handle;
    record->options = strdup(options ? options : "");
    record->parts = calloc(n + 1, sizeof(struct program_record *));
    record->linked = true;
    for (cl_uint i = 0; record->parts && i < n; i++) {
        struct program_record *part = program_find(inputs[i]);
        if (!part)
            break;
        record->parts[record->n_parts++] = part;
    }
    record->built = record->n_parts == n; /* otherwise the link cannot be repeated, and kernels run whole */
    return handle;
}

CL_API_ENTRY cl_int CL_API_CALL entry_clRetainProgram(cl_program handle)
{
    if (!runtime_off())
        object_app_retain(&front.programs, handle);
    return front.target.clRetainProgram(handle);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clReleaseProgram(cl_program handle)
{
    if (!runtime_off())
        object_app_release(&front.programs, handle);
    return front.target.clReleaseProgram(handle);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clGetProgramInfo(cl_program handle, cl_program_info name, size_t room,
                                                       void *ret_value, size_t *ret_size)
{
    cl_int code = front.target.clGetProgramInfo(handle, name, room, ret_value, ret_size);
    struct program_record *record;

    if (code != CL_SUCCESS || name != CL_PROGRAM_BINARIES || !ret_value || runtime_off() ||
        !known_binaries_wanted() || !(record = program_find(handle)))
        return code;
    known_binaries_remember(record, ret_value, room / sizeof(unsigned char *));
    program_unref(record);
    return code;
}
