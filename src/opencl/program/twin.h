/* Makes the rewritten twin of a program, on a thread of the layer. */
#ifndef OPENCL_PROGRAM_TWIN_H
#define OPENCL_PROGRAM_TWIN_H

#include <pthread.h>

#include "opencl/program/program_record.h"

enum twin_state { TWIN_NONE, TWIN_QUEUED, TWIN_MAKING, TWIN_READY, TWIN_FAILED };

/* A rewritten text, to be built or compiled with these options. */
struct twin_text {
    char *source, *options; /* owned */
    size_t length;
};

/* texts: n of them, or NULL. */
void twin_texts_free(struct twin_text *texts, size_t n);

/*
 * A program of the driver from a rewritten text, OpenCL C or SPIR-V. NULL: the driver refuses it.
 */
cl_program twin_create(cl_context context, const char *text, size_t length);

/*
 * A copy of `length` bytes, which may include 0, with a terminating 0. The caller frees it. NULL:
 * no memory.
 */
char *program_text_copy(const char *text, size_t length);

/* A specialisation constant that the program has set before its build. */
struct program_constant {
    cl_uint id;
    size_t size;
    unsigned char value[16];
};

struct program_record {
    struct object object;
    cl_program handle; /* the program's; the layer has a reference only while a kernel of it exists */
    cl_context context;
    char *source; /* owned: OpenCL C or SPIR-V; NULL: unknown */
    size_t length;
    char *options; /* owned; of the latest build, compile or link */
    enum translate_mode mode;
    bool built, linked;
    bool known_binary;                  /* a binary, but its source is known */
    bool lacks_header;                  /* a header is not from source: the compile cannot be repeated */
    struct program_constant *constants; /* owned */
    size_t n_constants;
    /* owned, with names and texts: the headers of the latest compile */
    struct translate_header *headers;
    size_t n_headers;
    char *files;                   /* owned: translate_result.files at the build; NULL: no file is included */
    struct program_record **parts; /* owned references: the programs that it was linked from */
    size_t n_parts;

    /* twin_builder::lock */
    enum twin_state state;
    enum session_counter why_whole;
    bool has_result;
    bool building, abandoned; /* the builder uses the context; only the builder holds the record */
    cl_program twin;          /* the layer's reference */
    struct translate_result result;
    /* owned: one per kernel of the result; NULL: no memory, or no twin */
    struct variants *variants;
    struct twin_text *texts; /* owned: of the parts of a linked twin, n_parts of them */
    char why_detail[160];    /* the message of the translator or the driver */
    struct program_record *next_queued;
    cl_device_id device; /* the device that it is rewritten for */

    struct spread_program
        *_Atomic spread; /* owned: the program on further devices, and what was learnt of its kernels */
};

extern const struct object_class program_class;

struct spread_program;

/* The thread that makes twins, and its queue. In struct opencl_front (layer.h). */
struct twin_builder {
    pthread_mutex_t lock; /* guards the following; never taken with the graph's */
    pthread_cond_t changed;
    struct program_record *first, **tail; /* queued, by next_queued */
    pthread_t thread;
    bool runs, stops;
    /*
     * Constant. wanted_too: are twins wanted even if nothing is cut? The other frees
     * program_record::spread, which may be NULL.
     */
    bool (*wanted_too)(void);
    void (*forget)(struct spread_program *spread);
};

/*
 * Drops one reference to the record; true if it was the last. If only the builder's reference would
 * be left, first waits until the builder has stopped using the driver's objects of the program.
 * After the program's last release the layer keeps none of them alive.
 */
bool twin_let_go(struct program_record *program);

/*
 * Call at the end of a build: notes the files that the program's text includes. The twin is made
 * later, when a file or the working folder may have changed. A twin that would include other text
 * is not made.
 */
void twin_note_files(struct program_record *program);

/* May its text include other files? */
bool twin_includes(const struct program_record *program);

/* Drops the twin when the record ends. */
void twin_done(struct program_record *program);

#endif
