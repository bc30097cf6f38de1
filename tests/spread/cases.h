/* An OpenCL program written for one device, case by case: what the cases share. */
#ifndef SPREAD_CASES_H
#define SPREAD_CASES_H

#include <CL/cl.h>
#include <stdbool.h>
#include <stdint.h>

enum { N = 1 << 16, LOCAL = 64 };

extern cl_context context;
extern cl_device_id device;
extern cl_command_queue queue;

void check(cl_int code, const char *what); /* ends the program, with a line, unless CL_SUCCESS */
uint32_t *values(size_t n, uint32_t seed); /* the caller's */

/*
 * One line of the output: a name and a hash of the bytes; of a buffer, read with a blocking call.
 */
void say(const char *name, const void *bytes, size_t n);
void say_mem(const char *name, cl_mem mem, size_t n);

cl_mem buffer(cl_mem_flags flags, size_t size, void *host);
cl_mem filled(size_t n, uint32_t seed); /* n words */
cl_kernel kernel(const char *name);
void set(cl_kernel k, cl_uint index, size_t size, const void *value);
void set_mem(cl_kernel k, cl_uint index, cl_mem mem);
void set_uint(cl_kernel k, cl_uint index, cl_uint value);

/* n work-items in groups of LOCAL. */
void run(cl_kernel k, size_t n);
void run_on(cl_command_queue on, cl_kernel k, size_t n, cl_uint waits, const cl_event *list, cl_event *event);

void case_own_writes(void);
void case_in_place(void);
void case_scattered(void);
void case_partial(void);
void case_dependent(void);
void case_reduction(void);
void case_sub_buffers(void);
void case_maps(void);
void case_host_pointers(void);
void case_fills_and_copies(void);
void case_several_queues(void);
void case_strided_writes(void);
void case_bytes(void);
void case_atomics(void);
void case_disagreement(void);
void case_matrices(void);
void case_arguments(void);
void case_early_release(void);
void case_images(void);
void case_volumes(void);
void case_mapped_images(void);
void case_linked(void);
void case_groups_meet(void);
void case_groups_apart(void);
void case_groups_shared(void);

#endif
