/*
 * What the conformance lines cannot show: fork, hidden extensions, callbacks of failed commands,
 * binaries handed out.
 */
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int passed, failed;

static void check(const char *sentence, int good)
{
    passed += good != 0;
    failed += good == 0;
    if (!good)
        printf("FAILED: %s\n", sentence);
}

static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;

static void hidden_extensions(void)
{
    clEnqueueCommandBufferKHR_fn enqueue;
    char text[8192] = "";
    size_t size = 0;

    clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof text, text, &size);
    check("an extension that is not routed is not advertised", !strstr(text, "cl_khr_semaphore"));
    check("the size is that of the shorter list", size == strlen(text) + 1);
    check("other extensions still are", strstr(text, "cl_khr_byte_addressable_store") != NULL);
    check("its functions are hidden",
          !clGetExtensionFunctionAddressForPlatform(platform, "clCreateSemaphoreWithPropertiesKHR"));
    enqueue = (clEnqueueCommandBufferKHR_fn)(uintptr_t)clGetExtensionFunctionAddressForPlatform(
        platform, "clEnqueueCommandBufferKHR");
    check("functions that the layer provides itself are its own",
          enqueue && enqueue(0, NULL, NULL, 0, NULL, NULL) == CL_INVALID_COMMAND_BUFFER_KHR);
}

struct seen {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int n;
    cl_int status;
};

static void CL_CALLBACK note(cl_event event, cl_int status, void *data)
{
    struct seen *seen = data;

    (void)event;
    pthread_mutex_lock(&seen->lock);
    seen->n++;
    seen->status = status;
    pthread_cond_broadcast(&seen->changed);
    pthread_mutex_unlock(&seen->lock);
}

static void failed_callback(void)
{
    struct seen seen = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
    cl_event gate = clCreateUserEvent(context, NULL), event = NULL;

    clEnqueueMarkerWithWaitList(queue, 1, &gate, &event);
    clSetEventCallback(event, CL_COMPLETE, note, &seen);
    clSetUserEventStatus(gate, -5);
    pthread_mutex_lock(&seen.lock);
    while (!seen.n)
        pthread_cond_wait(&seen.changed, &seen.lock);
    pthread_mutex_unlock(&seen.lock);
    check("a failed command calls back with its status",
          seen.status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    clReleaseEvent(event);
    clReleaseEvent(gate);
}

/*
 * The child must be able to go on without our threads; what it does with inherited OpenCL objects
 * is its own affair.
 */
static void fork_passes_through(void)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        cl_uint n = 0;
        _exit(clGetPlatformIDs(0, NULL, &n) == CL_SUCCESS && n > 0 ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    check("a forked child still finds its platform", WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* The binary of a program that was built here is known again, so its kernels can still be cut. */
static void binaries(void)
{
    const char *source = "kernel void scale(global int *a, int factor)\n"
                         "{ size_t i = get_global_id(0); a[i] = a[i] * factor + 1; }\n";
    enum { N = 64 };
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL), again;
    size_t sizes[8] = {0}, size = 0, global = N, local = 4;
    unsigned char *outputs[8] = {NULL};
    const unsigned char *input;
    cl_int code, values[N] = {0}, factor = 3;
    cl_kernel kernel;
    cl_mem mem;

    clBuildProgram(program, 0, NULL, "-DX=1", NULL, NULL);
    clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, &size);
    outputs[0] = malloc(sizes[0] + 1);
    clGetProgramInfo(program, CL_PROGRAM_BINARIES, size / sizeof sizes[0] * sizeof outputs[0], outputs, NULL);
    input = outputs[0];
    again = clCreateProgramWithBinary(context, 1, &device, sizes, &input, NULL, &code);
    check("the binary loads",
          code == CL_SUCCESS && clBuildProgram(again, 0, NULL, "", NULL, NULL) == CL_SUCCESS);
    kernel = clCreateKernel(again, "scale", &code);
    mem = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof values, values, NULL);
    clSetKernelArg(kernel, 0, sizeof mem, &mem);
    clSetKernelArg(kernel, 1, sizeof factor, &factor);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
    clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL);
    code = 0;
    for (int i = 0; i < N; i++)
        code += values[i] != 1;
    check("its kernel computes", code == 0);
    clReleaseKernel(kernel);
    clReleaseMemObject(mem);
    clReleaseProgram(again);
    clReleaseProgram(program);
    free(outputs[0]);
}

/* Launches scale(a, 3) of the program, which adds 1, on 64 zeros in groups of 4. */
static void scale_computes(cl_program program)
{
    enum { N = 64 };
    cl_int code, wrong = 0, values[N] = {0}, factor = 3;
    cl_kernel kernel = clCreateKernel(program, "scale", &code);
    cl_mem mem =
        clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof values, values, NULL);
    size_t global = N, local = 4;

    clSetKernelArg(kernel, 0, sizeof mem, &mem);
    clSetKernelArg(kernel, 1, sizeof factor, &factor);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
    clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL);
    for (int i = 0; i < N; i++)
        wrong += values[i] != 1;
    check("its kernel computes", wrong == 0);
    clReleaseKernel(kernel);
    clReleaseMemObject(mem);
}

/* A kernel that is compiled with an embedded header, and linked. */
static void headers(void)
{
    const char *header_text = "#define PLUS(a, b) ((a) + (b))\n";
    const char *text = "#include \"inc/plus.h\"\nkernel void scale(global int *a, int factor)\n"
                       "{ size_t i = get_global_id(0); a[i] = PLUS(a[i] * factor, 1); }\n";
    cl_program header = clCreateProgramWithSource(context, 1, &header_text, NULL, NULL),
               part = clCreateProgramWithSource(context, 1, &text, NULL, NULL), whole;
    const char *name = "inc/plus.h";
    cl_int code;

    check("it compiles with its header",
          clCompileProgram(part, 0, NULL, "", 1, &header, &name, NULL, NULL) == CL_SUCCESS);
    clReleaseProgram(header);
    whole = clLinkProgram(context, 0, NULL, "", 1, &part, NULL, NULL, &code);
    check("it links", code == CL_SUCCESS);
    scale_computes(whole);
    clReleaseProgram(whole);
    clReleaseProgram(part);
}

/*
 * A kernel whose text asks for the versions of the device and of the language: the rewriting must
 * know them as the driver does.
 */
static void versions(void)
{
    const char *text = "#if __OPENCL_VERSION__ >= CL_VERSION_1_2 && __OPENCL_C_VERSION__ >= 110\n"
                       "kernel void scale(global int *a, int factor)\n"
                       "{ size_t i = get_global_id(0); a[i] = a[i] * factor + 1; }\n#endif\n";
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);

    check("it builds", clBuildProgram(program, 0, NULL, "", NULL, NULL) == CL_SUCCESS);
    scale_computes(program);
    clReleaseProgram(program);
}

/* One of these in a process of its own, whose statistics tell how the kernel ran. */
static void runs_in_pieces(const char *self, const char *part)
{
    char path[] = "/tmp/baton-test-behaviour-XXXXXX", text[4096] = "";
    int fd = mkstemp(path), status = -1;
    const char *at;
    pid_t pid = fork();

    if (pid == 0) {
        setenv("BATON_STATS", path, 1);
        execl(self, self, part, (char *)NULL);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    check("a program with an embedded header, or one that asks for versions, runs",
          WIFEXITED(status) && WEXITSTATUS(status) == 0);
    if (read(fd, text, sizeof text - 1) <= 0) { /* written beside and renamed */
        close(fd);
        fd = open(path, O_RDONLY);
        check("it leaves statistics", fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    }
    at = strstr(text, "\"pieces\": ");
    /* 64 items in groups of 4, two groups a piece */
    check("its kernel ran in 8 pieces", at && strtol(at + strlen("\"pieces\": "), NULL, 10) == 8);
    close(fd);
    unlink(path);
}

/*
 * A program that is built and released at once: its rewriting may still be under way, but keeps
 * nothing of the driver's alive.
 */
static void nothing_outlives_its_release(void)
{
    const char *source = "kernel void scale(global int *a, int factor)\n"
                         "{ size_t i = get_global_id(0); a[i] = a[i] + factor; }\n";
    int alone = 0;

    for (int i = 0; i < 20; i++) {
        cl_context own = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
        cl_program program = clCreateProgramWithSource(own, 1, &source, NULL, NULL);
        cl_uint refs = 0;

        clBuildProgram(program, 0, NULL, "", NULL, NULL);
        clReleaseKernel(clCreateKernel(program, "scale", NULL));
        clReleaseProgram(program);
        clGetContextInfo(own, CL_CONTEXT_REFERENCE_COUNT, sizeof refs, &refs, NULL);
        alone += refs == 1;
        clReleaseContext(own);
    }
    check("a context is the program's alone again after the last release of what it made", alone == 20);
}

/*
 * The program has one thread; its launches and its migrations reach the driver from several of
 * ours.
 */
static void migrations_beside_launches(void)
{
    enum { ROUNDS = 3000, ITEMS = 64 };
    const char *source = "kernel void scale(global int *a, int factor)\n"
                         "{ size_t i = get_global_id(0); a[i] = a[i] + factor; }\n";
    cl_command_queue other =
        clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
    cl_int zeros[ITEMS] = {0}, result[ITEMS] = {0}, one = 1;
    cl_mem mem = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof zeros, zeros, NULL);
    size_t global = ITEMS, local = 8;
    cl_kernel kernel;
    int migrated = 0;

    clBuildProgram(program, 0, NULL, "", NULL, NULL);
    kernel = clCreateKernel(program, "scale", NULL);
    clSetKernelArg(kernel, 0, sizeof mem, &mem);
    clSetKernelArg(kernel, 1, sizeof one, &one);
    for (int i = 0; i < ROUNDS; i++) {
        cl_event event = NULL;

        clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
        clEnqueueMigrateMemObjects(other, 1, &mem, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, &event);
        migrated += clWaitForEvents(1, &event) == CL_SUCCESS;
        clReleaseEvent(event);
    }
    clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, sizeof result, result, 0, NULL, NULL);
    check("migrations beside launches all end", migrated == ROUNDS);
    check("and take nothing from them", result[0] == ROUNDS && result[ITEMS - 1] == ROUNDS);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseMemObject(mem);
    clReleaseCommandQueue(other);
}

static cl_uint references_of(cl_sampler sampler)
{
    cl_uint n = 0;

    clGetSamplerInfo(sampler, CL_SAMPLER_REFERENCE_COUNT, sizeof n, &n, NULL);
    return n;
}

/*
 * A launch that waits keeps a sampler whose handle is one of its arguments; here the argument only
 * looks like one. The program may release the sampler at once.
 */
static void samplers_of_launches_that_wait(void)
{
    const char *source = "kernel void scale(global int *a, ulong factor)\n"
                         "{ size_t i = get_global_id(0); a[i] = a[i] * (int)factor + 1; }\n";
    cl_int values[8] = {3, 3, 3, 3, 3, 3, 3, 3};
    cl_context own = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue line = clCreateCommandQueue(own, device, 0, NULL);
    cl_program program = clCreateProgramWithSource(own, 1, &source, NULL, NULL);
    cl_sampler sampler = clCreateSampler(own, CL_TRUE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, NULL);
    cl_mem mem = clCreateBuffer(own, CL_MEM_COPY_HOST_PTR, sizeof values, values, NULL);
    cl_event gate = clCreateUserEvent(own, NULL);
    size_t global = 8, local = 8;
    cl_int factor = 0;
    cl_kernel kernel;

    memcpy(&factor, &sampler, sizeof factor);
    clBuildProgram(program, 0, NULL, "", NULL, NULL);
    kernel = clCreateKernel(program, "scale", NULL);
    clSetKernelArg(kernel, 0, sizeof mem, &mem);
    check("an argument may look like a sampler",
          clSetKernelArg(kernel, 1, sizeof sampler, &sampler) == CL_SUCCESS);
    clEnqueueNDRangeKernel(line, kernel, 1, NULL, &global, &local, 1, &gate, NULL);
    check("a launch that waits has no reference that the program sees", references_of(sampler) == 1);
    check("a sampler is retained", clRetainSampler(sampler) == CL_SUCCESS && references_of(sampler) == 2);
    check("and released", clReleaseSampler(sampler) == CL_SUCCESS && references_of(sampler) == 1);
    check("it is released while the launch waits", clReleaseSampler(sampler) == CL_SUCCESS);
    clSetUserEventStatus(gate, CL_COMPLETE);
    clEnqueueReadBuffer(line, mem, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL);
    check("the launch ran", values[0] == (cl_int)(3u * (cl_uint)factor + 1));
    clReleaseEvent(gate);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseMemObject(mem);
    clReleaseCommandQueue(line);
    clReleaseContext(own);
}

int main(int argc, char **argv)
{
    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) {
        printf("no OpenCL device\n");
        return 77;
    }
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue(context, device, 0, NULL);
    if (argc > 1) {
        if (!strcmp(argv[1], "versions"))
            versions();
        else
            headers();
        return failed != 0;
    }
    hidden_extensions();
    runs_in_pieces(argv[0], "headers");
    runs_in_pieces(argv[0], "versions");
    failed_callback();
    binaries();
    nothing_outlives_its_release();
    migrations_beside_launches();
    samplers_of_launches_that_wait();
    fork_passes_through();
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
