/*
 * Programs that take all of a device they can get, until so many seconds have passed:
 *
 *   hog kernel --steps N   one kernel after the other, 16384 work-groups each (GPES calls it a
 *                          long-running kernel)
 *   hog copy [--bytes N]   one large copy after the other, in both directions
 *   hog large              one grid of 2^22 work-groups after the other, almost nothing in each
 *                          (LARGE of GPES, App.)
 *   hog infi [--queued N]  short kernels without end (INFI of GPES, App.), N queued before it waits
 *                          (default 64, 0: never)
 *
 *   hog kernel --calibrate MS     prints how many steps make the kernel take so long
 *
 * --seconds S (default 5) counts from the first finished round, and so does --rounds N (default: no
 * limit). When the first round is done it prints `ready`; at the end a line of names and numbers:
 * rounds, seconds, per_second, wrong. SIGTERM ends it after the round.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

enum { LOCAL = 64, KERNEL_GROUPS = 16384, INFI_GROUPS = 64, INFI_QUEUED = 64 };
#define LARGE_GROUPS ((size_t)1 << 22)
#define LARGE_LOCAL  64
#define COPY_BYTES   67108864.0

static volatile sig_atomic_t ended;

struct hog {
    struct device device;
    cl_kernel kernel;
    cl_mem buffer;
    size_t items, local, bytes;
    uint32_t steps;
    unsigned queued; /* launches in a round */
    bool waits;      /* after a round */
    uint32_t *host;  /* of bytes; words that the device's are compared with */
    uint32_t turns;  /* rounds since the words were written */
};

static void end(int signal_number)
{
    (void)signal_number;
    ended = 1;
}

/* LARGE: more work-items than words; each writes its word's index, so that the result is known. */
static const char TOUCH[] = "kernel void touch(global uint *word, uint mask)\n"
                            "{\n"
                            "    uint i = (uint)get_global_id(0) & mask;\n"
                            "    word[i] = i;\n"
                            "}\n";

static void open_hog(struct hog *hog, const char *kind, double steps, double bytes, double queued)
{
    bool large = strcmp(kind, "large") == 0;
    bool infi = strcmp(kind, "infi") == 0;

    hog->local = large ? LARGE_LOCAL : LOCAL;
    hog->items = large ? LARGE_GROUPS * LARGE_LOCAL : (infi ? INFI_GROUPS : KERNEL_GROUPS) * (size_t)LOCAL;
    hog->bytes = strcmp(kind, "copy") == 0 ? (size_t)bytes & ~(size_t)3
                 : large                   ? 65536
                                           : hog->items * sizeof(uint32_t);
    hog->waits = !infi || queued >= 1;
    hog->queued = !infi ? 1 : hog->waits ? (unsigned)queued : INFI_QUEUED;
    hog->steps = large ? (uint32_t)(hog->bytes / sizeof(uint32_t)) - 1 : (uint32_t)steps;
    hog->host = malloc(hog->bytes ? hog->bytes : 1);
    if (!hog->host || hog->bytes < sizeof(uint32_t)) {
        fprintf(stderr, "hog: not enough memory, or no bytes to copy\n");
        exit(3);
    }
    for (size_t i = 0; i < hog->bytes / sizeof(uint32_t); i++)
        hog->host[i] = (uint32_t)i;
    device_open(&hog->device, large ? TOUCH : DEVICE_TURN);
    hog->kernel = device_kernel(&hog->device, large ? "touch" : "turn");
    hog->buffer = device_buffer(&hog->device, hog->bytes);
    device_must(clSetKernelArg(hog->kernel, 0, sizeof(cl_mem), &hog->buffer), "clSetKernelArg");
    device_must(clSetKernelArg(hog->kernel, 1, sizeof hog->steps, &hog->steps), "clSetKernelArg");
    device_must(clEnqueueWriteBuffer(hog->device.queue, hog->buffer, CL_TRUE, 0, hog->bytes, hog->host, 0,
                                     NULL, NULL),
                "clEnqueueWriteBuffer");
}

static void run_kernels(struct hog *hog)
{
    for (unsigned i = 0; i < hog->queued; i++)
        device_must(clEnqueueNDRangeKernel(hog->device.queue, hog->kernel, 1, NULL, &hog->items, &hog->local,
                                           0, NULL, NULL),
                    "clEnqueueNDRangeKernel");
    device_must(hog->waits ? clFinish(hog->device.queue) : clFlush(hog->device.queue), "clFinish");
    hog->turns += hog->queued;
}

/* There and back again; what comes back must be what went. */
static void run_copy(struct hog *hog)
{
    size_t last = hog->bytes / sizeof(uint32_t) - 1;

    hog->host[0]++;
    hog->host[last]++;
    device_must(clEnqueueWriteBuffer(hog->device.queue, hog->buffer, CL_TRUE, 0, hog->bytes, hog->host, 0,
                                     NULL, NULL),
                "clEnqueueWriteBuffer");
    device_must(
        clEnqueueReadBuffer(hog->device.queue, hog->buffer, CL_TRUE, 0, hog->bytes, hog->host, 0, NULL, NULL),
        "clEnqueueReadBuffer");
    hog->turns++;
}

static size_t count_wrong(struct hog *hog, const char *kind)
{
    size_t n = hog->bytes / sizeof(uint32_t);
    size_t wrong = 0;

    if (strcmp(kind, "copy") == 0)
        return (hog->host[0] != hog->turns) + (n > 1 && hog->host[n - 1] != n - 1 + hog->turns) +
               (n > 2 && hog->host[n / 2] != n / 2);
    device_must(
        clEnqueueReadBuffer(hog->device.queue, hog->buffer, CL_TRUE, 0, hog->bytes, hog->host, 0, NULL, NULL),
        "clEnqueueReadBuffer");
    for (size_t i = 0; i < n; i++)
        wrong += hog->host[i] !=
                 (strcmp(kind, "large") == 0 ? (uint32_t)i : turned((uint32_t)i, hog->steps * hog->turns));
    return wrong;
}

static void calibrate(struct hog *hog, double ms)
{
    double steps = 10;

    for (int round = 0; round < 5 && steps >= 1 && steps < 1e8; round++) {
        double begin;
        hog->steps = (uint32_t)steps;
        device_must(clSetKernelArg(hog->kernel, 1, sizeof hog->steps, &hog->steps), "clSetKernelArg");
        begin = now_ms();
        run_kernels(hog);
        steps *=
            (round < 4 ? ms / 8 : ms) / (now_ms() - begin); /* short tries first, the last one to scale */
    }
    printf("%.0f\n", steps < 1 ? 1 : steps);
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = {"kernel", "copy", "large", "infi"};
    static const char *const options[] = {
        "calibrate=", "steps=", "bytes=", "queued=", "rounds=", "seconds=", NULL};
    static const char usage[] =
        "hog kernel|copy|large|infi [--calibrate MS] [--steps N] [--bytes N] [--queued N] [--rounds N] "
        "[--seconds S]";
    static struct hog hog;
    const char *kind = argc > 1 ? argv[1] : "";
    double seconds = option(argc, argv, "seconds", 5), most = option(argc, argv, "rounds", 1e9);
    double begin = 0;
    size_t rounds = 0;
    size_t wrong;
    bool known = false;

    for (size_t i = 0; i < 4; i++)
        known = known || strcmp(kind, kinds[i]) == 0;
    if (!known) {
        fprintf(stderr, "usage: %s\n", usage);
        return 2;
    }
    check_options(argc, argv, 2, options, usage);
    open_hog(&hog, kind, option(argc, argv, "steps", 200), option(argc, argv, "bytes", COPY_BYTES),
             option(argc, argv, "queued", INFI_QUEUED));
    signal(SIGTERM, end);
    if (flag(argc, argv, "calibrate")) {
        calibrate(&hog, option(argc, argv, "calibrate", 0));
        return 0;
    }
    do {
        if (strcmp(kind, "copy") == 0)
            run_copy(&hog);
        else
            run_kernels(&hog);
        if (begin > 0) {
            rounds++;
            continue;
        }
        begin = now_ms();
        printf("ready\n");
        fflush(stdout);
    } while (!ended && (double)rounds < most && now_ms() - begin < seconds * 1e3);
    seconds = (now_ms() - begin) / 1e3;
    wrong = count_wrong(&hog, kind);
    printf("rounds %zu seconds %.3f per_second %.4f wrong %zu\n", rounds, seconds,
           seconds > 0 ? (double)rounds / seconds : 0, wrong);
    clReleaseKernel(hog.kernel);
    clReleaseMemObject(hog.buffer);
    device_close(&hog.device);
    free(hog.host);
    return wrong ? 1 : 0;
}
