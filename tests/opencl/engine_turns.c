/*
 * A program whose commands need one engine after the other, and one that needs the second engine
 * only. On the fake driver, whose script says how long commands take.
 *
 *     engine-turns fill read|later|map|mapped FILE    a fill, and a copy from the device behind it,
 *                                                     again and again until FILE is gone
 *     engine-turns write later FILE                   a write, and a fill behind it
 *     engine-turns read|fill now TIMES                only that; prints the longest, in whole ms
 *
 * The second word says how the program asks for the second command: in a call that waits for its
 * end, or not. Every copy is checked.
 */
#include <CL/cl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 4096 };

static cl_command_queue queue;
static cl_mem buffer;
static unsigned char bytes[BYTES], written[BYTES];
static int n_wrong;

static void must(cl_int code, const char *what)
{
    if (code == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, (int)code);
    exit(1);
}

#define MUST(call) must(call, #call)

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void open_device(void)
{
    cl_platform_id platform;
    cl_context context;
    cl_device_id device;

    MUST(clGetPlatformIDs(1, &platform, NULL));
    MUST(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueueWithProperties(context, device, NULL, NULL);
    buffer = clCreateBuffer(context, 0, BYTES, NULL, NULL);
}

static void fill(unsigned char value)
{
    MUST(clEnqueueFillBuffer(queue, buffer, &value, 1, 0, BYTES, 0, NULL, NULL));
}

static void check(const unsigned char *what, unsigned char value)
{
    for (int i = 0; i < BYTES; i++)
        n_wrong += what[i] != value;
}

static void copy_out(const char *how, unsigned char value)
{
    cl_bool blocking = !strcmp(how, "read") || !strcmp(how, "map") || !strcmp(how, "now");
    void *mapped;
    cl_int code;

    if (how[0] != 'm') {
        MUST(clEnqueueReadBuffer(queue, buffer, blocking, 0, BYTES, bytes, 0, NULL, NULL));
        MUST(clFinish(queue));
        check(bytes, value);
        return;
    }
    mapped = clEnqueueMapBuffer(queue, buffer, blocking, CL_MAP_READ, 0, BYTES, 0, NULL, NULL, &code);
    MUST(code);
    MUST(clFinish(queue));
    check(mapped, value);
    MUST(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL));
    MUST(clFinish(queue));
}

/* One after the other, as often as the file is there. */
static void alternate(bool writes, const char *how, const char *file)
{
    for (unsigned char value = 1; access(file, F_OK) == 0; value++) {
        if (writes) {
            memset(written, value, BYTES);
            MUST(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, BYTES, written, 0, NULL, NULL));
            fill((unsigned char)(value + 1));
            MUST(clFinish(queue));
            value++;
        } else {
            fill(value);
        }
        copy_out(writes ? "now" : how, value);
    }
}

static void repeat(bool reads, int times)
{
    double longest = 0;

    fill(1);
    MUST(clFinish(queue));
    for (int i = 0; i < times; i++) {
        double begin = now_ms(), length;

        if (reads)
            copy_out("now", 1);
        else
            fill(1);
        MUST(clFinish(queue));
        length = now_ms() - begin;
        longest = length > longest ? length : longest;
    }
    printf("%d\n", (int)longest);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    open_device();
    if (!strcmp(argv[2], "now"))
        repeat(!strcmp(argv[1], "read"), atoi(argv[3]));
    else
        alternate(!strcmp(argv[1], "write"), argv[2], argv[3]);
    return n_wrong != 0;
}
