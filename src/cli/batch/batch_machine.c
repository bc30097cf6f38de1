#include "cli/batch/batch_machine.h"

#include <errno.h>
#include <math.h>

#include "base/clock.h"

/* A chain of multiplications that no compiler can shorten; the number of rounds is its length. */
static const char spin_source[] = "__kernel void spin(__global uint *out, ulong rounds)\n"
                                  "{\n"
                                  "    uint x = (uint)get_global_id(0) + (uint)rounds;\n"
                                  "    for (ulong i = 0; i < rounds; i++)\n"
                                  "        x = (x ^ (x >> 13)) * 1664525u + 1013904223u;\n"
                                  "    out[get_global_id(0)] = x;\n"
                                  "}\n";

#define PROBE_ROUNDS ((cl_ulong)1 << 20)
#define N_PROBES     12

int machine_list(const struct cli_args *args, struct batch_machine *ret_machine)
{
    struct batch_machine *machine = ret_machine;
    cl_platform_id platforms[16];
    cl_uint n_platforms = 0;

    *machine = (struct batch_machine){.cl = opencl_get()};
    if (!machine->cl)
        return cli_fail_environment(args, -ENODEV, "libOpenCL.so.1, or a function of OpenCL 2.1 in it");
    if (machine->cl->clGetPlatformIDs(16, platforms, &n_platforms) != CL_SUCCESS)
        n_platforms = 0;
    for (cl_uint p = 0; p < n_platforms && p < 16; p++) {
        cl_device_id devices[MACHINE_MAX_DEVICES];
        cl_uint n = 0;

        if (machine->cl->clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MACHINE_MAX_DEVICES, devices, &n) !=
            CL_SUCCESS)
            continue;
        for (cl_uint d = 0; d < n && machine->n < MACHINE_MAX_DEVICES; d++) {
            struct machine_device *device = &machine->devices[machine->n++];

            device->device = devices[d];
            machine->cl->clGetDeviceInfo(devices[d], CL_DEVICE_NAME, sizeof device->name - 1, device->name,
                                         NULL);
        }
    }
    if (machine->n == 0)
        return cli_fail_environment(args, -ENODEV, "an OpenCL device");
    return 0;
}

void machine_done(struct batch_machine *machine)
{
    for (size_t i = 0; i < machine->n; i++) {
        struct machine_device *device = &machine->devices[i];

        if (device->scratch)
            machine->cl->clReleaseMemObject(device->scratch);
        if (device->program)
            machine->cl->clReleaseProgram(device->program);
        if (device->context)
            machine->cl->clReleaseContext(device->context);
    }
    *machine = (struct batch_machine){0};
}

static cl_kernel make_kernel(const struct batch_machine *machine, size_t index, cl_ulong rounds)
{
    const struct machine_device *device = &machine->devices[index];
    cl_int error;
    cl_kernel kernel = machine->cl->clCreateKernel(device->program, "spin", &error);

    if (error || machine->cl->clSetKernelArg(kernel, 0, sizeof device->scratch, &device->scratch) ||
        machine->cl->clSetKernelArg(kernel, 1, sizeof rounds, &rounds)) {
        if (!error)
            machine->cl->clReleaseKernel(kernel);
        return NULL;
    }
    return kernel;
}

/*
 * Rounds per nanosecond: the fastest of a few probes, because disturbances only slow them down. 0:
 * OpenCL failed.
 */
static double measure_spin(const struct batch_machine *machine, size_t index)
{
    const struct opencl *cl = machine->cl;
    struct machine_device device = machine->devices[index];
    cl_int error;
    cl_command_queue queue =
        cl->clCreateCommandQueueWithProperties(device.context, device.device, NULL, &error);
    cl_kernel kernel = error ? NULL : make_kernel(machine, index, PROBE_ROUNDS);
    double fastest = 0;
    const size_t one = 1;

    for (size_t i = 0; kernel && !error && i < N_PROBES; i++) {
        baton_nsec begin = clock_now();

        error = cl->clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL);
        if (!error)
            error = cl->clFinish(queue);
        fastest = fmax(fastest, (double)PROBE_ROUNDS / (double)(clock_now() - begin));
    }
    if (kernel)
        cl->clReleaseKernel(kernel);
    if (queue)
        cl->clReleaseCommandQueue(queue);
    return error || !kernel ? 0 : fastest;
}

int machine_open_device(const struct cli_args *args, struct batch_machine *machine, size_t index)
{
    struct machine_device *device = &machine->devices[index];
    const struct opencl *cl = machine->cl;
    const char *source = spin_source;
    cl_int error;

    if (device->context)
        return 0;
    device->context = cl->clCreateContext(NULL, 1, &device->device, NULL, NULL, &error);
    if (error)
        return cli_fail_environment(args, -EIO, "device %zu (%s): %s", index, device->name,
                                    opencl_error_name(error));
    device->scratch = cl->clCreateBuffer(device->context, CL_MEM_READ_WRITE, 4096, NULL, &error);
    if (!error)
        device->program = cl->clCreateProgramWithSource(device->context, 1, &source, NULL, &error);
    if (!error)
        error = cl->clBuildProgram(device->program, 1, &device->device, "", NULL, NULL);
    if (!error)
        device->spins_per_ns = measure_spin(machine, index);
    if (error || device->spins_per_ns <= 0)
        return cli_fail_environment(args, -EIO, "device %zu (%s): %s", index, device->name,
                                    opencl_error_name(error));
    return 0;
}

cl_kernel machine_kernel(const struct batch_machine *machine, size_t device, baton_nsec length)
{
    double rounds = machine->devices[device].spins_per_ns * (double)length;

    return make_kernel(machine, device, rounds < 1 ? 1 : (cl_ulong)rounds);
}
