/*
 * Programs: the source is scanned for `kernel void NAME(...)`; kernels.c holds the bodies. A
 * "binary" is a header and the source, so that it can be loaded again.
 */
#include "fake.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "translate/piece.h"

static const char binary_magic[8] = "FAKEBIN";

cl_program fake_program_new(cl_context context, char *source)
{
    cl_program program = calloc(1, sizeof *program);

    fake_object_init(&program->object, FAKE_PROGRAM);
    program->context = context;
    program->source = source;
    program->status = CL_BUILD_NONE;
    program->log = "";
    atomic_fetch_add(&context->object.refs, 1);
    return program;
}

FAKE_API cl_program CL_API_CALL fake_clCreateProgramWithSource(cl_context context, cl_uint n,
                                                               const char **strings, const size_t *lengths,
                                                               cl_int *ret_code)
{
    cl_int code = fake_script_fail("CreateProgramWithSource");
    size_t total = 0;
    char *source;

    if (!fake_is(context, FAKE_CONTEXT))
        code = CL_INVALID_CONTEXT;
    else if (n == 0 || !strings)
        code = CL_INVALID_VALUE;
    for (cl_uint i = 0; code == CL_SUCCESS && i < n; i++) {
        if (!strings[i])
            code = CL_INVALID_VALUE;
        else
            total += lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
    }
    if (ret_code)
        *ret_code = code;
    if (code != CL_SUCCESS)
        return NULL;
    source = calloc(1, total + 1);
    for (cl_uint i = 0; i < n; i++)
        strncat(source, strings[i], lengths && lengths[i] ? lengths[i] : strlen(strings[i]));
    return fake_program_new(context, source);
}

FAKE_API cl_program CL_API_CALL fake_clCreateProgramWithBinary(cl_context context, cl_uint n,
                                                               const cl_device_id *devices,
                                                               const size_t *lengths,
                                                               const unsigned char **binaries,
                                                               cl_int *ret_status, cl_int *ret_code)
{
    cl_program program = NULL;
    cl_int code = CL_SUCCESS;

    if (!fake_is(context, FAKE_CONTEXT))
        code = CL_INVALID_CONTEXT;
    else if (n == 0 || !devices || !lengths || !binaries || !lengths[0] || !binaries[0])
        code = CL_INVALID_VALUE;
    else if (lengths[0] < sizeof binary_magic || memcmp(binaries[0], binary_magic, sizeof binary_magic) != 0)
        code = CL_INVALID_BINARY;
    if (ret_status)
        for (cl_uint i = 0; i < n; i++)
            ret_status[i] = code;
    if (code == CL_SUCCESS) {
        size_t length = lengths[0] - sizeof binary_magic;
        char *source = calloc(1, length + 1);
        memcpy(source, binaries[0] + sizeof binary_magic, length);
        program = fake_program_new(context, source);
        program->from_binary = true;
    }
    if (ret_code)
        *ret_code = code;
    return program;
}

static void trim(char *ret_text, const char *begin, const char *end)
{
    size_t n;

    while (begin < end && isspace((unsigned char)*begin))
        begin++;
    while (end > begin && isspace((unsigned char)end[-1]))
        end--;
    n = (size_t)(end - begin) < FAKE_NAME - 1 ? (size_t)(end - begin) : FAKE_NAME - 1;
    memcpy(ret_text, begin, n);
    ret_text[n] = 0;
}

static void scan_arg(struct fake_signature *kernel, const char *begin, const char *end)
{
    struct fake_arg_info *arg = &kernel->args[kernel->n_args];
    char text[FAKE_NAME], *name, *tail;

    trim(text, begin, end);
    if (!*text || !strcmp(text, "void") || kernel->n_args == FAKE_MAX_ARGS)
        return;
    arg->address = strstr(text, "global")  ? CL_KERNEL_ARG_ADDRESS_GLOBAL
                   : strstr(text, "local") ? CL_KERNEL_ARG_ADDRESS_LOCAL
                                           : CL_KERNEL_ARG_ADDRESS_PRIVATE;
    for (tail = text + strlen(text), name = tail;
         name > text && (isalnum((unsigned char)name[-1]) || name[-1] == '_'); name--)
        ;
    trim(arg->name, name, tail);
    trim(arg->type, text, name);
    arg->size = arg->address == CL_KERNEL_ARG_ADDRESS_GLOBAL ? sizeof(cl_mem) : 0;
    if (arg->address == CL_KERNEL_ARG_ADDRESS_PRIVATE)
        arg->size = strstr(arg->type, "int") ? sizeof(cl_int) : 0;
    kernel->n_args++;
}

/* Reads one `kernel void name(args)`; at points behind "kernel". Returns where to go on. */
static const char *scan_kernel(cl_program program, const char *at)
{
    struct fake_signature *kernel = &program->kernels[program->n_kernels];
    const char *open = strchr(at, '('), *name, *end, *arg;
    int depth = 0;

    /* Attributes have parentheses of their own: `kernel __attribute__((...)) void name(`. */
    while (open && open > at && strstr(at, "__attribute__") && strstr(at, "__attribute__") < open) {
        for (depth = 0, end = open; *end; end++) {
            depth += (*end == '(') - (*end == ')');
            if (!depth)
                break;
        }
        at = *end ? end + 1 : end;
        open = strchr(at, '(');
    }
    if (!open || program->n_kernels == FAKE_MAX_KERNELS)
        return at;
    memset(kernel, 0, sizeof *kernel);
    for (end = open; end > at && isspace((unsigned char)end[-1]); end--)
        ;
    for (name = end; name > at && (isalnum((unsigned char)name[-1]) || name[-1] == '_'); name--)
        ;
    trim(kernel->name, name, end);
    for (arg = open + 1, end = arg, depth = 1; *end && depth; end++) {
        depth += (*end == '(') - (*end == ')');
        if ((*end == ',' && depth == 1) || !depth) {
            scan_arg(kernel, arg, end);
            arg = end + 1;
        }
    }
    kernel->builtin = fake_builtin_find(kernel->name);
    for (cl_uint i = 0; i < program->n_kernels; i++)
        if (!strcmp(program->kernels[i].name, kernel->name))
            return end; /* a declaration before its definition */
    if (kernel->builtin)
        program->n_kernels++;
    return end;
}

static void scan_source(cl_program program)
{
    const char *at = program->source;

    program->n_kernels = 0;
    while ((at = strstr(at, "kernel"))) {
        at += strlen("kernel");
        if (strncmp(at, "__", 2) == 0)
            at += 2;
        if (isspace((unsigned char)*at))
            at = scan_kernel(program, at);
    }
    for (cl_uint i = 0; i < program->n_kernels; i++) {
        struct fake_signature *kernel = &program->kernels[i];
        kernel->sliced = kernel->n_args == fake_builtin_args(kernel->builtin) + 1;
        if (kernel->sliced)
            kernel->args[kernel->n_args - 1].size = sizeof(struct piece);
    }
}

/*
 * There is no preprocessor here: an #error counts where no condition stands before it, and
 * conditions hold.
 */
static bool has_error(const char *source)
{
    const char *error = strstr(source, "#error"), *condition = strstr(source, "#if");

    return error && (!condition || error < condition);
}

static cl_int build(cl_program program, const char *options, bool executable, const char *call)
{
    cl_int code = fake_script_fail(call);

    if (code)
        return code;
    if (options && strstr(options, "-bad-option"))
        return CL_INVALID_BUILD_OPTIONS;
    if (atomic_load(&program->n_attached))
        return CL_INVALID_OPERATION;
    (void)snprintf(program->options, sizeof program->options, "%s", options ? options : "");
    if (has_error(program->source)) {
        program->status = CL_BUILD_ERROR;
        program->log = "error: #error\n";
        return executable ? CL_BUILD_PROGRAM_FAILURE : CL_COMPILE_PROGRAM_FAILURE;
    }
    program->status = CL_BUILD_SUCCESS;
    program->binary_type =
        executable ? CL_PROGRAM_BINARY_TYPE_EXECUTABLE : CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT;
    scan_source(program);
    return CL_SUCCESS;
}

/*
 * As in drivers with a compiler inside: its statics are made by the first build and destroyed at
 * exit, and no build survives that.
 */
static atomic_bool compiler_gone;
static pthread_once_t compiler_once = PTHREAD_ONCE_INIT;

static void destroy_compiler(void)
{
    atomic_store(&compiler_gone, true);
}

static void make_compiler(void)
{
    (void)atexit(destroy_compiler);
}

FAKE_API cl_int CL_API_CALL fake_clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices,
                                                const char *options,
                                                void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    cl_int code;

    if (!fake_is(program, FAKE_PROGRAM))
        return CL_INVALID_PROGRAM;
    if ((n == 0) != (devices == NULL) || (!notify && data))
        return CL_INVALID_VALUE;
    pthread_once(&compiler_once, make_compiler);
    (void)usleep((useconds_t)(fake_script_duration("BuildProgram") / 1000));
    if (atomic_load(&compiler_gone))
        abort();
    code = build(program, options, true, "BuildProgram");
    if (notify)
        notify(program, data);
    return code;
}

FAKE_API cl_int CL_API_CALL fake_clCompileProgram(cl_program program, cl_uint n, const cl_device_id *devices,
                                                  const char *options, cl_uint n_headers,
                                                  const cl_program *headers, const char **names,
                                                  void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    cl_int code;

    (void)headers;
    (void)names;
    if (!fake_is(program, FAKE_PROGRAM))
        return CL_INVALID_PROGRAM;
    if ((n == 0) != (devices == NULL) || (!notify && data) || (n_headers && !headers))
        return CL_INVALID_VALUE;
    code = build(program, options, false, "CompileProgram");
    if (notify)
        notify(program, data);
    return code;
}

FAKE_API cl_program CL_API_CALL fake_clLinkProgram(cl_context context, cl_uint n_devices,
                                                   const cl_device_id *devices, const char *options,
                                                   cl_uint n, const cl_program *programs,
                                                   void(CL_CALLBACK *notify)(cl_program, void *), void *data,
                                                   cl_int *ret_code)
{
    cl_int code = CL_SUCCESS;
    cl_program linked = NULL;
    size_t total = 1;
    char *source;

    (void)n_devices;
    (void)devices;
    if (!fake_is(context, FAKE_CONTEXT))
        code = CL_INVALID_CONTEXT;
    else if (n == 0 || !programs)
        code = CL_INVALID_VALUE;
    for (cl_uint i = 0; code == CL_SUCCESS && i < n; i++) {
        if (!fake_is(programs[i], FAKE_PROGRAM))
            code = CL_INVALID_PROGRAM;
        else if (programs[i]->status != CL_BUILD_SUCCESS)
            code = CL_INVALID_OPERATION;
        else
            total += strlen(programs[i]->source) + 1;
    }
    if (code == CL_SUCCESS) {
        source = calloc(1, total);
        for (cl_uint i = 0; i < n; i++)
            strcat(strcat(source, programs[i]->source), "\n");
        linked = fake_program_new(context, source);
        code = build(linked, options, true, "LinkProgram");
        if (notify)
            notify(linked, data);
    }
    if (ret_code)
        *ret_code = code;
    return linked;
}

FAKE_API cl_int CL_API_CALL fake_clUnloadCompiler(void)
{
    return CL_SUCCESS;
}

FAKE_API cl_int CL_API_CALL fake_clUnloadPlatformCompiler(cl_platform_id platform)
{
    return fake_is(platform, FAKE_PLATFORM) ? CL_SUCCESS : CL_INVALID_PLATFORM;
}

void fake_program_release(cl_program program)
{
    if (atomic_fetch_sub(&program->object.refs, 1) != 1)
        return;
    program->object.kind = 0;
    fake_context_release(program->context);
    free(program->source);
    free(program);
}

static cl_int answer_binaries(cl_program program, size_t room, void *ret_value, size_t *ret_size)
{
    unsigned char **outputs = ret_value;

    if (ret_value && room < fake_script_devices() * sizeof *outputs)
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; ret_value && i < fake_script_devices(); i++) {
        if (!outputs[i])
            continue;
        memcpy(outputs[i], binary_magic, sizeof binary_magic);
        memcpy(outputs[i] + sizeof binary_magic, program->source, strlen(program->source));
    }
    if (ret_size)
        *ret_size = fake_script_devices() * sizeof *outputs;
    return CL_SUCCESS;
}

FAKE_API cl_int CL_API_CALL fake_clGetProgramInfo(cl_program program, cl_program_info name, size_t room,
                                                  void *ret_value, size_t *ret_size)
{
    cl_device_id devices[FAKE_MAX_DEVICES];
    size_t sizes[FAKE_MAX_DEVICES];
    char names[FAKE_MAX_KERNELS * FAKE_NAME] = "";

    fake_list_devices(devices);
    if (!fake_is(program, FAKE_PROGRAM))
        return CL_INVALID_PROGRAM;
    switch (name) {
    case CL_PROGRAM_REFERENCE_COUNT:
        FAKE_ANSWER(cl_uint, atomic_load(&program->object.refs));
    case CL_PROGRAM_CONTEXT:
        FAKE_ANSWER(cl_context, program->context);
    case CL_PROGRAM_NUM_DEVICES:
        FAKE_ANSWER(cl_uint, fake_script_devices());
    case CL_PROGRAM_DEVICES:
        return fake_answer(devices, fake_script_devices() * sizeof devices[0], room, ret_value, ret_size);
    case CL_PROGRAM_SOURCE:
        return fake_answer(program->from_binary ? "" : program->source,
                           program->from_binary ? 1 : strlen(program->source) + 1, room, ret_value, ret_size);
    case CL_PROGRAM_BINARY_SIZES:
        for (cl_uint i = 0; i < FAKE_MAX_DEVICES; i++)
            sizes[i] =
                program->status == CL_BUILD_SUCCESS ? strlen(program->source) + sizeof binary_magic : 0;
        return fake_answer(sizes, fake_script_devices() * sizeof sizes[0], room, ret_value, ret_size);
    case CL_PROGRAM_BINARIES:
        return answer_binaries(program, room, ret_value, ret_size);
    case CL_PROGRAM_NUM_KERNELS:
        if (program->status != CL_BUILD_SUCCESS)
            return CL_INVALID_PROGRAM_EXECUTABLE;
        FAKE_ANSWER(size_t, program->n_kernels);
    case CL_PROGRAM_KERNEL_NAMES:
        if (program->status != CL_BUILD_SUCCESS)
            return CL_INVALID_PROGRAM_EXECUTABLE;
        for (cl_uint i = 0; i < program->n_kernels; i++)
            strcat(strcat(names, i ? ";" : ""), program->kernels[i].name);
        return fake_answer(names, strlen(names) + 1, room, ret_value, ret_size);
    default:
        return CL_INVALID_VALUE;
    }
}

FAKE_API cl_int CL_API_CALL fake_clGetProgramBuildInfo(cl_program program, cl_device_id device,
                                                       cl_program_build_info name, size_t room,
                                                       void *ret_value, size_t *ret_size)
{
    if (!fake_is(program, FAKE_PROGRAM))
        return CL_INVALID_PROGRAM;
    if (!fake_is(device, FAKE_DEVICE))
        return CL_INVALID_DEVICE;
    switch (name) {
    case CL_PROGRAM_BUILD_STATUS:
        FAKE_ANSWER(cl_build_status, program->status);
    case CL_PROGRAM_BUILD_OPTIONS:
        return fake_answer(program->options, strlen(program->options) + 1, room, ret_value, ret_size);
    case CL_PROGRAM_BUILD_LOG:
        return fake_answer(program->log, strlen(program->log) + 1, room, ret_value, ret_size);
    case CL_PROGRAM_BINARY_TYPE:
        FAKE_ANSWER(cl_program_binary_type, program->binary_type);
    default:
        return CL_INVALID_VALUE;
    }
}
