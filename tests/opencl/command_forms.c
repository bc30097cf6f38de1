/*
 * The two forms of cl_khr_command_buffer's recording functions: with a list of properties behind
 * the queue if the driver says 0.9.5 or later, without it before. Of a version that is not known,
 * no function is handed out and the extension is not advertised. Ends with `N passed, N failed`.
 *
 * usage: layer-command-forms plain|listed|hidden
 */
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 64 };

#define WAITS cl_uint, const cl_sync_point_khr *, cl_sync_point_khr *, cl_mutable_command_khr *
typedef cl_int(CL_API_CALL *barrier_plain)(cl_command_buffer_khr, cl_command_queue, WAITS);
typedef cl_int(CL_API_CALL *barrier_listed)(cl_command_buffer_khr, cl_command_queue, const cl_properties *,
                                            WAITS);
typedef cl_int(CL_API_CALL *fill_plain)(cl_command_buffer_khr, cl_command_queue, cl_mem, const void *, size_t,
                                        size_t, size_t, WAITS);
typedef cl_int(CL_API_CALL *fill_listed)(cl_command_buffer_khr, cl_command_queue, const cl_properties *,
                                         cl_mem, const void *, size_t, size_t, size_t, WAITS);
typedef cl_int(CL_API_CALL *rect_plain)(cl_command_buffer_khr, cl_command_queue, cl_mem, cl_mem,
                                        const size_t *, const size_t *, const size_t *, size_t, size_t,
                                        size_t, size_t, WAITS);
typedef cl_int(CL_API_CALL *rect_listed)(cl_command_buffer_khr, cl_command_queue, const cl_properties *,
                                         cl_mem, cl_mem, const size_t *, const size_t *, const size_t *,
                                         size_t, size_t, size_t, size_t, WAITS);

static cl_platform_id platform;
static cl_device_id device;
static int passed, failed;

static void check(bool good, const char *what)
{
    passed += good;
    failed += !good;
    if (!good)
        printf("FAILED: %s\n", what);
}

static void *function(const char *name)
{
    return clGetExtensionFunctionAddressForPlatform(platform, name);
}

static void check_hidden(void)
{
    static const char *const names[] = {"clCreateCommandBufferKHR", "clFinalizeCommandBufferKHR",
                                        "clEnqueueCommandBufferKHR", "clCommandFillBufferKHR",
                                        "clGetCommandBufferInfoKHR"};
    char text[1024] = "cl_khr_command_buffer";

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        check(!function(names[i]), names[i]);
    clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof text, text, NULL);
    check(!strstr(text, "cl_khr_command_buffer"), "not advertised by the device");
    (void)snprintf(text, sizeof text, "cl_khr_command_buffer");
    clGetPlatformInfo(platform, CL_PLATFORM_EXTENSIONS, sizeof text, text, NULL);
    check(!strstr(text, "cl_khr_command_buffer"), "not advertised by the platform");
}

/* out = 64 times 7, then its second half is copied over by rows of `in`, 64 times 5. */
static void record(cl_command_buffer_khr buffer, cl_mem in, cl_mem out, bool listed)
{
    static const cl_properties empty[] = {0}, odd[] = {0x4321, 1, 0};
    const size_t none[3] = {0}, at[3] = {N / 2 * sizeof(cl_int), 0, 0},
                 size[3] = {N / 2 * sizeof(cl_int), 1, 1};
    const size_t bytes = N * sizeof(cl_int);
    const cl_int five = 5, seven = 7;
    void *fill = function("clCommandFillBufferKHR"), *barrier = function("clCommandBarrierWithWaitListKHR"),
         *rect = function("clCommandCopyBufferRectKHR");
    fill_listed with = (fill_listed)(uintptr_t)fill;
    fill_plain without = (fill_plain)(uintptr_t)fill;
    cl_int codes[4];

    if (listed) {
        check(with(buffer, NULL, odd, in, &five, sizeof five, 0, bytes, 0, NULL, NULL, NULL) ==
                  CL_INVALID_VALUE,
              "a property that is not known");
        codes[0] = with(buffer, NULL, NULL, in, &five, sizeof five, 0, bytes, 0, NULL, NULL, NULL);
        codes[1] = with(buffer, NULL, empty, out, &seven, sizeof seven, 0, bytes, 0, NULL, NULL, NULL);
        codes[2] = ((barrier_listed)(uintptr_t)barrier)(buffer, NULL, NULL, 0, NULL, NULL, NULL);
        codes[3] = ((rect_listed)(uintptr_t)rect)(buffer, NULL, NULL, in, out, none, at, size, 0, 0, 0, 0, 0,
                                                  NULL, NULL, NULL);
    } else {
        codes[0] = without(buffer, NULL, in, &five, sizeof five, 0, bytes, 0, NULL, NULL, NULL);
        codes[1] = without(buffer, NULL, out, &seven, sizeof seven, 0, bytes, 0, NULL, NULL, NULL);
        codes[2] = ((barrier_plain)(uintptr_t)barrier)(buffer, NULL, 0, NULL, NULL, NULL);
        codes[3] = ((rect_plain)(uintptr_t)rect)(buffer, NULL, in, out, none, at, size, 0, 0, 0, 0, 0, NULL,
                                                 NULL, NULL);
    }
    check(!codes[0] && !codes[1] && !codes[2] && !codes[3], "every command is recorded");
}

static void check_form(bool listed)
{
    clCreateCommandBufferKHR_fn create =
        (clCreateCommandBufferKHR_fn)(uintptr_t)function("clCreateCommandBufferKHR");
    clFinalizeCommandBufferKHR_fn finalize =
        (clFinalizeCommandBufferKHR_fn)(uintptr_t)function("clFinalizeCommandBufferKHR");
    clEnqueueCommandBufferKHR_fn enqueue =
        (clEnqueueCommandBufferKHR_fn)(uintptr_t)function("clEnqueueCommandBufferKHR");
    clReleaseCommandBufferKHR_fn release =
        (clReleaseCommandBufferKHR_fn)(uintptr_t)function("clReleaseCommandBufferKHR");
    clGetCommandBufferInfoKHR_fn info =
        (clGetCommandBufferInfoKHR_fn)(uintptr_t)function("clGetCommandBufferInfoKHR");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL), of = NULL;
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_mem in = clCreateBuffer(context, CL_MEM_READ_WRITE, N * sizeof(cl_int), NULL, NULL);
    cl_mem out = clCreateBuffer(context, CL_MEM_READ_WRITE, N * sizeof(cl_int), NULL, NULL);
    cl_int read[N] = {0}, code;
    cl_command_buffer_khr buffer;
    bool good = true;

    check(create && finalize && enqueue && release && info, "the functions are handed out");
    if (failed)
        return;
    buffer = create(1, &queue, NULL, &code);
    check(buffer && !code, "created");
    record(buffer, in, out, listed);
    check(finalize(buffer) == CL_SUCCESS, "finalized");
    check(info(buffer, 0x1299, sizeof(cl_context), &of, NULL) == CL_SUCCESS && of == context,
          "CL_COMMAND_BUFFER_CONTEXT_KHR");
    check(enqueue(0, NULL, buffer, 0, NULL, NULL) == CL_SUCCESS, "enqueued");
    clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof read, read, 0, NULL, NULL);
    for (int i = 0; i < N; i++)
        good = good && read[i] == (i < N / 2 ? 7 : 5);
    check(good, "what was recorded was done");
    release(buffer);
    clReleaseMemObject(in);
    clReleaseMemObject(out);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
}

int main(int argc, char **argv)
{
    if (argc != 2 || clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 3;
    if (!strcmp(argv[1], "hidden"))
        check_hidden();
    else
        check_form(!strcmp(argv[1], "listed"));
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
