/*
 * What the layer costs: the same program runs itself as a child with and without it, in turn, and
 * compares medians. Connected means that a daemon on a temporary socket is there and no other
 * program wants the device.
 *
 * usage: bench-layer [control] [sync] [pipelined] [write] [read] [product]
 *   default: all but control
 *
 * Needs batond, libbaton-layer.so and PoCL; the build folder is the parent of this program's. With
 * `control` neither run has the layer. What is "added" then is the method's own error, and the
 * other rows are not more exact than that.
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
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "figure.h"

/* Pairs of children; of copies, single ones of each pair in turns (compare_copies). */
enum { ROUNDS = 15, PRODUCT_ROUNDS = 5, COPY_PAIRS = 31, COPY_ROUNDS = 31 * 31 };
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

/*
 * Two halves of memory that all children share: what is copied, and the buffer. Else each would
 * have pages of its own, which differ in speed.
 */
static char *shared_memory(void)
{
    const char *number = getenv("BENCH_MEMORY");
    void *memory = number ? mmap(NULL, 2 * (size_t)COPY, PROT_READ | PROT_WRITE, MAP_SHARED,
                                 (int)strtol(number, NULL, 10), 0)
                          : MAP_FAILED;

    return memory == MAP_FAILED ? NULL : memory;
}

/* One copy for every byte that is asked for, answered with its time in microseconds. */
static int serve_copies(const struct place *place, bool reading)
{
    char *host = shared_memory(), asked;
    cl_int code = CL_SUCCESS;
    cl_mem mem = host ? clCreateBuffer(place->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, COPY,
                                       host + COPY, &code)
                      : NULL;

    while (mem && code == CL_SUCCESS && read(STDIN_FILENO, &asked, 1) == 1) {
        double begin = now_us();

        code = reading ? clEnqueueReadBuffer(place->queue, mem, CL_TRUE, 0, COPY, host, 0, NULL, NULL)
                       : clEnqueueWriteBuffer(place->queue, mem, CL_TRUE, 0, COPY, host, 0, NULL, NULL);
        begin = now_us() - begin;
        if (write(STDOUT_FILENO, &begin, sizeof begin) != sizeof begin)
            return 3;
    }
    return mem && code == CL_SUCCESS ? 0 : 3;
}

/*
 * A matrix product of 1024 x 1024; how many pieces is said by BATON_SLICE. The first, small launch
 * makes the driver compile.
 */
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
    if (!strcmp(what, "write") || !strcmp(what, "read"))
        return serve_copies(&place, !strcmp(what, "read"));
    found = !strcmp(what, "sync")        ? measure_launch(&place, false)
            : !strcmp(what, "pipelined") ? measure_launch(&place, true)
                                         : measure_product(&place);
    printf("%.4f %.4f\n", found.middle, found.least);
    return 0;
}

/* A child with this end of its standard output, and of its input if wanted. */
static pid_t start_child(const char *self, const char *what, const char *const pairs[], const char *layer,
                         int *ret_in, int *ret_out)
{
    int in[2] = {-1, -1}, out[2];
    pid_t pid;

    if ((ret_in && pipe2(in, O_CLOEXEC)) || pipe2(out, O_CLOEXEC))
        return -1;
    pid = fork();
    if (pid == 0) {
        if (ret_in)
            dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        for (size_t i = 0; pairs[i]; i++)
            putenv((char *)(uintptr_t)pairs[i]);
        if (layer)
            setenv("OPENCL_LAYERS", layer, 1);
        else
            unsetenv("OPENCL_LAYERS");
        execl(self, self, "--child", what, (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    *ret_out = out[0];
    if (ret_in) {
        close(in[0]);
        *ret_in = in[1];
    }
    return pid;
}

/* One child; what it found, or -1. */
static struct found run_child(const char *self, const char *what, const char *const pairs[],
                              const char *layer)
{
    struct found found = {-1, -1};
    char text[64] = "", *rest;
    int out = -1, status = 0;
    pid_t pid = start_child(self, what, pairs, layer, NULL, &out);
    ssize_t n;

    if (pid < 0)
        return found;
    n = read(out, text, sizeof text - 1);
    close(out);
    waitpid(pid, &status, 0);
    if (n > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        found.middle = strtod(text, &rest);
        found.least = strtod(rest, NULL);
    }
    return found;
}

/*
 * One line: what was added by the layer, and what it may be. It is the median of the pairs with
 * their spread. It is also the difference between the quickest samples of all children, since other
 * work on the machine only ever adds to a time.
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

static void print_line(const struct line *line, double *plain, double *with, double *added,
                       const double least[2])
{
    size_t rounds = (size_t)line->rounds;
    const char *unit = line->as_ratio ? "%" : "us";

    qsort(added, rounds, sizeof added[0], compare);
    printf("%-43s %11.2f us %11.2f us  %+7.2f %-2s [%+.2f, %+.2f]  quickest %+.2f %s", line->title,
           median(plain, rounds), median(with, rounds), added[rounds / 2], unit, added[0], added[rounds - 1],
           added_by(line, least[0], least[1]), unit);
    if (line->most > 0)
        printf("   at most %+.2f %s", line->most, unit);
    printf("\n");
    figure_sorted(line->figure, added, rounds);
    fflush(stdout);
}

/* A copy of each of two children at a time, in turns. */
static bool copy_in_turns(const int in[2], const int out[2], int turn, double ret_us[2])
{
    for (int j = 0; j < 2; j++) {
        int which = (turn + j) % 2;

        if (write(in[which], "", 1) != 1 ||
            read(out[which], &ret_us[which], sizeof ret_us[which]) != sizeof ret_us[which])
            return false;
    }
    return true;
}

/*
 * Copies drift with the machine's memory by tens of percent within seconds, and from process to
 * process. So single copies of a plain child and of one with the layer take turns, on the same
 * pages. There are several pairs of children.
 */
static void compare_copies(const char *self, const char *layer, const struct line *line)
{
    static double plain[COPY_ROUNDS], with[COPY_ROUNDS], added[COPY_ROUNDS];
    double least[2] = {INFINITY, INFINITY};
    bool good = true;
    int at = 0;

    for (int pair = 0; pair < COPY_PAIRS && good; pair++) {
        int in[2] = {-1, -1}, out[2] = {-1, -1};
        pid_t pids[2];

        for (int j = 0; j < 2; j++)
            pids[j] = start_child(self, line->what, line->pairs, j ? layer : NULL, &in[j], &out[j]);
        for (int i = -5; i < COPY_ROUNDS / COPY_PAIRS && good; i++) {
            double us[2];

            good = pids[0] > 0 && pids[1] > 0 && copy_in_turns(in, out, i + 6, us);
            if (!good || i < 0)
                continue;
            plain[at] = us[0];
            with[at] = us[1];
            added[at++] = added_by(line, us[0], us[1]);
            for (int j = 0; j < 2; j++)
                least[j] = us[j] < least[j] ? us[j] : least[j];
        }
        for (int j = 0; j < 2; j++) {
            close(in[j]);
            close(out[j]);
            if (pids[j] > 0)
                waitpid(pids[j], NULL, 0);
        }
    }
    if (good)
        print_line(line, plain, with, added, least);
    else
        printf("%-43s not measured (no device?)\n", line->title);
}

static void compare_runs(const char *self, const char *layer, const struct line *line)
{
    double plain[ROUNDS] = {0}, with[ROUNDS] = {0}, added[ROUNDS] = {0}, least[2] = {INFINITY, INFINITY};
    int rounds = line->rounds;

    for (int i = 0; i < rounds; i++) {
        struct found found[2];

        for (int j = 0; j < 2; j++) {
            int which =
                (i + j) % 2; /* which goes first changes, so that a drift of the machine hits both alike */
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
    print_line(line, plain, with, added, least);
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

/* For all children; written, since pages that were never written are all the same page of zeros. */
static bool share_memory(void)
{
    int fd = memfd_create("bench-layer", 0);
    char number[16], *memory;

    (void)snprintf(number, sizeof number, "%d", fd);
    setenv("BENCH_MEMORY", number, 1);
    if (fd < 0 || ftruncate(fd, 2 * (off_t)COPY) || !(memory = shared_memory()))
        return false;
    memset(memory, 1, 2 * (size_t)COPY);
    return munmap(memory, 2 * (size_t)COPY) == 0;
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
    if (!share_memory())
        return 3;
    for (size_t i = 0; i < sizeof connected / sizeof connected[0]; i++)
        if (wanted(argc, argv, connected[i].what))
            (connected[i].rounds == COPY_ROUNDS ? compare_copies : compare_runs)(
                self, argc > 1 && wanted(argc, argv, "control") ? NULL : layer, &connected[i]);
    if (daemon > 0) {
        kill(daemon, SIGTERM);
        waitpid(daemon, NULL, 0);
    }
    if (execlp("rm", "rm", "-rf", folder, (char *)NULL))
        return 3;
    return 0;
}
