/* Launches of kernels, which are one command each. */
#include <string.h>

#include "cuda/event_recording.h"
#include "cuda/front.h"
#include "cuda/function.h"
#include "cuda/issue.h"
#include "cuda/migrate/migrate.h"
#include "cuda/submit.h"

/*
 * A parameter list in a buffer, if `extra` is one; false: something else, which only the driver
 * knows.
 */
static bool read_extra(void *const *extra, struct command_launch *launch)
{
    const size_t *size = NULL;

    for (; extra && extra[0] != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            launch->buffer = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            size = extra[1];
        else
            return false;
    }
    launch->buffer_size = size ? *size : 0;
    return !launch->buffer == !size;
}

/* The call is one of cuLaunchKernel's arguments. */
static CUresult launch(struct call *call, bool whole)
{
    struct stream_record *stream = stream_of_call(call);
    struct function_record *function;
    struct cuda_command draft;
    struct command_launch *about = &draft.u.launch;
    CUresult code;

    if (!stream)
        return call_invoke(call);
    function = function_find((void *)call->args[0]);
    submit_draft(&draft, call, stream);
    draft.kind = COMMAND_LAUNCH;
    draft.base.engine = ENGINE_EXECUTION;
    draft.base.leased = true;
    for (int i = 0; i < 3; i++) {
        about->grid[i] = (uint32_t)call->args[1 + i];
        about->block[i] = (uint32_t)call->args[4 + i];
    }
    about->shared = (uint32_t)call->args[7];
    about->function = function;
    about->piece = function ? function->piece : NULL;
    about->whole = whole;
    about->params = (void **)call->args[9];
    if (call->entry->arguments < 11)
        draft.call.args[10] = 0;
    if (!read_extra((void **)draft.call.args[10], about) || (about->params && about->buffer))
        draft.at_once = true;
    if (whole || !function ||
        (!about->buffer && (!function->params_known || (function->n_params && !about->params))))
        draft.at_once = true; /* its arguments cannot be copied */
    draft.base.items = (size_t)about->grid[0] * about->grid[1] * about->grid[2] * about->block[0] *
                       about->block[1] * about->block[2];
    draft.base.meter = function ? &function->meter : NULL;
    code = submit(&draft, false, NULL);
    function_drop(function);
    return code;
}

CUresult route_launch(struct call *call)
{
    return launch(call, false);
}

/* How many blocks are allowed is the driver's to say: it is not held back. */
CUresult route_launch_cooperative(struct call *call)
{
    return launch(call, true);
}

/* --- with attributes --- */

enum { MOST_RECORDED = 2 }; /* events of one launch: by two kinds of attributes */

struct recorded_events {
    struct event_record *events[MOST_RECORDED]; /* references, in the order of addresses */
    size_t n;
};

static void add_recorded(struct recorded_events *recorded, struct event_record *event)
{
    size_t at = recorded->n;

    if (!event || at == MOST_RECORDED || (at == 1 && recorded->events[0] == event)) {
        event_drop(event);
        return;
    }
    if (at == 1 && recorded->events[0] > event) {
        recorded->events[1] = recorded->events[0];
        at = 0;
    }
    recorded->events[at] = event;
    recorded->n++;
}

/* CUDA takes no external record from an attribute. */
static struct recorded_events find_recorded(const CUlaunchConfig *config)
{
    struct recorded_events recorded = {.n = 0};

    for (unsigned i = 0; config->attrs && i < config->numAttrs; i++) {
        const CUlaunchAttribute *attribute = &config->attrs[i];

        if ((attribute->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT ||
             attribute->id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT) &&
            !(attribute->value.launchCompletionEvent.flags & CU_EVENT_RECORD_EXTERNAL))
            add_recorded(&recorded, event_find(attribute->value.launchCompletionEvent.event));
    }
    return recorded;
}

static void drop_recorded(struct recorded_events *recorded)
{
    while (recorded->n > 0)
        event_drop(recorded->events[--recorded->n]);
}

static CUresult give_ex(const struct call *call, bool captured)
{
    struct recorded_events recorded = find_recorded((const CUlaunchConfig *)call->args[0]);
    CUresult code = events_record_now(call, recorded.events, recorded.n, captured);

    drop_recorded(&recorded);
    return code;
}

CUresult launch_ex_give(const struct cuda_command *command)
{
    return give_ex(&command->call, false);
}

static void await_launches(const CUlaunchConfig *config)
{
    struct recorded_events recorded = find_recorded(config);

    for (size_t i = 0; i < recorded.n; i++)
        event_await_launch(recorded.events[i]);
    drop_recorded(&recorded);
}

static CUresult launch_with_attributes(const struct call *call, const CUlaunchConfig *config)
{
    CUresult code = migrate_stay_home("a launch with attributes");
    CUlaunchConfig named = *config;
    struct stream_record *stream;
    struct cuda_command draft;

    if (code != CUDA_SUCCESS)
        return code;
    stream = stream_find(config->hStream, call->entry->form != FORM_PLAIN, &code);
    if (!stream)
        return code != CUDA_SUCCESS ? code : call_invoke(call);
    submit_draft(&draft, call, stream);
    if (draft.captured) {
        stream_drop(stream);
        return give_ex(call, true);
    }
    await_launches(config);
    named.hStream = stream->handle;
    draft.call.args[0] = (uint64_t)&named;
    draft.kind = COMMAND_LAUNCH_EX;
    draft.base.engine = ENGINE_EXECUTION;
    draft.base.leased = draft.at_once = true;
    return submit(&draft, false, NULL);
}

/* Without attributes it is cuLaunchKernel with its numbers in a struct. */
CUresult route_launch_ex(struct call *call)
{
    const CUlaunchConfig *config = (const CUlaunchConfig *)call->args[0];
    bool per_thread = call->entry->form != FORM_PLAIN;
    unsigned plain = per_thread ? ENTRY_cuLaunchKernel_ptsz : ENTRY_cuLaunchKernel;
    struct call same;

    if (!config)
        return call_invoke(call);
    if (config->numAttrs)
        return launch_with_attributes(call, config);
    same = (struct call){.entry = entry_at(plain), .genuine = front_genuine(plain)};
    same.args[0] = call->args[1];
    same.args[1] = config->gridDimX;
    same.args[2] = config->gridDimY;
    same.args[3] = config->gridDimZ;
    same.args[4] = config->blockDimX;
    same.args[5] = config->blockDimY;
    same.args[6] = config->blockDimZ;
    same.args[7] = config->sharedMemBytes;
    same.args[8] = (uint64_t)config->hStream;
    same.args[9] = call->args[2];
    same.args[10] = call->args[3];
    return launch(&same, false);
}

/*
 * Work of unknown length and kind: whole, one hold of the execution engine, from the calling
 * thread.
 */
CUresult route_at_once(struct call *call)
{
    struct stream_record *stream = stream_of_call(call);
    struct cuda_command draft;

    if (!stream)
        return call_invoke(call);
    submit_draft(&draft, call, stream);
    draft.base.engine = ENGINE_EXECUTION;
    draft.base.leased = draft.at_once = true;
    return submit(&draft, false, NULL);
}
