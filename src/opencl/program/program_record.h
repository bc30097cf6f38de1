/*
 * Programs and their rewritten twins. The program's own object is built from its own text and stays
 * untouched: log, binaries, argument counts and errors are the driver's. When a kernel of the
 * program is created and pieces are wanted, a thread of the layer makes a second program. It is
 * rewritten (translate/translate.h) and built beside the first; pieces are launched from it.
 */
#ifndef OPENCL_PROGRAM_PROGRAM_H
#define OPENCL_PROGRAM_PROGRAM_H

#include <CL/cl_icd.h>

#include "client/session.h"
#include "opencl/opencl_objects.h"
#include "translate/translate.h"

struct program_record *program_find(cl_program handle); /* kept; NULL: unknown */
void program_unref(struct program_record *program);

/* A kernel of the program exists: starts to make the twin if pieces are wanted. Never blocks. */
void program_wanted(struct program_record *program);

/* A program of the driver from SPIR-V, by whichever of the two functions the driver has. */
cl_program program_from_il(cl_context context, const void *il, size_t length, cl_int *ret_code);

/* Waits until the instant for the twin: true when it is built, or will not be. */
bool program_decided(struct program_record *program, baton_nsec until_at);

/*
 * Why a kernel runs whole. detail: the message of the translator or the driver, borrowed from the
 * program's record; "": none.
 */
struct program_reason {
    enum session_counter counter;
    const char *detail;
};

/*
 * Waits until the twin is built, and answers its description of the kernel. NULL: the kernel runs
 * whole, and *ret_reason says why. Borrowed from the record.
 */
const struct translate_kernel *program_sliceable(struct program_record *program, const char *kernel,
                                                 struct program_reason *ret_reason);

/*
 * The twin's handle, once program_sliceable() has answered, and what the driver has compiled of the
 * kernel; may be NULL.
 */
cl_program program_sliced(struct program_record *program);
struct variants *program_variants(struct program_record *program, const struct translate_kernel *kernel);

/* At exit: begins no further build, and waits for the one in progress. */
void program_stop(void);

#endif
