/*
 * Writes of a program whose jobs are placed (placement.h). `chosen`: the GPU is fixed before the
 * upload, so the bytes go there at once, not by way of home. `any`: the input is replicated, home
 * and every other device that could take the kernel, so that none has to wait for it when it is
 * granted (GPU-SPARC Sec. III-A; SOUND R6). With the spread lock held unless said otherwise.
 */
#ifndef OPENCL_SPREAD_UPLOAD_H
#define OPENCL_SPREAD_UPLOAD_H

#include "opencl/graph/opencl_command.h"

/* Is it such a write? Needs no lock. */
bool upload_concerns(const struct opencl_command *command);

/*
 * `chosen`: *ret_done if the bytes are at the job's device, with the command's times; else the
 * write goes to home as ever.
 */
void upload_to_chosen(struct opencl_command *command, bool *ret_done);

/*
 * Once a write to home has been noted. `any`: the same bytes go to the others; a device that does not take them gets them when it needs
 * them. Where state is saved on the host, the host has these bytes already.
 */
void upload_to_home(const struct opencl_command *command);

/*
 * A read of a program whose jobs are placed: it is served by the GPU that has the bytes, not by way of home. download_concerns() needs no
 * lock. *ret_done: the bytes are there, with the command's times; else home is made whole and read as ever.
 */
bool download_concerns(const struct opencl_command *command);
void download_from_there(struct opencl_command *command, bool *ret_done);

#endif
