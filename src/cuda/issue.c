#include "cuda/issue.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "client/job_record.h"
#include "cuda/cuda_kinds.h"
#include "cuda/cut.h"
#include "cuda/engine_order.h"
#include "cuda/event_recording.h"
#include "cuda/frees.h"
#include "cuda/front.h"
#include "cuda/function.h"
#include "cuda/mark.h"
#include "cuda/migrate/migrate.h"
#include "engine/meter.h"
#include "engine/policy.h"
#include "engine/runtime.h"
#include "wire/page.h"

/* --- before --- */

int64_t issue_predict(const struct cuda_command *draft)
{
    const struct device_engine *engine = &draft->base.queue->device->engines[draft->base.engine];
    int64_t predicted;

    if (!draft->base.leased)
        return 0;
    if (draft->base.bytes && draft->base.engine != ENGINE_EXECUTION)
        return engine_predict_copy(engine, draft->base.bytes);
    if (draft->base.bytes) /* within the device: some hundred gigabytes a second, or memory of a CPU */
        return (int64_t)(draft->base.bytes / 8);
    predicted = draft->base.meter ? meter_predict(draft->base.meter, draft->base.items) : -1;
    return predicted < 0 ? ENGINE_ALONE : predicted;
}

bool issue_wants_cut(const struct cuda_command *draft)
{
    const struct cuda_kind *kind = cuda_kind_of(draft);

    return kind->wants_cut && kind->wants_cut(draft);
}

void issue_count_whole(const struct cuda_command *draft)
{
    enum session_counter why = cut_why_whole(draft);

    runtime_count(COUNTER_KERNEL_LAUNCHES, 1);
    /* It could be cut, but not from the calling thread. */
    cut_count_whole(draft, why == COUNTER_PIECES ? COUNTER_UNSLICED_OTHER : why);
}

/* --- heap copies --- */

/*
 * Parameters one behind the other, each aligned to 16 bytes, behind the array of pointers to them.
 */
static bool adopt_params(struct cuda_command *command)
{
    struct command_launch *launch = &command->u.launch;
    const struct function_record *function = launch->function;
    size_t size = (function->n_params + 1) * sizeof(void *), used;
    void **pointers;

    size = (size + 15) / 16 * 16;
    used = size;
    for (unsigned i = 0; i < function->n_params; i++)
        size += (function->params[i].size + 15) / 16 * 16;
    pointers = malloc(size);
    if (!pointers)
        return false;
    for (unsigned i = 0; i < function->n_params; i++) {
        pointers[i] = (char *)pointers + used;
        memcpy(pointers[i], launch->params[i], function->params[i].size);
        used += (function->params[i].size + 15) / 16 * 16;
    }
    command->owned = launch->params = pointers;
    command->call.args[9] = (uint64_t)pointers;
    return true;
}

/* An `extra` list of our own, its size and the buffer behind it. */
static bool adopt_buffer(struct cuda_command *command)
{
    struct command_launch *launch = &command->u.launch;
    struct {
        void *extra[5];
        size_t size;
    } *list = malloc(sizeof *list + launch->buffer_size);

    if (!list)
        return false;
    list->size = launch->buffer_size;
    list->extra[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
    list->extra[1] = list + 1;
    list->extra[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
    list->extra[3] = &list->size;
    list->extra[4] = CU_LAUNCH_PARAM_END;
    memcpy(list + 1, launch->buffer, launch->buffer_size);
    launch->buffer = list + 1;
    command->owned = list;
    command->call.args[10] = (uint64_t)list;
    return true;
}

bool issue_adopt_launch(struct cuda_command *command)
{
    if (command->u.launch.buffer)
        return adopt_buffer(command);
    return !command->u.launch.params || adopt_params(command);
}

void issue_keep_launch(struct cuda_command *command)
{
    if (command->u.launch.function)
        function_keep(command->u.launch.function);
}

void issue_drop_launch(struct cuda_command *command)
{
    function_drop(command->u.launch.function);
}

void issue_keep_recording(struct cuda_command *command)
{
    recording_keep(command->u.recording);
}

void issue_drop_recording(struct cuda_command *command)
{
    recording_drop(command->u.recording);
}

/* --- on any thread --- */

CUresult issue_call(const struct cuda_command *command)
{
    const struct cuda_kind *kind = cuda_kind_of(command);

    return kind->give ? kind->give(command) : call_invoke(&command->call);
}

CUresult issue_free(const struct cuda_command *command)
{
    return frees_issue(&command->call);
}

/* The stream is forgotten before the driver can give the handle to another. */
CUresult issue_destroy(const struct cuda_command *command)
{
    mark_close(command->stream);
    stream_forget((CUstream)command->call.args[0]);
    return call_invoke(&command->call);
}

/* --- on the thread that drives the engine --- */

CUresult issue_record(struct piece_pipe *pipe, struct cuda_command *command, bool *ret_cut)
{
    (void)pipe;
    (void)ret_cut;
    return recording_issue(command->u.recording, &command->call);
}

CUresult issue_wait_event(struct piece_pipe *pipe, struct cuda_command *command, bool *ret_cut)
{
    (void)pipe;
    (void)ret_cut;
    stream_waits(command->stream);
    return recording_issue_wait(command->u.recording, &command->call);
}

/* A context that broke meanwhile refuses it; the program is told, as a driver would tell it. */
CUresult issue_callback(struct piece_pipe *pipe, struct cuda_command *command, bool *ret_cut)
{
    const struct call *call = &command->call;
    CUresult code = call_invoke(call);

    (void)pipe;
    (void)ret_cut;
    if (code != CUDA_SUCCESS)
        ((CUstreamCallback)call->args[1])((CUstream)call->args[0], code, (void *)call->args[2]);
    return code;
}

CUresult issue_nothing(struct piece_pipe *pipe, struct cuda_command *command, bool *ret_cut)
{
    (void)pipe;
    (void)command;
    (void)ret_cut;
    return CUDA_SUCCESS;
}

static int issue(struct piece_pipe *pipe, struct command *base, struct mark **ret_mark)
{
    struct cuda_command *command = command_of(base);
    const struct cuda_kind *kind = cuda_kind_of(command);
    struct context_record *context = command->stream->context;
    baton_nsec issued_at = clock_now();
    struct context_visit visit;
    bool cut = false;

    context_visit_begin(command->on->context, &visit);
    mark_close(command->on); /* the times of what was issued directly are not this command's */
    command->result = kind->issue ? kind->issue(pipe, command, &cut) : issue_call(command);
    if (command->fence)
        mark_fence_arm(command->fence, command->stream);
    if (command->result == CUDA_SUCCESS && base->leased && !cut) {
        *ret_mark = mark_record(command->on, issued_at);
        if (!*ret_mark) /* no memory: the command is over before its end is told */
            command->result = cuda_front.genuine.cuStreamSynchronize(command->on->handle);
    }
    if (migrate_is_away(command))
        command->result = migrate_await(command, command->result);
    context_visit_end(&visit);
    if (command->result != CUDA_SUCCESS && !command->reported)
        atomic_store(&context->late, (int)command->result);
    return -(int)command->result;
}

static int issue_range(struct command *base, struct piece_cut *cut, uint64_t begin, uint64_t limit,
                       uint64_t *ret_end, struct mark **ret_mark)
{
    struct cuda_command *command = command_of(base);
    baton_nsec issued_at = clock_now();
    CUresult code = cuda_kind_of(command)->range(command, cut, begin, limit);

    if (code != CUDA_SUCCESS)
        return -(int)code;
    *ret_end = limit;
    *ret_mark = mark_record(command->on, issued_at);
    return *ret_mark ? 0 : -(int)CUDA_ERROR_OUT_OF_MEMORY;
}

static bool decided(struct command *command, baton_nsec until_at)
{
    (void)command; /* modules are rewritten when they are loaded */
    (void)until_at;
    return true;
}

/* --- the end --- */

static struct command_callback *ending(struct command *base)
{
    (void)base;
    return NULL;
}

static void ended(struct command *base, int status)
{
    (void)base; /* a call that waits for it sees the status in the graph */
    (void)status;
}

static void free_command(struct command *base)
{
    struct cuda_command *command = command_of(base);

    if (cuda_kind_of(command)->drop)
        cuda_kind_of(command)->drop(command);
    mark_drop(command->fence);
    stream_drop(command->stream);
    free(command->owned);
    free(command);
}

static void describe(const struct command *base, struct job_record_command *ret_record)
{
    const struct cuda_command *command = (const struct cuda_command *)(const void *)base;
    const char *name = base->engine == ENGINE_EXECUTION ? "(copy)" : "";

    ret_record->bytes = (int64_t)base->bytes;
    if (cuda_kind_of(command)->launch) {
        name = command->u.launch.function ? command->u.launch.function->name : "";
        (void)strncpy(ret_record->why, page_why_whole((enum page_counter)cut_why_whole(command)),
                      sizeof ret_record->why - 1);
    }
    (void)strncpy(ret_record->name, name, sizeof ret_record->name - 1);
}

static struct function_record *function_of(struct meter *meter)
{
    return (struct function_record *)(void *)meter; /* its first member */
}

static void meter_keep(struct meter *meter)
{
    function_keep(function_of(meter));
}

static void meter_drop(struct meter *meter)
{
    function_drop(function_of(meter));
}

/*
 * A kernel that runs for long, or for ever, ends with the process, as without Baton. A worker that
 * waits for it is given time for two pieces, and is then left behind.
 */
#define EXIT_PATIENCE_NS (100 * NSEC_PER_MS)

const struct driver_ops issue_ops = {
    .mark_status = mark_status,
    .mark_wait = mark_wait,
    .mark_notify = mark_notify,
    .mark_flush = mark_flush,
    .mark_times = mark_times,
    .mark_queued = mark_queued,
    .mark_keep = mark_keep,
    .mark_drop = mark_drop,
    .decided = decided,
    .add_wait = engine_order_add_wait,
    .issue = issue,
    .issue_range = issue_range,
    .ending = ending,
    .ended = ended,
    .free = free_command,
    .inherited_failure = -(int)CUDA_ERROR_UNKNOWN,
    .describe = describe,
    .meter_keep = meter_keep,
    .meter_drop = meter_drop,
    .job_ending = migrate_job_ending,
    .job_over = migrate_job_over,
    .stop_issuers = migrate_stop,
    .host_clock = true,
    .exit_patience = EXIT_PATIENCE_NS,
};
