/* Data for a split launch: copies what each device needs before the shares begin. */
#include <stdlib.h>

#include "opencl/layer.h"
#include "opencl/spread/landing.h"
#include "opencl/spread/split.h"

static struct spread_buffer *nth_buffer(const struct split *split, unsigned i)
{
    return i < split->n_outputs ? split->outputs[i].buffer : split->inputs[i - split->n_outputs].buffer;
}

/* Merges everything pending. Repeats if another split became pending during a wait. */
static cl_int merge_pending(struct split *split, struct queue_record *queue)
{
    unsigned n = split->n_outputs + split->n_inputs, settled = 0;
    cl_int code = CL_SUCCESS;

    while (settled < n && code == CL_SUCCESS)
        for (settled = 0; settled < n && code == CL_SUCCESS; settled++) {
            bool writes = settled < split->n_outputs;

            if (split_is_settled(nth_buffer(split, settled), writes))
                continue;
            code = split_settle(nth_buffer(split, settled), writes, queue);
            break;
        }
    return code;
}

/* Merges everything pending in the buffers, and waits for commands that write them at home. */
static cl_int settle_all(struct split *split, struct queue_record *queue)
{
    bool waited = true;
    cl_int code = CL_SUCCESS;

    while (waited && code == CL_SUCCESS) {
        code = merge_pending(split, queue);
        if (code == CL_SUCCESS)
            landing_wait(split, queue, &waited);
    }
    return code;
}

/*
 * Counts what the program may have changed without a call as changed, and simplifies records with
 * too many ranges.
 */
static cl_int refresh_all(struct split *split, struct queue_record *queue)
{
    cl_int code = CL_SUCCESS;

    for (unsigned i = 0; i < split->n_outputs + split->n_inputs && code == CL_SUCCESS; i++) {
        struct spread_buffer *buffer = nth_buffer(split, i);

        if (buffer_is_open(buffer) || coherence_tight(&buffer->coherence))
            code = buffer_bring_home(buffer, queue);
    }
    return code;
}

static cl_int bring_outputs(struct split *split, struct queue_record *queue)
{
    cl_int code = CL_SUCCESS;

    for (unsigned i = 0; i < split->n_outputs && code == CL_SUCCESS; i++) {
        const struct split_output *output = &split->outputs[i];

        code = buffer_make_valid(output->buffer, PLACE_HOME, output->range, queue);
        if (code == CL_SUCCESS && !output->element) /* the merge compares with it */
            code = buffer_make_valid(output->buffer, PLACE_HOST, output->range, queue);
        for (unsigned s = 1; s < split->n_shares && code == CL_SUCCESS; s++) {
            const struct split_share *share = &split->shares[s];

            code = buffer_make_valid(output->buffer, share->device->place,
                                     output->element && !output->reads
                                         ? split_part(split, output, share->least, share->most)
                                         : output->range,
                                     queue);
        }
    }
    return code;
}

static cl_int bring_inputs(struct split *split, struct queue_record *queue)
{
    cl_int code = CL_SUCCESS;

    for (unsigned i = 0; i < split->n_inputs && code == CL_SUCCESS; i++) {
        code = buffer_make_valid(split->inputs[i].buffer, PLACE_HOME, split->inputs[i].range, queue);
        for (unsigned s = 1; s < split->n_shares && code == CL_SUCCESS; s++)
            code = buffer_make_valid(split->inputs[i].buffer, split->shares[s].device->place,
                                     split->inputs[i].range, queue);
    }
    return code;
}

/*
 * The buffers of a share as arguments of the device's kernel: copies of roots, or the same parts of
 * them.
 */
static cl_int find_mems(struct split *split, struct split_share *share)
{
    int place = share->device->place;
    cl_int code = CL_SUCCESS;

    share->mems = calloc(split->n_args + 1, sizeof(cl_mem));
    share->samplers = calloc(split->n_args + 1, sizeof(cl_sampler));
    if (!share->mems || !share->samplers)
        return CL_OUT_OF_HOST_MEMORY;
    for (cl_uint i = 0; i < split->n_args && code == CL_SUCCESS; i++) {
        struct spread_buffer *buffer;
        cl_buffer_region region = {0, 0};

        if (split->about->args[i].sampler) {
            const struct sampler_record *sampler = split->args[i].sampler;

            share->samplers[i] = sampler ? image_sampler(sampler->handle, share->device->context) : NULL;
            code = share->samplers[i] ? CL_SUCCESS : CL_OUT_OF_RESOURCES;
        }
        if (!split->kept[i])
            continue;
        buffer = atomic_load(&split->roots[i]->spread);
        code = buffer_room(buffer, place);
        if (code != CL_SUCCESS)
            break;
        if (split->kept[i] == split->roots[i]->handle) {
            share->mems[i] = buffer->copies[place];
            front.target.clRetainMemObject(share->mems[i]);
            continue;
        }
        front.target.clGetMemObjectInfo(split->kept[i], CL_MEM_OFFSET, sizeof region.origin, &region.origin,
                                        NULL);
        front.target.clGetMemObjectInfo(split->kept[i], CL_MEM_SIZE, sizeof region.size, &region.size, NULL);
        share->mems[i] = front.target.clCreateSubBuffer(buffer->copies[place], CL_MEM_READ_WRITE,
                                                        CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    }
    return code;
}

cl_int split_supply(struct split *split, struct queue_record *queue)
{
    cl_int code = settle_all(split, queue);

    if (code == CL_SUCCESS)
        code = refresh_all(split, queue);
    for (unsigned s = 1; s < split->n_shares && code == CL_SUCCESS; s++)
        code = find_mems(split, &split->shares[s]);
    if (code == CL_SUCCESS)
        code = bring_inputs(split, queue);
    if (code == CL_SUCCESS)
        code = bring_outputs(split, queue);
    return code;
}

cl_int split_supply_alone(struct split *split, struct queue_record *queue)
{
    int place = split->shares[1].device->place;
    cl_int code = settle_all(split, queue);

    if (code == CL_SUCCESS)
        code = refresh_all(split, queue);
    if (code == CL_SUCCESS)
        code = find_mems(split, &split->shares[1]);
    for (unsigned i = 0; i < split->n_inputs && code == CL_SUCCESS; i++)
        code = buffer_make_valid(split->inputs[i].buffer, place, split->inputs[i].range, queue);
    for (unsigned i = 0; i < split->n_outputs && code == CL_SUCCESS; i++)
        code = buffer_make_valid(split->outputs[i].buffer, place, split->outputs[i].range, queue);
    return code;
}
