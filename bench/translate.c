/*
 * What translation adds to a program's build: the first time (baton-translate runs) and later (disk
 * cache), beside plain clBuildProgram in the same run. Each round uses a program text never seen
 * before, so that no cache of the driver helps.
 */
#include "base/clock.h"
#include "translate/translate.h"

#include <CL/cl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 15, MIDDLE = ROUNDS / 2 };

static const struct {
    const char *name;
    const char *body;
} programs[] = {
    {"trivial", "__kernel void k(__global int *o) { o[get_global_id(0)] = SEED; }\n"},
    {"matrix product", "#define T 16\n__kernel void k(__global const float *a, __global const float *b, "
                       "__global float *c, int n)\n"
                       "{ __local float s[T][T], t[T][T]; int x = get_global_id(0), y = get_global_id(1), u "
                       "= get_local_id(0), v = get_local_id(1); float r = SEED;\n"
                       "  for (int i = 0; i < n; i += T) { s[v][u] = a[y * n + i + u]; t[v][u] = b[(i + v) * "
                       "n + x]; barrier(CLK_LOCAL_MEM_FENCE);\n"
                       "    for (int j = 0; j < T; j++) r += s[v][j] * t[j][u]; "
                       "barrier(CLK_LOCAL_MEM_FENCE); } c[y * n + x] = r; }\n"},
    {"twenty kernels", NULL},
};

static int compare_times(const void *a, const void *b)
{
    baton_nsec x = *(const baton_nsec *)a;
    baton_nsec y = *(const baton_nsec *)b;

    return (x > y) - (x < y);
}

static char *text_of(size_t program, unsigned seed)
{
    char *text = malloc(20000);
    size_t n = (size_t)snprintf(text, 20000, "#define SEED %u\n", seed);

    if (programs[program].body) {
        (void)snprintf(text + n, 20000 - n, "%s", programs[program].body);
        return text;
    }
    n += (size_t)snprintf(text + n, 20000 - n,
                          "float f(float v, int i) { return sin(v) * i + get_group_id(0); }\n");
    for (int i = 0; i < 20; i++)
        n += (size_t)snprintf(text + n, 20000 - n,
                              "__kernel void k%d(__global const float *a, __global float *o, int n) { for "
                              "(size_t i = get_global_id(0); i < n; i += "
                              "get_global_size(0)) o[i] = f(a[i], %d) + SEED; }\n",
                              i, i);
    return text;
}

static baton_nsec time_build(cl_context context, cl_device_id device, const char *text, const char *options)
{
    baton_nsec begin_at = clock_now();
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    cl_int error = clBuildProgram(program, 1, &device, options, NULL, NULL);
    baton_nsec took = clock_now() - begin_at;

    if (error != CL_SUCCESS) {
        (void)fprintf(stderr, "bench-translate: does not build (%d):\n%s", (int)error, text);
        exit(3);
    }
    clReleaseProgram(program);
    return took;
}

static baton_nsec time_translate(const struct translate_device *device, const char *text,
                                 struct translate_result *ret_result, bool cached)
{
    size_t length = strlen(text);
    struct translate_request request = {
        .sources = &text, .lengths = &length, .n_sources = 1, .options = "", .device = *device};
    baton_nsec begin_at = clock_now();
    int r = translate_program(&request, ret_result);
    baton_nsec took = clock_now() - begin_at;

    if (r != 0 || ret_result->from_cache != cached) {
        (void)fprintf(stderr, "bench-translate: %s\n",
                      r > 0 ? ret_result->reason : "the cache does not work");
        exit(3);
    }
    return took;
}

static void print_row(const char *what, baton_nsec times[ROUNDS], double plain)
{
    qsort(times, ROUNDS, sizeof times[0], compare_times);
    (void)printf("  %-34s median %8.3f ms   (%.3f .. %.3f)   %6.3f of a plain build\n", what,
                 (double)times[MIDDLE] / 1e6, (double)times[1] / 1e6, (double)times[ROUNDS - 2] / 1e6,
                 (double)times[MIDDLE] / plain);
}

static void measure(size_t which, cl_context context, cl_device_id device,
                    const struct translate_device *description)
{
    baton_nsec times[4][ROUNDS];
    double plain;

    for (int i = 0; i < ROUNDS; i++) {
        char *text = text_of(which, (unsigned)getpid() * 64 + (unsigned)i);
        struct translate_result first;
        struct translate_result second;

        times[0][i] = time_build(context, device, text, "");
        times[1][i] = time_translate(description, text, &first, false);
        times[2][i] = time_translate(description, text, &second, true);
        times[3][i] = time_build(context, device, first.source, first.options);
        translate_result_done(&first);
        translate_result_done(&second);
        free(text);
    }
    qsort(times[0], ROUNDS, sizeof times[0][0], compare_times);
    plain = (double)times[0][MIDDLE];
    (void)printf("%s\n", programs[which].name);
    print_row("plain build", times[0], plain);
    print_row("translation, first time", times[1], plain);
    print_row("translation, from the disk cache", times[2], plain);
    print_row("build of the rewritten text", times[3], plain);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)st;
    (void)kind;
    (void)walk;
    return remove(path);
}

int main(void)
{
    char cache[] = "/tmp/bench-translate-XXXXXX";
    static char version[256];
    static char c_version[256];
    static char extensions[4096];
    struct translate_device description = {.version = version,
                                           .c_version = c_version,
                                           .extensions = extensions,
                                           .driver = version,
                                           .address_bits = 64,
                                           .images = true,
                                           .little_endian = true};
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;

    if (!mkdtemp(cache) || setenv("BATON_CACHE_DIR", cache, 1) || setenv("POCL_CACHE_DIR", cache, 1))
        return 3;
    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) {
        (void)fprintf(stderr, "bench-translate: no OpenCL device\n");
        return 3;
    }
    (void)clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof version - 1, version, NULL);
    (void)clGetDeviceInfo(device, CL_DEVICE_OPENCL_C_VERSION, sizeof c_version - 1, c_version, NULL);
    (void)clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof extensions - 1, extensions, NULL);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
        measure(i, context, device, &description);
    (void)nftw(cache, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return 0;
}
