/* Programs: built, rebuilt, released before their kernels, from binaries, linked, refused. */
#include "conformance.h"

#include <stdlib.h>

/* What the cases share: a buffer, and its bytes at the latest look. */
struct program_case {
    const struct world *world;
    cl_mem mem;
    cl_int content[ITEMS];
};

static cl_program from_parts(const struct program_case *c)
{
    const char *parts[2] = {"kernel void scale(global int *a, int factor)\n{ size_t i = get_global_id(0);",
                            " a[i] = a[i] * factor + 1; }\n"};

    return clCreateProgramWithSource(c->world->context, 2, parts, NULL, NULL);
}

static cl_int launch(const struct program_case *c, cl_kernel kernel)
{
    cl_int factor = 2;
    size_t global = ITEMS;

    clSetKernelArg(kernel, 0, sizeof c->mem, &c->mem);
    clSetKernelArg(kernel, 1, sizeof factor, &factor);
    return clEnqueueNDRangeKernel(c->world->in_order, kernel, 1, NULL, &global, NULL, 0, NULL, NULL);
}

static uint32_t look(struct program_case *c)
{
    clEnqueueReadBuffer(c->world->in_order, c->mem, CL_TRUE, 0, sizeof c->content, c->content, 0, NULL, NULL);
    return hash_bytes(0, c->content, sizeof c->content);
}

/* Runs the program's kernel and gives both back. */
static uint32_t run_and_release(struct program_case *c, cl_program program)
{
    cl_kernel kernel = clCreateKernel(program, "scale", NULL);
    uint32_t hash;

    launch(c, kernel);
    hash = look(c);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    return hash;
}

static void check_building(const struct program_case *c, cl_program program)
{
    cl_int code, factor = 2;
    cl_uint n_args = 0;
    char text[512] = "", names[64] = "";
    size_t size = 0, n_kernels = 0;
    cl_kernel kernel;

    line("program/unbuilt-kernel", "%d", (clCreateKernel(program, "scale", &code), code));
    code = clBuildProgram(program, 0, NULL, "-cl-mad-enable", NULL, NULL);
    clGetProgramInfo(program, CL_PROGRAM_SOURCE, sizeof text, text, &size);
    clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof n_kernels, &n_kernels, NULL);
    clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, sizeof names, names, NULL);
    line("program/info", "%d source %08x kernels %zu %s", code, hash_bytes(0, text, size), n_kernels, names);
    clGetProgramBuildInfo(program, c->world->device, CL_PROGRAM_BUILD_OPTIONS, sizeof text, text, NULL);
    line("program/options", "%s", text);
    line("program/no-such-kernel", "%d", (clCreateKernel(program, "nonesuch", &code), code));
    kernel = clCreateKernel(program, "scale", &code);
    clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof n_args, &n_args, NULL);
    clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof names, names, NULL);
    line("kernel/info", "%d args %u name %s", code, n_args, names);
    line("kernel/arg-index", "%d", clSetKernelArg(kernel, 2, sizeof factor, &factor));
    line("kernel/arg-size", "%d", clSetKernelArg(kernel, 0, 3, &c->mem));
    line("program/rebuild-attached", "%d", clBuildProgram(program, 0, NULL, "", NULL, NULL));
    clReleaseKernel(kernel);
    line("program/rebuild", "%d", clBuildProgram(program, 0, NULL, "", NULL, NULL));
}

/* Lets go of the program before its kernel runs, and gets it back from the kernel. */
static cl_program check_released_first(struct program_case *c, cl_program program)
{
    cl_int code;
    cl_uint n = 0;
    cl_kernel kernel;

    clCreateKernelsInProgram(program, 0, NULL, &n);
    code = clCreateKernelsInProgram(program, 1, &kernel, NULL);
    line("program/all-kernels", "%d %u", code, n);
    clReleaseProgram(program);
    code = launch(c, kernel);
    clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
    clRetainProgram(program);
    clReleaseKernel(kernel);
    line("program/released-first", "%d data %08x", code, look(c));
    return program;
}

static void check_binary(struct program_case *c, cl_program program)
{
    cl_int code;
    size_t size = 0, sizes[8] = {0};
    unsigned char *outputs[8] = {0};
    const unsigned char *input;
    cl_program again;

    clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, &size);
    outputs[0] = malloc(sizes[0] + 1);
    code = clGetProgramInfo(program, CL_PROGRAM_BINARIES, size / sizeof sizes[0] * sizeof outputs[0], outputs,
                            NULL);
    input = outputs[0];
    again = clCreateProgramWithBinary(c->world->context, 1, &c->world->device, sizes, &input, NULL, &code);
    free(outputs[0]);
    code = code ? code : clBuildProgram(again, 1, &c->world->device, "", NULL, NULL);
    line("program/binary", "%d data %08x", code, run_and_release(c, again));
}

static void check_linked(struct program_case *c)
{
    cl_program compiled = from_parts(c), linked;
    cl_int code = clCompileProgram(compiled, 0, NULL, "", 0, NULL, NULL, NULL, NULL), link_code = 0;

    linked = clLinkProgram(c->world->context, 0, NULL, "", 1, &compiled, NULL, NULL, &link_code);
    line("program/linked", "%d %d data %08x", code, link_code, run_and_release(c, linked));
    clReleaseProgram(compiled);
}

static void check_refused(const struct program_case *c)
{
    const char *bad = "#error no\nkernel void empty() {}\n";
    cl_int code;
    size_t size = 0;
    cl_program program = clCreateProgramWithSource(c->world->context, 1, &bad, NULL, NULL);

    code = clBuildProgram(program, 0, NULL, "", NULL, NULL);
    clGetProgramBuildInfo(program, c->world->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    line("program/bad", "%d log %s", code, size > 1 ? "yes" : "no");
    clReleaseProgram(program);
    line("program/no-source", "%d",
         (clCreateProgramWithSource(c->world->context, 0, NULL, NULL, &code), code));
}

void check_programs(const struct world *world)
{
    struct program_case c = {.world = world};
    cl_program program = from_parts(&c);

    c.mem = make_buffer(world, c.content);
    check_building(&c, program);
    program = check_released_first(&c, program);
    check_binary(&c, program);
    clReleaseProgram(program);
    check_linked(&c);
    check_refused(&c);
    clReleaseMemObject(c.mem);
}
