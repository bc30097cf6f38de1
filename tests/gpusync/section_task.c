/*
 * One task of a task set as a program: periodic jobs of CPU and GPU segments in order, on the fake
 * OpenCL driver, whose script says how long a copy and a work-group takes. CPU segments are work
 * for the virtual CPUs (tests/virtual_clock/clock.h), or, without a virtual clock, CPU time of this
 * thread.
 *
 *     section-task PERIOD_US JOBS OFFSET_US GO SEGMENTS
 *
 * SEGMENTS: cNUMBER CPU work in microseconds, kNUMBER a kernel of so many work-groups, iNUMBER a
 * copy in of so many bytes, oNUMBER a copy out, g the job needs no GPU any more; separated by
 * commas. sNUMBER in front: so many bytes stay on the GPU from job to job, and every kernel changes
 * them; at the end they are compared with a computation on the host. bNUMBER behind it: they are in
 * so many buffers, and the kernels of a job take them in turn. Without state nothing stays there.
 *
 * Waits until the file GO is there, then starts with the next full second. Prints `JOBS
 * MAX_RESPONSE_NS` at the end, and stays connected until GO is gone. SECTION_JOBS names a file for
 * the release and the end of every job, in nanoseconds.
 */
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "baton/job.h"

#define SECOND INT64_C(1000000000)
#define LOCAL  16u

static cl_command_queue queue;
static cl_kernel kernel;
#define BUFFERS 4u

static cl_mem buffer, state[BUFFERS];
static cl_uint bytes[1 << 16];
static cl_uint known[1 << 16]; /* what the state must be */
static size_t state_words;     /* of one buffer */
static unsigned n_states, next_state;
static void (*virtual_work)(int64_t ns);

static void must(cl_int code, const char *what)
{
    if (code == CL_SUCCESS)
        return;
    (void)fprintf(stderr, "%s: %d\n", what, code);
    exit(2);
}

static int64_t now_of(clockid_t which)
{
    struct timespec now;

    (void)clock_gettime(which, &now);
    return now.tv_sec * SECOND + now.tv_nsec;
}

static void sleep_until(int64_t at)
{
    struct timespec until = {at / SECOND, at % SECOND};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) {
    }
}

static void work(int64_t us)
{
    int64_t end = now_of(CLOCK_THREAD_CPUTIME_ID) + us * 1000;

    if (virtual_work)
        virtual_work(us * 1000);
    while (!virtual_work && now_of(CLOCK_THREAD_CPUTIME_ID) < end) {
    }
}

static void launch(size_t groups)
{
    size_t global = groups * LOCAL, local = LOCAL;

    if (n_states) {
        cl_uint *its = known + next_state * state_words;

        for (size_t i = 0; i < global; i++)
            its[i] = its[i] * 3 + 1;
        must(clSetKernelArg(kernel, 0, sizeof state[0], &state[next_state]), "argument");
        next_state = (next_state + 1) % n_states;
    }
    must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL), "launch");
    must(clFinish(queue), "finish");
}

static void set_up_state(cl_context context)
{
    cl_uint factor = 3;
    cl_int code;

    for (unsigned i = 0; i < n_states; i++) {
        size_t size = state_words * sizeof *known;

        state[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &code);
        must(code, "state");
        must(clEnqueueWriteBuffer(queue, state[i], CL_TRUE, 0, size, known + i * state_words, 0, NULL, NULL),
             "first state");
    }
    must(clSetKernelArg(kernel, 1, sizeof factor, &factor), "argument");
}

static void check_state(void)
{
    static cl_uint found[1 << 16];

    for (unsigned i = 0; i < n_states; i++)
        must(clEnqueueReadBuffer(queue, state[i], CL_TRUE, 0, state_words * sizeof *known,
                                 found + i * state_words, 0, NULL, NULL),
             "last state");
    if (memcmp(found, known, n_states * state_words * sizeof *known) == 0)
        return;
    (void)fprintf(stderr, "the state is not what the jobs computed\n");
    exit(3);
}

static void set_up(void)
{
    const char *texts[] = {"kernel void empty(void) { }\n",
                           "kernel void scale(global uint *a, uint factor) "
                           "{ a[get_global_id(0)] = a[get_global_id(0)] * factor + 1; }\n"};
    const char *text = texts[n_states != 0];
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_program program;
    cl_int code;

    must(clGetPlatformIDs(1, &platform, NULL), "platform");
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    must(code, "context");
    queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
    must(code, "queue");
    program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
    must(code, "program");
    must(clBuildProgram(program, 1, &device, "", NULL, NULL), "build");
    kernel = clCreateKernel(program, n_states ? "scale" : "empty", &code);
    must(code, "kernel");
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof bytes, NULL, &code);
    must(code, "buffer");
    if (n_states)
        set_up_state(context);
}

static void segment(const char *text)
{
    size_t size = strtoul(text + 1, NULL, 10);

    size = size && size < sizeof bytes ? size : sizeof bytes;
    switch (text[0]) {
    case 'c':
        work(strtoll(text + 1, NULL, 10));
        break;
    case 'k':
        launch(strtoul(text + 1, NULL, 10));
        break;
    case 'i':
        must(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, size, bytes, 0, NULL, NULL), "write");
        break;
    case 'o':
        must(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, size, bytes, 0, NULL, NULL), "read");
        break;
    case 'g':
        (void)baton_job_gpu_done();
        break;
    default: /* the state */
        break;
    }
}

static void run_segments(const char *segments)
{
    for (const char *at = segments; at; at = strchr(at, ',')) {
        at += *at == ',';
        segment(at);
    }
}

/* Release and end of every job, for the file that SECTION_JOBS names. */
static void write_jobs(const int64_t *jobs, unsigned n)
{
    const char *path = getenv("SECTION_JOBS");
    FILE *out = path ? fopen(path, "w") : NULL;

    for (unsigned i = 0; out && i < n; i++)
        (void)fprintf(out, "%lld %lld\n", (long long)jobs[2 * i], (long long)jobs[2 * i + 1]);
    if (out && fclose(out) != 0)
        exit(2);
}

int main(int argc, char **argv)
{
    int64_t period = argc == 6 ? strtoll(argv[1], NULL, 10) * 1000 : 0;
    int64_t release_at, most = 0;
    int64_t *times;
    unsigned jobs = argc == 6 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;

    times = jobs ? calloc(jobs, 2 * sizeof *times) : NULL;
    if (!times)
        return 2;
    *(void **)&virtual_work = dlsym(RTLD_DEFAULT, "virtual_clock_work");
    if (argv[5][0] == 's') {
        char *rest;

        state_words = strtoul(argv[5] + 1, &rest, 10) / sizeof *known;
        n_states = rest[0] == ',' && rest[1] == 'b' ? (unsigned)strtoul(rest + 2, NULL, 10) : 1;
        if (!n_states || n_states > BUFFERS || state_words > sizeof known / sizeof *known)
            return 2;
        state_words /= n_states;
    }
    set_up();
    run_segments(argv[5]); /* what is made once is made now */
    (void)printf("ready\n");
    (void)fflush(stdout);
    while (access(argv[4], F_OK) != 0)
        sleep_until(now_of(CLOCK_MONOTONIC) + SECOND / 100);
    release_at = (now_of(CLOCK_MONOTONIC) / SECOND + 2) * SECOND + strtoll(argv[3], NULL, 10) * 1000;
    for (unsigned i = 0; i < jobs; i++, release_at += period) {
        int64_t response;

        sleep_until(release_at);
        (void)baton_job_begin_at(release_at);
        run_segments(argv[5]);
        (void)baton_job_end(); /* saves state, too */
        response = now_of(CLOCK_MONOTONIC) - release_at;
        times[2 * i] = release_at;
        times[2 * i + 1] = release_at + response;
        most = response > most ? response : most;
    }
    write_jobs(times, jobs);
    free(times);
    (void)printf("%u %lld\n", jobs, (long long)most);
    (void)fflush(stdout);
    while (access(argv[4], F_OK) == 0)
        sleep_until(now_of(CLOCK_MONOTONIC) + SECOND / 100);
    check_state();
    return 0;
}
