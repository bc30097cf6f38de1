/*
 * Writes of a program whose jobs are placed (spread_placement.h).
 *
 * `chosen`: the GPU is fixed before the upload, so the bytes go there directly, not through home.
 * `any`: the input is copied to home and to every other device that could take the kernel. So no
 * device waits for it after the grant (GPU-SPARC, Sec. III-A). With the spread lock held unless
 * said otherwise.
 */
#ifndef OPENCL_SPREAD_UPLOAD_H
#define OPENCL_SPREAD_UPLOAD_H

#include "opencl/graph/opencl_command.h"

/* Is this such a write? Needs no lock. */
bool upload_concerns(const struct opencl_command *command);

/*
 * `chosen`: *ret_done if the bytes are at the job's device, with the command's times. Otherwise the
 * write goes to home.
 */
void upload_to_chosen(struct opencl_command *command, bool *ret_done);

/*
 * Call after a write to home has been noted. `any`: copies the bytes to the other devices; a device
 * that fails to take them gets them when it needs them. If state is saved on the host, the host has
 * these bytes already.
 */
void upload_to_home(const struct opencl_command *command);

/*
 * Reads of a program whose jobs are placed. The GPU that has the bytes serves them, not home.
 * download_concerns() needs no lock. *ret_done: the bytes are there, with the command's times.
 * Otherwise home is made valid and read.
 */
bool download_concerns(const struct opencl_command *command);
void download_from_there(struct opencl_command *command, bool *ret_done);

#endif
