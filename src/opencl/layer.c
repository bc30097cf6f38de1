#include "opencl/layer.h"

#include <CL/cl_layer.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client/join.h"
#include "client/lease.h"
#include "opencl/entry.h"
#include "opencl/graph/graph.h"
#include "opencl/objects.h"
#include "opencl/program/program.h"
#include "opencl/spread/spread.h"
#include "opencl/graph/recorder.h"
#include "opencl/graph/worker.h"

cl_icd_dispatch target;
struct settings settings;
bool layer_queue_everything;
atomic_bool layer_passes;

enum { EXIT_HANDLERS = 64 }; /* more builds make no new statics */

static cl_icd_dispatch table; /* what the loader calls */
static struct session *_Atomic session;
static atomic_bool refused;
static pthread_once_t session_once = PTHREAD_ONCE_INIT;
static atomic_uint exit_handlers;

/* The plan as the hot path reads it: without the session's lock. */
static struct {
    pthread_mutex_t lock; /* one writer at a time, so that the newest stays */
    atomic_bool slicing;
    atomic_llong piece, chunk_in, chunk_out;
    atomic_bool saves;
    atomic_uint gpus;
    atomic_ullong gpu_set;
    atomic_uint number; /* of plans taken so far */
} plan = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void take_plan(struct session *from)
{
    struct session_plan now;

    pthread_mutex_lock(&plan.lock);
    session_plan(from, &now);
    atomic_store(&plan.slicing, now.slicing);
    atomic_store(&plan.piece, now.piece);
    atomic_store(&plan.chunk_in, now.chunk_in);
    atomic_store(&plan.chunk_out, now.chunk_out);
    atomic_store(&plan.saves, now.saves_state);
    atomic_store(&plan.gpus, now.gpus);
    atomic_store(&plan.gpu_set, now.gpu_set);
    atomic_fetch_add(&plan.number, 1);
    pthread_mutex_unlock(&plan.lock);
}

static void on_plan(void *user, const struct session_plan *unused)
{
    struct session *known = atomic_load(&session);

    (void)user;
    (void)unused;
    if (known)
        take_plan(known);
}

/* On the session's thread: the worker of that engine waits for what is in flight. A copy lease may be ridden by the other direction. */
static void on_yield(void *user, struct lease *lease)
{
    (void)user;
    for (struct device_record *device = device_records(); device; device = device->next)
        for (int kind = 0; kind < ENGINE_N; kind++)
            if (device->engines[kind].lease == lease) {
                worker_drain(&device->engines[kind]);
                if (engine_other_way(&device->engines[kind]))
                    worker_drain(engine_other_way(&device->engines[kind]));
            }
}

/* On the program's thread. */
static void on_job_ending(void *user)
{
    (void)user;
    spread_job_ends();
}

static void open_session(void)
{
    struct session_listener listener = {
        .on_yield = on_yield, .on_plan = on_plan, .on_job_ending = on_job_ending};
    struct session *opened = NULL;
    int code;

    listener.on_job = recorder_on ? recorder_on_job : NULL;
    code = session_open(&settings, &listener, &opened);

    if (code == -ECONNREFUSED)
        atomic_store(&refused, true);
    atomic_store(&session, code == 0 ? opened : NULL);
    if (code == 0)
        take_plan(opened);
    join_offer(code == 0 ? opened : NULL);
}

struct session *layer_session(void)
{
    struct session *known = atomic_load_explicit(&session, memory_order_acquire);

    if (known)
        return known;
    pthread_once(&session_once, open_session);
    return atomic_load_explicit(&session, memory_order_acquire);
}

bool layer_refused(void)
{
    (void)layer_session();
    return atomic_load(&refused);
}

static bool cutting(int64_t setting)
{
    struct session *known;

    if (setting != SETTING_AUTO)
        return setting > 0;
    known = layer_session();
    return known && session_online(known) && atomic_load_explicit(&plan.slicing, memory_order_relaxed);
}

bool layer_slicing(void)
{
    return cutting(settings.slice);
}

bool layer_chunking(void)
{
    return cutting(settings.chunk);
}

bool layer_tasked(void)
{
    return settings.task[0] != 0;
}

baton_nsec layer_piece(void)
{
    return atomic_load_explicit(&plan.piece, memory_order_relaxed);
}

int64_t layer_chunk(bool out)
{
    return atomic_load_explicit(out ? &plan.chunk_out : &plan.chunk_in, memory_order_relaxed);
}

bool layer_saves_state(void)
{
    return atomic_load_explicit(&plan.saves, memory_order_relaxed);
}

unsigned layer_gpus(uint64_t *ret_set)
{
    *ret_set = atomic_load_explicit(&plan.gpu_set, memory_order_relaxed);
    return atomic_load_explicit(&plan.gpus, memory_order_relaxed);
}

unsigned layer_plan_number(void)
{
    return atomic_load_explicit(&plan.number, memory_order_acquire);
}

/*
 * Must run before the driver's own exit handlers, the destructors of its statics included: a build of ours that is under way then
 * would lose the compiler under its feet. Handlers run in reverse order of registration, and compilers make their
 * statics when first used; so it is registered again after every build of the program. The first to run does the work.
 */
static void at_exit(void)
{
    struct session *known = atomic_load(&session);

    if (layer_off())
        return;
    program_stop();
    worker_stop_all();
    recorder_stop();
    if (known && settings.stats[0])
        (void)session_write_stats(known, settings.stats);
    if (known)
        session_restore_threads(known);
    atomic_store(&layer_passes, true); /* whatever other handlers still call goes straight to the driver */
}

void layer_stop_at_exit(void)
{
    if (atomic_fetch_add(&exit_handlers, 1) < EXIT_HANDLERS)
        (void)atexit(at_exit);
}

static void in_child(void)
{
    atomic_store(&layer_passes, true);
    graph_forget_locks();
}

CL_API_ENTRY cl_context CL_API_CALL entry_clCreateContext(
    const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data, cl_int *ret_code)
{
    if (!layer_off() && layer_refused()) {
        if (ret_code)
            *ret_code = CL_DEVICE_NOT_AVAILABLE;
        return NULL;
    }
    return target.clCreateContext(properties, n, devices, notify, data, ret_code);
}

CL_API_ENTRY cl_context CL_API_CALL entry_clCreateContextFromType(
    const cl_context_properties *properties, cl_device_type type,
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data, cl_int *ret_code)
{
    if (!layer_off() && layer_refused()) {
        if (ret_code)
            *ret_code = CL_DEVICE_NOT_AVAILABLE;
        return NULL;
    }
    return target.clCreateContextFromType(properties, type, notify, data, ret_code);
}

#pragma GCC visibility push(default)
CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t room, void *ret_value,
                                               size_t *ret_size)
{
    static const char layer_name[] = "baton";
    const struct join_hooks *hooks = &join_hooks;
    cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    const void *value = &version;
    size_t size = sizeof version;

    if (name == CL_LAYER_NAME) {
        value = layer_name;
        size = sizeof layer_name;
    } else if (name == JOIN_LAYER_INFO && target.clGetPlatformIDs) { /* libbaton.so of the same process */
        (void)layer_session();
        value = &hooks;
        size = sizeof hooks;
    } else if (name != CL_LAYER_API_VERSION) {
        return CL_INVALID_VALUE;
    }
    return info_answer(value, size, room, ret_value, ret_size);
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint n, const cl_icd_dispatch *target_dispatch, cl_uint *ret_n,
                                            const cl_icd_dispatch **ret_dispatch)
{
    const char *bad;

    if (!target_dispatch || !ret_n || !ret_dispatch || n < sizeof target / sizeof(void *))
        return CL_INVALID_VALUE;
    target = table = *target_dispatch;
    settings_from_environment(&settings, &bad);
    layer_queue_everything = getenv("BATON_TEST_QUEUE") != NULL;
    recorder_init();
    objects_init();
    graph_init();
    (void)pthread_atfork(NULL, NULL, in_child);
    /* What the driver lacks stays lacking: the loader answers for it. */
#define ENTRY_OVERRIDE(name)                                                                                 \
    if (target.name)                                                                                         \
        table.name = entry_##name;
    ENTRY_POINTS(ENTRY_OVERRIDE)
#undef ENTRY_OVERRIDE
    *ret_n = sizeof table / sizeof(void *);
    *ret_dispatch = &table;
    return CL_SUCCESS;
}
#pragma GCC visibility pop
