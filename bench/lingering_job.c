/*
 * A periodic program whose jobs are 20 short kernels on one buffer: the victim of bench-lingering.
 *
 *   lingering-job --calibrate MS            prints how many steps make one kernel take so long
 *   lingering-job waited|queued --steps N [--period MS] [--seconds S]
 *
 * waited  the program waits for each kernel, and then computes for 0.1 ms itself
 * queued  it waits for the last one only
 *
 * Prints the line of numbers of examples/demo/urgent.c. The words are checked at the end: a copy in
 * a job would be another shape of jobs.
 */
#include <stdio.h>
#include <string.h>

#include "../examples/demo/device.h"

enum { ITEMS = 1024, LOCAL = 64, KERNELS = 20, CALIBRATING = 8 };

#define HOST_MS 0.1

struct line {
    struct device device;
    cl_kernel kernel;
    cl_mem buffer;
    uint32_t steps, done; /* of one kernel; of all so far, modulo 2^32, after which words repeat */
    bool waited;
};

static void run_job(void *user, uint32_t seed)
{
    struct line *line = user;
    size_t global = ITEMS, local = LOCAL;

    (void)seed;
    for (int i = 0; i < KERNELS; i++) {
        device_must(
            clEnqueueNDRangeKernel(line->device.queue, line->kernel, 1, NULL, &global, &local, 0, NULL, NULL),
            "clEnqueueNDRangeKernel");
        line->done += line->steps;
        if (!line->waited)
            continue;
        device_must(clFinish(line->device.queue), "clFinish");
        for (double end = now_ms() + HOST_MS; now_ms() < end;)
            ;
    }
    device_must(clFinish(line->device.queue), "clFinish");
}

static bool checked_later(void *user)
{
    (void)user;
    return true;
}

static void set_steps(struct line *line, double steps)
{
    line->steps = steps < 1 ? 1 : (uint32_t)steps;
    device_must(clSetKernelArg(line->kernel, 1, sizeof line->steps, &line->steps), "clSetKernelArg");
}

static void calibrate(struct line *line, double ms)
{
    double steps = 100;

    for (int round = 0; round < CALIBRATING; round++) {
        double took[5];

        set_steps(line, steps);
        for (int i = 0; i < 5; i++) {
            double begin = now_ms();

            run_job(line, 0);
            took[i] = now_ms() - begin;
        }
        steps *= KERNELS * ms / quantile(took, 5, 0.5);
        steps = steps < 1 ? 1 : steps > 1e8 ? 1e8 : steps;
    }
    printf("%.0f\n", steps);
}

static void write_words(struct line *line, uint32_t words[ITEMS])
{
    for (uint32_t i = 0; i < ITEMS; i++)
        words[i] = i;
    device_must(clEnqueueWriteBuffer(line->device.queue, line->buffer, CL_TRUE, 0, ITEMS * sizeof *words,
                                     words, 0, NULL, NULL),
                "clEnqueueWriteBuffer");
    device_must(clSetKernelArg(line->kernel, 0, sizeof line->buffer, &line->buffer), "clSetKernelArg");
}

static bool is_right(struct line *line, uint32_t words[ITEMS])
{
    bool right = true;

    device_must(clEnqueueReadBuffer(line->device.queue, line->buffer, CL_TRUE, 0, ITEMS * sizeof *words,
                                    words, 0, NULL, NULL),
                "clEnqueueReadBuffer");
    for (uint32_t i = 0; i < ITEMS; i++)
        right = right && words[i] == turned(i, line->done);
    return right;
}

int main(int argc, char **argv)
{
    static struct line line;
    const struct measured jobs = {.run_job = run_job, .is_right = checked_later, .user = &line};
    double ms = option(argc, argv, "calibrate", 0);
    uint32_t words[ITEMS];
    int status = 0;

    device_open(&line.device, DEVICE_TURN);
    line.kernel = device_kernel(&line.device, "turn");
    line.buffer = device_buffer(&line.device, sizeof words);
    line.waited = argc > 1 && strcmp(argv[1], "waited") == 0;
    write_words(&line, words);
    set_steps(&line, option(argc, argv, "steps", 1000));
    if (ms > 0)
        calibrate(&line, ms);
    else
        status = run_periodically(&jobs, argc, argv);
    if (!is_right(&line, words)) {
        fprintf(stderr, "%s: wrong results\n", argv[0]);
        status = 1;
    }
    clReleaseKernel(line.kernel);
    clReleaseMemObject(line.buffer);
    device_close(&line.device);
    return status;
}
