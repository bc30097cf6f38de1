#include "conformance.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char source[] =
    "kernel void empty() {}\n"
    "kernel void add(global const int *a, global const int *b, global int *c)\n"
    "{ size_t i = get_global_id(0); c[i] = a[i] + b[i]; }\n"
    "kernel void scale(global int *a, int factor)\n"
    "{ size_t i = get_global_id(0); a[i] = a[i] * factor + 1; }\n"
    "kernel __attribute__((reqd_work_group_size(8, 1, 1))) void fixed(global int *a)\n"
    "{ a[get_global_id(0)] = 7; }\n"
    "kernel void shape(global int *out)\n"
    "{\n"
    "    size_t at = (get_global_id(0) - get_global_offset(0)) + get_global_size(0) *\n"
    "        ((get_global_id(1) - get_global_offset(1)) + get_global_size(1) * (get_global_id(2) - "
    "get_global_offset(2)));\n"
    "    for (uint d = 0; d < 3; d++) {\n"
    "        out[16 * at + d] = get_global_id(d); out[16 * at + 3 + d] = get_group_id(d);\n"
    "        out[16 * at + 6 + d] = get_local_id(d);\n"
    "        out[16 * at + 9 + d] = d < get_work_dim() ? get_num_groups(d) : 1;\n"
    "        out[16 * at + 12 + d] = d < get_work_dim() ? get_global_size(d) : 1;\n"
    "    }\n"
    "    out[16 * at + 15] = get_work_dim();\n"
    "}\n"
    "kernel void group_sum(global const int *in, local int *scratch, global int *out)\n"
    "{\n"
    "    size_t l = get_local_id(0);\n"
    "    scratch[l] = in[get_global_id(0)];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (l == 0) { int sum = 0; for (size_t i = 0; i < get_local_size(0); i++) sum += scratch[i]; "
    "out[get_group_id(0)] = sum; }\n"
    "}\n";

void line(const char *name, const char *format, ...)
{
    va_list arguments;

    printf("%s: ", name);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
}

uint32_t hash_bytes(uint32_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;

    if (!hash)
        hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 16777619u;
    return hash;
}

cl_int event_status(cl_event event)
{
    cl_int status = 99;

    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    return status;
}

static bool world_make(struct world *ret_world)
{
    struct world *world = ret_world;
    const char *text = source;
    char name[64] = "";
    cl_uint n = 0;
    cl_int code;
    cl_device_exec_capabilities capabilities = 0;
    cl_device_svm_capabilities svm = 0;

    memset(world, 0, sizeof *world);
    if (clGetPlatformIDs(1, &world->platform, &n) || !n)
        return false;
    if (clGetDeviceIDs(world->platform, CL_DEVICE_TYPE_ALL, 1, &world->device, NULL) &&
        clGetDeviceIDs(world->platform, CL_DEVICE_TYPE_DEFAULT, 1, &world->device, NULL))
        return false;
    clGetDeviceInfo(world->device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof capabilities, &capabilities,
                    NULL);
    clGetDeviceInfo(world->device, CL_DEVICE_SVM_CAPABILITIES, sizeof svm, &svm, NULL);
    world->native = (capabilities & CL_EXEC_NATIVE_KERNEL) != 0;
    world->svm = svm != 0;
    world->images = true;
    clGetPlatformInfo(world->platform, CL_PLATFORM_NAME, sizeof name, name, NULL);
    world->pocl = !strcmp(name, "Portable Computing Language");
    world->context = clCreateContext(NULL, 1, &world->device, NULL, NULL, &code);
    world->other_context = clCreateContext(NULL, 1, &world->device, NULL, NULL, &code);
    world->program = clCreateProgramWithSource(world->context, 1, &text, NULL, &code);
    if (clBuildProgram(world->program, 1, &world->device, "", NULL, NULL))
        return false;
    world->in_order = clCreateCommandQueue(world->context, world->device, CL_QUEUE_PROFILING_ENABLE, &code);
    world->second = clCreateCommandQueue(world->context, world->device, 0, &code);
    world->out_of_order =
        clCreateCommandQueue(world->context, world->device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);
    world->other_queue = clCreateCommandQueue(world->other_context, world->device, 0, &code);
    return code == CL_SUCCESS;
}

static void world_free(struct world *world)
{
    clReleaseCommandQueue(world->in_order);
    clReleaseCommandQueue(world->second);
    clReleaseCommandQueue(world->out_of_order);
    clReleaseCommandQueue(world->other_queue);
    clReleaseProgram(world->program);
    clReleaseContext(world->context);
    clReleaseContext(world->other_context);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(const struct world *);
    } groups[] = {{"calls", check_calls},   {"errors", check_errors},   {"objects", check_objects},
                  {"events", check_events}, {"kernels", check_kernels}, {"orders", check_orders},
                  {"maps", check_maps},     {"images", check_images}};
    struct world world;

    if (!world_make(&world)) {
        fprintf(stderr, "conformance: no usable OpenCL device\n");
        return 3;
    }
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        bool chosen = argc < 2;
        for (int j = 1; j < argc; j++)
            chosen = chosen || !strcmp(argv[j], groups[i].name);
        if (chosen)
            groups[i].run(&world);
    }
    world_free(&world);
    return 0;
}
