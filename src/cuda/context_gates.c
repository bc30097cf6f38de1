#include "cuda/context_gates.h"

#include <stdlib.h>

#include "cuda/event_recording.h"
#include "cuda/front.h"
#include "cuda/submit.h"
#include "engine/runtime.h"

struct context_gate {
    struct list link; /* cuda_gates::open */
    struct context_group group;
    struct recording *recording; /* a reference */
    uint64_t number;             /* from 1 */
    bool of_others;              /* another process may have to act first */
};

/* --- groups --- */

static bool group_has(const struct context_group *group, const struct stream_record *stream)
{
    if (group->green)
        return stream->green == group->green;
    return stream->context == group->context ||
           (group->primary && stream->green && stream->context->device == group->context->device);
}

static void add_stream(struct stream_set *set, const struct context_group *group,
                       struct stream_record *stream)
{
    struct stream_record **more;

    if (stream->joins || command_queue_idle(&stream->queue) || !group_has(group, stream))
        return;
    if (set->n == set->room) {
        more = realloc(set->streams, (2 * set->room + 8) * sizeof(struct stream_record *));
        if (!more) {
            set->failed = true;
            return;
        }
        set->streams = more;
        set->room = 2 * set->room + 8;
    }
    stream_keep(stream);
    set->streams[set->n++] = stream;
}

void group_held(const struct context_group *group, struct stream_set *ret_set)
{
    struct context_record *context = NULL;

    *ret_set = (struct stream_set){0};
    while ((context = objects_next_context(context))) {
        add_stream(ret_set, group, &context->legacy);
        pthread_mutex_lock(&context->lock);
        list_for_each(at, &context->streams)
            add_stream(ret_set, group, list_entry(at, struct stream_record, link));
        pthread_mutex_unlock(&context->lock);
    }
}

void stream_set_done(struct stream_set *set)
{
    for (size_t i = 0; i < set->n; i++)
        stream_drop(set->streams[i]);
    free(set->streams);
}

/* --- gates --- */

static void free_gate(struct context_gate *gate)
{
    list_remove(&gate->link);
    recording_drop(gate->recording);
    free(gate);
}

/* Is there nothing left to wait for? A context is visited. */
static bool is_over(const struct context_gate *gate)
{
    CUevent event;
    bool over;

    if (recording_is_held(gate->recording))
        return false;
    event = recording_begin(gate->recording);
    over = !event || cuda_front.genuine.cuEventQuery(event) != CUDA_ERROR_NOT_READY;
    recording_end(gate->recording);
    return over;
}

/* The event that stands for the record now; another one may when a held-back record is issued. */
static CUevent event_of(const struct context_gate *gate)
{
    CUevent event = recording_begin(gate->recording);

    recording_end(gate->recording);
    return event;
}

/* Without memory the driver is given the wait when its turn has come. */
static CUresult wait_in(struct stream_record *stream, const struct context_gate *gate)
{
    struct cuda_command draft;
    CUresult code;

    submit_draft_own(&draft, ENTRY_cuStreamWaitEvent, stream, event_of(gate));
    if (gate->of_others) {
        draft.valid = true;
        stream_keep(stream);
        return submit_fenced(&draft, NULL);
    }
    if (runtime.queue_everything || recording_is_held(gate->recording) || !stream_unhindered(stream)) {
        code = event_wait_held(&draft, gate->recording);
        if (code != CUDA_ERROR_OUT_OF_MEMORY)
            return code;
        recording_await(gate->recording);
        stream_wait_turn(stream);
    }
    stream_waits(stream);
    return recording_issue_wait(gate->recording, &draft.call);
}

/* Under the lock, so that no other thread's work in the stream overtakes the waits. */
static void pass_locked(struct stream_record *stream)
{
    uint64_t passed = atomic_load(&stream->gates_passed);
    struct context_visit visit;
    CUresult code;

    context_visit_begin(stream->context, &visit);
    list_for_each_safe(at, next, &cuda_front.gates.open)
    {
        struct context_gate *gate = list_entry(at, struct context_gate, link);

        if (is_over(gate)) {
            free_gate(gate);
        } else if (gate->number > passed && group_has(&gate->group, stream)) {
            code = wait_in(stream, gate);
            if (code != CUDA_SUCCESS)
                atomic_store(&stream->context->late, (int)code);
        }
    }
    context_visit_end(&visit);
}

void gates_wait(struct stream_record *stream)
{
    pthread_mutex_lock(&cuda_front.gates.lock);
    pass_locked(stream);
    atomic_store(&stream->gates_passed, atomic_load(&cuda_front.gates.newest));
    pthread_mutex_unlock(&cuda_front.gates.lock);
}

bool gates_any(void)
{
    bool any;

    if (atomic_load(&cuda_front.gates.newest) == 0)
        return false;
    pthread_mutex_lock(&cuda_front.gates.lock);
    any = !list_empty(&cuda_front.gates.open);
    pthread_mutex_unlock(&cuda_front.gates.lock);
    return any;
}

/* The driver waits in its place. */
static void hand_over(const struct context_gate *gate)
{
    struct context_visit visit;
    CUevent event;

    objects_wait();
    context_visit_begin(gate->group.context, &visit);
    event = recording_begin(gate->recording);
    if (event && gate->group.green)
        (void)cuda_front.genuine.cuGreenCtxWaitEvent(gate->group.green, event);
    else if (event)
        (void)cuda_front.genuine.cuCtxWaitEvent(gate->group.context->handle, event);
    recording_end(gate->recording);
    context_visit_end(&visit);
}

void gates_hand_over(bool all)
{
    if (atomic_load(&cuda_front.gates.newest) == 0 || front_captures())
        return; /* while a stream captures, the driver would refuse and spoil the capture */
    pthread_mutex_lock(&cuda_front.gates.lock);
    list_for_each_safe(at, next, &cuda_front.gates.open)
    {
        struct context_gate *gate = list_entry(at, struct context_gate, link);

        if (recording_is_held(gate->recording) || (gate->of_others && !all))
            continue;
        hand_over(gate);
        free_gate(gate);
    }
    pthread_mutex_unlock(&cuda_front.gates.lock);
}

bool gates_open(const struct context_group *group, struct event_record *event)
{
    struct context_gate *gate = calloc(1, sizeof *gate);
    struct context_visit visit;

    if (!gate)
        return false;
    gate->group = *group;
    context_visit_begin(group->context, &visit);
    gate->recording = recording_for_wait(event);
    if (event_is_shared(event) && !recording_is_held(gate->recording)) {
        recording_drop(gate->recording);
        gate->recording = recording_of_others(event);
        gate->of_others = true;
    }
    context_visit_end(&visit);
    if (!gate->recording) {
        free(gate);
        return false;
    }
    pthread_mutex_lock(&cuda_front.gates.lock);
    gate->number = atomic_load(&cuda_front.gates.newest) + 1;
    list_append(&cuda_front.gates.open, &gate->link);
    atomic_store(&cuda_front.gates.newest, gate->number);
    pthread_mutex_unlock(&cuda_front.gates.lock);
    return true;
}
