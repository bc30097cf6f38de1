/* Making a program's rewritten twin, on a thread of ours. */
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
 * A program of the driver's from a rewritten text, OpenCL C or SPIR-V. NULL: the driver refuses it.
 */
cl_program twin_create(cl_context context, const char *text, size_t length);

/* length bytes, which may hold a NUL, and a 0 behind them; the caller's. NULL: no memory. */
char *program_text_copy(const char *text, size_t length);

/* A constant of a SPIR-V module that the program has set before its build. */
struct program_constant {
    cl_uint id;
    size_t size;
    unsigned char value[16];
};

struct program_record {
    struct object object;
    cl_program handle; /* the program's; ours only while a kernel of it exists */
    cl_context context;
    char *source; /* owned: OpenCL C or SPIR-V; NULL: neither is known */
    size_t length;
    char *options; /* owned; of the latest build, compile or link */
    enum translate_mode mode;
    bool built, linked;
    bool known_binary;                  /* a binary, but its source is known */
    bool lacks_header;                  /* a header is not from source: the compile cannot be repeated */
    struct program_constant *constants; /* owned */
    size_t n_constants;
    /* owned, with their names and texts: given to the latest compile */
    struct translate_header *headers;
    size_t n_headers;
    char *files; /* owned: translate_result.files as of the build; NULL: none are included */
    struct program_record **parts; /* owned references: what it was linked from */
    size_t n_parts;

    /* twin_builder::lock */
    enum twin_state state;
    enum session_counter why_whole;
    bool has_result;
    bool building, abandoned; /* the builder uses the context; only the builder holds the record */
    cl_program twin;          /* a reference of ours */
    struct translate_result result;
    /* owned: one per kernel of the result; NULL: no memory, or no twin */
    struct variants *variants;
    struct twin_text *texts; /* owned: of the parts of a linked twin, n_parts of them */
    char why_detail[160];    /* what the translator or the driver said of it */
    struct program_record *next_queued;
    cl_device_id device; /* that it is rewritten for */

    struct spread_program
        *_Atomic spread; /* owned: the same on further devices, and what was learnt of its kernels */
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
     * Constant. Are twins wanted even where nothing is cut? And what frees program_record::spread,
     * NULL included.
     */
    bool (*wanted_too)(void);
    void (*forget)(struct spread_program *spread);
};

/*
 * Drops one reference to the record; true if it was the last. When only the builder would be left,
 * first waits until it no longer uses the driver's objects of the program: after the program's last
 * release nothing of ours keeps them alive.
 */
bool twin_let_go(struct program_record *program);

/*
 * To be called at the end of a build: notes what the program's text includes. Its twin is made
 * later, perhaps when a file has changed or the working folder is another; one that would include
 * something else is not made.
 */
void twin_note_files(struct program_record *program);

/* May its text include others? */
bool twin_includes(const struct program_record *program);

/* Drops the twin, with the record. */
void twin_done(struct program_record *program);

#endif
