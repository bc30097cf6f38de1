/*
 * The device of a section task (section_task.c): OpenCL or CUDA. Each call ends with the work done.
 */
#ifndef TESTS_GPUSYNC_SECTION_GPU_H
#define TESTS_GPUSYNC_SECTION_GPU_H

#include <stddef.h>

/*
 * words: of state that stays on the GPU, in each of n_buffers; 0: none. Ends the process if it
 * fails.
 */
void section_set_up(size_t words, unsigned n_buffers);
void section_launch(size_t groups); /* changes the state, if there is some */
void section_copy_in(size_t bytes); /* 0: all of the buffer */
void section_copy_out(size_t bytes);
/* Compares the state with what the host computed. */
void section_check_state(void);

#endif
