#include "opencl/spread/upload.h"

#include <string.h>

#include "opencl/layer.h"
#include "opencl/spread/spread_placement.h"
#include "opencl/spread/split.h"

bool upload_concerns(const struct opencl_command *command)
{
    return command->kind == COMMAND_WRITE && placement_on(command->queue->device) &&
           device_count_helpers(command->queue->device) > 0;
}

/* The buffer that is written, if it may be elsewhere than at home; *ret_range in its root. */
static struct spread_buffer *written_buffer(const struct opencl_command *command, struct range *ret_range)
{
    const struct command_transfer *transfer = &command->u.transfer;
    struct mem_record *mem = mem_find(transfer->a);
    struct spread_buffer *buffer = mem ? buffer_of(mem_root(mem)) : NULL;

    if (mem) {
        ret_range->begin = mem->origin + transfer->offset;
        ret_range->end = ret_range->begin + transfer->size;
        mem_unref(mem); /* the command keeps it */
    }
    return buffer && !buffer_is_open(buffer) ? buffer : NULL;
}

void upload_to_chosen(struct opencl_command *command, bool *ret_done)
{
    struct further_device *device;
    struct spread_buffer *buffer;
    struct command timed = {0};
    struct range range;

    *ret_done = false;
    if (placement_any() || !(device = placement_device(command->queue->device)) ||
        !(buffer = written_buffer(command, &range)) ||
        split_settle(buffer, true, command->queue) != CL_SUCCESS ||
        buffer_room(buffer, device->place) != CL_SUCCESS ||
        buffer_upload(buffer, device->place, range, command->u.transfer.host, &timed) != CL_SUCCESS)
        return;
    coherence_written(&buffer->coherence, device->place, range);
    command->base.times = timed.times;
    command->base.timed = timed.timed;
    command->base.leased = false; /* of home's engine nothing was used */
    runtime_count(COUNTER_COPIES, 1);
    *ret_done = true;
}

void upload_to_all(const struct opencl_command *command)
{
    struct further_device *helpers[FURTHER_MAX];
    struct spread_buffer *buffer;
    struct command timed = {0};
    struct range range;
    unsigned n;

    if (!placement_any() || !(buffer = written_buffer(command, &range)))
        return;
    n = placement_helpers(command->queue->device, helpers);
    for (unsigned i = 0; i < n; i++)
        if (buffer_room(buffer, helpers[i]->place) == CL_SUCCESS &&
            buffer_upload(buffer, helpers[i]->place, range, command->u.transfer.host, &timed) == CL_SUCCESS)
            coherence_copied(&buffer->coherence, helpers[i]->place, range);
}
