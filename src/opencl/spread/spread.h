/*
 * One program on several devices: the interface of src/opencl/spread to the rest of the layer.
 *
 * A kernel's work-groups are divided over the program's own device (home) and further ones. Each
 * further device has its own context, program and buffers. Results stay where they were computed
 * and are merged when a command needs them. So every command is announced here before the driver
 * gets it: by a program's thread with spread_admits(), by a worker with spread_issue(). Both make
 * home valid and note what will be written. This costs one load while no buffer was ever shared.
 *
 * Why a disagreement is harmless: home ran its own groups on its own copy, exactly as the first
 * part of a run on one device. If the results of the others cannot be merged, or a device failed,
 * they are discarded and their groups run at home.
 *
 * Locks: the spread lock (spread_lock.h) is taken with no other lock held and no engine entered. It
 * may be held over driver calls, copies and waits for engines, and any other lock may be taken
 * under it.
 */
#ifndef OPENCL_SPREAD_SPREAD_H
#define OPENCL_SPREAD_SPREAD_H

#include "opencl/graph/opencl_command.h"
#include "engine/engine.h"
#include "opencl/layer.h"
#include "opencl/opencl_objects.h"

struct spread_program;

/* Counts the devices that could help this one, and tells the user about those that cannot. */
unsigned spread_count_helpers(struct opencl_device *device);

/*
 * Could a command of this device involve another one? It could if some device can help, or if
 * memory was ever shared. Asked once per command. If the answer is no, no other function here need
 * be called.
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

/* Is nothing on another device, and can nothing get there as things are? */
bool spread_idle(void);

/* Should this launch go to the worker, which may split it? */
bool spread_wants(const struct opencl_command *draft);

/*
 * On a program's thread, no engine entered: may the draft go to the driver now? A caller that
 * blocks merges and copies here what the draft needs. For any other caller the answer is false if
 * there is something to do, and the draft goes to the worker. If it is true, call spread_over()
 * when the driver's call has returned, or if it is not made.
 */
bool spread_admits(struct opencl_command *draft, bool blocking);
/*
 * The command needs spread/ no more; nothing happens if that was said before. Takes a leaf lock
 * only.
 */
void spread_over(struct opencl_command *command);

/* On the worker: must spread_issue() be called for the command, with no engine entered? */
bool spread_concerns(struct opencl_command *command);
/*
 * Makes home ready for the command, or runs a launch on several devices. *ret_done: it has run, and
 * only its event must be waited for.
 */
cl_int spread_issue(struct device_engine *engine, struct opencl_command *command, bool *ret_done);

/* Reports how long a launch took that ran on its own device only. */
void spread_ran_alone(struct kernel_record *kernel, size_t items, int64_t ns);

/*
 * A job is about to end, and none of its commands is in flight. If state migrates through the host
 * (`system`), copies there what only a GPU has, so that the next job finds it on any GPU. May
 * block.
 */
void spread_job_ends(void);

/* The program has waited for everything: the next launch belongs to another job. Never blocks. */
void spread_job_over(void);

/* An image is created on the buffer, which stays at home from now on. */
void spread_pin(struct mem_record *root);
/* The record ends. */
void spread_forget(struct mem_record *mem);
void spread_program_done(struct spread_program *program);

/* At exit: ends the threads of further devices at the next piece border. */
void spread_stop(void);

#endif
