#include "opencl/spread/upload.h"

#include <string.h>

#include "engine/policy.h"
#include "opencl/graph/kinds.h"
#include "opencl/layer.h"
#include "opencl/spread/spread_placement.h"
#include "opencl/spread/split.h"

bool upload_concerns(const struct opencl_command *command)
{
    return kind_of(command)->linear && kind_of(command)->from == SIDE_HOST &&
           placement_on(command->queue->device) && device_count_helpers(command->queue->device) > 0;
}

/*
 * The buffer that is written or read, if it may be valid elsewhere than at home; *ret_range in its
 * root.
 */
static struct spread_buffer *named_buffer(const struct opencl_command *command, struct range *ret_range)
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

/*
 * Nothing is pending, the copy there has room, and the record has room for one more range. A record
 * that is full would forget where bytes are.
 */
static bool can_take(struct spread_buffer *buffer, int place, struct queue_record *queue)
{
    return split_settle(buffer, true, queue) == CL_SUCCESS &&
           (!coherence_tight(&buffer->coherence) || buffer_bring_home(buffer, queue) == CL_SUCCESS) &&
           buffer_room(buffer, place) == CL_SUCCESS;
}

void upload_to_chosen(struct opencl_command *command, bool *ret_done)
{
    struct further_device *device;
    struct spread_buffer *buffer;
    struct command timed = {0};
    struct range range;

    *ret_done = false;
    if (placement_any() || !(device = placement_device(command->queue->device)) ||
        !(buffer = named_buffer(command, &range)) || !can_take(buffer, device->place, command->queue) ||
        buffer_upload(buffer, device->place, range, command->u.transfer.host, &timed) != CL_SUCCESS)
        return;
    coherence_written(&buffer->coherence, device->place, range);
    if (policy_saves_state())
        buffer_shadow(buffer, range, command->u.transfer.host);
    command->base.times = timed.times;
    command->base.timed = timed.timed;
    command->base.leased = false; /* no engine of home was used */
    runtime_count(COUNTER_COPIES, 1);
    *ret_done = true;
}

static void upload_to_all(const struct opencl_command *command)
{
    struct further_device *helpers[FURTHER_MAX];
    struct spread_buffer *buffer;
    struct command timed = {0};
    struct range range;
    unsigned n;

    if (!placement_any() || !(buffer = named_buffer(command, &range)))
        return;
    n = placement_helpers(command->queue->device, helpers);
    for (unsigned i = 0; i < n; i++)
        if (buffer_room(buffer, helpers[i]->place) == CL_SUCCESS &&
            buffer_upload(buffer, helpers[i]->place, range, command->u.transfer.host, &timed) == CL_SUCCESS)
            coherence_copied(&buffer->coherence, helpers[i]->place, range);
}

void upload_to_home(const struct opencl_command *command)
{
    struct spread_buffer *buffer;
    struct range range;

    if (policy_saves_state() && (buffer = named_buffer(command, &range)))
        buffer_shadow(buffer, range, command->u.transfer.host);
    upload_to_all(command);
}

/*
 * A place where the whole range can be read, the job's own GPU first; PLACE_NONE: home must be made
 * valid.
 */
static int readable_at(const struct spread_buffer *buffer, struct range range, int job_place)
{
    if (coherence_valid(&buffer->coherence, job_place, range) &&
        (job_place != PLACE_HOME || policy_saves_state()))
        return job_place;
    if (coherence_valid(&buffer->coherence, PLACE_HOME, range))
        return PLACE_NONE;
    for (int place = PLACE_DEVICE; place < PLACE_MAX; place++)
        if (coherence_valid(&buffer->coherence, place, range))
            return place;
    return PLACE_NONE;
}

/* The end of the bytes, from range.begin on, that are valid at the place. */
static size_t valid_until(const struct spread_buffer *buffer, int place, struct range range)
{
    struct range missing = ranges_first_missing(&buffer->coherence.valid[place], range);

    return range_length(missing) ? missing.begin : range.end;
}

/* The next part of the range, and its place: the job's GPU, else the host; PLACE_NONE: neither. */
static int next_part(const struct spread_buffer *buffer, struct range range, struct range *ret_part)
{
    const int places[] = {placement_last(), PLACE_HOST};

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        *ret_part = (struct range){range.begin, valid_until(buffer, places[i], range)};
        if (range_length(*ret_part))
            return places[i];
    }
    return PLACE_NONE;
}

static bool has_parts(const struct spread_buffer *buffer, struct range range)
{
    struct range part = {range.begin, range.begin};

    while (part.end < range.end)
        if (next_part(buffer, (struct range){part.end, range.end}, &part) == PLACE_NONE)
            return false;
    return true;
}

/* Reads each part of the range from where it is valid, so that no other GPU is used. */
static bool read_parts(struct spread_buffer *buffer, struct range range, unsigned char *bytes,
                       const struct opencl_command *command, struct command *ret_times)
{
    struct range part = {range.begin, range.begin};

    if (!has_parts(buffer, range))
        return false;
    while (part.end < range.end) {
        int place = next_part(buffer, (struct range){part.end, range.end}, &part);
        unsigned char *to = bytes + (part.begin - range.begin);

        if (place == PLACE_HOST)
            memcpy(to, buffer->host + part.begin, range_length(part));
        else if (buffer_download(buffer, place, part, to, command->queue, ret_times) != CL_SUCCESS)
            return false;
    }
    return true;
}

bool download_concerns(const struct opencl_command *command)
{
    return kind_of(command)->linear && kind_of(command)->to == SIDE_HOST &&
           placement_on(command->queue->device) && device_count_helpers(command->queue->device) > 0;
}

void download_from_there(struct opencl_command *command, bool *ret_done)
{
    struct command timed = {0};
    struct spread_buffer *buffer;
    struct range range;
    bool in_parts;
    int place;

    *ret_done = false;
    buffer = named_buffer(command, &range);
    if (!buffer || buffer->image || buffer->lost != CL_SUCCESS ||
        split_settle(buffer, false, command->queue) != CL_SUCCESS)
        return;
    place = readable_at(buffer, range, placement_last());
    in_parts = (placement_last() != PLACE_HOME || policy_saves_state()) &&
               read_parts(buffer, range, command->u.transfer.host, command, &timed);
    if (!in_parts && (place == PLACE_NONE || buffer_download(buffer, place, range, command->u.transfer.host,
                                                             command->queue, &timed) != CL_SUCCESS))
        return;
    if (policy_saves_state())
        buffer_shadow(buffer, range, command->u.transfer.host);
    command->base.times = timed.times;
    command->base.timed = timed.timed;
    command->base.leased = false; /* no engine of home was used */
    runtime_count(COUNTER_COPIES, 1);
    *ret_done = true;
}
