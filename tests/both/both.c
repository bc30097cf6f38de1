/*
 * A program that uses CUDA and OpenCL in turns: each takes the words that the other has left one
 * round further. Prints a checksum of every round. Plain code but for the calls of baton/job.h.
 *
 *   both FIRST MODE [N | FILE]     FIRST: the API that is used first, cuda or opencl
 *     work N        N rounds, one API after the other
 *     overlap N     N rounds, both APIs at once, then a wait for each
 *     jobs N        the same as work, each round a job of the program's own
 *     early N       the same as jobs, with a first job before any call of either API
 *     until FILE    rounds until FILE is gone; FILE.ready appears after the first
 *     parent FILE   a job, then a child that does the same as until
 *     fork          a round, a child that ends by itself, a round, a child that runs `work 1`, and
 *                   a round
 *     exec          a round, then the process becomes `work 2` with work in flight
 *     killed        a round, then the process kills itself with work in flight
 *     callback      a round, then the process calls exit in a callback of OpenCL
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CL/cl.h>

#include "baton/job.h"
#include "cuda_abi/driver_calls.h"

enum { BLOCK = 64, WORDS = 64 * 64, STEPS = 200 };

static const char cuda_text[] = ".version 7.0\n"
                                ".target sm_50\n"
                                ".address_size 64\n"
                                ".visible .entry cuda_turn(.param .u64 word, .param .u32 steps)\n"
                                "{\n"
                                "    .reg .pred %p1;\n"
                                "    .reg .b32 %left, %block, %size, %thread, %i, %w;\n"
                                "    .reg .b64 %base, %offset, %at;\n"
                                "    ld.param.u64 %base, [word];\n"
                                "    ld.param.u32 %left, [steps];\n"
                                "    cvta.to.global.u64 %base, %base;\n"
                                "    mov.u32 %block, %ctaid.x;\n"
                                "    mov.u32 %size, %ntid.x;\n"
                                "    mov.u32 %thread, %tid.x;\n"
                                "    mad.lo.s32 %i, %block, %size, %thread;\n"
                                "    mul.wide.u32 %offset, %i, 4;\n"
                                "    add.s64 %at, %base, %offset;\n"
                                "    ld.global.u32 %w, [%at];\n"
                                "next:\n"
                                "    setp.eq.u32 %p1, %left, 0;\n"
                                "    @%p1 bra done;\n"
                                "    mad.lo.s32 %w, %w, 1664525, 1013904223;\n"
                                "    sub.u32 %left, %left, 1;\n"
                                "    bra next;\n"
                                "done:\n"
                                "    st.global.u32 [%at], %w;\n"
                                "    ret;\n"
                                "}\n";

static const char opencl_text[] = "kernel void opencl_turn(global uint *words, uint steps)\n"
                                  "{\n"
                                  "    uint w = words[get_global_id(0)];\n"
                                  "    for (uint i = 0; i < steps; i++)\n"
                                  "        w = w * 22695477u + (uint)get_global_id(0) + 1u;\n"
                                  "    words[get_global_id(0)] = w;\n"
                                  "}\n";

static struct {
    CUstream stream;
    CUfunction kernel;
    CUdeviceptr words;
} cuda;

static struct {
    cl_command_queue queue;
    cl_kernel kernel;
    cl_mem words;
} opencl;

enum { BYTES = WORDS * sizeof(uint32_t) };

/* Pinned, so that no copy waits. */
static uint32_t *words, *others;

static void must(long code, const char *what)
{
    if (code == 0)
        return;
    fprintf(stderr, "%s: error %ld\n", what, code);
    exit(3);
}

static void open_cuda(void)
{
    CUcontext context;
    CUdevice device;
    CUmodule module;

    must(cuInit(0), "cuInit");
    must(cuDeviceGet(&device, 0), "cuDeviceGet");
    must(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    must(cuStreamCreate(&cuda.stream, 0), "cuStreamCreate");
    must(cuModuleLoadData(&module, cuda_text), "cuModuleLoadData");
    must(cuModuleGetFunction(&cuda.kernel, module, "cuda_turn"), "cuModuleGetFunction");
    must(cuMemAlloc_v2(&cuda.words, BYTES), "cuMemAlloc");
    must(cuMemHostAlloc((void **)&words, BYTES, 0), "cuMemHostAlloc");
    must(cuMemHostAlloc((void **)&others, BYTES, 0), "cuMemHostAlloc");
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = i * 2654435761u, others[i] = ~words[i];
}

static void open_opencl(void)
{
    const char *text = opencl_text;
    cl_platform_id platform;
    cl_context context;
    cl_device_id device;
    cl_program program;
    cl_int code;

    must(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    must(code, "clCreateContext");
    opencl.queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
    must(code, "clCreateCommandQueueWithProperties");
    program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
    must(code, "clCreateProgramWithSource");
    must(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    opencl.kernel = clCreateKernel(program, "opencl_turn", &code);
    must(code, "clCreateKernel");
    opencl.words = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &code);
    must(code, "clCreateBuffer");
}

static void begin_cuda(uint32_t *at, uint32_t steps)
{
    void *parameters[] = {&cuda.words, &steps};

    must(cuMemcpyHtoDAsync_v2(cuda.words, at, BYTES, cuda.stream), "cuMemcpyHtoDAsync");
    must(cuLaunchKernel(cuda.kernel, WORDS / BLOCK, 1, 1, BLOCK, 1, 1, 0, cuda.stream, parameters, NULL),
         "cuLaunchKernel");
    must(cuMemcpyDtoHAsync_v2(at, cuda.words, BYTES, cuda.stream), "cuMemcpyDtoHAsync");
}

static void end_cuda(void)
{
    must(cuStreamSynchronize(cuda.stream), "cuStreamSynchronize");
}

static void begin_opencl(uint32_t *at, uint32_t steps)
{
    size_t global = WORDS, local = BLOCK;

    must(clSetKernelArg(opencl.kernel, 0, sizeof opencl.words, &opencl.words), "clSetKernelArg");
    must(clSetKernelArg(opencl.kernel, 1, sizeof steps, &steps), "clSetKernelArg");
    must(clEnqueueWriteBuffer(opencl.queue, opencl.words, CL_FALSE, 0, BYTES, at, 0, NULL, NULL),
         "clEnqueueWriteBuffer");
    must(clEnqueueNDRangeKernel(opencl.queue, opencl.kernel, 1, NULL, &global, &local, 0, NULL, NULL),
         "clEnqueueNDRangeKernel");
    must(clEnqueueReadBuffer(opencl.queue, opencl.words, CL_FALSE, 0, BYTES, at, 0, NULL, NULL),
         "clEnqueueReadBuffer");
    must(clFlush(opencl.queue), "clFlush");
}

static void end_opencl(void)
{
    must(clFinish(opencl.queue), "clFinish");
}

/* FNV-1a of what the round has left. */
static void print_words(void)
{
    const unsigned char *bytes = (const unsigned char *)words, *more = (const unsigned char *)others;
    uint64_t sum = 0xcbf29ce484222325;

    for (size_t i = 0; i < BYTES; i++)
        sum = ((sum ^ bytes[i]) * 0x100000001b3 ^ more[i]) * 0x100000001b3;
    printf("%016llx\n", (unsigned long long)sum);
}

static void take_round(bool cuda_first)
{
    for (int i = 0; i < 2; i++) {
        if ((i == 0) == cuda_first) {
            begin_cuda(words, STEPS);
            end_cuda();
        } else {
            begin_opencl(words, STEPS);
            end_opencl();
        }
    }
    print_words();
}

/* Each API has words of its own, which change sides after the round. */
static void overlap_round(bool cuda_first)
{
    uint32_t *swap = words;

    if (cuda_first)
        begin_cuda(words, STEPS);
    begin_opencl(others, STEPS);
    if (!cuda_first)
        begin_cuda(words, STEPS);
    end_opencl();
    end_cuda();
    print_words();
    words = others;
    others = swap;
}

static void job_rounds(bool cuda_first, int n)
{
    for (int i = 0; i < n; i++) {
        must(baton_job_begin(), "baton_job_begin");
        take_round(cuda_first);
        must(baton_job_end(), "baton_job_end");
    }
}

static void until(bool cuda_first, const char *file)
{
    char ready[4096];
    int fd;

    take_round(cuda_first);
    (void)snprintf(ready, sizeof ready, "%s.ready", file);
    fd = open(ready, O_CREAT | O_WRONLY, 0600);
    must(fd < 0, "open");
    (void)close(fd);
    while (access(file, F_OK) == 0)
        take_round(cuda_first);
}

/* program: NULL: the child ends by itself, with every exit handler. */
static void with_child(const char *program, const char *first)
{
    int status = -1;
    pid_t child = (fflush(NULL), fork());

    if (child == 0 && program) {
        execl(program, program, first, "work", "1", (char *)NULL);
        _exit(4);
    }
    if (child == 0)
        exit(0);
    must(waitpid(child, &status, 0) != child || status != 0, "child");
}

static void CL_CALLBACK leave(cl_event event, cl_int status, void *user)
{
    (void)event;
    (void)status;
    (void)user;
    exit(7);
}

static void exit_in_callback(void)
{
    cl_event event;

    must(clEnqueueMarkerWithWaitList(opencl.queue, 0, NULL, &event), "clEnqueueMarkerWithWaitList");
    must(clSetEventCallback(event, CL_COMPLETE, leave, NULL), "clSetEventCallback");
    must(clFlush(opencl.queue), "clFlush");
    for (;;)
        (void)pause();
}

/* Leaves work in flight in both APIs. */
static void leave_work(void)
{
    begin_cuda(words, 1000 * STEPS);
    begin_opencl(others, 1000 * STEPS);
    fflush(NULL);
}

static void run_ending(const char *program, const char *first, const char *mode)
{
    bool cuda_first = strcmp(first, "cuda") == 0;

    take_round(cuda_first);
    if (strcmp(mode, "fork") == 0) {
        with_child(NULL, first);
        take_round(cuda_first);
        with_child(program, first);
        take_round(cuda_first);
    } else if (strcmp(mode, "exec") == 0) {
        leave_work();
        execl(program, program, first, "work", "2", (char *)NULL);
        _exit(4);
    } else if (strcmp(mode, "killed") == 0) {
        leave_work();
        (void)raise(SIGKILL);
    } else if (strcmp(mode, "callback") == 0) {
        begin_cuda(others, 1000 * STEPS);
        exit_in_callback();
    } else {
        must(-1, mode);
    }
}

static void open_both(bool cuda_first)
{
    if (cuda_first)
        open_cuda();
    open_opencl();
    if (!cuda_first)
        open_cuda();
}

int main(int argc, char **argv)
{
    bool cuda_first = argc > 2 && strcmp(argv[1], "cuda") == 0;
    const char *mode = argc > 2 ? argv[2] : "";
    int n = argc > 3 ? atoi(argv[3]) : 0;

    if (strcmp(mode, "early") == 0 || strcmp(mode, "parent") == 0)
        must(baton_job_begin() || baton_job_end(), "the first job");
    if (strcmp(mode, "parent") == 0) {
        int status = -1;
        pid_t child = fork();

        if (child)
            return waitpid(child, &status, 0) == child && status == 0 ? 0 : 4;
        mode = "until";
    }
    open_both(cuda_first);
    if (strcmp(mode, "work") == 0)
        while (n-- > 0)
            take_round(cuda_first);
    else if (strcmp(mode, "overlap") == 0)
        while (n-- > 0)
            overlap_round(cuda_first);
    else if (strcmp(mode, "jobs") == 0 || strcmp(mode, "early") == 0)
        job_rounds(cuda_first, n);
    else if (strcmp(mode, "until") == 0 && argc > 3)
        until(cuda_first, argv[3]);
    else
        run_ending(argv[0], argv[1], mode);
    return 0;
}
