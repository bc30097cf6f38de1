/*
 * What a command must follow, and how it is told so: queues, events, markers, barriers, user
 * events.
 */
#include <string.h>

#include "world.h"

static bool meets(size_t a, size_t a_end, size_t b, size_t b_end)
{
    return a < b_end && b < a_end;
}

/*
 * Different handles of overlapping memory must not be used at once, unless both are only read,
 * whichever bytes are meant.
 */
static bool conflicts(const struct touch *touch, const struct view *view, size_t begin, size_t end,
                      bool writes)
{
    if (touch->view->root != view->root || !(touch->writes || writes))
        return false;
    if (touch->view->mem == view->mem)
        return meets(touch->begin, touch->end, begin, end);
    return meets(touch->view->begin, touch->view->begin + touch->view->size, view->begin,
                 view->begin + view->size);
}

void open_gates(struct world *world)
{
    for (unsigned i = 0; i < GATES; i++)
        if (world->gates[i].event) {
            must(world, clSetUserEventStatus(world->gates[i].event, CL_COMPLETE), "clSetUserEventStatus");
            clReleaseEvent(world->gates[i].event);
            world->gates[i].event = NULL;
        }
}

void age_gates(struct world *world)
{
    for (unsigned i = 0; i < GATES; i++)
        if (world->gates[i].event && --world->gates[i].ttl == 0) {
            must(world, clSetUserEventStatus(world->gates[i].event, CL_COMPLETE), "clSetUserEventStatus");
            clReleaseEvent(world->gates[i].event);
            world->gates[i].event = NULL;
        }
}

static void add_wait(struct step *step, cl_event event)
{
    for (cl_uint i = 0; i < step->n; i++)
        if (step->waits[i] == event)
            return;
    if (step->n < WAITS)
        step->waits[step->n++] = event;
}

void mark(struct world *world, unsigned queue)
{
    cl_event event = NULL;

    must(world, clEnqueueMarkerWithWaitList(world->queues[queue].handle, 0, NULL, &event), "marker");
    for (unsigned i = 0; i < world->n_accesses; i++)
        if (world->accesses[i].queue == queue && !world->accesses[i].event) {
            world->accesses[i].event = event;
            clRetainEvent(event);
        }
    clReleaseEvent(event);
}

static void order(struct step *step)
{
    struct world *world = step->world;
    bool barrier = false, flushed[QUEUES] = {false};

    for (unsigned i = 0; i < world->n_accesses; i++) {
        struct access *access = &world->accesses[i];
        bool must_follow = false;

        for (unsigned t = 0; t < step->n_touches; t++)
            must_follow = must_follow || conflicts(&step->touches[t], &access->view, access->touch.begin,
                                                   access->touch.end, access->touch.writes);
        if (!must_follow || (access->queue == step->queue && world->queues[step->queue].in_order))
            continue;
        if (!access->event && access->queue == step->queue) {
            barrier = true;
            continue;
        }
        if (!access->event)
            mark(world, access->queue);
        add_wait(step, access->event);
        if (access->queue == QUEUES || flushed[access->queue])
            continue; /* the release of a queue of the past flushed it */
        clFlush(world->queues[access->queue].handle);
        flushed[access->queue] = true;
    }
    if (barrier)
        must(world, clEnqueueBarrierWithWaitList(step->handle, 0, NULL, NULL), "barrier");
}

static void maybe_gate(struct step *step)
{
    struct world *world = step->world;
    cl_event *gate;
    unsigned i = below(world, GATES);
    bool wanted = chance(world, 12);
    unsigned ttl = 1 + below(world, 12);
    cl_int code;

    gate = &world->gates[i].event;
    if (!wanted || !world->stage->gates || step->blocking || step->n == WAITS)
        return;
    if (!*gate) {
        *gate = clCreateUserEvent(world->stage->context, &code);
        must(world, code, "clCreateUserEvent");
        world->gates[i].ttl = ttl;
    }
    if (*gate)
        add_wait(step, *gate);
}

void keep_apart(struct world *world, const struct flying *fresh)
{
    for (unsigned i = 0; i < world->n_flying; i++) {
        const struct flying *other = &world->flying[i];

        if (!strcmp(other->name, fresh->name) &&
            (other->local == fresh->local || !other->local || !fresh->local) &&
            (other->width != fresh->width || other->moved != fresh->moved)) {
            finish_all(world);
            break;
        }
    }
    if (world->n_flying == FLYING)
        finish_all(world);
    world->flying[world->n_flying++] = *fresh;
}

void step_begin(struct step *step)
{
    struct world *world = step->world;

    for (unsigned i = 0; i < MAPS; i++)
        for (unsigned t = 0; t < step->n_touches && world->maps[i].pointer; t++)
            if (conflicts(&step->touches[t], &world->maps[i].view, world->maps[i].begin,
                          world->maps[i].begin + world->maps[i].size, world->maps[i].flags != CL_MAP_READ))
                unmap_one(world, &world->maps[i]);
    if (world->n_accesses + TOUCHES > ACCESSES || world->n_pending + 4 > PENDING ||
        world->n_seen + 4 > PENDING)
        finish_all(world);
    step->queue = below(world, QUEUES);
    if (world->stage->relay)
        step->queue = step->queue / 2 * 2 + world->turn;
    step->handle = world->queues[step->queue].handle;
    step->want = chance(world, 75) ? &step->event : NULL;
    order(step);
    if (step->n >= WAITS - 1) {
        finish_all(world);
        step->n = 0;
    }
    if (step->blocking)
        open_gates(world);
    maybe_gate(step);
}

static void CL_CALLBACK on_event(cl_event event, cl_int status, void *data)
{
    struct world *world = data;

    (void)event;
    if (status == CL_COMPLETE)
        atomic_fetch_add(&world->called, 1);
}

void step_end(struct step *step, cl_int code, cl_command_type type, const char *what)
{
    struct world *world = step->world;
    bool calls = chance(world, 10), asks = chance(world, 20), flushes = chance(world, 10);
    cl_int status;

    must(world, code, what);
    if (code != CL_SUCCESS)
        return;
    for (unsigned t = 0; t < step->n_touches; t++) {
        struct access *access = &world->accesses[world->n_accesses++];

        access->touch = step->touches[t];
        access->view = *step->touches[t].view;
        access->touch.view = NULL;
        access->queue = step->queue;
        access->event = step->event;
        if (step->event)
            clRetainEvent(step->event);
    }
    if (flushes)
        clFlush(step->handle);
    if (!step->event)
        return;
    if (calls) {
        must(world, clSetEventCallback(step->event, CL_COMPLETE, on_event, world), "clSetEventCallback");
        world->asked++;
    }
    if (asks) {
        must(world,
             clGetEventInfo(step->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL),
             "clGetEventInfo");
        if (status < 0 || status > CL_QUEUED || (step->blocking && status != CL_COMPLETE))
            fail(world, "%s: status %d", what, status);
    }
    world->seen[world->n_seen].event = step->event;
    world->seen[world->n_seen].type = type;
    world->seen[world->n_seen++].queue = step->queue;
}
