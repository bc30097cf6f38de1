/* The states in which every enqueue entry point is called, and what each call does there. */
#include "asleep.h"
#include "conformance.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What an event says of itself, as words without addresses. */
static void describe(const struct world *world, const struct when *when, cl_event event, char *ret_text,
                     size_t size)
{
    cl_command_type type = 0;
    cl_command_queue queue = NULL;
    cl_context context = NULL;
    cl_uint refs = 0;
    cl_ulong times[4] = {0};
    cl_int profiled = CL_SUCCESS;
    bool ordered = true;
    cl_int status = event_status(event); /* which negative one is the driver's choice */

    clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL);
    clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL);
    clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof context, &context, NULL);
    clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof refs, &refs, NULL);
    for (cl_uint i = 0; i < 4; i++) {
        cl_int code =
            clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED + i, sizeof times[i], &times[i], NULL);
        profiled = code ? code : profiled;
        ordered = ordered && (i == 0 || times[i] >= times[i - 1]);
    }
    (void)snprintf(ret_text, size, "type %#x queue %s context %s refs %s status %d profiling %d %s", type,
                   queue == when->queue ? "same" : "wrong", context == world->context ? "same" : "wrong",
                   refs ? "some" : "none", status < 0 ? -1 : status, profiled,
                   ordered ? "ordered" : "unordered");
}

struct seen {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int n;
    cl_int statuses[4];
};

static void CL_CALLBACK on_event(cl_event event, cl_int status, void *argument)
{
    struct seen *seen = argument;

    (void)event;
    pthread_mutex_lock(&seen->lock);
    if (seen->n < 4)
        seen->statuses[seen->n++] = status;
    pthread_cond_broadcast(&seen->changed);
    pthread_mutex_unlock(&seen->lock);
}

static void wait_callback(struct seen *seen)
{
    struct timespec limit;

    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 300;
    pthread_mutex_lock(&seen->lock);
    while (seen->n == 0 && pthread_cond_timedwait(&seen->changed, &seen->lock, &limit) == 0)
        ;
    pthread_mutex_unlock(&seen->lock);
}

enum state { IDLE, BLOCKING, GATED, WAITING, FAILED, ACROSS, N_STATES };
static const char *const state_names[N_STATES] = {"idle", "blocking", "gated", "waiting", "failed", "across"};

static const struct call *find_call(const char *name)
{
    for (size_t i = 0; i < n_calls; i++)
        if (!strcmp(calls[i].name, name))
            return &calls[i];
    return NULL;
}

/* What one case holds from its beginning to its end. */
struct state_case {
    struct things things;
    struct when when;
    struct seen seen;
    cl_event gate, event, other;
    pthread_t opener;
    pid_t caller;
    cl_int code, before, wait;
    char text[200]; /* what the event says */
};

/* The caller is in its call, which waits for the gate, or in pthread_join() after it. */
static void *open_gate(void *argument)
{
    const struct state_case *c = argument;

    await_asleep(c->caller);
    clSetUserEventStatus(c->gate, CL_COMPLETE);
    return NULL;
}

/*
 * The state before the call. idle: the queue is empty. gated: an in-order queue whose head waits
 * for a user event. waiting: the call itself waits for a user event, out of order. failed: that
 * user event is set to -5. across: it waits for a gated command of another queue. blocking: idle,
 * the call blocks; with a gate opened by another thread where the call can block.
 */
static void prepare(const struct world *world, const struct call *call, enum state state,
                    struct state_case *c)
{
    *c = (struct state_case){.when = {.queue = world->in_order},
                             .seen = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, {0}},
                             .before = 77,
                             .caller = gettid(),
                             .text = "no event"};
    things_make(world, &c->things);
    if (!strcmp(call->name, "UnmapMemObject"))
        find_call("MapBuffer")
            ->run(world, &c->things, &(struct when){.queue = world->in_order, .blocking = CL_TRUE});
    if (!strcmp(call->name, "SVMUnmap"))
        find_call("SVMMap")->run(world, &c->things,
                                 &(struct when){.queue = world->in_order, .blocking = CL_TRUE});
    clFinish(world->in_order);
    c->when.event = &c->event;
    c->when.blocking = state == BLOCKING;
    if (state != IDLE)
        c->gate = clCreateUserEvent(world->context, NULL);
    if (state == GATED || state == BLOCKING)
        clEnqueueMarkerWithWaitList(world->in_order, 1, &c->gate, NULL);
    if (state == WAITING || state == FAILED) {
        c->when.queue = state == WAITING ? world->out_of_order : world->in_order;
        c->when.n = 1;
        c->when.waits = &c->gate;
    }
    if (state == ACROSS) {
        clEnqueueMarkerWithWaitList(world->second, 1, &c->gate, &c->other);
        c->when.n = 1;
        c->when.waits = &c->other;
    }
    if (state == BLOCKING)
        pthread_create(&c->opener, NULL, open_gate, c);
}

/* After the call: opens the gate and waits until all is over. */
static void settle(const struct world *world, enum state state, struct state_case *c)
{
    /* a failed command's callback may come when the case is over */
    static struct seen late = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, {0}};

    if (c->event && c->gate && state != BLOCKING) {
        c->before = event_status(c->event);
        if (c->before == CL_QUEUED || c->before == CL_SUBMITTED)
            c->before = 2; /* drivers differ in when they submit */
    }
    if (c->event)
        clSetEventCallback(c->event, CL_COMPLETE, on_event, state == FAILED ? &late : &c->seen);
    if (c->gate && state != BLOCKING)
        clSetUserEventStatus(c->gate, state == FAILED ? -5 : CL_COMPLETE);
    if (c->event) {
        c->wait = clWaitForEvents(1, &c->event);
        if (state != FAILED) /* PoCL 3.1 never calls back for a command that failed */
            wait_callback(&c->seen);
        clFinish(c->when.queue);
        clFinish(world->in_order);
        describe(world, &c->when, c->event, c->text, sizeof c->text);
        clReleaseEvent(c->event);
    }
    if (state == BLOCKING)
        pthread_join(c->opener, NULL);
}

static void one_case(const struct world *world, const struct call *call, enum state state)
{
    struct state_case c;
    char name[80];

    prepare(world, call, state, &c);
    c.code = call->run(world, &c.things, &c.when);
    settle(world, state, &c);
    if (c.things.mapped && state != FAILED) {
        ((cl_int *)c.things.mapped)[2] += 5;
        clEnqueueUnmapMemObject(world->in_order, c.things.a, c.things.mapped, 0, NULL, NULL);
    }
    (void)snprintf(name, sizeof name, "%s/%s", call->name, state_names[state]);
    line(name, "code %d pending %d wait %d callback %d %d %s data %08x", c.code, c.before, c.wait,
         state != FAILED && c.seen.n, state == FAILED ? 0 : c.seen.statuses[0], c.text,
         things_hash(world, &c.things));
    if (c.gate)
        clReleaseEvent(c.gate);
    if (c.other)
        clReleaseEvent(c.other);
    things_free(world, &c.things);
}

void check_calls(const struct world *world)
{
    for (size_t i = 0; i < n_calls; i++)
        for (enum state state = IDLE; state < N_STATES; state++)
            if (call_possible(world, &calls[i]) && (state != BLOCKING || calls[i].can_block))
                one_case(world, &calls[i], state);
}
