/*
 * Copies in chunks whose wait list has a command that is in the driver and then fails. The copy
 * fails, as without the layer, and nothing is copied. On the fake driver, whose fill is slow and
 * fails; by a virtual clock, so that it fails when the program waits. Ends with `N passed, N
 * failed`.
 */
#include <CL/cl.h>
#include <stdio.h>
#include <string.h>

enum { BYTES = 64 << 10, FILLED = 256 }; /* the fill is no longer than a chunk, the copies are */

static int passed, failed;

static void check(const char *sentence, int good)
{
    passed += good != 0;
    failed += good == 0;
    if (!good)
        printf("FAILED: %s\n", sentence);
}

static cl_context context;
static cl_command_queue queue;
static cl_mem target, other;
static unsigned char bytes[BYTES], back[BYTES];

/* In the driver when this returns, and failing half a second later. */
static cl_event failing_fill(void)
{
    cl_event event = NULL;
    cl_int zero = 0;

    check("the driver takes the fill",
          clEnqueueFillBuffer(queue, other, &zero, sizeof zero, 0, FILLED, 0, NULL, &event) == CL_SUCCESS);
    return event;
}

static void check_untouched(const char *sentence)
{
    cl_int code = clEnqueueReadBuffer(queue, target, CL_TRUE, 0, BYTES, back, 0, NULL, NULL);

    check(sentence, code == CL_SUCCESS && !back[0] && !memcmp(back, back + 1, BYTES - 1));
}

static void blocking_write(void)
{
    cl_event fill = failing_fill();
    cl_int code = clEnqueueWriteBuffer(queue, target, CL_TRUE, 0, BYTES, bytes, 1, &fill, NULL);

    check("a blocking write reports that its wait has failed",
          code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    check_untouched("a blocking write whose wait has failed writes nothing");
    clReleaseEvent(fill);
}

static void other_write(void)
{
    cl_event fill = failing_fill(), write = NULL;
    cl_int status = CL_QUEUED;

    check("a write that does not block is accepted",
          clEnqueueWriteBuffer(queue, target, CL_FALSE, 0, BYTES, bytes, 1, &fill, &write) == CL_SUCCESS);
    (void)clWaitForEvents(1, &write);
    clGetEventInfo(write, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    check("its event reports that its wait has failed",
          status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    check_untouched("a write that does not block writes nothing after its wait has failed");
    clReleaseEvent(fill);
    clReleaseEvent(write);
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id device;

    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) {
        printf("no OpenCL device\n");
        return 77;
    }
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue(context, device, 0, NULL);
    target = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, BYTES, bytes, NULL);
    other = clCreateBuffer(context, 0, BYTES, NULL, NULL);
    memset(bytes, 1, sizeof bytes);
    blocking_write();
    other_write();
    clReleaseMemObject(target);
    clReleaseMemObject(other);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
