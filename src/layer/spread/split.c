/* Running a split launch: data to the devices, the shares, what is left when they are over. */
#include "layer/spread/split.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "layer/graph/graph.h"
#include "layer/layer.h"

struct range split_own_part(const struct split *split, const struct split_output *output,
                            const struct split_share *share)
{
    size_t bytes = split->cut.launch.local[0] * output->element, length = range_length(output->range);
    size_t begin = share->begin * bytes, end = share->end * bytes;

    return (struct range){output->range.begin + (begin < length ? begin : length),
                          output->range.begin + (end < length ? end : length)};
}

static void drop_mems(struct split *split, struct split_share *share)
{
    for (cl_uint i = 0; share->mems && i < split->n_args; i++)
        if (share->mems[i])
            target.clReleaseMemObject(share->mems[i]);
    free(share->mems);
    share->mems = NULL;
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

void split_drop(struct split *split)
{
    detach(split);
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
            target.clReleaseMemObject(split->kept[i]);
    }
    free(split->args);
    free(split->kept);
    free(split->roots);
    kernel_unref(split->kernel);
    free(split);
}

/* --- before --- */

static struct spread_buffer *nth_buffer(const struct split *split, unsigned i)
{
    return i < split->n_outputs ? split->outputs[i].buffer : split->inputs[i - split->n_outputs].buffer;
}

/* Everything that is pending in the buffers is merged. Again, if waiting for one let another come. */
static cl_int settle_all(struct split *split, struct queue_record *queue)
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

/* What the program may have changed unseen is taken as changed; what is divided too finely is made simple. */
static cl_int refresh_all(struct split *split, struct queue_record *queue)
{
    cl_int code = CL_SUCCESS;

    for (unsigned i = 0; i < split->n_outputs + split->n_inputs && code == CL_SUCCESS; i++) {
        struct spread_buffer *buffer = nth_buffer(split, i);
        struct range whole = {0, buffer->coherence.size};

        if (!buffer_is_open(buffer) && !coherence_tight(&buffer->coherence))
            continue;
        code = buffer_make_valid(buffer, PLACE_HOME, whole, queue);
        if (code == CL_SUCCESS)
            coherence_written(&buffer->coherence, PLACE_HOME, whole);
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
        for (unsigned s = 1; s < split->n_shares && code == CL_SUCCESS; s++)
            code = buffer_make_valid(output->buffer, split->shares[s].device->place,
                                     output->element && !output->reads
                                         ? split_own_part(split, output, &split->shares[s])
                                         : output->range,
                                     queue);
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

/* The buffers of a share as the device's kernel gets them: copies of roots, or the same part of them. */
static cl_int find_mems(struct split *split, struct split_share *share)
{
    int place = share->device->place;
    cl_int code = CL_SUCCESS;

    share->mems = calloc(split->n_args + 1, sizeof(cl_mem));
    if (!share->mems)
        return CL_OUT_OF_HOST_MEMORY;
    for (cl_uint i = 0; i < split->n_args && code == CL_SUCCESS; i++) {
        struct spread_buffer *buffer;
        cl_buffer_region region = {0, 0};

        if (!split->kept[i])
            continue;
        buffer = atomic_load(&split->roots[i]->spread);
        code = buffer_room(buffer, place);
        if (code != CL_SUCCESS)
            break;
        if (split->kept[i] == split->roots[i]->handle) {
            share->mems[i] = buffer->copies[place];
            target.clRetainMemObject(share->mems[i]);
            continue;
        }
        target.clGetMemObjectInfo(split->kept[i], CL_MEM_OFFSET, sizeof region.origin, &region.origin, NULL);
        target.clGetMemObjectInfo(split->kept[i], CL_MEM_SIZE, sizeof region.size, &region.size, NULL);
        share->mems[i] = target.clCreateSubBuffer(buffer->copies[place], CL_MEM_READ_WRITE,
                                                  CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    }
    return code;
}

static cl_int prepare(struct split *split, struct queue_record *queue)
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

/* --- the shares --- */

/* Pieces by time where somebody may gain by them, else the whole share at once. */
static void set_steps(struct launch_cut *cut, const struct device_record *device)
{
    bool cuts = layer_slicing();

    cut->by_time = cuts && settings.slice <= 0;
    cut->least = !cuts                         ? UINT32_MAX
                 : cut->by_time                ? device->units
                 : settings.slice < UINT32_MAX ? (uint32_t)settings.slice
                                               : UINT32_MAX;
    cut->step = cut->least;
}

/* Until the last piece is over; the events are let go. */
static cl_int run_pieces(struct issue_pipe *pipe, cl_kernel kernel, struct launch_cut cut, uint32_t begin,
                         uint32_t end)
{
    struct command *command = pipe->command;
    cl_int code, status = CL_COMPLETE;

    set_steps(&cut, command->queue->device);
    code = launch_pieces(pipe, kernel, &cut, begin, end);
    if (command->driver_event) {
        target.clWaitForEvents(1, &command->driver_event);
        target.clGetEventInfo(command->driver_event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
                              &status, NULL);
        issue_event_times(command);
    }
    issue_pipe_abandon(pipe);
    if (command->first_event)
        target.clReleaseEvent(command->first_event);
    command->first_event = NULL;
    if (code == CL_SUCCESS)
        code = command->piece_status < 0 ? command->piece_status : status < 0 ? status : CL_SUCCESS;
    return code == CL_SUCCESS && engine_stopping(pipe->engine) ? CL_OUT_OF_RESOURCES : code;
}

static void make_command(const struct split *split, struct queue_record *queue, struct command *ret_command)
{
    memset(ret_command, 0, sizeof *ret_command);
    ret_command->kind = COMMAND_KERNEL;
    ret_command->leased = true;
    ret_command->queue = queue;
    ret_command->u.launch.kernel = split->kernel;
    ret_command->u.launch.n_args = split->n_args;
}

static cl_int set_args(const struct split *split, const struct split_share *share, cl_kernel kernel)
{
    cl_int code = CL_SUCCESS;

    for (cl_uint i = 0; i < split->n_args && code == CL_SUCCESS; i++) {
        const struct arg_value *arg = &split->args[i];

        if (share->mems[i])
            code = target.clSetKernelArg(kernel, i, sizeof(cl_mem), &share->mems[i]);
        else if (arg->kind == ARG_NULL)
            code = target.clSetKernelArg(kernel, i, arg->size, NULL);
        else
            code = target.clSetKernelArg(kernel, i, arg->size, arg_value_bytes(arg));
    }
    return code;
}

/* On the thread of a further device. */
static void run_share(struct device_task *task)
{
    struct split_share *share = (struct split_share *)(void *)task;
    struct split *split = share->split;
    struct engine *engine = &share->device->record->engines[ENGINE_EXECUTION];
    cl_kernel kernel = split->known->handles[share->device->place];
    struct issue_pipe pipe;

    share->code = set_args(split, share, kernel);
    if (share->code != CL_SUCCESS)
        return;
    make_command(split, &share->device->shares, &share->command);
    issue_pipe_begin(&pipe, engine, &share->command);
    engine_enter(engine);
    share->began_at = clock_now();
    share->code = run_pieces(&pipe, kernel, split->cut, share->begin, share->end);
    share->ended_at = clock_now();
    issue_report(engine, share->began_at, share->ended_at);
    engine_leave(engine);
}

/* The home share, on the program's own command: its events are the launch's. */
static cl_int run_home(struct split *split, struct engine *engine, struct command *command)
{
    struct split_share *share = &split->shares[0];
    struct launch_cut cut = split->cut;
    struct private_kernel *own;
    struct issue_pipe pipe;
    cl_int code;

    if (share->begin == share->end)
        return CL_SUCCESS;
    own = kernel_take(split->kernel, true, split->args, split->n_args, &code);
    if (!own)
        return code;
    set_steps(&cut, command->queue->device);
    issue_pipe_begin(&pipe, engine, command);
    engine_enter(engine);
    command->issued_at = share->began_at = clock_now();
    code = launch_pieces(&pipe, own->handle, &cut, share->begin, share->end);
    if (code == CL_SUCCESS && command->driver_event) {
        issue_pipe_finish(&pipe);
        target.clWaitForEvents(1, &command->driver_event);
        target.clGetEventInfo(command->driver_event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof code, &code,
                              NULL);
        code = command->piece_status < 0 ? command->piece_status : code < 0 ? code : CL_SUCCESS;
    } else {
        issue_pipe_abandon(&pipe);
    }
    share->ended_at = clock_now();
    issue_report(engine, share->began_at, share->ended_at);
    engine_leave(engine);
    kernel_give_back(split->kernel, true, own);
    return code;
}

cl_int split_at_home(struct split *split, struct queue_record *queue, uint32_t begin, uint32_t end)
{
    struct engine *engine = &queue->device->engines[ENGINE_EXECUTION];
    struct private_kernel *own;
    struct issue_pipe pipe;
    struct command command;
    cl_int code;

    if (begin == end)
        return CL_SUCCESS;
    own = kernel_take(split->kernel, true, split->args, split->n_args, &code);
    if (!own)
        return code;
    make_command(split, queue, &command);
    issue_pipe_begin(&pipe, engine, &command);
    engine_enter(engine);
    code = run_pieces(&pipe, own->handle, split->cut, begin, end);
    engine_leave(engine);
    kernel_give_back(split->kernel, true, own);
    return code;
}

static void learn_rates(struct split *split)
{
    for (unsigned s = 0; s < split->n_shares; s++) {
        const struct split_share *share = &split->shares[s];
        double *rate = &split->known->rates[s == 0 ? 0 : share->device->place - PLACE_DEVICE + 1];

        if (share->code == CL_SUCCESS && share->end > share->begin)
            *rate = shares_rate(*rate, share->end - share->begin, share->ended_at - share->began_at);
    }
}

/* Home had no part in it: the launch's times are those of the shares, from the first to begin to the last to end. */
static void take_times(const struct split *split, struct command *command)
{
    for (unsigned s = 1; s < split->n_shares; s++) {
        const struct command *there = &split->shares[s].command;

        if (!there->timed)
            continue;
        for (int i = 0; i < 3; i++)
            if (!command->timed || there->times[i] < command->times[i])
                command->times[i] = there->times[i];
        if (!command->timed || there->times[3] > command->times[3])
            command->times[3] = there->times[3];
        command->timed = true;
    }
}

/* Without the lock: all shares at once; each holds its own engine only. Answers home's code. */
static cl_int run_shares(struct split *split, struct engine *engine, struct command *command)
{
    bool started[SHARES_MAX] = {false};
    baton_nsec home_at;

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
    graph_progress(command, CL_RUNNING);
    split->shares[0].code = run_home(split, engine, command);
    home_at = clock_now();
    for (unsigned s = 1; s < split->n_shares; s++)
        if (started[s])
            device_task_wait(split->shares[s].device, &split->shares[s].task, engine);
    command->lag = clock_now() - home_at;
    return split->shares[0].code;
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

static bool anybody_can_look(const struct split *split)
{
    for (unsigned i = 0; i < split->n_outputs; i++)
        if (buffer_is_open(split->outputs[i].buffer))
            return true;
    return false;
}

/* A share that failed is lost; its groups run at home, after home's own, and nothing of its device is used. */
static cl_int end_run(struct split *split, struct command *command, cl_int code)
{
    bool failed = false;

    for (unsigned s = 1; s < split->n_shares; s++)
        failed = failed || split->shares[s].code != CL_SUCCESS;
    learn_rates(split);
    if (code !=
        CL_SUCCESS) { /* the driver's error is the launch's; what the buffers hold is as undefined as ever */
        for (unsigned i = 0; i < split->n_outputs; i++)
            coherence_merged(&split->outputs[i].buffer->coherence, PLACE_HOME, split->outputs[i].range);
        split_drop(split);
        return code;
    }
    launch_count(COUNTER_SPLIT_LAUNCHES, 1);
    if (failed || anybody_can_look(split))
        return split_resolve(split, command->queue);
    return CL_SUCCESS;
}

cl_int split_run(struct split *split, struct engine *engine, struct command *command, bool *ret_done)
{
    baton_nsec begin_at = clock_now();
    cl_int code = prepare(split, command->queue);

    *ret_done = code == CL_SUCCESS;
    if (code != CL_SUCCESS) { /* no memory on another device, say: home can do it alone */
        split_drop(split);
        return CL_SUCCESS;
    }
    attach(split);
    split->running = true;
    launch_count(COUNTER_KERNEL_LAUNCHES, 1);
    pthread_mutex_unlock(&spread_lock);
    code = run_shares(split, engine, command);
    if (!command->driver_event)
        take_times(split, command);
    pthread_mutex_lock(&spread_lock);
    split->running = false;
    pthread_cond_broadcast(&spread_changed);
    command->leased = false; /* its engine has been left */
    split->spent = clock_now() - begin_at;
    return end_run(split, command, code);
}

/* --- all of it elsewhere --- */

static cl_int bring_all(struct split *split, int place, struct queue_record *queue)
{
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

/* Its results are there; home hears of them when it asks, unless the program could look without asking. */
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

/* The device failed: home can do it if it still has every byte that the launch may read or leave as it is. */
static bool home_has_all(const struct split *split)
{
    for (unsigned i = 0; i < split->n_outputs; i++)
        if (!coherence_valid(&split->outputs[i].buffer->coherence, PLACE_HOME, split->outputs[i].range))
            return false;
    return true;
}

cl_int split_run_on(struct split *split, struct engine *engine, struct command *command, bool *ret_done)
{
    struct split_share *share = &split->shares[1];
    int place = share->device->place;
    cl_int code = bring_all(split, place, command->queue);

    *ret_done = false;
    if (code != CL_SUCCESS) {
        split_drop(split);
        return CL_SUCCESS;
    }
    for (unsigned i = 0; i < split->n_outputs; i++)
        split->outputs[i].buffer->writer = split; /* whoever asks meanwhile waits */
    split->running = true;
    pthread_mutex_unlock(&spread_lock);
    (void)run_shares(split, engine, command);
    pthread_mutex_lock(&spread_lock);
    split->running = false;
    pthread_cond_broadcast(&spread_changed);
    code = share->code;
    *ret_done = code == CL_SUCCESS || !home_has_all(split);
    if (*ret_done) {
        launch_count(COUNTER_KERNEL_LAUNCHES, 1);
        launch_count(COUNTER_PLACED_LAUNCHES, 1);
        take_times(split, command);
        command->leased = false;
        if (code == CL_SUCCESS)
            code = leave_there(split, place, command->queue);
    } else { /* what the device did to its copies is void */
        command->lag = 0;
        for (unsigned i = 0; i < split->n_outputs; i++)
            coherence_written(&split->outputs[i].buffer->coherence, PLACE_HOME, split->outputs[i].range);
        code = CL_SUCCESS;
    }
    split_drop(split);
    return code;
}
