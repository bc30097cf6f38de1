/*
 * A periodic program with a short kernel: every period it sends 4 KiB to the device, runs one
 * kernel, and reads 4 KiB back. It prints how its jobs fared, from the release (the start of the
 * period) to the last byte, and checks every result.
 *
 *   urgent --calibrate MS      prints how many steps make the kernel take so long on this device
 *   urgent --steps N [--period MS] [--deadline MS] [--jobs N] [--seconds S] [--warm N] [--list]
 *
 * Ends after so many jobs or so many seconds, whichever comes first. A release that passes while a
 * job runs is skipped and counts as a miss. Prints one line of names and numbers: jobs, releases,
 * misses, p50_ms, p99_ms, max_ms (from the release), call_p50_ms, call_p99_ms, call_max_ms (from
 * the first OpenCL call, so without the time that the operating system took to wake the program),
 * wrong. The first jobs (--warm) are run but not counted: they touch memory for the first time.
 * --list prints every job's two times before it, and the instant of its first call
 * (CLOCK_MONOTONIC, ms).
 */
#include <stdio.h>

#include "device.h"

enum { ITEMS = 1024, LOCAL = 64 };

struct urgent {
    struct device device;
    cl_kernel kernel;
    cl_mem buffer;
    uint32_t in[ITEMS], out[ITEMS];
    uint32_t steps;
};

static void run_job(void *user, uint32_t seed)
{
    struct urgent *urgent = user;
    size_t global = ITEMS;
    size_t local = LOCAL;
    cl_command_queue queue = urgent->device.queue;

    for (uint32_t i = 0; i < ITEMS; i++)
        urgent->in[i] = seed * ITEMS + i;
    device_must(clEnqueueWriteBuffer(queue, urgent->buffer, CL_FALSE, 0, sizeof urgent->in, urgent->in, 0,
                                     NULL, NULL),
                "clEnqueueWriteBuffer");
    device_must(clEnqueueNDRangeKernel(queue, urgent->kernel, 1, NULL, &global, &local, 0, NULL, NULL),
                "clEnqueueNDRangeKernel");
    device_must(clEnqueueReadBuffer(queue, urgent->buffer, CL_TRUE, 0, sizeof urgent->out, urgent->out, 0,
                                    NULL, NULL),
                "clEnqueueReadBuffer");
}

static bool is_right(void *user)
{
    const struct urgent *urgent = user;

    for (size_t i = 0; i < ITEMS; i++)
        if (urgent->out[i] != turned(urgent->in[i], urgent->steps))
            return false;
    return true;
}

static void set_steps(struct urgent *urgent, double steps)
{
    urgent->steps = (uint32_t)steps;
    device_must(clSetKernelArg(urgent->kernel, 1, sizeof urgent->steps, &urgent->steps), "clSetKernelArg");
}

/*
 * The steps after which a job takes this long; the median of several, so that one interruption does
 * not matter.
 */
static void calibrate(struct urgent *urgent, double ms)
{
    double steps = 100;

    for (int round = 0; round < 8; round++) {
        double took[15];
        set_steps(urgent, steps);
        for (size_t i = 0; i < 15; i++) {
            double begin = now_ms();
            run_job(urgent, 0);
            took[i] = now_ms() - begin;
        }
        steps *= ms / quantile(took, 15, 0.5);
        if (steps < 1 || steps > 1e9)
            break;
    }
    printf("%.0f\n", steps < 1 ? 1 : steps);
}

int main(int argc, char **argv)
{
    static struct urgent urgent;
    static const char *const options[] = {
        "calibrate=", "steps=", "period=", "deadline=", "jobs=", "seconds=", "warm=", "list", NULL};
    double ms = option(argc, argv, "calibrate", 0);
    int status = 0;

    check_options(argc, argv, 1, options,
                  "urgent --calibrate MS | --steps N [--period MS] [--deadline MS] [--jobs N] [--seconds S] "
                  "[--warm N] [--list]");
    device_open(&urgent.device, DEVICE_TURN);
    urgent.kernel = device_kernel(&urgent.device, "turn");
    urgent.buffer = device_buffer(&urgent.device, sizeof urgent.in);
    device_must(clSetKernelArg(urgent.kernel, 0, sizeof(cl_mem), &urgent.buffer), "clSetKernelArg");
    set_steps(&urgent, option(argc, argv, "steps", 1000));
    if (ms > 0)
        calibrate(&urgent, ms);
    else
        status = run_periodically(
            &(struct measured){.run_job = run_job, .is_right = is_right, .user = &urgent}, argc, argv);
    clReleaseKernel(urgent.kernel);
    clReleaseMemObject(urgent.buffer);
    device_close(&urgent.device);
    return status;
}
