/*
 * A load for tests: launches the kernel `scale` again and again for a time and prints `N launches,
 * max X ms, wrong W`. Every result is checked. With a depth, so many launches are under way at any
 * time. The fifth argument, COPIES, says what the data do. 1: they go to the host and back after
 * each launch. 2: write, launch and read are one job of which only the last byte is waited for. 3:
 * they go to the device once, at the beginning. 4: they are mapped and unmapped after each launch.
 * SECONDS may be a number of launches instead: 20x. A path means: as long as this file exists.
 * With an instant (CLOCK_MONOTONIC, milliseconds) the time is counted from there, and of what is
 * launched before and after only the results.
 * usage: load SECONDS|LAUNCHESx|PATH GROUPS PAUSE_MS [DEPTH [COPIES [BEGIN_MS]]]
 */
#include <CL/cl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOCAL = 4 };

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* The end of a launch: CL_COMPLETE (0), or the error that only its event tells. Releases it. */
static cl_int how_it_ended(cl_event *event)
{
    cl_int status = CL_SUCCESS;

    if (!*event)
        return CL_SUCCESS;
    clGetEventInfo(*event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    clReleaseEvent(*event);
    *event = NULL;
    return status;
}

static cl_int values[1 << 16];
static cl_event ring[64];

/* What the command line says. */
struct wish {
    double seconds, pause, from; /* pause in ms; from: an instant in ms, 0: now */
    cl_int most;                 /* launches; 0: as the time or the file says */
    const char *file;            /* goes on as long as it exists; NULL: no such file */
    size_t global, depth;
    unsigned long copies;
};

struct stage {
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem mem;
};

static struct wish parse(int argc, char **argv)
{
    const char *length = argc > 1 ? argv[1] : "1";
    const char *file = strchr(length, '/') ? length : NULL;

    return (struct wish){.seconds = strtod(length, NULL),
                         .most = !file && strchr(length, 'x') ? (cl_int)strtod(length, NULL) : 0,
                         .file = file,
                         .global = (argc > 2 ? strtoul(argv[2], NULL, 10) : 1) * LOCAL,
                         .pause = argc > 3 ? strtod(argv[3], NULL) : 0,
                         .depth = argc > 4 ? strtoul(argv[4], NULL, 10) : 1,
                         .copies = argc > 5 ? strtoul(argv[5], NULL, 10) : 0,
                         .from = argc > 6 ? strtod(argv[6], NULL) : 0};
}

/* 0, or what OpenCL answers. */
static cl_int open_stage(const struct wish *wish, struct stage *stage)
{
    const char *source = "kernel void scale(global int *a, int factor)\n"
                         "{ size_t i = get_global_id(0); a[i] = a[i] * factor + 1; }\n";
    cl_int factor = 1, code;
    cl_platform_id platform;
    cl_device_id device;

    if ((code = clGetPlatformIDs(1, &platform, NULL)) ||
        (code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)))
        return code;
    stage->context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    stage->queue = clCreateCommandQueueWithProperties(stage->context, device, NULL, &code);
    stage->program = clCreateProgramWithSource(stage->context, 1, &source, NULL, &code);
    if (code || (code = clBuildProgram(stage->program, 0, NULL, "", NULL, NULL)))
        return code;
    stage->kernel = clCreateKernel(stage->program, "scale", &code);
    stage->mem = clCreateBuffer(stage->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                wish->global * sizeof *values, values, &code);
    clSetKernelArg(stage->kernel, 0, sizeof stage->mem, &stage->mem);
    clSetKernelArg(stage->kernel, 1, sizeof factor, &factor);
    return code;
}

static cl_int read_values(const struct wish *wish, const struct stage *stage)
{
    return clEnqueueReadBuffer(stage->queue, stage->mem, CL_TRUE, 0, wish->global * sizeof *values, values, 0,
                               NULL, NULL);
}

static cl_int write_values(const struct wish *wish, const struct stage *stage, cl_bool blocking)
{
    return clEnqueueWriteBuffer(stage->queue, stage->mem, blocking, 0, wish->global * sizeof *values, values,
                                0, NULL, NULL);
}

/* The unmap brings the data back to the device. It is not waited for. */
static cl_int map_values(const struct wish *wish, const struct stage *stage)
{
    cl_int code;
    void *pointer = clEnqueueMapBuffer(stage->queue, stage->mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                       wish->global * sizeof *values, 0, NULL, NULL, &code);

    return pointer ? clEnqueueUnmapMemObject(stage->queue, stage->mem, pointer, 0, NULL, NULL) : code;
}

static cl_int launch(const struct wish *wish, const struct stage *stage, cl_event *ret_event)
{
    size_t local = LOCAL;

    return clEnqueueNDRangeKernel(stage->queue, stage->kernel, 1, NULL, &wish->global, &local, 0, NULL,
                                  ret_event);
}

/* One launch with its copies; the answers of all calls. */
static cl_int turn(const struct wish *wish, const struct stage *stage, cl_event *oldest)
{
    cl_int code = CL_SUCCESS;

    if (wish->copies == 2) {
        code |= write_values(wish, stage, CL_FALSE);
        code |= launch(wish, stage, NULL);
        code |= read_values(wish, stage);
    } else if (wish->depth == 1) {
        code |= launch(wish, stage, oldest);
        code |= clFinish(stage->queue);
        code |= how_it_ended(oldest);
    } else {
        if (*oldest) {
            code |= clWaitForEvents(1, oldest);
            code |= clReleaseEvent(*oldest);
        }
        code |= launch(wish, stage, oldest);
        code |= clFlush(stage->queue);
    }
    if (wish->copies == 1) {
        code |= read_values(wish, stage);
        code |= write_values(wish, stage, CL_TRUE);
    }
    if (wish->copies == 4)
        code |= map_values(wish, stage);
    return code;
}

static bool goes_on(const struct wish *wish, cl_int launches, double end)
{
    if (wish->file)
        return access(wish->file, F_OK) == 0;
    return wish->most ? launches < wish->most : now_ms() < end;
}

int main(int argc, char **argv)
{
    const struct wish wish = parse(argc, argv);
    double max = 0, end;
    cl_int code, n = 0, counted = 0, wrong = 0;
    struct stage stage;

    if (wish.depth < 1 || wish.depth > 64 || wish.global > sizeof values / sizeof values[0] ||
        open_stage(&wish, &stage))
        return 3;
    code = wish.copies == 3 ? write_values(&wish, &stage, CL_TRUE) : CL_SUCCESS;
    end = (wish.from > 0 ? wish.from : now_ms()) + wish.seconds * 1e3;
    for (; goes_on(&wish, n, end); n++) {
        double begin = now_ms(), length;

        code |= turn(&wish, &stage, &ring[(size_t)n % wish.depth]);
        length = now_ms() - begin;
        counted += begin + length >= wish.from && begin + length < end;
        max = n > 0 && length > max ? length : max; /* the first one waits for the rewriting */
        if (wish.pause > 0)
            nanosleep(&(struct timespec){0, (long)(wish.pause * 1e6)}, NULL);
    }
    code |= read_values(&wish, &stage);
    for (size_t i = 0; wish.depth > 1 && i < wish.depth; i++)
        if (ring[i])
            code |= clReleaseEvent(ring[i]);
    for (size_t i = 0; i < wish.global; i++)
        wrong += values[i] != n; /* each launch adds one, once */
    printf("%d launches, max %.1f ms, wrong %d, code %d\n", wish.from > 0 ? counted : n, max, wrong, code);
    clReleaseMemObject(stage.mem);
    clReleaseKernel(stage.kernel);
    clReleaseProgram(stage.program);
    clReleaseCommandQueue(stage.queue);
    clReleaseContext(stage.context);
    return wrong || code;
}
