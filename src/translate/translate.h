/*
 * Rewrites OpenCL C so that a kernel can run in pieces (translate/piece.h), on behalf of the
 * application's process.
 *
 * translate_program() looks into a disk cache, else asks the program baton-translate, a separate
 * process with bounded time and memory. So clang's library never enters the application. If
 * anything fails, the answer is TRANSLATE_WHOLE with a reason, and the caller builds the
 * application's own text, unchanged.
 *
 * Thread-safe; keeps no state; installs no signal handler; changes neither the working directory
 * nor any signal mask of other threads. Files: BATON_CACHE_DIR, else $XDG_CACHE_HOME/baton, else
 * $HOME/.cache/baton (without any: no cache). The program: BATON_TRANSLATE, else `baton-translate`
 * beside the library that contains this code, else in its ../bin, ../libexec/baton or ../../bin
 * (from lib/x86_64-linux-gnu).
 */
#ifndef TRANSLATE_TRANSLATE_H
#define TRANSLATE_TRANSLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "translate/reach.h"

enum translate_answer {
    TRANSLATE_WHOLE = 1, /* not translated, for ret_result->reason: use the original */
};

enum translate_mode {
    TRANSLATE_BUILD, /* clBuildProgram: the program contains every function that it calls */
    /* clCompileProgram: functions may come from, and be used by, other objects of the link */
    TRANSLATE_COMPILE,
};

/* What the driver reports about a device. Strings are borrowed for the call; NULL is "". */
struct translate_device {
    const char *version;    /* CL_DEVICE_VERSION, e.g. "OpenCL 3.0 PoCL HSTR: ...": identifies the driver */
    const char *c_version;  /* CL_DEVICE_OPENCL_C_VERSION, e.g. "OpenCL C 1.2 PoCL" */
    const char *extensions; /* CL_DEVICE_EXTENSIONS, separated by spaces */
    const char *features;   /* names of CL_DEVICE_OPENCL_C_FEATURES (3.0), separated by spaces */
    /* Device name, driver version, in any form: part of the cache key. */
    const char *driver;
    const char *defines;   /* further macros of the driver, "NAME" or "NAME=VALUE", separated by spaces */
    uint32_t address_bits; /* CL_DEVICE_ADDRESS_BITS: 64 or 32 */
    bool images;           /* CL_DEVICE_IMAGE_SUPPORT */
    bool little_endian;    /* CL_DEVICE_ENDIAN_LITTLE */
};

/* One text with a name: a header given to clCompileProgram, by the name in its #include. */
struct translate_header {
    const char *name;
    const char *text;
    size_t length;
};

struct translate_request {
    enum translate_mode mode;
    const char *const *sources; /* as given to clCreateProgramWithSource, joined in order */
    const size_t *lengths;      /* bytes of each */
    size_t n_sources;
    const char *options; /* as given to the build or compile call; NULL is "" */
    const struct translate_header *headers;
    size_t n_headers;
    struct translate_device device;
};

/* How a pointer argument is used; in doubt TRANSLATE_UNKNOWN. */
enum translate_access {
    /* not memory that groups share: scalar, struct, sampler, __local pointer */
    TRANSLATE_VALUE,
    TRANSLATE_UNUSED,     /* never dereferenced */
    TRANSLATE_READ,       /* never written (also read_only images, __constant) */
    TRANSLATE_WRITE,      /* never read */
    TRANSLATE_READ_WRITE, /* both */
    TRANSLATE_UNKNOWN,    /* any of these */
};

struct translate_arg {
    enum translate_access access;
    bool local;   /* __local: clSetKernelArg takes a size */
    bool image;   /* any image type */
    bool sampler; /* sampler_t: the value is a handle */
    /*
     * Proved: in a one-dimensional launch without offset, each work-item writes only the element at
     * its own global id.
     */
    bool own_write;
    /* of TRANSLATE_READ_WRITE: which elements each work-group reads and writes */
    struct reach reach;
    uint32_t element; /* bytes of one such element, if own_write; else 0 */
    /* bytes of the largest store through it, if every store is known; else 0 */
    uint32_t store;
};

struct translate_kernel {
    char *name;
    bool sliceable;           /* pieces are indistinguishable from the whole */
    char *reason;             /* why not sliceable, a short phrase for statistics; "" if it is */
    bool observes_local_size; /* false: Baton may choose a local size given as NULL */
    /*
     * No global atomics, SVM, pipes, printf, or pointers from memory: may be spread over several
     * devices.
     */
    bool splittable;
    bool uses_printf;
    bool reqd_local_given;
    uint32_t reqd_local[3]; /* reqd_work_group_size, if given */
    uint32_t n_args;        /* the application's; the hidden argument has this index */
    struct translate_arg *args;
};

struct translate_result {
    /* the rewritten text, `length` bytes and a 0; NULL if the answer is TRANSLATE_WHOLE */
    char *source;
    size_t length;
    /*
     * For the driver, with `source`: without -D, -I and other options that the rewriting has
     * already applied.
     */
    char *options;
    char *reason; /* why not translated; "" if it is */
    /*
     * The included files: a hash and a path per line, "-" for a file that was not found. Equal: the
     * same text was included.
     */
    char *files;
    /* All kernels of the program, also those not sliceable: all take the hidden argument. */
    struct translate_kernel *kernels;
    size_t n_kernels;
    bool from_cache;
};

/*
 * Translates one program. 0: *ret_result holds the text to build instead. Every kernel in it takes
 * the hidden argument; one that is not sliceable must be launched as one piece of all its groups.
 * TRANSLATE_WHOLE: *ret_result holds only the reason. -ENOMEM: nothing is held. In the first two
 * cases free it with translate_result_done().
 *
 * If the driver refuses the rewritten text, build the original: the text checks what was assumed
 * about the driver's macros.
 */
int translate_program(const struct translate_request *request, struct translate_result *ret_result);

void translate_result_done(struct translate_result *result);

/* The kernel of that name, borrowed from the result, or NULL. */
const struct translate_kernel *translate_find(const struct translate_result *result, const char *name);

#endif
