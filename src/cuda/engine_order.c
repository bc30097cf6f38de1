#include "cuda/engine_order.h"

#include <sched.h>

#include "base/clock.h"
#include "cuda/front.h"
#include "cuda/mark.h"
#include "cuda/migrate/migrate.h"
#include "engine/graph.h"
#include "engine/runtime.h"

/*
 * Work before the command that is expected to be over so soon is waited for on the calling thread,
 * for so long at most: that is quicker than to hold the command back.
 */
#define SHORT_NS    (50 * NSEC_PER_US)
#define PATIENCE_NS (2 * SHORT_NS)

/*
 * Is the stream idle, and do only its own commands count? A wait need not make a stream busy before
 * the next command.
 */
static bool is_idle(struct stream_record *stream, enum engine_kind kind)
{
    return !command_queue_on_several(&stream->queue) && !stream_follows_others(stream, kind) &&
           cuda_front.genuine.cuStreamQuery(stream->handle) == CUDA_SUCCESS;
}

/*
 * A mark behind all that the command must wait for, with a reference, and how long that is expected
 * to take; NULL: nothing. What a command does on another GPU is waited for by the thread that gives
 * it.
 */
static struct mark *before(const struct cuda_command *command, int64_t *ret_ns)
{
    struct context_visit visit;
    struct mark *mark = NULL;

    if (!(command->base.policy.online || recorder_on()) || migrate_is_away(command))
        return NULL;
    *ret_ns = engine_others_ahead(command->base.runs_on);
    if (*ret_ns == 0)
        return NULL;
    context_visit_begin(command->stream->context, &visit);
    if (!is_idle(command->stream, command->base.runs_on->kind))
        mark = mark_record(command->stream, clock_now());
    context_visit_end(&visit);
    if (mark && mark_status(mark) > COMMAND_COMPLETE)
        return mark;
    mark_drop(mark);
    return NULL;
}

/* Is it over soon? */
static bool over_soon(struct mark *mark)
{
    baton_nsec until_at = clock_now() + PATIENCE_NS;
    int status;

    while ((status = mark_status(mark)) > COMMAND_COMPLETE && clock_now() < until_at)
        (void)sched_yield();
    return status <= COMMAND_COMPLETE;
}

bool engine_order_over(const struct cuda_command *draft, bool blocking)
{
    struct context_record *context = draft->stream->context;
    uint64_t place = mark_place(context);
    int64_t ns = 0;
    struct mark *mark = before(draft, &ns);

    if (!mark)
        return true;
    if (blocking)
        (void)mark_wait(mark);
    if (blocking || (ns <= SHORT_NS && over_soon(mark))) {
        mark_passed(context, draft->stream, place);
        mark_drop(mark);
        mark = before(draft, &ns);
    }
    mark_drop(mark);
    return !mark;
}

/* False: there is none, or it has been waited for here. */
static bool add_wait(struct cuda_command *command)
{
    struct stream_record *stream = command->stream;
    int64_t ns;
    struct mark *mark = before(command, &ns), *fence;
    struct context_visit visit;
    bool armed = false;

    if (!mark)
        return false;
    fence = mark_fence(stream);
    if (fence) {
        context_visit_begin(stream->context, &visit);
        armed = mark_fence_arm(fence, stream);
        context_visit_end(&visit);
    }
    if (armed)
        graph_wait_mark(&command->base, fence);
    else
        (void)mark_wait(mark);
    mark_drop(fence);
    mark_drop(mark);
    return armed;
}

bool engine_order_add_wait(struct command *base)
{
    struct cuda_command *command = command_of(base);

    return engine_order_changes(command) && add_wait(command);
}
