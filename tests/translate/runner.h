/*
 * Runs kernels on the first OpenCL device, whole as they were written and in pieces as they were
 * rewritten.
 */
#ifndef TESTS_TRANSLATE_RUNNER_H
#define TESTS_TRANSLATE_RUNNER_H

#include "base/random.h"
#include "translate/piece.h"
#include "translate/translate.h"

#include <CL/cl.h>

struct runner {
    cl_context context;
    cl_device_id device;
    cl_command_queue queue;
    struct translate_device description; /* strings owned */
};

void runner_open(struct runner *runner);
void runner_close(struct runner *runner);

/* Builds, and fails the test with the log when it does not. */
cl_program runner_build(const struct runner *runner, const char *source, const char *options);

/* translate_program() for one source. */
int runner_translate(const struct runner *runner, const char *source, const char *options,
                     enum translate_mode mode, struct translate_result *ret_result);

/* A program twice: as written, and as rewritten. */
struct pair {
    cl_program whole;
    cl_program pieces;
    struct translate_result result;
};

void pair_build(const struct runner *runner, const char *source, const char *options, struct pair *ret_pair);
void pair_free(struct pair *pair);

cl_mem runner_buffer(const struct runner *runner, size_t bytes, const void *content);

void runner_whole(const struct runner *runner, cl_kernel kernel, const struct piece_launch *launch);

/*
 * Cuts the launch at random into pieces, runs them in random order; n_args is the hidden argument's
 * index.
 */
void runner_pieces(const struct runner *runner, cl_kernel kernel, uint32_t n_args,
                   const struct piece_launch *launch, struct random_state *random);

/* A launch with 1 to 3 dimensions, odd sizes, offsets, at most `most` work-items. */
struct piece_launch runner_random_launch(struct random_state *random, size_t most);

/* Other numbers of groups (not more than there were) and other offsets, the same local size. */
void runner_vary(struct random_state *random, struct piece_launch *launch);

#endif
