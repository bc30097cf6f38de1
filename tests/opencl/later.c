/*
 * A program's rewritten twin is made after its build, perhaps much later. What the build has read
 * since may have changed: included files, the working folder; or the binaries of two devices come
 * from two builds. The results are those of the build.
 */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N = 64 };

static int passed, failed;
static cl_device_id devices[2];
static cl_uint n_devices;
static cl_context context;
static char folder[] = "/tmp/baton-test-later-XXXXXX";

static void check(const char *sentence, int good)
{
    passed += good != 0;
    failed += good == 0;
    if (!good)
        printf("FAILED: %s\n", sentence);
}

static void write_header(const char *in, int value)
{
    char path[300];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s/value.h", folder, in);
    file = fopen(path, "w");
    if (!file || fprintf(file, "#define VALUE %d\n", value) < 0 || fclose(file) != 0) {
        printf("cannot write %s\n", path);
        exit(1);
    }
}

static cl_program build(const char *text, const char *options)
{
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);

    check("it builds", clBuildProgram(program, 0, NULL, options, NULL, NULL) == CL_SUCCESS);
    return program;
}

/*
 * What `kernel void put(global int *a)` stores everywhere, on that device; -1: not the same
 * everywhere.
 */
static int value_of(cl_program program, cl_uint device)
{
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, devices[device], NULL, NULL);
    cl_mem mem = clCreateBuffer(context, CL_MEM_READ_WRITE, N * sizeof(cl_int), NULL, NULL);
    cl_kernel kernel = clCreateKernel(program, "put", NULL);
    size_t global = N, local = 4;
    cl_int values[N] = {0};
    int value;

    clSetKernelArg(kernel, 0, sizeof mem, &mem);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
    clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL);
    value = values[0];
    for (int i = 0; i < N; i++)
        value = values[i] == value ? value : -1;
    clReleaseKernel(kernel);
    clReleaseMemObject(mem);
    clReleaseCommandQueue(queue);
    return value;
}

static const char including[] =
    "#include \"value.h\"\nkernel void put(global int *a) { a[get_global_id(0)] = VALUE; }\n";

static void changed_header(void)
{
    char options[300];
    cl_program first, second;

    (void)snprintf(options, sizeof options, "-I %s/a", folder);
    write_header("a", 1);
    first = build(including, options);
    write_header("a", 2);
    second = build(including, options);
    write_header("a", 3);
    check("the first build has the first header", value_of(first, 0) == 1);
    check("the second build has the second header", value_of(second, 0) == 2);
    clReleaseProgram(first);
    clReleaseProgram(second);
}

static void other_folder(void)
{
    char path[300];
    cl_program program;

    write_header("a", 4);
    write_header("b", 5);
    (void)snprintf(path, sizeof path, "%s/a", folder);
    check("there", chdir(path) == 0);
    program = build(including, "-I .");
    (void)snprintf(path, sizeof path, "%s/b", folder);
    check("elsewhere", chdir(path) == 0);
    check("a build has the header of the folder it was in", value_of(program, 0) == 4);
    clReleaseProgram(program);
    (void)snprintf(path, sizeof path, "-I %s/a", folder);
    program = build(including, path);
    check("PoCL looks into the working folder first", value_of(program, 0) == 5);
    clReleaseProgram(program);
    check("back", chdir("/") == 0);
}

static unsigned char *binary_of(cl_program program, cl_uint device, size_t *ret_size)
{
    unsigned char *outputs[2] = {NULL, NULL};
    size_t sizes[2] = {0, 0};

    clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, NULL);
    for (cl_uint i = 0; i < n_devices; i++)
        outputs[i] = malloc(sizes[i] + 1);
    clGetProgramInfo(program, CL_PROGRAM_BINARIES, n_devices * sizeof outputs[0], outputs, NULL);
    free(outputs[!device]);
    *ret_size = sizes[device];
    return outputs[device];
}

static cl_program load(unsigned char *const binaries[2], const size_t sizes[2])
{
    const unsigned char *input[2] = {binaries[0], binaries[1]};
    cl_int code;
    cl_program program = clCreateProgramWithBinary(context, n_devices, devices, sizes, input, NULL, &code);

    check("the binaries load",
          code == CL_SUCCESS && clBuildProgram(program, 0, NULL, "", NULL, NULL) == CL_SUCCESS);
    return program;
}

static void changed_header_of_a_binary(void)
{
    char options[300];
    unsigned char *binaries[2] = {NULL, NULL};
    size_t sizes[2] = {0, 0};
    cl_program program;

    (void)snprintf(options, sizeof options, "-I %s/a", folder);
    write_header("a", 6);
    program = build(including, options);
    for (cl_uint i = 0; i < n_devices; i++)
        binaries[i] = binary_of(program, i, &sizes[i]);
    clReleaseProgram(program);
    write_header("a", 7);
    program = load(binaries, sizes);
    check("a binary has the header of its build", value_of(program, 0) == 6);
    clReleaseProgram(program);
    for (cl_uint i = 0; i < n_devices; i++)
        free(binaries[i]);
}

static void binaries_of_two_builds(void)
{
    static const char text[] = "kernel void put(global int *a) { a[get_global_id(0)] = VALUE; }\n";
    cl_program builds[2] = {build(text, "-DVALUE=8"), build(text, "-DVALUE=9")}, both;
    unsigned char *binaries[2] = {NULL, NULL};
    size_t sizes[2] = {0, 0};

    for (cl_uint i = 0; i < 2; i++)
        binaries[i] = binary_of(builds[i], i, &sizes[i]);
    both = load(binaries, sizes);
    check("each device has its own binary", value_of(both, 0) == 8 && value_of(both, 1) == 9);
    for (int i = 0; i < 2; i++) {
        free(binaries[i]);
        clReleaseProgram(builds[i]);
    }
    clReleaseProgram(both);
}

static void required_size(void)
{
    cl_program program =
        build("kernel __attribute__((reqd_work_group_size(4, 2, 1))) void put(global int *a)\n"
              "{ a[get_global_id(0)] = 1; }\n",
              "");
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, devices[0], NULL, NULL);
    cl_mem mem = clCreateBuffer(context, CL_MEM_READ_WRITE, N * sizeof(cl_int), NULL, NULL);
    cl_kernel kernel = clCreateKernel(program, "put", NULL);
    size_t global[2] = {16, 4}, right[2] = {4, 2}, wrong[2] = {2, 2};

    clSetKernelArg(kernel, 0, sizeof mem, &mem);
    check("as required",
          clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, right, 0, NULL, NULL) == CL_SUCCESS);
    check("another local size is refused at once",
          clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, wrong, 0, NULL, NULL) ==
              CL_INVALID_WORK_GROUP_SIZE);
    check("so are too few dimensions", clEnqueueNDRangeKernel(queue, kernel, 1, NULL, global, right, 0, NULL,
                                                              NULL) == CL_INVALID_WORK_GROUP_SIZE);
    clFinish(queue);
    clReleaseKernel(kernel);
    clReleaseMemObject(mem);
    clReleaseCommandQueue(queue);
    clReleaseProgram(program);
}

static void folders(int make)
{
    static const char *const names[] = {"", "/a", "/b"};
    char path[300];

    if (make && !mkdtemp(folder))
        exit(1);
    for (int i = 2; i >= 0; i--) {
        (void)snprintf(path, sizeof path, "%s%s/value.h", folder, names[i]);
        (void)unlink(path);
        *strrchr(path, '/') = 0;
        (void)(make ? mkdir(path, 0700) : rmdir(path));
    }
}

int main(void)
{
    cl_platform_id platform;

    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, devices, &n_devices) || n_devices != 2) {
        printf("two OpenCL devices are needed\n");
        return 77;
    }
    context = clCreateContext(NULL, n_devices, devices, NULL, NULL, NULL);
    folders(1);
    changed_header();
    other_folder();
    changed_header_of_a_binary();
    binaries_of_two_builds();
    required_size();
    folders(0);
    clReleaseContext(context);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
