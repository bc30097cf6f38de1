/*
 * A program that keeps its compiled kernels, as frameworks do.
 *
 * usage: binaries FOLDER versioned|naive|linked [stubborn]
 *   versioned  what it keeps is named after the driver's version, as pyopencl, OpenCV and hashcat
 *              do; naive: it is not
 *   linked     as versioned, but compiled with a header and linked, as hashcat does
 *   stubborn   a binary that is refused is the end of it; otherwise it builds from source
 *
 * Prints how it came by its kernel (built, loaded, refused) and what that computed, or the failure.
 * Two devices of the context get a binary each, and both statuses are checked against the call's
 * code.
 */
#include <CL/cl.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1024, LOCAL = 4, MOST = 1 << 16 };

static cl_device_id devices[2];
static cl_uint n_devices;
static cl_context context;
static char path[1200];

static const char source[] = "kernel void scale(global int *a, int factor)\n"
                             "{ size_t i = get_global_id(0); a[i] = a[i] * factor + 1; }\n";

/* From an object that was compiled with a header. NULL: a call failed. */
static cl_program link_it(void)
{
    const char *header = "#define ONE 1\n",
               *text = "#include \"one.h\"\n"
                       "kernel void scale(global int *a, int factor)\n"
                       "{ size_t i = get_global_id(0); a[i] = a[i] * factor + ONE; }\n",
               *name = "one.h";
    cl_program one = clCreateProgramWithSource(context, 1, &header, NULL, NULL);
    cl_program part = clCreateProgramWithSource(context, 1, &text, NULL, NULL), linked = NULL;

    if (clCompileProgram(part, n_devices, devices, "", 1, &one, &name, NULL, NULL) == CL_SUCCESS)
        linked = clLinkProgram(context, n_devices, devices, "", 1, &part, NULL, NULL, NULL);
    clReleaseProgram(one);
    clReleaseProgram(part);
    return linked;
}

static void name_file(const char *folder, int versioned)
{
    char version[200] = "any";

    if (versioned)
        clGetDeviceInfo(devices[0], CL_DRIVER_VERSION, sizeof version, version, NULL);
    for (char *c = version; *c; c++)
        *c = (char)(isalnum((unsigned char)*c) ? *c : '_');
    (void)snprintf(path, sizeof path, "%s/%s", folder, version);
}

static cl_program load(cl_int *ret_code)
{
    static unsigned char bytes[MOST];
    const unsigned char *binaries[2] = {bytes, bytes};
    size_t lengths[2];
    cl_int statuses[2] = {1, 1};
    cl_program program;
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(bytes, 1, sizeof bytes, file) : 0;

    *ret_code = CL_SUCCESS;
    if (file)
        (void)fclose(file);
    if (!n)
        return NULL;
    lengths[0] = lengths[1] = n;
    program = clCreateProgramWithBinary(context, n_devices, devices, lengths, binaries, statuses, ret_code);
    if ((program != NULL) != (*ret_code == CL_SUCCESS) || (statuses[0] != *ret_code))
        printf("statuses and code disagree: %d %d\n", statuses[0], *ret_code);
    return program;
}

static void keep(cl_program program)
{
    static unsigned char first[MOST], second[MOST];
    unsigned char *binaries[2] = {first, second};
    size_t sizes[2] = {0};
    FILE *file;

    if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, n_devices * sizeof sizes[0], sizes, NULL) ||
        sizes[0] > sizeof first || sizes[1] > sizeof second ||
        clGetProgramInfo(program, CL_PROGRAM_BINARIES, n_devices * sizeof binaries[0], binaries, NULL))
        return;
    file = fopen(path, "wb");
    if (!file || fwrite(first, 1, sizes[0], file) != sizes[0] || fclose(file))
        printf("cannot keep it\n");
}

static void run(cl_program program)
{
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, devices[0], NULL, NULL);
    static cl_int values[N];
    cl_mem mem =
        clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof values, values, NULL);
    cl_kernel kernel = clCreateKernel(program, "scale", NULL);
    size_t global = N, local = LOCAL;
    cl_int factor = 3, wrong = 0;

    clSetKernelArg(kernel, 0, sizeof mem, &mem);
    clSetKernelArg(kernel, 1, sizeof factor, &factor);
    for (int i = 0; i < 3; i++)
        clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
    clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL);
    for (int i = 0; i < N; i++)
        wrong += values[i] != 13; /* 1, 3 + 1, 3 * 4 + 1 */
    printf("%d wrong\n", wrong);
    clReleaseKernel(kernel);
    clReleaseMemObject(mem);
    clReleaseCommandQueue(queue);
}

int main(int argc, char **argv)
{
    const char *text = source;
    cl_platform_id platform;
    cl_program program;
    cl_int code;

    if (argc < 3 || clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, devices, &n_devices))
        return 3;
    n_devices = n_devices < 2 ? n_devices : 2;
    context = clCreateContext(NULL, n_devices, devices, NULL, NULL, NULL);
    name_file(argv[1], strcmp(argv[2], "naive") != 0);
    program = load(&code);
    printf("%s\n", program ? "loaded" : code ? "refused" : "built");
    if (!program && code && argc > 3)
        return 2;
    if (!program && !strcmp(argv[2], "linked")) {
        program = link_it();
        code = program ? CL_SUCCESS : CL_LINK_PROGRAM_FAILURE;
    } else {
        if (!program)
            program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
        code = clBuildProgram(program, n_devices, devices, "", NULL, NULL);
    }
    if (code)
        return 2;
    keep(program);
    run(program);
    clReleaseProgram(program);
    clReleaseContext(context);
    return 0;
}
