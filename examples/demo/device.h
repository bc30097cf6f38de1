/*
 * What the demonstration programs share: the first OpenCL device, one in-order queue, one program from source, and a
 * kernel whose result the host can check. Plain OpenCL 1.2; nothing here knows of Baton. Every failure ends the program
 * with exit status 3 and the name of the call.
 */
#ifndef DEMO_DEVICE_H
#define DEMO_DEVICE_H

#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct device {
    cl_device_id id;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
};

void device_open(struct device *device, const char *source);
void device_close(struct device *device);
cl_kernel device_kernel(struct device *device, const char *name);
cl_mem device_buffer(struct device *device, size_t bytes);
/* Ends the program unless the code is CL_SUCCESS. */
void device_must(cl_int code, const char *call);

/* Milliseconds of CLOCK_MONOTONIC. */
double now_ms(void);
void sleep_until_ms(double instant);

/*
 * The kernel `turn` of DEVICE_TURN takes each work-item's word so many steps along a linear congruential sequence; the
 * host gets to the same word in a few multiplications, so that every result can be checked however long the kernel runs.
 */
extern const char DEVICE_TURN[];
uint32_t turned(uint32_t word, uint32_t steps);

/* Sorts the n values and answers the one at this fraction, 0..1; n > 0. */
double quantile(double *values, size_t n, double fraction);

/* The value after `--name` in argv, or the default. Ends the program with status 2 if it is missing or not a number. */
double option(int argc, char **argv, const char *name, double otherwise);
/* Is `--name` there? */
bool flag(int argc, char **argv, const char *name);

#endif
