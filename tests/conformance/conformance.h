/*
 * Exercises OpenCL as a program may, and prints one line per case. It has codes, what the event
 * says, and a hash of every byte that the case could have touched. The lines do not depend on time
 * or addresses, so two runs on one driver, with and without a layer, must print the same. The
 * kernels are those that tests/fake_driver knows.
 */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ITEMS = 256, SIDE = 16, PIXEL = 4 };

struct world {
    cl_platform_id platform;
    cl_device_id device;
    cl_context context, other_context;
    cl_program program;
    cl_command_queue in_order, out_of_order, second, other_queue; /* other_queue: of other_context */
    bool svm, native, images;
    bool pocl; /* PoCL 3.1 aborts in clEnqueueWaitForEvents and crashes on some bad input */
};

/* Fresh objects for one case. */
struct things {
    cl_mem a, b, c; /* ITEMS ints each */
    cl_mem image, image2;
    cl_kernel scale, add;
    cl_int *svm; /* ITEMS ints */
    cl_int host[ITEMS];
    unsigned char pixels[SIDE * SIDE * PIXEL];
    void *mapped;
    cl_int native_seen;
    cl_int svm_freed;
};

/* The wait list and event of one call. */
struct when {
    cl_command_queue queue;
    cl_uint n;
    const cl_event *waits;
    cl_event *event;
    cl_bool blocking;
};

struct call {
    const char *name;
    cl_int (*run)(const struct world *world, struct things *things, const struct when *when);
    enum { ALWAYS, NEEDS_SVM, NEEDS_NATIVE, NEEDS_IMAGES } needs;
    bool can_block;
};

extern const struct call calls[];
extern const size_t n_calls;

bool call_possible(const struct world *world, const struct call *call);

void things_make(const struct world *world, struct things *ret_things);
void things_free(const struct world *world, struct things *things);
/* Waits for all queues, then hashes the contents of everything. */
uint32_t things_hash(const struct world *world, struct things *things);

cl_kernel make_kernel(const struct world *world, const char *name);
cl_mem make_buffer(const struct world *world, const cl_int *content);

/* The groups of cases. */
void check_calls(const struct world *world);
void check_errors(const struct world *world);
void check_objects(const struct world *world);
void check_programs(const struct world *world);
void check_events(const struct world *world);
void check_kernels(const struct world *world);
void check_orders(const struct world *world);
void check_maps(const struct world *world);
void check_images(const struct world *world);

/* Prints `name: ` and the rest as one line, flushed. */
void line(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

uint32_t hash_bytes(uint32_t hash, const void *bytes, size_t size);
cl_int event_status(cl_event event);

#endif
