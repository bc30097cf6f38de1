#include "opencl/graph/kernel_launch.h"

#include <string.h>

#include "engine/policy.h"
#include "engine/runtime.h"
#include "opencl/graph/kinds.h"
#include "opencl/layer.h"
#include "opencl/program/program_record.h"

enum {
    OWN_LOCAL = 64, /* the largest local size that the layer chooses */
};

/* kernel_record::slice_state */
enum launch_state { LAUNCH_UNDECIDED, LAUNCH_CUTS, LAUNCH_WHOLE };

cl_command_type launch_task_type(void)
{
    return atomic_load_explicit(&front.task_type, memory_order_relaxed);
}

void launch_task_seen(cl_event driver_event)
{
    cl_command_type type = CL_COMMAND_TASK;

    front.target.clGetEventInfo(driver_event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL);
    atomic_store_explicit(&front.task_type, type, memory_order_relaxed);
}

size_t launch_groups(const struct opencl_launch *launch)
{
    size_t n = 1;

    if (!launch->has_local)
        return 0;
    for (cl_uint d = 0; d < launch->dim; d++) {
        if (!launch->local[d])
            return 0;
        n *= (launch->global[d] + launch->local[d] - 1) / launch->local[d];
    }
    return n;
}

/*
 * A local size for a kernel that cannot observe it: the largest divisor of the width up to
 * OWN_LOCAL.
 */
static void choose_local(struct piece_launch *launch, const struct translate_kernel *about)
{
    for (cl_uint d = 0; d < launch->work_dim; d++)
        launch->local[d] = about->reqd_local_given ? about->reqd_local[d] : 1;
    for (size_t n = OWN_LOCAL; n > 1 && !about->reqd_local_given; n--)
        if (launch->global[0] % n == 0) {
            launch->local[0] = n;
            break;
        }
}

bool launch_geometry(const struct opencl_launch *launch, const struct translate_kernel *about,
                     struct opencl_cut *ret_cut)
{
    memset(ret_cut, 0, sizeof *ret_cut);
    ret_cut->launch.work_dim = launch->dim;
    for (cl_uint d = 0; d < launch->dim; d++) {
        ret_cut->launch.offset[d] = launch->offset[d];
        ret_cut->launch.global[d] = launch->global[d];
        ret_cut->launch.local[d] = launch->local[d];
    }
    if (!launch->has_local && !about->observes_local_size)
        choose_local(&ret_cut->launch, about);
    if ((!launch->has_local && about->observes_local_size) || about->n_args != launch->kernel->n_args ||
        piece_of_launch(&ret_cut->launch, &ret_cut->piece, &ret_cut->shape.n_groups) != 0 ||
        ret_cut->shape.n_groups == 0)
        return false;
    ret_cut->base.unit_items = launch_items(launch) / ret_cut->shape.n_groups;
    memcpy(ret_cut->shape.local, ret_cut->launch.local, sizeof ret_cut->shape.local);
    return true;
}

/* False: whatever its shape, the launch has no wide rows (opencl/quirks/variant.h). */
static bool may_be_wide(const struct opencl_command *command)
{
    return launch_items(&command->u.launch) >= VARIANT_WIDE_GRID;
}

/*
 * As launch_geometry(), for a kernel that always runs rewritten. False: this launch runs the
 * program's own kernel.
 */
static bool rewritten_geometry(const struct opencl_command *command, struct opencl_cut *ret_cut)
{
    const struct opencl_launch *launch = &command->u.launch;
    struct kernel_record *kernel = launch->kernel;
    const struct translate_kernel *about = atomic_load_explicit(&kernel->about, memory_order_acquire);

    if (!about || !kind_of(command)->cut_by_time || !launch_geometry(launch, about, ret_cut))
        return false;
    ret_cut->variants = may_be_wide(command) ? program_variants(kernel->program, about) : NULL;
    return true;
}

/* False: the driver would compile the kernel anew if this launch ran as one command. */
static bool stays_compiled(const struct opencl_command *draft)
{
    struct opencl_cut cut;

    return !quirks_have(&draft->queue->device->quirks, QUIRK_WIDE_GRIDS) ||
           !rewritten_geometry(draft, &cut) ||
           variant_allows_one(cut.variants, draft->queue->device, &cut.shape);
}

bool launch_direct(const struct opencl_command *draft)
{
    const struct kernel_record *kernel = draft->u.launch.kernel;

    if (!kind_of(draft)->cut_by_time || atomic_load(&kernel->slice_state) == LAUNCH_WHOLE)
        return true;
    if (may_be_wide(draft) && !stays_compiled(draft))
        return false;
    if (!draft->base.policy.slicing)
        return true;
    if (runtime.settings.slice > 0) /* the first launch decides how all launches run */
        return atomic_load(&kernel->slice_state) != LAUNCH_UNDECIDED && draft->u.launch.has_local &&
               launch_groups(&draft->u.launch) <= (size_t)runtime.settings.slice;
    /* a launch that was never measured has a longer prediction */
    return draft->base.predicted <= pipe_piece_ns(&draft->base.policy);
}

/*
 * Counts a launch that is not cut. Makes a notice with the reason and advice, once per kernel and
 * reason.
 */
static void count_whole(const struct opencl_command *command, enum session_counter counter)
{
    struct session *session = command->base.policy.session;
    struct kernel_record *kernel = command->u.launch.kernel;
    const char *detail = atomic_load(&kernel->why_detail);
    bool known = atomic_load(&kernel->noticed) == (int)counter;

    policy_count(&command->base.policy, counter, 1);
    if (!session || counter == COUNTER_UNSLICED_SMALL || counter == COUNTER_UNSLICED_OFF)
        return;
    if (known) {
        session_notice_again(session, atomic_load(&kernel->notice));
        return;
    }
    atomic_store(&kernel->notice, session_notice(session, (enum notice)(counter - COUNTER_UNSLICED_BINARY),
                                                 kernel->name, detail ? detail : ""));
    atomic_store(&kernel->noticed, (int)counter);
}

_Static_assert(COUNTER_UNSLICED_OTHER - COUNTER_UNSLICED_BINARY == NOTICE_OTHER - NOTICE_BINARY,
               "both follow wire/notice.def");

/* Is it too long for one piece, also for the plan's? */
static bool is_long(const struct policy *policy, int64_t predicted)
{
    return predicted > policy->piece && predicted > pipe_piece_ns(policy);
}

/* Why a launch runs as one command although its kernel can be cut. */
static enum session_counter why_as_one(const struct opencl_command *command)
{
    const struct opencl_launch *launch = &command->u.launch;
    int64_t predicted = meter_predict(&launch->kernel->meter, launch_items(launch));

    return runtime.settings.slice <= 0 && is_long(&command->base.policy, predicted) ? COUNTER_UNSLICED_FEW
                                                                                    : COUNTER_UNSLICED_SMALL;
}

enum session_counter launch_why_whole(const struct opencl_command *command)
{
    const struct kernel_record *kernel = command->u.launch.kernel;

    if (!command->base.policy.slicing)
        return COUNTER_UNSLICED_OFF;
    if (!kind_of(command)->cut_by_time)
        return why_as_one(command);
    if (atomic_load(&kernel->slice_state) == LAUNCH_WHOLE)
        return (enum session_counter)atomic_load(&kernel->why_whole);
    return why_as_one(command);
}

void launch_count_direct(const struct opencl_command *draft)
{
    policy_count(&draft->base.policy, COUNTER_KERNEL_LAUNCHES, 1);
    count_whole(draft, launch_why_whole(draft));
}

/* A rewritten kernel computes the offsets itself, so the driver does not check them. */
static bool offsets_fit(const struct opencl_launch *launch, cl_uint address_bits)
{
    size_t largest = address_bits < 64 ? ((size_t)1 << address_bits) - 1 : SIZE_MAX;

    for (cl_uint d = 0; d < launch->dim; d++)
        if (launch->offset[d] > largest || largest - launch->offset[d] < launch->global[d])
            return false;
    return true;
}

/* Gives the driver all groups of the cut as one command. No enqueue call may be in progress. */
static cl_int give_as_one(const struct opencl_command *command, cl_kernel kernel, struct opencl_cut *cut,
                          const size_t *global, cl_uint n, const cl_event *waits, cl_event *event)
{
    struct quirks_launch use;
    cl_event own = NULL;
    cl_event *made = event ? event : &own;
    cl_int code =
        front.target.clSetKernelArg(kernel, command->u.launch.kernel->n_args, sizeof cut->piece, &cut->piece);

    if (code != CL_SUCCESS)
        return code;
    quirks_launch_begin(command->queue, command->u.launch.kernel->name, cut->launch.work_dim,
                        cut->launch.local, global, &use);
    quirks_call_begin(command->queue, false);
    code =
        front.target.clEnqueueNDRangeKernel(command->queue->handle, kernel, cut->launch.work_dim, NULL,
                                            global, cut->launch.local, n, waits, use.variant ? made : event);
    quirks_call_end(command->queue);
    quirks_launch_end(&use, code == CL_SUCCESS && use.variant ? *made : NULL);
    if (own)
        front.target.clReleaseEvent(own);
    return code;
}

bool launch_give_rewritten(const struct opencl_command *command, cl_uint n, const cl_event *waits,
                           cl_event *event)
{
    const struct opencl_launch *launch = &command->u.launch;
    const struct opencl_device *device = command->queue->device;
    struct kernel_record *kernel = launch->kernel;
    struct private_kernel *own;
    struct opencl_cut cut;
    size_t global[3];
    cl_int code;

    if (!rewritten_geometry(command, &cut) || !offsets_fit(launch, device->address_bits) ||
        piece_range(&cut.piece, &cut.launch, 0, cut.shape.n_groups, device->address_bits, global) != 0)
        return false;
    own = kernel_take(kernel, true, launch->args ? launch->args : kernel->args, kernel->n_args, &code);
    if (!own)
        return false;
    code = give_as_one(command, own->handle, &cut, global, n, waits, event);
    if (code == CL_SUCCESS && cut.variants)
        variant_ran(cut.variants, device, &cut.shape, cut.shape.n_groups);
    kernel_give_back(kernel, true, own);
    return code == CL_SUCCESS;
}

static cl_int issue_as_one(struct opencl_command *command, cl_event *ret_event)
{
    struct opencl_launch *launch = &command->u.launch;
    struct private_kernel *own;
    cl_int code;

    if (launch_give_rewritten(command, 0, NULL, ret_event))
        return CL_SUCCESS;
    own = kernel_take(launch->kernel, false, launch->args, launch->n_args, &code);
    if (!own)
        return code;
    quirks_call_begin(command->queue, false);
    if (!kind_of(command)->cut_by_time) {
        code = front.target.clEnqueueTask(command->queue->handle, own->handle, 0, NULL, ret_event);
        if (code == CL_SUCCESS)
            launch_task_seen(*ret_event);
    } else {
        code = front.target.clEnqueueNDRangeKernel(
            command->queue->handle, own->handle, launch->dim, launch->offset, launch->global,
            launch->has_local ? launch->local : NULL, 0, NULL, ret_event);
    }
    quirks_call_end(command->queue);
    kernel_give_back(launch->kernel, false, own); /* the driver has taken the arguments over */
    return code;
}

bool launch_decided(const struct opencl_command *command, baton_nsec until_at)
{
    const struct kernel_record *kernel = command->u.launch.kernel;

    return !kind_of(command)->cut_by_time || !command->base.policy.slicing || !kernel->program ||
           atomic_load(&kernel->slice_state) != LAUNCH_UNDECIDED ||
           program_decided(kernel->program, until_at);
}

/* How the launch is cut; false: it runs whole, and the reason is counted. */
static bool plan_cut(struct opencl_command *command, struct opencl_cut *ret_cut)
{
    struct opencl_launch *launch = &command->u.launch;
    struct kernel_record *kernel = launch->kernel;
    const struct translate_kernel *about;
    struct program_reason reason;
    cl_uint units = command->queue->device->units;
    int64_t predicted;
    bool small;

    if (!kind_of(command)->cut_by_time || (!command->base.policy.slicing && stays_compiled(command))) {
        count_whole(command, launch_why_whole(command));
        return false;
    }
    about = program_sliceable(kernel->program, kernel->name, &reason);
    atomic_store(&kernel->why_whole, (int)reason.counter);
    atomic_store(&kernel->why_detail, reason.detail);
    atomic_store_explicit(&kernel->about, about, memory_order_release);
    atomic_store(&kernel->slice_state, about ? LAUNCH_CUTS : LAUNCH_WHOLE);
    if (about && !launch_geometry(launch, about, ret_cut)) {
        reason = (struct program_reason){
            COUNTER_UNSLICED_SHAPE, launch->has_local ? "the local size does not divide the global one"
                                                      : "it has no local size, and the kernel can see it"};
        atomic_store(&kernel->why_detail, reason.detail);
        about = NULL;
    }
    if (!about) {
        count_whole(command, reason.counter);
        return false;
    }
    ret_cut->variants = program_variants(kernel->program, about);
    ret_cut->base.by_time = runtime.settings.slice <= 0;
    ret_cut->base.least =
        ret_cut->base.by_time
            ? units
            : (uint32_t)(runtime.settings.slice < UINT32_MAX ? runtime.settings.slice : UINT32_MAX);
    predicted = meter_predict(&kernel->meter, launch_items(launch));
    small = ret_cut->shape.n_groups <= ret_cut->base.least ||
            (ret_cut->base.by_time && predicted >= 0 && predicted <= pipe_piece_ns(&command->base.policy));
    if (small && variant_allows_one(ret_cut->variants, command->queue->device, &ret_cut->shape)) {
        count_whole(command, why_as_one(command));
        return false;
    }
    ret_cut->base.step = small ? ret_cut->shape.n_groups : ret_cut->base.least;
    return true;
}

uint64_t launch_bend_step(const struct opencl_command *command, const struct piece_cut *base, uint64_t step,
                          double fits, uint64_t left)
{
    const struct opencl_cut *cut = (const struct opencl_cut *)(const void *)base;

    return variant_step(cut->variants, command->queue->device, &cut->shape, (uint32_t)step, fits,
                        (uint32_t)left);
}

cl_int launch_issue_range(struct opencl_command *command, struct piece_cut *base, uint64_t first,
                          uint64_t last, uint64_t *ret_end, cl_event *ret_event)
{
    struct opencl_cut *cut = (struct opencl_cut *)(void *)base;
    uint32_t begin = (uint32_t)first, limit = (uint32_t)last;
    const struct opencl_device *device = command->queue->device;
    struct quirks_launch use;
    size_t global[3];
    cl_int code;

    while (piece_range(&cut->piece, &cut->launch, begin, limit, device->address_bits, global) != 0) {
        if (limit - begin == 1)
            return CL_OUT_OF_RESOURCES;
        limit = begin + (limit - begin) / 2;
    }
    code = front.target.clSetKernelArg(cut->kernel, command->u.launch.n_args, sizeof cut->piece, &cut->piece);
    quirks_launch_begin(command->queue, command->u.launch.kernel->name, cut->launch.work_dim,
                        cut->launch.local, global, &use);
    quirks_call_begin(command->queue, false);
    if (code == CL_SUCCESS)
        code = front.target.clEnqueueNDRangeKernel(command->queue->handle, cut->kernel, cut->launch.work_dim,
                                                   NULL, global, cut->launch.local, 0, NULL, ret_event);
    quirks_call_end(command->queue);
    quirks_launch_end(&use, code == CL_SUCCESS ? *ret_event : NULL);
    if (code != CL_SUCCESS)
        return code;
    variant_ran(cut->variants, device, &cut->shape, limit - begin);
    *ret_end = limit;
    return CL_SUCCESS;
}

cl_int launch_pieces(struct piece_pipe *pipe, struct opencl_cut *cut, struct piece_source source)
{
    const struct opencl_command *command = opencl_command_of(pipe->command);
    cl_int code;

    cut->base.counter = COUNTER_PIECES;
    code = pipe_run(pipe, &cut->base, source);
    if (code == CL_SUCCESS)
        variant_done(cut->variants, command->queue->device, &cut->shape);
    return code;
}

/*
 * The rewritten kernel may need more registers than the program's own. Then a group of it may be
 * too large.
 */
static bool group_fits(cl_kernel kernel, const struct opencl_command *command, const struct opencl_cut *cut)
{
    size_t most = 0, items = 1;

    for (cl_uint d = 0; d < cut->launch.work_dim; d++)
        items *= cut->launch.local[d];
    return front.target.clGetKernelWorkGroupInfo(kernel, command->queue->device->handle,
                                                 CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most,
                                                 NULL) != CL_SUCCESS ||
           items <= most;
}

/* False: the driver took no piece, so nothing has run, and the launch can run whole. */
static bool issue_in_pieces(struct piece_pipe *pipe, struct opencl_command *command, struct opencl_cut *cut,
                            cl_int *ret_code)
{
    struct opencl_launch *launch = &command->u.launch;
    struct private_kernel *own = kernel_take(launch->kernel, true, launch->args, launch->n_args, ret_code);

    if (!own)
        return false;
    *ret_code = CL_INVALID_WORK_GROUP_SIZE;
    cut->kernel = own->handle;
    if (group_fits(own->handle, command, cut))
        *ret_code = launch_pieces(pipe, cut, (struct piece_source){.end = cut->shape.n_groups});
    kernel_give_back(launch->kernel, true, own);
    return *ret_code == CL_SUCCESS || command->base.first_mark || runtime_stopping();
}

cl_int launch_issue(struct piece_pipe *pipe, struct opencl_command *command, cl_event *ret_event)
{
    struct opencl_cut cut;
    cl_int code = CL_SUCCESS;

    policy_count(&command->base.policy, COUNTER_KERNEL_LAUNCHES, 1);
    if (!plan_cut(command, &cut))
        return issue_as_one(command, ret_event);
    if (issue_in_pieces(pipe, command, &cut, &code))
        return code;
    atomic_store(&command->u.launch.kernel->why_detail, "the driver takes no piece of it");
    count_whole(command, COUNTER_UNSLICED_OTHER);
    return issue_as_one(command, ret_event);
}
