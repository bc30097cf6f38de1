#include "devices.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "harness.h"

const char devices_fast[] =
    "links: [{from: MEM0, to: HOST, gbps: 100}, {from: HOST, to: MEM0, gbps: 100}, {from: HOST, to: "
    "GPU0, gbps: 100}, {from: GPU0, to: HOST, gbps: 100}, {from: HOST, to: GPU1, gbps: 100}, "
    "{from: GPU1, to: HOST, gbps: 100}]\n";

static const char source[] =
    "__kernel void add(__global int *out, int value) { out[get_global_id(0)] += value; }\n";

void devices_open(struct devices *devices, const char *topology)
{
    const struct opencl *cl = opencl_get();
    const char *text = source;
    cl_platform_id platform;
    cl_uint n = 0;
    char folder[64];

    memset(devices, 0, sizeof *devices);
    ck_assert_ptr_nonnull(cl);
    devices->cl = *cl;
    ck_assert_int_eq(cl->clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
    ck_assert_int_eq(cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, devices->device, &n), CL_SUCCESS);
    ck_assert_msg(n >= 2, "needs POCL_DEVICES=\"basic basic\"");
    for (int d = 0; d < 2; d++) {
        cl_int error;

        devices->context[d] = cl->clCreateContext(NULL, 1, &devices->device[d], NULL, NULL, &error);
        ck_assert_int_eq(error, CL_SUCCESS);
        devices->program[d] = cl->clCreateProgramWithSource(devices->context[d], 1, &text, NULL, &error);
        ck_assert_int_eq(error, CL_SUCCESS);
        ck_assert_int_eq(cl->clBuildProgram(devices->program[d], 1, &devices->device[d], "", NULL, NULL),
                         CL_SUCCESS);
    }
    harness_folder(folder);
    (void)snprintf(devices->topology, sizeof devices->topology, "%s/topology.yaml", folder);
    ck_assert_int_eq(file_write_atomic(devices->topology, topology, strlen(topology)), 0);
}

void devices_close(struct devices *devices)
{
    for (int d = 0; d < 2; d++) {
        devices->cl.clReleaseProgram(devices->program[d]);
        devices->cl.clReleaseContext(devices->context[d]);
    }
}

struct baton_batcher *devices_batcher(struct devices *devices, enum baton_method method, const char *emulate,
                                      double ratio)
{
    struct baton_gpu gpus[] = {{"GPU0", devices->context[0], devices->device[0]},
                               {"GPU1", devices->context[1], devices->device[1]}};
    struct baton_batcher_config config = {.size = sizeof config,
                                          .topology = devices->topology,
                                          .gpus = gpus,
                                          .n_gpus = 2,
                                          .method = method,
                                          .emulate = emulate,
                                          .emulate_ratio = ratio};
    struct batch_libraries libraries = {.cl = &devices->cl};
    struct baton_batcher *batcher = NULL;
    char message[600] = "";

    ck_assert_msg(batcher_new_over(&libraries, &config, &batcher, message, sizeof message) == 0, "%s",
                  message);
    return batcher;
}

cl_mem devices_buffer(struct devices *devices, int device, size_t bytes)
{
    cl_int error;
    cl_mem buffer =
        devices->cl.clCreateBuffer(devices->context[device], CL_MEM_READ_WRITE, bytes, NULL, &error);

    ck_assert_int_eq(error, CL_SUCCESS);
    return buffer;
}

cl_kernel devices_kernel(struct devices *devices, int device, const char *name)
{
    cl_int error;
    cl_kernel kernel = devices->cl.clCreateKernel(devices->program[device], name, &error);

    ck_assert_int_eq(error, CL_SUCCESS);
    return kernel;
}

void devices_keep_name(uintptr_t device, char name[DEVICE_NAME_SIZE])
{
    (void)device;
    (void)name;
}
