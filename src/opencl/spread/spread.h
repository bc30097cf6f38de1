/*
 * One program on several devices: what the rest of the layer asks of src/opencl/spread.
 *
 * A kernel's work-groups are divided over the program's own device (home) and further ones, each
 * with a context, program and buffers of its own; results stay where they were made and are merged
 * when a command needs them. So every command is announced here before the driver gets it:
 * spread_admits() by a program's thread, spread_issue() by a worker. Both make home valid and note
 * what will be written. Costs one load while no buffer has ever been shared.
 *
 * Why a disagreement is harmless: home ran its own groups on its own copy, exactly as the first
 * part of a run on one device. If the others' results cannot be merged, or a device failed, they
 * are thrown away and the rest of the groups run at home.
 *
 * Locks: the spread lock (here) is taken with none of the others held and no engine entered, and
 * may be kept over driver calls, copies and waits for engines; under it any other lock may be
 * taken.
 */
#ifndef OPENCL_SPREAD_SPREAD_H
#define OPENCL_SPREAD_SPREAD_H

#include "opencl/graph/opencl_command.h"
#include "engine/engine.h"
#include "opencl/layer.h"
#include "opencl/opencl_objects.h"

struct spread_program;

/* How many devices could help this one; counts them, and tells the user about those that cannot. */
unsigned spread_count_helpers(struct opencl_device *device);

/*
 * Could a command of this device concern another one: is there one that could help it, or memory
 * that was ever shared? Asked once per command; where the answer is no, nothing else here need be
 * asked.
 */
static inline bool spread_possible(struct opencl_device *device)
{
    int helpers = atomic_load_explicit(&device->n_helpers, memory_order_relaxed);

    if (helpers < 0)
        helpers = (int)spread_count_helpers(device);
    return helpers > 0 || atomic_load_explicit(&front.spread.n_buffers, memory_order_acquire) > 0;
}

/* May kernels of this process run on more than one device (--gpus, the plan)? */
bool spread_enabled(void);

/* Nothing is on another device, nor will it be as things stand. */
bool spread_idle(void);

/* Should this launch go to the worker, which may split it? */
bool spread_wants(const struct opencl_command *draft);

/*
 * On a program's thread, no engine entered: may the draft go to the driver now? A caller that
 * blocks anyway merges and copies here what the draft needs; another one is told false if there is
 * such a thing to do, and the draft goes to the worker.
 */
bool spread_admits(const struct opencl_command *draft, bool blocking);

/*
 * On the worker: is there anything to do for the command? Then, with no engine entered,
 * spread_issue().
 */
bool spread_concerns(const struct opencl_command *command);
/*
 * Makes home ready for the command, or runs a launch on several devices: *ret_done, and only the
 * event is left to be waited for.
 */
cl_int spread_issue(struct device_engine *engine, struct opencl_command *command, bool *ret_done);

/* A launch ran on its own device only, for so long. */
void spread_ran_alone(struct kernel_record *kernel, size_t items, int64_t ns);

/*
 * A job is about to end, and nothing of it is in flight. Where state migrates through the host
 * (`system`), what only a GPU holds is copied there, so that the next job finds it whichever GPU it
 * gets. May block.
 */
void spread_job_ends(void);

/* The program has waited for everything: the next launch belongs to another job. Never blocks. */
void spread_job_over(void);

/* An image is being laid on the buffer: from now on it stays at home. */
void spread_pin(struct mem_record *root);
/* No handle and no command is left that could ask for its contents. */
void spread_unused(struct mem_record *root);
/* The record ends. */
void spread_forget(struct mem_record *mem);
void spread_program_done(struct spread_program *program);

/* At exit: ends the threads of further devices at the next piece border. */
void spread_stop(void);

#endif
