#include "cuda/front.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cuda/events.h"
#include "cuda/function.h"
#include "cuda/genuine.h"
#include "cuda/issue.h"
#include "cuda/migrate/migrate.h"
#include "cuda/objects.h"
#include "cuda/stubs/stubs.h"
#include "engine/runtime.h"
#include "version.h"

struct cuda_front cuda_front = {
    .begun = PTHREAD_ONCE_INIT,
    .names.lock = PTHREAD_MUTEX_INITIALIZER,
    .objects.lock = PTHREAD_MUTEX_INITIALIZER,
    .events.lock = PTHREAD_MUTEX_INITIALIZER,
    .gates = {.lock = PTHREAD_MUTEX_INITIALIZER, .open = {&cuda_front.gates.open, &cuda_front.gates.open}},
    .order = PTHREAD_MUTEX_INITIALIZER,
    .frees.lock = PTHREAD_MUTEX_INITIALIZER,
    .links = {.lock = PTHREAD_MUTEX_INITIALIZER, .all = {&cuda_front.links.all, &cuda_front.links.all}},
    .known.lock = PTHREAD_MUTEX_INITIALIZER,
    .migrate = {
        .begun_lock = PTHREAD_MUTEX_INITIALIZER,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .changed = PTHREAD_COND_INITIALIZER,
        .memory = {.lock = PTHREAD_MUTEX_INITIALIZER,
                   .regions = {&cuda_front.migrate.memory.regions, &cuda_front.migrate.memory.regions}},
        .code = {.lock = PTHREAD_MUTEX_INITIALIZER,
                 .modules = {&cuda_front.migrate.code.modules, &cuda_front.migrate.code.modules},
                 .once = PTHREAD_ONCE_INIT}}};

/* --- beginning and end --- */

void front_stop_first(void)
{
    runtime_stop_at_exit(&issue_ops);
}

static void say_gpus(void)
{
    if (runtime.settings.gpus > 1 || runtime.settings.gpus == SETTING_ALL)
        (void)fprintf(stderr, "baton: --gpus: a CUDA program runs on the GPUs that it chooses itself; its "
                              "kernels are not split over several yet\n");
}

static void begin(void)
{
    entries_init();
    if (!genuine_open(cuda_front.stubs->begin))
        return;
    runtime_init(&issue_ops);
    objects_init();
    events_init();
    graphs_init();
    functions_init();
    say_gpus();
    front_stop_first();
    atomic_store(&cuda_front.ready, true);
}

/* --- functions of the driver --- */

void *front_genuine(unsigned index)
{
    void *address = atomic_load_explicit(&cuda_front.genuine_at[index], memory_order_acquire);
    const char *symbol = entry_at(index)->symbol;

    if (!address && symbol && index < ENTRY_KNOWN) {
        address = genuine_symbol(symbol);
        atomic_store_explicit(&cuda_front.genuine_at[index], address, memory_order_release);
    }
    return address;
}

void *front_address(unsigned index)
{
    return cuda_front.stubs->begin + (size_t)index * STUB_SIZE;
}

void *front_spare(int index, void *address)
{
    atomic_store_explicit(&cuda_front.genuine_at[index], address, memory_order_release);
    return cuda_front.stubs->begin + (size_t)index * STUB_SIZE;
}

void front_become_whole(const char *name)
{
    struct session *session = runtime_session();

    (void)migrate_stay_home(name);
    if (session) /* which counts the calls */
        (void)session_notice(session, NOTICE_UNKNOWN_CALL, "", name);
    if (atomic_exchange(&cuda_front.whole, true))
        return;
    objects_drain();
    objects_close_marks();
}

/* --- calls --- */

/* There is no driver, or it lacks the name. */
static CUresult no_driver(void)
{
    if (!cuda_front.genuine.library && !atomic_exchange(&cuda_front.said_no_cuda, true))
        (void)fprintf(stderr, "baton: no CUDA driver (" GENUINE_NAME ") on this machine; `baton run --device "
                              "cpu` runs CUDA programs on CPU cores\n");
    return cuda_front.genuine.library ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_NO_DEVICE;
}

/*
 * Where a stub goes from now on: names that pass, to the driver itself; names that the driver
 * lacks, to front_call(), which says so.
 */
static void *resolve(unsigned index)
{
    enum treatment treatment;
    void *target;

    pthread_once(&cuda_front.begun, begin);
    treatment = entry_at(index)->treatment;
    target = front_genuine(index);
    if (!target || treatment == TREATMENT_ROUTE)
        target = stub_route;
    else if (treatment != TREATMENT_PASS || entry_at(index)->hooked)
        target = stub_drain;
    atomic_store_explicit(&cuda_front.stubs->targets[index], target, memory_order_release);
    return target;
}

void front_look_again(unsigned index)
{
    (void)resolve(index);
}

#pragma GCC visibility push(default)
stubs_resolve baton_cuda_begin(const struct stubs *given)
{
    if (given->n != ENTRY_N || strcmp(given->version, BATON_VERSION) != 0)
        return NULL;
    cuda_front.stubs = given;
    return resolve;
}
#pragma GCC visibility pop

void *front_drain(unsigned index)
{
    const struct entry *entry = entry_at(index);
    void *function = front_genuine(index);

    if (runtime_off())
        return function;
    if (entry->hooked)
        function = migrate_before(index, function);
    if (entry->treatment == TREATMENT_UNKNOWN)
        front_become_whole(entry->symbol);
    if (entry->treatment != TREATMENT_PASS) {
        objects_drain();
        objects_close_marks();
    }
    return function;
}

CUresult front_call(unsigned index, const uint64_t registers[6], const uint64_t *stack)
{
    struct call call = {.entry = entry_at(index), .genuine = front_genuine(index)};

    if (!call.genuine)
        return no_driver();
    for (unsigned i = 0; i < call.entry->arguments; i++)
        call.args[i] = i < 6 ? registers[i] : stack[i - 6];
    if (runtime_off() && !(call.entry->hooked && migrate_serves()))
        return call_invoke(&call);
    return stream_is_doomed(&call) ? CUDA_ERROR_INVALID_HANDLE : call.entry->handler(&call);
}
