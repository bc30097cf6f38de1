/* Runs a split launch: all shares at once, each in pieces under its own engine's lease. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "opencl/graph/adopt.h"
#include "engine/policy.h"
#include "opencl/layer.h"
#include "opencl/opencl_driver.h"
#include "opencl/spread/split.h"

/*
 * Pieces by time if another client may profit from them. Otherwise the whole share at once, or what
 * the boundary gives.
 */
static void set_steps(struct opencl_cut *cut, const struct opencl_device *device)
{
    bool cuts = policy_slicing();

    cut->base.by_time = cuts && runtime.settings.slice <= 0;
    cut->base.least = !cuts                                 ? UINT32_MAX
                      : cut->base.by_time                   ? device->units
                      : runtime.settings.slice < UINT32_MAX ? (uint32_t)runtime.settings.slice
                                                            : UINT32_MAX;
    cut->base.step = cut->base.least;
}

static bool take_at_border(void *user, uint64_t step, uint64_t *ret_begin, uint64_t *ret_end)
{
    uint32_t begin, end;
    struct split_share *share = user;
    size_t index = (size_t)(share - share->split->shares);
    struct boundary *boundary = &share->split->boundaries[index / 2];

    enum boundary_side side = index % 2 ? BOUNDARY_HIGH : BOUNDARY_LOW;

    if (!boundary_take(boundary, side, step == UINT32_MAX ? boundary_step(boundary, side) : (uint32_t)step,
                       &begin, &end))
        return false;
    *ret_begin = begin;
    *ret_end = end;
    return true;
}

static struct piece_source groups_of(struct split_share *share)
{
    if (share->paired)
        return (struct piece_source){.more = take_at_border, .user = share};
    return (struct piece_source){share->begin, share->end, NULL, NULL};
}

/* Runs until the last piece is over, and drops the marks. */
static cl_int run_pieces(struct piece_pipe *pipe, cl_kernel kernel, struct opencl_cut cut,
                         struct piece_source source)
{
    struct command *command = pipe->command;
    cl_int code, status = CL_COMPLETE;

    set_steps(&cut, opencl_command_of(command)->queue->device);
    cut.kernel = kernel;
    code = launch_pieces(pipe, &cut, source);
    if (command->last_mark) {
        status = opencl_driver.mark_wait(command->last_mark);
        pipe_mark_times(command);
    }
    pipe_abandon(pipe);
    command_drop_marks(command);
    if (code == CL_SUCCESS)
        code = command->piece_status < 0 ? command->piece_status : status < 0 ? status : CL_SUCCESS;
    return code;
}

static void make_command(const struct split *split, struct queue_record *queue,
                         struct opencl_command *ret_command)
{
    memset(ret_command, 0, sizeof *ret_command);
    ret_command->kind = COMMAND_KERNEL;
    ret_command->queue = queue;
    ret_command->u.launch.kernel = split->kernel;
    ret_command->u.launch.n_args = split->n_args;
    ret_command->base.queue = &queue->base;
    policy_resolve(&ret_command->base.policy);
    ret_command->base.leased = true;
    ret_command->base.meter = &split->kernel->meter;
}

static cl_int set_args(const struct split *split, const struct split_share *share, cl_kernel kernel)
{
    cl_int code = CL_SUCCESS;

    for (cl_uint i = 0; i < split->n_args && code == CL_SUCCESS; i++) {
        const struct arg_value *arg = &split->args[i];

        if (share->mems[i])
            code = front.target.clSetKernelArg(kernel, i, sizeof(cl_mem), &share->mems[i]);
        else if (share->samplers[i])
            code = front.target.clSetKernelArg(kernel, i, sizeof(cl_sampler), &share->samplers[i]);
        else if (arg->kind == ARG_NULL)
            code = front.target.clSetKernelArg(kernel, i, arg->size, NULL);
        else
            code = front.target.clSetKernelArg(kernel, i, arg->size, arg_value_bytes(arg));
    }
    return code;
}

/* On the thread of a further device. */
static void run_share(struct device_task *task)
{
    struct split_share *share = (struct split_share *)(void *)task;
    struct split *split = share->split;
    struct device_engine *engine = &share->device->record->base.engines[ENGINE_EXECUTION];
    cl_kernel kernel = split->known->handles[share->device->place];
    struct piece_pipe pipe;

    share->code = set_args(split, share, kernel);
    if (share->code != CL_SUCCESS)
        return;
    make_command(split, &share->device->shares, &share->command);
    pipe_begin(&pipe, engine, &share->command.base);
    engine_enter(engine, &share->command.base.policy, ENGINE_ALONE);
    share->began_at = clock_now();
    share->code = run_pieces(&pipe, kernel, split->cut, groups_of(share));
    share->ended_at = clock_now();
    pipe_report_run(engine, &share->command.base);
    engine_exit(engine, ENGINE_EXECUTION, ENGINE_ALONE);
}

/* Runs the home share on the program's own command, whose events are those of the launch. */
static cl_int run_home(struct split *split, struct device_engine *engine, struct opencl_command *command)
{
    struct split_share *share = &split->shares[0];
    struct opencl_cut cut = split->cut;
    struct private_kernel *own;
    struct piece_pipe pipe;
    cl_int code;

    if (share->begin == share->end)
        return CL_SUCCESS;
    own = kernel_take(split->kernel, true, split->args, split->n_args, &code);
    if (!own)
        return code;
    set_steps(&cut, command->queue->device);
    pipe_begin(&pipe, engine, &command->base);
    engine_enter(engine, &command->base.policy, ENGINE_ALONE);
    command->base.issued_at = share->began_at = clock_now();
    cut.kernel = own->handle;
    code = launch_pieces(&pipe, &cut, groups_of(share));
    if (code == CL_SUCCESS && command->base.last_mark) {
        pipe_finish(&pipe);
        code = opencl_driver.mark_wait(command->base.last_mark);
        code = command->base.piece_status < 0 ? command->base.piece_status : code;
    } else {
        pipe_abandon(&pipe);
    }
    share->ended_at = clock_now();
    pipe_report(&pipe);
    engine_exit(engine, ENGINE_EXECUTION, ENGINE_ALONE);
    kernel_give_back(split->kernel, true, own);
    return code;
}

cl_int split_at_home(struct split *split, struct queue_record *queue, uint32_t begin, uint32_t end)
{
    struct device_engine *engine = &queue->device->base.engines[ENGINE_EXECUTION];
    struct private_kernel *own;
    struct piece_pipe pipe;
    struct opencl_command command;
    cl_int code;

    if (begin == end)
        return CL_SUCCESS;
    own = kernel_take(split->kernel, true, split->args, split->n_args, &code);
    if (!own)
        return code;
    make_command(split, queue, &command);
    pipe_begin(&pipe, engine, &command.base);
    engine_enter(engine, &command.base.policy, ENGINE_ALONE);
    code = run_pieces(&pipe, own->handle, split->cut, (struct piece_source){begin, end, NULL, NULL});
    pipe_report_run(engine, &command.base);
    engine_exit(engine, ENGINE_EXECUTION, ENGINE_ALONE);
    kernel_give_back(split->kernel, true, own);
    return code;
}

void split_learn_rates(struct split *split)
{
    for (unsigned s = 0; s < split->n_shares; s++) {
        const struct split_share *share = &split->shares[s];
        double *rate = &split->known->rates[s == 0 ? 0 : share->device->place - PLACE_DEVICE + 1];

        if (share->code == CL_SUCCESS && share->end > share->begin)
            *rate = shares_rate(*rate, share->end - share->begin, share->ended_at - share->began_at);
    }
}

/*
 * Fixes where the boundaries ended up. Groups that neither neighbour took belong to the share that
 * failed before it reached them; they are repeated with its other groups.
 */
static void fix_borders(struct split *split)
{
    for (unsigned s = 0; s + 1 < split->n_shares; s += 2) {
        struct split_share *low = &split->shares[s], *high = low + 1;
        uint32_t begin, end;

        if (!low->paired)
            continue;
        boundary_open(&split->boundaries[s / 2], &begin, &end);
        low->end = high->begin = low->code == CL_SUCCESS ? begin : end;
    }
}

/* Without the lock: all shares at once; each holds its own engine only. Answers home's code. */
cl_int split_run_shares(struct split *split, struct device_engine *engine, struct opencl_command *command)
{
    bool started[SHARES_MAX] = {false};
    baton_nsec begin_at = clock_now(), home_at;

    split->shares[0].split = split;
    for (unsigned s = 1; s < split->n_shares; s++) {
        struct split_share *share = &split->shares[s];

        share->split = split;
        share->task.run = run_share;
        share->code = CL_OUT_OF_RESOURCES; /* until it has run */
        if (share->begin < share->end)
            started[s] = device_task_start(share->device, &share->task);
        else
            share->code = CL_SUCCESS;
    }
    graph_progress(&command->base, COMMAND_RUNNING);
    split->shares[0].code = run_home(split, engine, command);
    home_at = clock_now();
    for (unsigned s = 1; s < split->n_shares; s++)
        if (started[s])
            device_task_wait(split->shares[s].device, &split->shares[s].task, engine);
    command->base.lag = clock_now() - home_at;
    split->in_shares = clock_now() - begin_at;
    fix_borders(split);
    return split->shares[0].code;
}
