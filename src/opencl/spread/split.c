/* A split launch from its beginning to its end, and its results in the buffers. */
#include "opencl/spread/split.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/worker.h"
#include "opencl/layer.h"
#include "opencl/spread/spread_lock.h"

struct range split_part(const struct split *split, const struct split_output *output, uint32_t begin,
                        uint32_t end)
{
    size_t bytes = split->cut.launch.local[0] * output->element, length = range_length(output->range);
    size_t first = begin * bytes, last = end * bytes;

    return (struct range){output->range.begin + (first < length ? first : length),
                          output->range.begin + (last < length ? last : length)};
}

struct range split_own_part(const struct split *split, const struct split_output *output,
                            const struct split_share *share)
{
    return split_part(split, output, share->begin, share->end);
}

static void drop_mems(struct split *split, struct split_share *share)
{
    for (cl_uint i = 0; share->mems && i < split->n_args; i++)
        if (share->mems[i])
            front.target.clReleaseMemObject(share->mems[i]);
    for (cl_uint i = 0; share->samplers && i < split->n_args; i++)
        if (share->samplers[i])
            front.target.clReleaseSampler(share->samplers[i]);
    free(share->mems);
    free(share->samplers);
    share->mems = NULL;
    share->samplers = NULL;
}

static void detach(struct split *split)
{
    for (unsigned i = 0; i < split->n_outputs; i++)
        if (split->outputs[i].buffer->writer == split)
            split->outputs[i].buffer->writer = NULL;
    for (unsigned i = 0; i < split->n_inputs; i++) {
        struct spread_buffer *buffer = split->inputs[i].buffer;

        for (unsigned r = 0; r < buffer->n_readers; r++)
            if (buffer->readers[r] == split)
                buffer->readers[r--] = buffer->readers[--buffer->n_readers];
    }
}

/* Reports what was learnt, once no more cost can come. */
static void report(struct split *split)
{
    size_t items = split->cut.base.unit_items * split->cut.shape.n_groups;

    if (split->ran && !split->useless)
        decide_ran_split(&split->known->decision, items, split->in_shares, split->spent);
    else if (split->decided)
        decide_void(&split->known->decision, items);
}

/* With no lock held: the last reference to a memory object calls the program. */
static void free_split(struct command_callback *base)
{
    struct split *split = list_entry(base, struct split, dropped);

    for (unsigned i = 0; i < split->n_outputs; i++)
        free(split->outputs[i].writers);
    for (unsigned i = 0; i < split->n_shares; i++)
        drop_mems(split, &split->shares[i]);
    for (cl_uint i = 0; split->args && i < split->n_args; i++)
        arg_value_done(&split->args[i]);
    for (cl_uint i = 0; split->kept && split->roots && i < split->n_args; i++) {
        if (split->roots[i])
            mem_unref(split->roots[i]);
        if (split->kept[i])
            front.target.clReleaseMemObject(split->kept[i]);
    }
    free(split->args);
    free(split->kept);
    free(split->roots);
    kernel_unref(split->kernel);
    free(split);
    worker_came_back();
}

void split_drop(struct split *split)
{
    report(split);
    detach(split);
    split->dropped.run = free_split;
    spread_after(&split->dropped);
}

/*
 * If home had no share, the times of the launch are those of the shares: from the first begin to
 * the last end.
 */
static void take_times(const struct split *split, struct opencl_command *command)
{
    struct command *own = &command->base;

    for (unsigned s = 1; s < split->n_shares; s++) {
        const struct command *there = &split->shares[s].command.base;

        if (!there->timed)
            continue;
        if (!own->timed || there->times.queued < own->times.queued)
            own->times.queued = there->times.queued;
        if (!own->timed || there->times.submitted < own->times.submitted)
            own->times.submitted = there->times.submitted;
        if (!own->timed || there->times.started < own->times.started)
            own->times.started = there->times.started;
        if (!own->timed || there->times.ended > own->times.ended)
            own->times.ended = there->times.ended;
        own->timed = true;
    }
}

/* --- after --- */

static void attach(struct split *split)
{
    for (unsigned i = 0; i < split->n_outputs; i++) {
        split->outputs[i].buffer->writer = split;
        coherence_split(&split->outputs[i].buffer->coherence, split->outputs[i].range);
    }
    for (unsigned i = 0; i < split->n_inputs; i++) {
        struct spread_buffer *buffer = split->inputs[i].buffer;

        if (!buffer->n_readers ||
            buffer->readers[buffer->n_readers - 1] != split) /* one buffer may be two arguments */
            buffer->readers[buffer->n_readers++] = split;
    }
}

static bool program_can_look(const struct split *split)
{
    for (unsigned i = 0; i < split->n_outputs; i++)
        if (buffer_is_open(split->outputs[i].buffer))
            return true;
    return false;
}

/*
 * The groups of a failed share run at home, after home's own, and nothing of the failed device is
 * used.
 */
static cl_int end_run(struct split *split, struct opencl_command *command, cl_int code)
{
    bool failed = false;

    for (unsigned s = 1; s < split->n_shares; s++)
        failed = failed || split->shares[s].code != CL_SUCCESS;
    split_learn_rates(split);
    split->useless = failed || code != CL_SUCCESS;
    if (code !=
        /* the launch reports the driver's error, and the contents of the buffers are undefined */
        CL_SUCCESS) {
        for (unsigned i = 0; i < split->n_outputs; i++)
            coherence_merged(&split->outputs[i].buffer->coherence, PLACE_HOME, split->outputs[i].range);
        split_drop(split);
        return code;
    }
    runtime_count(COUNTER_SPLIT_LAUNCHES, 1);
    if (failed || program_can_look(split))
        return split_resolve(split, command->queue);
    return CL_SUCCESS;
}

cl_int split_run(struct split *split, struct device_engine *engine, struct opencl_command *command,
                 bool *ret_done)
{
    baton_nsec begin_at = clock_now();
    cl_int code = split_supply(split, command->queue);

    *ret_done = code == CL_SUCCESS;
    if (code != CL_SUCCESS) { /* for example no memory on another device: home can run the launch alone */
        split_drop(split);
        return CL_SUCCESS;
    }
    attach(split);
    split->running = true;
    runtime_count(COUNTER_KERNEL_LAUNCHES, 1);
    spread_unlock();
    code = split_run_shares(split, engine, command);
    if (!command->base.last_mark)
        take_times(split, command);
    spread_lock();
    split->running = false;
    pthread_cond_broadcast(&front.spread.changed);
    command->base.leased = false; /* its engine has been left */
    split->spent = clock_now() - begin_at;
    split->ran = true;
    return end_run(split, command, code);
}

/* --- all of it elsewhere --- */

/*
 * The results stay on that device until a command needs them at home, unless the program could read
 * them without a call.
 */
static cl_int leave_there(struct split *split, int place, struct queue_record *queue)
{
    cl_int code = CL_SUCCESS;

    for (unsigned i = 0; i < split->n_outputs; i++) {
        struct spread_buffer *buffer = split->outputs[i].buffer;

        coherence_written(&buffer->coherence, place, split->outputs[i].range);
        if (code == CL_SUCCESS && buffer_is_open(buffer))
            code = buffer_make_valid(buffer, PLACE_HOME, split->outputs[i].range, queue);
    }
    return code;
}

/*
 * After the device failed: home can run the launch if it still has every byte that the launch may
 * read or leave unchanged.
 */
static bool home_has_all(const struct split *split)
{
    for (unsigned i = 0; i < split->n_outputs; i++)
        if (!coherence_valid(&split->outputs[i].buffer->coherence, PLACE_HOME, split->outputs[i].range))
            return false;
    return true;
}

cl_int split_run_on(struct split *split, struct device_engine *engine, struct opencl_command *command,
                    bool *ret_done)
{
    struct split_share *share = &split->shares[1];
    int place = share->device->place;
    cl_int code = split_supply_alone(split, command->queue);

    *ret_done = false;
    if (code != CL_SUCCESS) {
        split_drop(split);
        return CL_SUCCESS;
    }
    for (unsigned i = 0; i < split->n_outputs; i++)
        split->outputs[i].buffer->writer = split; /* a command that needs the buffer meanwhile waits */
    split->running = true;
    spread_unlock();
    (void)split_run_shares(split, engine, command);
    spread_lock();
    split->running = false;
    pthread_cond_broadcast(&front.spread.changed);
    code = share->code;
    *ret_done = code == CL_SUCCESS || !home_has_all(split);
    if (*ret_done) {
        runtime_count(COUNTER_KERNEL_LAUNCHES, 1);
        runtime_count(COUNTER_PLACED_LAUNCHES, 1);
        take_times(split, command);
        command->base.leased = false;
        if (code == CL_SUCCESS)
            code = leave_there(split, place, command->queue);
    } else { /* the device's changes to its copies do not count */
        command->base.lag = 0;
        for (unsigned i = 0; i < split->n_outputs; i++)
            coherence_written(&split->outputs[i].buffer->coherence, PLACE_HOME, split->outputs[i].range);
        code = CL_SUCCESS;
    }
    split_drop(split);
    return code;
}
