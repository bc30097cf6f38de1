#include "copies.h"
#include "device.h"

static const char NOTHING[] = "kernel void nothing(global uint *word) { word[0] = 0; }\n";

static struct device device;
static cl_mem buffer;

void copies_open(size_t bytes)
{
    device_open(&device, NOTHING);
    buffer = device_buffer(&device, bytes);
}

void copies_in(const void *from, size_t bytes)
{
    device_must(clEnqueueWriteBuffer(device.queue, buffer, CL_TRUE, 0, bytes, from, 0, NULL, NULL),
                "clEnqueueWriteBuffer");
}

void copies_out(void *to, size_t bytes)
{
    device_must(clEnqueueReadBuffer(device.queue, buffer, CL_TRUE, 0, bytes, to, 0, NULL, NULL),
                "clEnqueueReadBuffer");
}

void copies_close(void)
{
    clReleaseMemObject(buffer);
    device_close(&device);
}
