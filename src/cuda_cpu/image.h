/*
 * A module: PTX texts, read, checked, linked with each other, translated to C, compiled (or found
 * in the cache on disk) and mapped into this process. The code is made once per distinct set of
 * texts and shared. Each image has its own memory for global and constant variables, in the given
 * space.
 *
 * An image is immutable after loading; any thread may read it. It must outlive every launch of its
 * entries.
 */
#ifndef CUDA_CPU_IMAGE_H
#define CUDA_CPU_IMAGE_H

#include "cuda_cpu/space.h"
#include "cuda_cpu/cpu_status.h"

struct image;

struct image_text {
    const char *name; /* for the log; NULL: "ptx" */
    const char *text; /* need not end in 0; one 0 at the end is allowed */
    size_t size;
};

/* What the compiler optimises for: fast code, or a short compilation. */
enum image_haste { IMAGE_WELL /* -O2 */, IMAGE_SOON /* -Og */, IMAGE_AT_ONCE /* -O0 */ };

struct image_options {
    const char *compiler; /* path; NULL: $BATON_CUDA_CPU_CC, else cc, gcc or clang of the PATH */
    bool no_cache;        /* neither read nor write the cache on disk */
    enum image_haste haste;
    bool keep_unresolved; /* a call of a missing function faults when it runs, instead of failing the load */
    char *log;            /* errors, one a line, always with a terminating 0; may be NULL */
    size_t log_size;
    void *owner; /* for the space: the owner of the memory of variables */
};

/*
 * Loads n texts as one module. Visible symbols of one text resolve extern symbols of another
 * (cuLink). Writes *ret_image only for CPU_OK. The log holds lines such as `ptx:12:5: expected ...,
 * found mma.sync.aligned.m16n8k16...`.
 */
enum cpu_status image_load(struct space *space, const struct image_text texts[], size_t n,
                           const struct image_options *options, struct image **ret_image);
void image_free(struct image *image); /* NULL is fine; no launch may run */

/* Only reads and checks the texts: reports what image_load() would report before it compiles. */
enum cpu_status image_check(const struct image_text texts[], size_t n, const struct image_options *options);

struct image_parameter {
    uint32_t offset, size, alignment; /* in the packed buffer */
};

struct image_entry {
    const char *name; /* as in the PTX (mangled) */
    const struct image_parameter *parameters;
    size_t n_parameters;
    uint32_t parameter_bytes;     /* of the packed buffer */
    uint32_t static_shared_bytes; /* of this entry and the functions it may call */
    uint32_t local_bytes;         /* per thread, without recursion */
    uint32_t max_threads;         /* from .maxntid or .reqntid; 0: no limit of its own */
    uint32_t required_threads[3]; /* .reqntid; 0 0 0: any */
    uint32_t max_registers;       /* .maxnreg; 0: not said */
    uint32_t registers; /* an estimate for attribute queries: declared 32-bit registers, at most 255 */
    bool is_grid_wide;  /* reads the workspace of a grid barrier: works only in cooperative launches */
    size_t index;       /* of image_entry_at() */
};

size_t image_entries(const struct image *image);
const struct image_entry *image_entry_at(const struct image *image, size_t index);
const struct image_entry *image_find_entry(const struct image *image, const char *name); /* NULL: none */

enum image_variable_kind { IMAGE_GLOBAL, IMAGE_CONSTANT };

struct image_variable {
    const char *name;
    uint64_t address; /* in the space */
    uint64_t size;
    enum image_variable_kind kind;
    bool is_managed; /* .attribute(.managed) */
};

size_t image_variables(const struct image *image);
const struct image_variable *image_variable_at(const struct image *image, size_t index);
const struct image_variable *image_find_variable(const struct image *image, const char *name);

/* The target's number (80 for sm_80) of the first text. */
unsigned image_target(const struct image *image);
bool image_was_cached(const struct image *image); /* no compiler was needed */

#endif
