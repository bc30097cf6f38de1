#include "runner.h"
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *device_string(cl_device_id device, cl_device_info what)
{
    size_t n = 0;
    char *text;

    ck_assert_int_eq(clGetDeviceInfo(device, what, 0, NULL, &n), CL_SUCCESS);
    text = calloc(n + 1, 1);
    ck_assert_int_eq(clGetDeviceInfo(device, what, n, text, NULL), CL_SUCCESS);
    return text;
}

static char *feature_names(cl_device_id device)
{
    cl_name_version features[64];
    char *text = calloc(64, 70);
    size_t n = 0;

    if (clGetDeviceInfo(device, CL_DEVICE_OPENCL_C_FEATURES, sizeof features, features, &n) == CL_SUCCESS)
        for (size_t i = 0; i < n / sizeof features[0]; i++) {
            strcat(text, features[i].name);
            strcat(text, " ");
        }
    return text;
}

void runner_open(struct runner *runner)
{
    struct translate_device *description = &runner->description;
    cl_platform_id platform;
    cl_int error;

    memset(runner, 0, sizeof *runner);
    ck_assert_int_eq(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
    ck_assert_int_eq(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &runner->device, NULL), CL_SUCCESS);
    runner->context = clCreateContext(NULL, 1, &runner->device, NULL, NULL, &error);
    ck_assert_int_eq(error, CL_SUCCESS);
    runner->queue = clCreateCommandQueueWithProperties(runner->context, runner->device, NULL, &error);
    ck_assert_int_eq(error, CL_SUCCESS);
    description->version = device_string(runner->device, CL_DEVICE_VERSION);
    description->c_version = device_string(runner->device, CL_DEVICE_OPENCL_C_VERSION);
    description->extensions = device_string(runner->device, CL_DEVICE_EXTENSIONS);
    description->features = feature_names(runner->device);
    description->driver = device_string(runner->device, CL_DEVICE_VERSION);
    description->address_bits = 64;
    description->images = true;
    description->little_endian = true;
}

void runner_close(struct runner *runner)
{
    clReleaseCommandQueue(runner->queue);
    clReleaseContext(runner->context);
    free((char *)runner->description.version);
    free((char *)runner->description.c_version);
    free((char *)runner->description.extensions);
    free((char *)runner->description.features);
    free((char *)runner->description.driver);
}

cl_program runner_build(const struct runner *runner, const char *source, const char *options)
{
    cl_program program = clCreateProgramWithSource(runner->context, 1, &source, NULL, NULL);

    if (clBuildProgram(program, 1, &runner->device, options, NULL, NULL) != CL_SUCCESS) {
        static char log[20000];

        clGetProgramBuildInfo(program, runner->device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
        ck_abort_msg("does not build: %s\n%s", log, source);
    }
    return program;
}

int runner_translate(const struct runner *runner, const char *source, const char *options,
                     enum translate_mode mode, struct translate_result *ret_result)
{
    size_t length = strlen(source);
    struct translate_request request = {.mode = mode,
                                        .sources = &source,
                                        .lengths = &length,
                                        .n_sources = 1,
                                        .options = options,
                                        .device = runner->description};

    return translate_program(&request, ret_result);
}

void pair_build(const struct runner *runner, const char *source, const char *options, struct pair *ret_pair)
{
    int r = runner_translate(runner, source, options, TRANSLATE_BUILD, &ret_pair->result);

    ck_assert_msg(r == 0, "not translated: %s\n%s", r > 0 ? ret_pair->result.reason : strerror(-r), source);
    ret_pair->whole = runner_build(runner, source, options);
    ret_pair->pieces = runner_build(runner, ret_pair->result.source, ret_pair->result.options);
}

void pair_free(struct pair *pair)
{
    clReleaseProgram(pair->whole);
    clReleaseProgram(pair->pieces);
    translate_result_done(&pair->result);
}

cl_mem runner_buffer(const struct runner *runner, size_t bytes, const void *content)
{
    cl_int error;
    cl_mem buffer = clCreateBuffer(runner->context, CL_MEM_COPY_HOST_PTR, bytes, (void *)content, &error);

    ck_assert_int_eq(error, CL_SUCCESS);
    return buffer;
}

void runner_whole(const struct runner *runner, cl_kernel kernel, const struct piece_launch *launch)
{
    cl_int error = clEnqueueNDRangeKernel(runner->queue, kernel, launch->work_dim, launch->offset,
                                          launch->global, launch->local, 0, NULL, NULL);

    ck_assert_int_eq(error, CL_SUCCESS);
    ck_assert_int_eq(clFinish(runner->queue), CL_SUCCESS);
}

static void run_range(const struct runner *runner, cl_kernel kernel, uint32_t n_args,
                      const struct piece_launch *launch, struct piece *piece, uint32_t begin, uint32_t end)
{
    size_t global[3];

    ck_assert_int_eq(piece_range(piece, launch, begin, end, 64, global), 0);
    ck_assert_int_eq(clSetKernelArg(kernel, n_args, sizeof *piece, piece), CL_SUCCESS);
    ck_assert_int_eq(clEnqueueNDRangeKernel(runner->queue, kernel, launch->work_dim, NULL, global,
                                            launch->local, 0, NULL, NULL),
                     CL_SUCCESS);
}

void runner_pieces(const struct runner *runner, cl_kernel kernel, uint32_t n_args,
                   const struct piece_launch *launch, struct random_state *random)
{
    uint32_t cuts[18] = {0};
    uint32_t order[17] = {0};
    uint32_t n = 1 + (uint32_t)random_below(random, 16);
    struct piece piece;
    uint32_t n_groups;

    ck_assert_int_eq(piece_of_launch(launch, &piece, &n_groups), 0);
    for (uint32_t i = 1; i < n; i++)
        cuts[i] = (uint32_t)random_below(random, n_groups + 1);
    cuts[n] = n_groups;
    for (uint32_t i = 1; i < n; i++) /* ascending */
        for (uint32_t j = i; j > 1 && cuts[j] < cuts[j - 1]; j--) {
            uint32_t swap = cuts[j];

            cuts[j] = cuts[j - 1];
            cuts[j - 1] = swap;
        }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = (uint32_t)random_below(random, i + 1);

        order[i] = order[j];
        order[j] = i;
    }
    for (uint32_t i = 0; i < n; i++)
        if (cuts[order[i]] < cuts[order[i] + 1])
            run_range(runner, kernel, n_args, launch, &piece, cuts[order[i]], cuts[order[i] + 1]);
    ck_assert_int_eq(clFinish(runner->queue), CL_SUCCESS);
}

struct piece_launch runner_random_launch(struct random_state *random, size_t most)
{
    static const size_t locals[] = {1, 2, 3, 4, 5, 7, 8, 16, 31, 64};
    struct piece_launch launch = {.work_dim = 1 + (uint32_t)random_below(random, 3)};
    size_t left = most;
    size_t group = 256;

    for (uint32_t d = 0; d < launch.work_dim; d++) {
        size_t local = locals[random_below(random, sizeof locals / sizeof locals[0])];
        size_t groups;

        while (local > group || local > left)
            local = local / 2 + (local == 3);
        local = local ? local : 1;
        groups = 1 + random_below(random, left / local < 40 ? left / local : 40);
        launch.local[d] = local;
        launch.global[d] = local * groups;
        launch.offset[d] = random_below(random, 3) ? 0 : random_below(random, 70000);
        group /= local;
        left /= local * groups;
        left = left ? left : 1;
        group = group ? group : 1;
    }
    return launch;
}

void runner_vary(struct random_state *random, struct piece_launch *launch)
{
    for (uint32_t d = 0; d < launch->work_dim; d++) {
        launch->global[d] =
            launch->local[d] * (1 + random_below(random, launch->global[d] / launch->local[d]));
        launch->offset[d] = random_below(random, 2) ? 0 : random_below(random, 70000);
    }
}
