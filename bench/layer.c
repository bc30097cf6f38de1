/*
 * What the layer costs: the same program runs itself as a child with and without it, in turn, and compares medians. Connected means
 * that a daemon on a temporary socket is there and nobody else wants the device.
 *
 * usage: bench-layer [sync] [pipelined] [write] [read] [product]     default: all. Needs batond, libbaton-layer.so and PoCL; the build
 * folder is the parent of this program's.
 */
#include <CL/cl.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "figure.h"

/* Pairs of children: a copy's speed depends on which pages of memory the child happened to get, so there are many. */
enum { ROUNDS = 7, PRODUCT_ROUNDS = 3, COPY_ROUNDS = 41 };
enum { SAMPLES = 400, PIPELINE = 500, COPY = 16 << 20, SIDE = 1024 };

static const char source[] =
    "kernel void empty() {}\n"
    "kernel void mmul(global const float *a, global const float *b, global float *c, int n)\n"
    "{ int x = get_global_id(0), y = get_global_id(1); float s = 0;\n"
    "  for (int k = 0; k < n; k++) s += a[y * n + k] * b[k * n + x]; c[y * n + x] = s; }\n";

static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, compare);
    return values[n / 2];
}

/* What a child found: the median and the least of its samples, microseconds. */
struct found {
    double middle, least;
};

static struct found found_in(double *samples, size_t n)
{
    double middle = median(samples, n);

    return (struct found){middle, samples[0]};
}

struct place {
    cl_context context;
    cl_command_queue queue;
    cl_program program;
};

static int open_place(struct place *ret_place)
{
    const char *text = source;
    cl_platform_id platform;
    cl_device_id device;
    cl_int code;

    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return -1;
    ret_place->context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    ret_place->queue = clCreateCommandQueueWithProperties(ret_place->context, device, NULL, &code);
    ret_place->program = clCreateProgramWithSource(ret_place->context, 1, &text, NULL, &code);
    return code || clBuildProgram(ret_place->program, 0, NULL, "", NULL, NULL) ? -1 : 0;
}

/* Microseconds per launch: synchronous (enqueue and finish), or many enqueued and one finish. */
static struct found measure_launch(const struct place *place, bool pipelined)
{
    static double samples[SAMPLES] = {0};
    size_t one = 1, n = pipelined ? 20 : SAMPLES;
    cl_kernel kernel = clCreateKernel(place->program, "empty", NULL);

    for (int i = 0; i < 50; i++) {
        clEnqueueNDRangeKernel(place->queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL);
        clFinish(place->queue);
    }
    for (size_t i = 0; i < n; i++) {
        int launches = pipelined ? PIPELINE : 1;
        double begin = now_us();
        for (int j = 0; j < launches; j++)
            clEnqueueNDRangeKernel(place->queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL);
        clFinish(place->queue);
        samples[i] = (now_us() - begin) / launches;
    }
    clReleaseKernel(kernel);
    return found_in(samples, n);
}

static struct found measure_copy(const struct place *place, bool reading)
{
    double samples[15] = {0};
    char *host = malloc(COPY);
    cl_mem mem = clCreateBuffer(place->context, CL_MEM_READ_WRITE, COPY, NULL, NULL);

    memset(host, 1, COPY);
    /* Pages that nobody has written are all the same page of zeros, and read too fast. */
    clEnqueueWriteBuffer(place->queue, mem, CL_TRUE, 0, COPY, host, 0, NULL, NULL);
    for (int i = -3; i < 15; i++) {
        double begin = now_us();
        if (reading)
            clEnqueueReadBuffer(place->queue, mem, CL_TRUE, 0, COPY, host, 0, NULL, NULL);
        else
            clEnqueueWriteBuffer(place->queue, mem, CL_TRUE, 0, COPY, host, 0, NULL, NULL);
        if (i >= 0)
            samples[i] = now_us() - begin;
    }
    clReleaseMemObject(mem);
    free(host);
    return found_in(samples, 15);
}

/* A matrix product of 1024 x 1024; how many pieces is said by BATON_SLICE. The first, small launch makes the driver compile. */
static struct found measure_product(const struct place *place)
{
    double samples[2] = {0};
    size_t global[2] = {SIDE, SIDE}, local[2] = {32, 8}, little[2] = {SIDE, 8};
    cl_int n = SIDE;
    cl_kernel kernel = clCreateKernel(place->program, "mmul", NULL);
    cl_mem mems[3];

    for (cl_uint i = 0; i < 3; i++) {
        mems[i] = clCreateBuffer(place->context, CL_MEM_READ_WRITE, (size_t)SIDE * SIDE * sizeof(float), NULL,
                                 NULL);
        clSetKernelArg(kernel, i, sizeof mems[i], &mems[i]);
    }
    clSetKernelArg(kernel, 3, sizeof n, &n);
    for (int i = -1; i < 2; i++) {
        double begin = now_us();
        clEnqueueNDRangeKernel(place->queue, kernel, 2, NULL, i < 0 ? little : global, local, 0, NULL, NULL);
        clFinish(place->queue);
        if (i >= 0)
            samples[i] = now_us() - begin;
    }
    for (int i = 0; i < 3; i++)
        clReleaseMemObject(mems[i]);
    clReleaseKernel(kernel);
    return found_in(samples, 2);
}

static int child(const char *what)
{
    struct place place;
    struct found found;

    if (open_place(&place))
        return 3;
    found = !strcmp(what, "sync")        ? measure_launch(&place, false)
            : !strcmp(what, "pipelined") ? measure_launch(&place, true)
            : !strcmp(what, "write")     ? measure_copy(&place, false)
            : !strcmp(what, "read")      ? measure_copy(&place, true)
                                         : measure_product(&place);
    printf("%.4f %.4f\n", found.middle, found.least);
    return 0;
}

/* One child; what it found, or -1. */
static struct found run_child(const char *self, const char *what, const char *const pairs[],
                              const char *layer)
{
    struct found found = {-1, -1};
    char text[64] = "", *rest;
    int ends[2], status = 0;
    ssize_t n;
    pid_t pid;

    if (pipe(ends))
        return found;
    pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        for (size_t i = 0; pairs[i]; i++)
            putenv((char *)(uintptr_t)pairs[i]);
        if (layer)
            setenv("OPENCL_LAYERS", layer, 1);
        else
            unsetenv("OPENCL_LAYERS");
        execl(self, self, "--child", what, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    n = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    waitpid(pid, &status, 0);
    if (n > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        found.middle = strtod(text, &rest);
        found.least = strtod(rest, NULL);
    }
    return found;
}

/*
 * One line: what was added by the layer, as the median of the pairs with their spread and, since other work on the machine only ever adds
 * to a time, between the quickest samples of all children; and what it may be.
 */
struct line {
    const char *title, *what;
    const char *figure; /* its name in bench/figures.tsv */
    const char *const *pairs;
    bool as_ratio;
    int rounds;
    double most; /* microseconds, or percent; 0: nothing is demanded */
};

static double added_by(const struct line *line, double plain, double with)
{
    return line->as_ratio ? 100.0 * (with / plain - 1.0) : with - plain;
}

static void compare_runs(const char *self, const char *layer, const struct line *line)
{
    double plain[COPY_ROUNDS] = {0}, with[COPY_ROUNDS] = {0}, added[COPY_ROUNDS] = {0},
           least[2] = {INFINITY, INFINITY};
    int rounds = line->rounds;
    const char *unit = line->as_ratio ? "%" : "us";

    for (int i = 0; i < rounds; i++) {
        struct found found[2];

        for (int j = 0; j < 2; j++) {
            int which =
                (i + j) % 2; /* who goes first changes, so that a drift of the machine hits both alike */
            found[which] = run_child(self, line->what, line->pairs, which ? layer : NULL);
            least[which] = found[which].least < least[which] ? found[which].least : least[which];
        }
        plain[i] = found[0].middle;
        with[i] = found[1].middle;
        if (plain[i] < 0 || with[i] < 0) {
            printf("%-43s not measured (no device?)\n", line->title);
            return;
        }
        added[i] = added_by(line, plain[i], with[i]);
    }
    qsort(added, (size_t)rounds, sizeof added[0], compare);
    printf("%-43s %11.2f us %11.2f us  %+7.2f %-2s [%+.2f, %+.2f]  quickest %+.2f %s", line->title,
           median(plain, (size_t)rounds), median(with, (size_t)rounds), added[rounds / 2], unit, added[0],
           added[rounds - 1], added_by(line, least[0], least[1]), unit);
    if (line->most > 0)
        printf("   at most %+.2f %s", line->most, unit);
    printf("\n");
    figure_sorted(line->figure, added, (size_t)rounds);
    fflush(stdout);
}

static pid_t start_daemon(const char *build, const char *socket)
{
    char program[PATH_MAX + 16];
    pid_t pid;

    (void)snprintf(program, sizeof program, "%s/batond", build);
    pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);

        (void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* it ends with us, however we end */
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        execl(program, program, "--socket", socket, "--foreground", (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 200 && access(socket, F_OK); i++)
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    return pid;
}

static bool wanted(int argc, char **argv, const char *what)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], what))
            return true;
    return argc == 1;
}

int main(int argc, char **argv)
{
    static const char *const basic[] = {"POCL_DEVICES=basic", NULL}, *const pthread[] = {
                                                                         "POCL_DEVICES=pthread", NULL};
    /* 32 x 128 groups of 32 x 8, 10 in a piece: 410 pieces. */
    static const char *const cut[] = {"POCL_DEVICES=basic", "BATON_SLICE=10", NULL};
    static const struct line connected[] = {
        {"synchronous empty launch, basic", "sync", "layer-sync", basic, false, ROUNDS, 2},
        {"pipelined empty launch, pthread", "pipelined", "layer-pipelined", pthread, false, ROUNDS, 1},
        {"write 16 MiB, pthread", "write", "layer-write", pthread, true, COPY_ROUNDS, 2},
        {"read 16 MiB, pthread", "read", "layer-read", pthread, true, COPY_ROUNDS, 2},
        {"product of 1024 x 1024 in 410 pieces, basic", "product", "layer-pieces", cut, true, PRODUCT_ROUNDS,
         4},
    };
    char self[PATH_MAX], build[PATH_MAX], layer[PATH_MAX + 32], folder[] = "/tmp/bench-layer-XXXXXX",
                                                                socket[64];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    pid_t daemon;

    if (argc == 3 && !strcmp(argv[1], "--child"))
        return child(argv[2]);
    if (n < 0 || !mkdtemp(folder))
        return 3;
    self[n] = 0;
    (void)snprintf(build, sizeof build, "%s", self);
    (void)snprintf(layer, sizeof layer, "%s/libbaton-layer.so", dirname(dirname(build)));
    (void)snprintf(socket, sizeof socket, "%s/socket", folder);
    setenv("BATON_SOCKET", socket, 1);
    setenv("BATON_CACHE_DIR", folder, 1);
    setenv("POCL_CACHE_DIR", folder, 1);
    /* One method of memcpy for all sizes, as a copy engine has (docs/evaluation.md). */
    setenv("GLIBC_TUNABLES", "glibc.cpu.x86_non_temporal_threshold=0x7000", 0);
    printf("%-43s %14s %14s  %s (median of %d pairs, %d of copies, %d of products; [spread])\n", "", "plain",
           "layer", "added", ROUNDS, COPY_ROUNDS, PRODUCT_ROUNDS);
    daemon = start_daemon(build, socket);
    for (size_t i = 0; i < sizeof connected / sizeof connected[0]; i++)
        if (wanted(argc, argv, connected[i].what))
            compare_runs(self, layer, &connected[i]);
    if (daemon > 0) {
        kill(daemon, SIGTERM);
        waitpid(daemon, NULL, 0);
    }
    if (execlp("rm", "rm", "-rf", folder, (char *)NULL))
        return 3;
    return 0;
}
