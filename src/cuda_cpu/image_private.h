/* The inside of an image, for the files that load it and run it. */
#ifndef CUDA_CPU_IMAGE_PRIVATE_H
#define CUDA_CPU_IMAGE_PRIVATE_H

#include "cuda_cpu/device/abi.h"
#include "cuda_cpu/image.h"
#include "ptx/ptx_module.h"
#include "cuda_cpu/unit.h"

struct image {
    struct space *space;
    void *library; /* of dlopen */
    const struct device_code *code;
    struct image_entry *entries;
    const struct device_entry **starts; /* by entry */
    uint64_t *stack_bytes;              /* by entry: what a thread needs, without deep recursion */
    bool *is_recursive;                 /* by entry */
    size_t n_entries;
    struct image_variable *variables;
    size_t n_variables;
    uint64_t data; /* the block of variables; 0: none */
    uint64_t constants, constants_end;
    char *names; /* all names, owned */
    struct image_parameter *parameters;
    unsigned target;
    bool was_cached;
};

/*
 * Fills the image's lists and its block of variables from the unit; image->code is there already.
 */
enum cpu_status image_fill(struct image *image, const struct unit *unit, void *owner, char *text,
                           size_t size);

/* Makes loaded code of the C text, from the cache or by the compiler; *ret_cached says which. */
enum cpu_status image_compile(const char *text, size_t size, const struct image_options *options,
                              struct image *image, char *log, size_t log_size);

#endif
