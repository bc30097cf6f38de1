/* Plans a split: whether it is possible, with which devices, and in which shares. */
#include <stdlib.h>
#include <string.h>

#include "engine/policy.h"
#include "opencl/layer.h"
#include "spread/byte_merge.h"
#include "opencl/spread/split.h"
#include "opencl/spread/touch.h"

/* a moving boundary makes about 8 pieces of each share, 10 us each */
#define LONG_NS (20 * NSEC_PER_MS)

enum { OUTPUTS_OF_BUFFER = 8 };

struct split_planning {
    struct split *split;
    bool possible;
};

/*
 * Ranges that two arguments write must not overlap: merging one would change what the other is
 * compared with. The program must have no part of the buffer mapped, because it may write there
 * meanwhile. Few outputs per buffer, so that its record stays exact (spread/ranges.h).
 */
static bool add_output(struct split *split, const struct split_output *output)
{
    unsigned of_buffer = 0;

    for (unsigned i = 0; i < split->n_outputs; i++) {
        const struct split_output *other = &split->outputs[i];

        if (other->buffer != output->buffer)
            continue;
        if (range_meets(other->range, output->range) || ++of_buffer == OUTPUTS_OF_BUFFER)
            return false;
    }
    if (split->n_outputs == SPLIT_BUFFERS || atomic_load(&output->buffer->root->n_mapped) > 0)
        return false;
    split->outputs[split->n_outputs++] = *output;
    return true;
}

static size_t granule_of(const struct translate_arg *arg)
{
    size_t granule = 1;

    if (arg->store == 0 || arg->store > MERGE_MAX_GRANULE)
        return MERGE_MAX_GRANULE;
    while (granule < arg->store)
        granule *= 2;
    return granule;
}

/* An integer argument of the launch that is planned. */
static bool argument_value(void *data, uint32_t i, uint64_t *ret_value)
{
    const struct split *split = data;
    const struct arg_value *arg = i < split->n_args ? &split->args[i] : NULL;
    uint32_t narrow;

    if (!arg || arg->kind != ARG_BYTES || (arg->size != sizeof narrow && arg->size != sizeof *ret_value))
        return false;
    if (arg->size == sizeof *ret_value) {
        memcpy(ret_value, arg->value.small, sizeof *ret_value);
        return true;
    }
    memcpy(&narrow, arg->value.small, sizeof narrow);
    *ret_value = narrow;
    return true;
}

static bool groups_apart(struct split *split, const struct translate_arg *arg)
{
    return arg->reach.n > 0 && reach_apart(&arg->reach, &split->cut.launch, argument_value, split);
}

static bool plan_touch(const struct touch *touch, void *data)
{
    struct split_planning *planning = data;
    struct split *split = planning->split;
    const struct translate_arg *arg = &split->about->args[touch->arg];
    struct spread_buffer *buffer = buffer_of(mem_root(touch->mem));
    struct range range = buffer ? buffer_range(buffer, touch->range) : touch->range;
    const struct piece_launch *launch = &split->cut.launch;
    bool one_line = launch->work_dim == 1 && launch->offset[0] == 0 && launch->global[0] <= (size_t)INT32_MAX;
    struct split_output output = {.buffer = buffer,
                                  .range = range,
                                  .reads = touch->reads,
                                  .own_reads = groups_apart(split, arg),
                                  .element = arg->own_write && one_line ? arg->element : 0,
                                  .granule =
                                      buffer && buffer->image ? buffer->image->pixel : granule_of(arg)};

    planning->possible = buffer && front.target.clRetainMemObject(touch->mem->handle) == CL_SUCCESS;
    if (!planning->possible)
        return false;
    split->kept[touch->arg] = touch->mem->handle;
    split->roots[touch->arg] = buffer->root;
    object_ref(&buffer->root->object);
    if (touch->writes)
        planning->possible = add_output(split, &output);
    else if (split->n_inputs < SPLIT_BUFFERS) {
        split->inputs[split->n_inputs].range = range;
        split->inputs[split->n_inputs++].buffer = buffer;
    } else {
        planning->possible = false;
    }
    return planning->possible;
}

/*
 * Every memory argument must be a known buffer or image, and no image may be read and written. All
 * other arguments except samplers have the same value on every device. What clSetKernelExecInfo
 * named is memory of the program's context, which other devices do not have.
 */
static bool args_fit(const struct opencl_launch *launch, const struct translate_kernel *about,
                     const struct split *split)
{
    for (cl_uint i = 0; i < KERNEL_EXEC_INFOS; i++)
        if (launch->args[launch->n_args + i].kind != ARG_UNSET)
            return false;
    for (cl_uint i = 0; i < launch->n_args; i++) {
        const struct arg_value *arg = &launch->args[i];
        cl_mem none = NULL;

        if (arg->kind == ARG_SVM || arg->kind == ARG_UNSET ||
            (about->args[i].image && (!split->kept[i] || about->args[i].access == TRANSLATE_READ_WRITE)) ||
            (about->args[i].sampler && !split->args[i].sampler))
            return false;
        if (about->args[i].access == TRANSLATE_VALUE || arg->kind == ARG_NULL || split->kept[i])
            continue;
        if (arg->size != sizeof none || memcmp(arg->value.small, &none, sizeof none) != 0)
            return false;
    }
    return true;
}

/* The bytes that each further device and the shadow still lack, and those that will be merged. */
static void count_bytes(const struct split *split, struct decision_case *ret_case)
{
    for (unsigned s = 1; s < split->n_shares; s++) {
        int place = split->shares[s].device->place;

        for (unsigned i = 0; i < split->n_inputs; i++)
            ret_case->move_bytes += buffer_missing(split->inputs[i].buffer, place, split->inputs[i].range);
        for (unsigned i = 0; i < split->n_outputs; i++) {
            const struct split_output *output = &split->outputs[i];
            struct range part = output->element && !output->reads
                                    ? split_part(split, output, split->shares[s].least, split->shares[s].most)
                                    : output->range;

            ret_case->move_bytes += buffer_missing(output->buffer, place, part);
            if (output->element)
                ret_case->move_bytes += range_length(split_own_part(split, output, &split->shares[s]));
        }
    }
    for (unsigned i = 0; i < split->n_outputs; i++)
        if (!split->outputs[i].element) {
            ret_case->move_bytes +=
                buffer_missing(split->outputs[i].buffer, PLACE_HOST, split->outputs[i].range);
            ret_case->merge_bytes += range_length(split->outputs[i].range);
        }
}

/* Is there an output of which a device gets only what it may write? */
static bool brings_parts(const struct split *split)
{
    for (unsigned i = 0; i < split->n_outputs; i++)
        if (split->outputs[i].element && !split->outputs[i].reads)
            return true;
    return false;
}

/* Are pieces free of cost? The launch is cut anyway, or is so long that they do not matter. */
static bool pieces_pay(const struct split *split)
{
    double at_home = split->known->rates[0]; /* groups per ns; 0: never measured */

    return policy_slicing() || (runtime.settings.slice == SETTING_AUTO && at_home > 0 &&
                                split->cut.shape.n_groups / at_home >= (double)LONG_NS);
}

/*
 * Two neighbours meet at a boundary that moves. A device's copy must also have the bytes that it
 * does not write. If these are copied in parts, a quarter more than planned is copied, and the
 * boundary moves no further. Home has everything.
 */
static void pair_up(struct split *split, struct split_share *low, struct split_share *high, uint32_t grain)
{
    bool parts = brings_parts(split);
    uint32_t down = parts ? (high->end - high->begin) / 4 : low->end - low->begin;
    uint32_t up = parts && low->device ? (low->end - low->begin) / 4 : high->end - high->begin;
    struct boundary *boundary = &split->boundaries[(low - split->shares) / 2];

    if (low->begin == low->end || high->begin == high->end)
        return;
    low->paired = high->paired = true;
    high->least = down < high->begin - low->begin ? high->begin - down : low->begin;
    low->most = up < high->end - low->end ? low->end + up : high->end;
    boundary_init(boundary, low->begin, low->end, high->end, grain);
    boundary->least = high->least;
    boundary->most = low->most;
}

static void share_out(struct split *split)
{
    uint32_t ends[SHARES_MAX] = {0}, begin = 0, grain;
    double rates[SHARES_MAX];
    unsigned first = split->away ? 1 : 0;

    for (unsigned i = 0; i < split->n_shares; i++)
        rates[i] = split->known->rates[i == 0 ? 0 : split->shares[i].device->place - PLACE_DEVICE + 1];
    grain = shares_grain(split->cut.shape.n_groups, split->n_shares - first,
                         split->cut.launch.work_dim == 1 ? 32 : split->cut.piece.groups[0]);
    shares_divide(split->cut.shape.n_groups, rates + first, split->n_shares - first, grain, ends + first);
    for (unsigned i = 0; i < split->n_shares; i++) {
        struct split_share *share = &split->shares[i];

        share->begin = share->least = begin;
        share->end = share->most = begin = ends[i];
    }
    for (unsigned i = 0; i + 1 < split->n_shares && pieces_pay(split); i += 2)
        pair_up(split, &split->shares[i], &split->shares[i + 1], grain);
}

static void find_devices(struct split *split, const struct placement_team *team, bool now)
{
    split->n_shares = 1;
    split->away = !team->home;
    for (unsigned i = 0; i < team->n && split->n_shares < SHARES_MAX; i++)
        if (twins_ready(split->kernel->program, split->known, team->helpers[i], now))
            split->shares[split->n_shares++].device = team->helpers[i];
}

static bool fill(struct split *split, const struct opencl_command *command)
{
    const struct opencl_launch *launch = &command->u.launch;
    struct split_planning planning = {split, true};

    split->args = calloc(launch->n_args + KERNEL_EXEC_INFOS, sizeof *split->args);
    split->kept = calloc(launch->n_args + 1, sizeof(cl_mem));
    split->roots = calloc(launch->n_args + 1, sizeof(struct mem_record *));
    if (!split->args || !split->kept || !split->roots)
        return false;
    split->n_args = launch->n_args;
    for (cl_uint i = 0; i < launch->n_args; i++)
        if (!arg_value_copy(&split->args[i], &launch->args[i]))
            return false;
    return touch_each(command, split->about, plan_touch, &planning) && planning.possible &&
           args_fit(launch, split->about, split);
}

/* The launch and its buffers, without devices. NULL: it must not be moved, or no memory. */
static struct split *begin(const struct opencl_command *command, const struct translate_kernel *about,
                           struct spread_kernel *known)
{
    struct split *split = calloc(1, sizeof *split);

    if (!split)
        return NULL;
    split->kernel = command->u.launch.kernel;
    object_ref(&split->kernel->object);
    split->about = about;
    split->known = known;
    if (!launch_geometry(&command->u.launch, about, &split->cut) || !fill(split, command)) {
        split_drop(split);
        return NULL;
    }
    return split;
}

struct split *split_plan_on(const struct opencl_command *command, const struct translate_kernel *about,
                            struct further_device *device)
{
    struct kernel_record *kernel = command->u.launch.kernel;
    struct spread_kernel *known = twins_kernel(kernel->program, kernel->name);
    struct split *split;

    if (!known || !twins_ready(kernel->program, known, device, true))
        return NULL;
    split = begin(command, about, known);
    if (!split)
        return NULL;
    split->n_shares = 2;
    split->shares[1].device = device;
    split->shares[1].end = split->cut.shape.n_groups;
    for (unsigned i = 0; i < split->n_outputs; i++)
        split->outputs[i].element = 0; /* nothing to gather */
    return split;
}

/*
 * May one group read what another one writes? On one device it may see the other's store; with a
 * copy of the buffer on each device it never would. For one argument the translator knows. Two
 * arguments may be the same buffer, or overlapping parts of it.
 */
static bool groups_meet(const struct split *split)
{
    for (unsigned i = 0; i < split->n_outputs; i++) {
        const struct split_output *output = &split->outputs[i];

        if (output->reads && !output->own_reads)
            return true;
        for (unsigned k = 0; k < split->n_inputs; k++)
            if (split->inputs[k].buffer == output->buffer &&
                range_meets(split->inputs[k].range, output->range))
                return true;
    }
    return false;
}

struct split *split_plan(const struct opencl_command *command, const struct translate_kernel *about,
                         const struct placement_team *team, bool measured)
{
    struct kernel_record *kernel = command->u.launch.kernel;
    struct spread_kernel *known = twins_kernel(kernel->program, kernel->name);
    struct decision_case launch = {.items = launch_items(&command->u.launch)};
    struct split *split;

    if (!known || known->decision.never || (measured && !decide_worth_it(&known->decision, launch.items)) ||
        !about->splittable || about->uses_printf)
        return NULL;
    split = begin(command, about, known);
    if (!split)
        return NULL;
    if (split->cut.shape.n_groups > 1 && groups_meet(split)) {
        runtime_count(COUNTER_UNSPLIT_READS_OTHERS, 1);
        split_drop(split);
        return NULL;
    }
    find_devices(split, team, !measured);
    if (split->n_shares < (split->away ? 3 : 2)) {
        split_drop(split);
        return NULL;
    }
    share_out(split);
    launch.devices = split->n_shares;
    count_bytes(split, &launch);
    split->decided = measured && split->cut.shape.n_groups > 1 &&
                     decide_split(&known->decision, &front.spread.costs, &launch);
    if (split->cut.shape.n_groups < 2 || (measured && !split->decided)) {
        split_drop(split);
        return NULL;
    }
    return split;
}
