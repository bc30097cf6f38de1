/*
 * What the tests of the CUDA device share: one space and worker per case, a loaded module, memory,
 * launches with packed parameters.
 */
#ifndef TESTS_CUDA_CPU_DEVICE_H
#define TESTS_CUDA_CPU_DEVICE_H

#include "cuda_cpu/launch.h"

struct device {
    struct space *space;
    struct worker *worker;
    struct image *image;
    char log[4096];
    char printed[8192]; /* by kernels */
    size_t n_printed;
    struct launch_fault fault;
    /* Set before device_open, which resets them: see image_options. */
    enum image_haste haste;
    const char *compiler;
    bool no_cache;
    struct launch launch; /* set what is unusual before device_run() */
};

/* The one device of the case, with the text loaded. The text must load. */
void device_open(struct device *device, const char *text, size_t size);
void device_open_file(struct device *device, const char *name); /* below tests/ */
void device_close(struct device *device);

/* Zeroed memory. */
void *device_memory(struct device *device, size_t size);

/*
 * Runs the entry; parameters as the format says: i 32 bits, l 64 bits or a pointer, f float, d
 * double; b size, pointer.
 */
enum cpu_status device_run(struct device *device, const char *entry, unsigned blocks, unsigned threads,
                           const char *format, ...);
enum cpu_status device_run_3d(struct device *device, const char *entry, const unsigned grid[3],
                              const unsigned block[3], const void *parameters);

#endif
