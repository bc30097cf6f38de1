/* User events, callbacks and waits beyond what check_calls sees. */
#include "conformance.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct record {
    pthread_mutex_t lock;
    int n;
    cl_int seen[16];
    cl_event to_set; /* set when called */
};

/*
 * Counted last: who sees the callback counted may release the event that it sets. PoCL still works
 * on a user event after commands that waited for it have ended.
 */
static void CL_CALLBACK note(cl_event event, cl_int status, void *argument)
{
    struct record *record = argument;

    (void)event;
    if (record->to_set)
        clSetUserEventStatus(record->to_set, CL_COMPLETE);
    pthread_mutex_lock(&record->lock);
    if (record->n < 16)
        record->seen[record->n++] = status;
    pthread_mutex_unlock(&record->lock);
}

static int settle(struct record *record, int n)
{
    struct timespec pause = {0, 1000000};
    int seen = 0;

    for (int i = 0; i < 120000; i++) {
        pthread_mutex_lock(&record->lock);
        seen = record->n;
        pthread_mutex_unlock(&record->lock);
        if (seen >= n)
            break;
        nanosleep(&pause, NULL);
    }
    return seen;
}

static void check_user_events(const struct world *world)
{
    struct record record = {PTHREAD_MUTEX_INITIALIZER, 0, {0}, NULL};
    cl_event event = clCreateUserEvent(world->context, NULL);
    cl_command_queue queue = world->in_order;
    cl_command_type type = 0;
    cl_int first, second, code = 99;

    clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL);
    clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL);
    line("user/info", "queue %s type %#x status %d", queue ? "some" : "none", type, event_status(event));
    clSetEventCallback(event, CL_COMPLETE, note, &record);
    first = clSetUserEventStatus(event, 1);
    line("user/bad-status", "%d", first);
    first = clSetUserEventStatus(event, CL_COMPLETE);
    second = clSetUserEventStatus(event, CL_COMPLETE);
    line("user/set-twice", "%d %d status %d", first, second, event_status(event));
    clSetEventCallback(event, CL_COMPLETE, note, &record); /* already complete: called all the same */
    line("user/callbacks", "%d %d %d", settle(&record, 2), record.seen[0], record.seen[1]);
    line("user/wait", "%d", clWaitForEvents(1, &event));
    clReleaseEvent(event);
    event = clCreateUserEvent(world->context, NULL);
    clSetUserEventStatus(event, -7);
    line("user/failed", "wait %d status %d", clWaitForEvents(1, &event), event_status(event));
    clReleaseEvent(event);
    clCreateUserEvent(NULL, &code);
    line("user/no-context", "%d", code);
}

/* A callback sets the event that gates the next command. */
static void check_relay(const struct world *world)
{
    struct record record = {PTHREAD_MUTEX_INITIALIZER, 0, {0}, NULL};
    cl_event gates[2] = {clCreateUserEvent(world->context, NULL), clCreateUserEvent(world->context, NULL)};
    cl_event first = NULL, second = NULL;
    cl_int code;

    record.to_set = gates[1];
    clEnqueueMarkerWithWaitList(world->in_order, 1, &gates[0], &first);
    clSetEventCallback(first, CL_COMPLETE, note, &record);
    clEnqueueMarkerWithWaitList(world->second, 1, &gates[1], &second);
    clSetUserEventStatus(gates[0], CL_COMPLETE);
    code = clWaitForEvents(1, &second);
    settle(&record, 1);
    line("relay", "wait %d status %d %d", code, event_status(first), event_status(second));
    clReleaseEvent(first);
    clReleaseEvent(second);
    clReleaseEvent(gates[0]);
    clReleaseEvent(gates[1]);
}

/* One callback for each status; all come, each with its own status. */
static void check_statuses(const struct world *world)
{
    struct record records[3] = {{PTHREAD_MUTEX_INITIALIZER, 0, {0}, NULL},
                                {PTHREAD_MUTEX_INITIALIZER, 0, {0}, NULL},
                                {PTHREAD_MUTEX_INITIALIZER, 0, {0}, NULL}};
    cl_event gate = clCreateUserEvent(world->context, NULL), event = NULL;
    struct things t;

    things_make(world, &t);
    clEnqueueReadBuffer(world->in_order, t.a, CL_FALSE, 0, 64, t.host, 1, &gate, &event);
    line("callback/codes", "%d %d %d %d", clSetEventCallback(event, CL_SUBMITTED, note, &records[0]),
         clSetEventCallback(event, CL_RUNNING, note, &records[1]),
         clSetEventCallback(event, CL_COMPLETE, note, &records[2]),
         clSetEventCallback(event, CL_QUEUED, note, &records[2]));
    clSetUserEventStatus(gate, CL_COMPLETE);
    clWaitForEvents(1, &event);
    for (int i = 0; i < 3; i++)
        settle(&records[i], 1);
    line("callback/statuses", "%d %d %d %d %d %d", records[0].n, records[0].seen[0], records[1].n,
         records[1].seen[0], records[2].n, records[2].seen[0]);
    clReleaseEvent(event);
    clReleaseEvent(gate);
    things_free(world, &t);
}

/*
 * A failed command's dependents fail too, through two queues; a command that does not depend runs.
 */
static void check_failures(const struct world *world)
{
    cl_event gate = clCreateUserEvent(world->context, NULL), chain[3] = {NULL};
    struct things t;
    cl_int pattern = 9;

    things_make(world, &t);
    clEnqueueFillBuffer(world->out_of_order, t.a, &pattern, 4, 0, 64, 1, &gate, &chain[0]);
    clEnqueueFillBuffer(world->second, t.b, &pattern, 4, 0, 64, 1, &chain[0], &chain[1]);
    clEnqueueFillBuffer(world->out_of_order, t.c, &pattern, 4, 0, 64, 0, NULL, &chain[2]);
    clSetUserEventStatus(gate, -9);
    line("failure/wait", "%d %d %d", clWaitForEvents(1, &chain[0]), clWaitForEvents(1, &chain[1]),
         clWaitForEvents(1, &chain[2]));
    line("failure/status", "%d %d %d data %08x", event_status(chain[0]) < 0, event_status(chain[1]) < 0,
         event_status(chain[2]), things_hash(world, &t));
    for (int i = 0; i < 3; i++)
        clReleaseEvent(chain[i]);
    clReleaseEvent(gate);
    things_free(world, &t);
}

/* Events are released before their commands run; retained ones survive. */
static void check_lifetimes(const struct world *world)
{
    cl_event gate = clCreateUserEvent(world->context, NULL), kept = NULL, dropped = NULL;
    cl_uint refs = 0;
    cl_int codes[4];

    clEnqueueMarkerWithWaitList(world->in_order, 1, &gate, &dropped);
    clEnqueueMarkerWithWaitList(world->second, 1, &dropped, &kept);
    codes[0] = clReleaseEvent(dropped);
    codes[1] = clRetainEvent(kept);
    clSetUserEventStatus(gate, CL_COMPLETE);
    codes[2] = clWaitForEvents(1, &kept);
    codes[3] = clReleaseEvent(kept);
    clFinish(world->second);
    /*
     * A driver may hold the event a moment longer than its command runs (PoCL does on a busy
     * machine).
     */
    for (int i = 0; i < 120000 && refs != 1; i++) {
        if (i > 0)
            nanosleep(&(struct timespec){0, 1000000}, NULL);
        clGetEventInfo(kept, CL_EVENT_REFERENCE_COUNT, sizeof refs, &refs, NULL);
    }
    line("lifetime", "%d %d %d %d refs %u status %d", codes[0], codes[1], codes[2], codes[3], refs,
         event_status(kept));
    clReleaseEvent(kept);
    clReleaseEvent(gate);
}

struct questions {
    struct record record;
    cl_command_queue queue;
    bool right_queue;
    cl_command_type type;
    cl_int profiled;
};

static void CL_CALLBACK ask(cl_event event, cl_int status, void *argument)
{
    struct questions *questions = argument;
    cl_command_queue queue = NULL;
    cl_ulong end;

    clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL);
    clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof questions->type, &questions->type, NULL);
    questions->right_queue = queue == questions->queue;
    questions->profiled = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    note(event, status, &questions->record);
}

/*
 * A program may let go of an event as soon as its callback is registered: the callback still gets
 * answers.
 */
static void check_callback_of_released(const struct world *world, bool gated)
{
    struct questions questions = {.record = {.lock = PTHREAD_MUTEX_INITIALIZER}, .queue = world->in_order};
    cl_event gate = clCreateUserEvent(world->context, NULL), event = NULL;
    struct things t;
    cl_int zero = 0;

    things_make(world, &t);
    if (!gated)
        clSetUserEventStatus(gate, CL_COMPLETE);
    clEnqueueFillBuffer(world->in_order, t.a, &zero, sizeof zero, 0, 1024, 1, &gate, &event);
    clSetEventCallback(event, CL_COMPLETE, ask, &questions);
    clReleaseEvent(event);
    if (gated)
        clSetUserEventStatus(gate, CL_COMPLETE);
    clFinish(world->in_order);
    settle(&questions.record, 1);
    line("callback/released", "%s type %x queue %s profiling %d", gated ? "gated" : "idle", questions.type,
         questions.right_queue ? "same" : "wrong", questions.profiled);
    clReleaseEvent(gate);
    things_free(world, &t);
}

void check_events(const struct world *world)
{
    check_callback_of_released(world, false);
    check_callback_of_released(world, true);
    check_user_events(world);
    check_relay(world);
    check_statuses(world);
    check_failures(world);
    check_lifetimes(world);
}
