/*
 * No launch after a kernel's first makes the driver compile. What has been compiled is counted, not
 * timed. On PoCL that is the files in POCL_CACHE_DIR, which must be empty at first. On the fake
 * driver it is the lines that begin with Compile in FAKE_CL_LOG. Needs a daemon: without one
 * nothing is cut. Prints `N passed, N failed`.
 */
#include <CL/cl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 20, LAUNCHES = 5 };

static int passed, failed, n_files;
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_mem mem;
static cl_int values[MOST];

static int count_file(const char *path, const struct stat *st, int type, struct FTW *place)
{
    size_t n = strlen(path);

    (void)st;
    (void)place;
    n_files += type == FTW_F && n > 3 && !strcmp(path + n - 3, ".so");
    return 0;
}

static int compiled(void)
{
    const char *log = getenv("FAKE_CL_LOG"), *folder = getenv("POCL_CACHE_DIR");
    char line[256];
    FILE *file = log ? fopen(log, "r") : NULL;

    n_files = 0;
    while (file && fgets(line, sizeof line, file))
        n_files += !strncmp(line, "Compile", strlen("Compile"));
    if (file)
        (void)fclose(file);
    if (!log && folder)
        (void)nftw(folder, count_file, 16, FTW_PHYS);
    return n_files;
}

/*
 * A way to launch: the first launch's work-items, those of the later ones, and the local size (0:
 * NULL).
 */
struct way {
    const char *name;
    cl_uint dim;
    size_t first[2], then[2], local[2];
    int fresh_kernels; /* a kernel object per launch, as some frameworks do */
};

static const struct way ways[] = {
    {"many groups", 1, {1024}, {1024}, {4}, 0},
    {"one group, then many", 1, {4}, {1024}, {4}, 0},
    {"a row that is just wide", 1, {70016}, {70016}, {64}, 0},
    {"a row that is very wide", 1, {MOST}, {MOST}, {64}, 0},
    {"a row of groups that are wide", 1, {MOST}, {MOST}, {1024}, 0},
    {"the driver's own local size", 1, {4096}, {4096}, {0}, 0},
    {"two dimensions", 2, {512, 256}, {512, 256}, {8, 8}, 0},
    {"a kernel object per launch", 1, {70016}, {70016}, {64}, 1},
};

static int launch(cl_kernel kernel, const struct way *way, const size_t *global)
{
    return clSetKernelArg(kernel, 0, sizeof mem, &mem) == CL_SUCCESS &&
           clSetKernelArg(kernel, 1, sizeof(cl_int), &(cl_int){1}) == CL_SUCCESS &&
           clEnqueueNDRangeKernel(queue, kernel, way->dim, NULL, global, way->local[0] ? way->local : NULL, 0,
                                  NULL, NULL) == CL_SUCCESS &&
           clFinish(queue) == CL_SUCCESS;
}

static void try(const struct way *way, int number)
{
    char source[256];
    const char *text = source;
    cl_program program;
    cl_kernel kernel;
    int first, last, good = 1, wrong = 0;
    size_t n = way->then[0] * (way->dim > 1 ? way->then[1] : 1);

    /*
     * A text of its own each, so that nothing is in the driver's cache. The fake driver knows
     * `scale` by its name. The loop changes nothing, but takes time: also a machine that is twenty
     * times as fast as a present one cuts the launches.
     */
    (void)snprintf(source, sizeof source,
                   "kernel void scale(global int *a, int factor)\n"
                   "{ size_t i = get_global_id(0) + get_global_id(1) * get_global_size(0); int x = a[i];\n"
                   "  for (int k = 0; k < 160; k++) x *= factor;\n"
                   "  a[i] = x + %d - %d; }\n",
                   number + 1, number);
    memset(values, 0, sizeof values);
    clEnqueueWriteBuffer(queue, mem, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL);
    program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    good = clBuildProgram(program, 0, NULL, "", NULL, NULL) == CL_SUCCESS;
    kernel = clCreateKernel(program, "scale", NULL);
    good = good && launch(kernel, way, way->first);
    first = compiled();
    for (int i = 1; good && i < LAUNCHES; i++) {
        if (way->fresh_kernels) {
            clReleaseKernel(kernel);
            kernel = clCreateKernel(program, "scale", NULL);
        }
        good = launch(kernel, way, way->then);
    }
    last = compiled();
    clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL);
    for (size_t i = way->first[0]; way->dim == 1 && i < n; i++)
        wrong += values[i] != LAUNCHES - 1;
    wrong += values[0] != LAUNCHES;
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    if (good && !wrong && first > 0 && last == first) {
        passed++;
        return;
    }
    failed++;
    printf("FAILED: %s: %d compiled by the first launch, %d by the others, %d wrong%s\n", way->name, first,
           last - first, wrong, good ? "" : ", a call failed");
}

int main(void)
{
    cl_platform_id platform;
    int fake = getenv("FAKE_CL_LOG") != NULL;

    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 3;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueueWithProperties(context, device, NULL, NULL);
    mem = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof values, NULL, NULL);
    for (int i = 0; i < (int)(sizeof ways / sizeof ways[0]); i++)
        if (!fake ||
            (ways[i].dim == 1 && ways[i].first[0] < MOST)) /* its kernels know one dimension, and are slow */
            try(&ways[i], i);
    clReleaseMemObject(mem);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
