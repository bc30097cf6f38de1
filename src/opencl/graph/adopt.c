#include "opencl/graph/adopt.h"

#include <stdlib.h>
#include <string.h>

#include "engine/engine_device.h"
#include "engine/meter.h"
#include "engine/worker.h"
#include "opencl/graph/kinds.h"
#include "opencl/graph/kernel_launch.h"
#include "opencl/layer.h"
#include "opencl/opencl_driver.h"
#include "opencl/opencl_objects.h"

/* --- what a draft borrowed --- */

static bool own_blob(struct opencl_command *command, const void *bytes, size_t size)
{
    command->owned = calloc(1, size ? size : 1);
    if (command->owned && size)
        memcpy(command->owned, bytes, size);
    return command->owned != NULL;
}

bool adopt_native(struct opencl_command *command)
{
    struct command_native *native = &command->u.native;
    size_t mem_bytes = native->n * sizeof(cl_mem), place_bytes = native->n * sizeof(void *);
    char *at;

    command->owned = at = malloc(mem_bytes + place_bytes + native->size + 1);
    if (!at)
        return false;
    if (native->n) {
        memcpy(at, native->mems, mem_bytes);
        for (cl_uint i = 0; i < native->n; i++) {
            /* Places point into the arguments; they move with them. */
            const char *place =
                (const char *)native->places[i] - (const char *)native->args + at + mem_bytes + place_bytes;
            memcpy(at + mem_bytes + i * sizeof place, &place, sizeof place);
        }
        native->mems = (const cl_mem *)(void *)at;
        native->places = (const void **)(void *)(at + mem_bytes);
    }
    if (native->size)
        native->args = memcpy(at + mem_bytes + place_bytes, native->args, native->size);
    return true;
}

bool adopt_svm_free(struct opencl_command *command)
{
    struct command_svm *svm = &command->u.svm;

    if (!own_blob(command, svm->pointers, svm->n * sizeof(void *)))
        return false;
    svm->pointers = command->owned;
    return true;
}

bool adopt_svm_migrate(struct opencl_command *command)
{
    struct command_svm *svm = &command->u.svm;
    char *at = malloc(svm->n * (sizeof *svm->pointers + sizeof *svm->sizes) + 1);

    command->owned = at;
    if (!at)
        return false;
    memcpy(at, svm->pointers, svm->n * sizeof *svm->pointers);
    svm->pointers = (void **)(void *)at;
    if (svm->sizes)
        svm->sizes = memcpy(at + svm->n * sizeof *svm->pointers, svm->sizes, svm->n * sizeof *svm->sizes);
    return true;
}

bool adopt_migrate(struct opencl_command *command)
{
    if (!own_blob(command, command->u.migrate.mems, command->u.migrate.n * sizeof(cl_mem)))
        return false;
    command->u.migrate.mems = command->owned;
    return true;
}

bool adopt_launch(struct opencl_command *command)
{
    struct opencl_launch *launch = &command->u.launch;
    const struct kernel_record *kernel = launch->kernel;

    launch->args = calloc(kernel->n_args + KERNEL_EXEC_INFOS, sizeof *launch->args);
    if (!launch->args)
        return false;
    launch->n_args = kernel->n_args;
    for (cl_uint i = 0; i < kernel->n_args + KERNEL_EXEC_INFOS; i++)
        if (!arg_value_copy(&launch->args[i], &kernel->args[i]))
            return false;
    return true;
}

/* --- memory objects --- */

static bool count_use(const struct mem_use *use, void *data)
{
    cl_uint *n = data;

    (void)use;
    (*n)++;
    return true;
}

static bool keep_use(const struct mem_use *use, void *data)
{
    struct opencl_command *command = data;
    struct mem_record *record = use->handle ? mem_find(use->handle) : NULL;

    if (!use->handle || (use->guessed && !record) ||
        front.target.clRetainMemObject(use->handle) != CL_SUCCESS) {
        if (record)
            mem_unref(record);
        return true;
    }
    if (record)
        mem_hold(record);
    command->records[command->n_mems] = record;
    command->mems[command->n_mems++] = use->handle;
    return true;
}

static bool keep_mems(struct opencl_command *command)
{
    cl_uint room = 0;

    (void)kind_uses(command, NULL, count_use, &room);
    command->mems = calloc(room + 1, sizeof *command->mems + sizeof *command->records);
    if (!command->mems)
        return false;
    command->records = (struct mem_record **)(void *)(command->mems + room + 1);
    (void)kind_uses(command, NULL, keep_use, command);
    return true;
}

/* The expected time in nanoseconds; for an unknown launch, ENGINE_ALONE. */
static int64_t predict(const struct opencl_command *draft)
{
    const struct command *base = &draft->base;
    int64_t predicted;

    if (!kind_of(draft)->launch)
        return engine_predict_copy(&base->queue->device->engines[base->engine], base->bytes);
    predicted = base->meter ? meter_predict(base->meter, base->items) : -1;
    return predicted < 0 ? ENGINE_ALONE : predicted;
}

void command_prepare(struct opencl_command *draft)
{
    const struct kind *kind = kind_of(draft);
    struct command *base = &draft->base;

    base->queue = &draft->queue->base;
    base->engine = kind->engine;
    command_resolve(base);
    base->leased = kind->leased;
    base->barrier = kind->barrier;
    base->next_at_end = kind->next_at_end;
    base->calls_program = kind->calls_program;
    base->meter = kind->cut_by_time ? &draft->u.launch.kernel->meter : NULL;
    base->items = kind->launch ? launch_items(&draft->u.launch) : 0;
    base->bytes = kind->bytes ? kind->bytes(draft) : 0;
    base->predicted = predict(draft);
    draft->type = draft->type ? draft->type : kind->type;
    draft->context = draft->queue->context;
}

struct opencl_command *command_adopt(const struct opencl_command *draft)
{
    struct opencl_command *command = malloc(sizeof *command);
    const struct kind *kind = kind_of(draft);

    if (!command)
        return NULL;
    *command = *draft;
    command_init(&command->base);
    command->owned = NULL;
    command->landing = NULL;
    command->n_landing = 0;
    command->mems = NULL;
    command->n_mems = 0;
    command->handle = NULL;
    atomic_init(&command->app_refs, 0);
    atomic_init(&command->record_holds, 0);
    if (command->queue) {
        object_ref(&command->queue->object);
        front.target.clRetainCommandQueue(command->queue->handle);
    }
    if (kind->launch) {
        command->u.launch.args = NULL;
        command->u.launch.n_args = 0;
        object_ref(&command->u.launch.kernel->object);
        front.target.clRetainKernel(
            /* its program is asked for when the launch is issued */
            command->u.launch.kernel->handle);
    }
    if ((kind->adopt && !kind->adopt(command)) || !keep_mems(command)) {
        command_unref(&command->base);
        return NULL;
    }
    return command;
}

/* --- the end --- */

static void release_mem(struct command_callback *base)
{
    struct event_callback *callback = (struct event_callback *)(void *)base;

    front.target.clReleaseMemObject(callback->data);
    worker_came_back();
    free(callback);
}

/*
 * Removes the memory objects that the program has released. Releasing them here may run its
 * destructor callbacks. These may need a lock of a thread that waits for the command.
 */
static struct command_callback *take_abandoned(struct opencl_command *command)
{
    struct command_callback *list = NULL;
    struct event_callback *callback;

    for (cl_uint i = 0; i < command->n_mems; i++) {
        struct mem_record *record = command->records[i];
        if (!record || atomic_load(&record->object.app_refs) || !(callback = calloc(1, sizeof *callback)))
            continue;
        callback->base = (struct command_callback){.next = list, .run = release_mem};
        callback->data = command->mems[i];
        list = &callback->base;
        mem_let_go(record);
        mem_unref(record);
        command->records[i] = NULL;
        command->mems[i] = NULL;
    }
    return list;
}

/* Releases what is needed only until the command has run: arguments, memory objects. */
static void let_go(struct opencl_command *command)
{
    for (cl_uint i = 0; i < command->n_mems; i++) {
        if (command->records[i]) {
            mem_let_go(command->records[i]);
            mem_unref(command->records[i]);
        }
        if (command->mems[i])
            front.target.clReleaseMemObject(command->mems[i]);
    }
    command->n_mems = 0;
    if (kind_of(command)->launch && command->u.launch.kernel) {
        for (cl_uint i = 0; command->u.launch.args && i < command->u.launch.n_args + KERNEL_EXEC_INFOS; i++)
            arg_value_done(&command->u.launch.args[i]);
        free(command->u.launch.args);
        command->u.launch.args = NULL;
        command->u.launch.n_args = 0;
        front.target.clReleaseKernel(command->u.launch.kernel->handle);
        kernel_unref(command->u.launch.kernel);
        command->u.launch.kernel = NULL;
        command->base.meter = NULL;
    }
}

struct command_callback *command_ending(struct command *base)
{
    struct opencl_command *command = opencl_command_of(base);
    struct command_callback *abandoned = take_abandoned(command);

    if (kind_of(command)->over)
        kind_of(command)->over(command);
    let_go(command);
    return abandoned;
}

void command_free(struct command *base)
{
    struct opencl_command *command = opencl_command_of(base);

    let_go(command);
    free(command->mems);
    free(command->owned);
    if (command->queue) {
        front.target.clReleaseCommandQueue(command->queue->handle);
        queue_unref(command->queue);
    }
    free(command);
}

/* --- events --- */

void command_hold_record(struct opencl_command *command)
{
    atomic_fetch_add(&command->record_holds, 1);
}

void command_drop_record(struct opencl_command *command)
{
    if (atomic_fetch_sub(&command->record_holds, 1) == 1 &&
        handle_table_remove(&front.events, command->handle))
        command_unref(&command->base);
}

void command_submit(struct opencl_command *command, cl_uint n_waits, const cl_event *waits)
{
    command->base.all_before = n_waits == 0 && kind_of(command)->follows_all;
    graph_open(&command->base);
    for (cl_uint i = 0; i < n_waits; i++) {
        struct opencl_command *other = handle_table_find(&front.events, waits[i]);

        if (other) {
            graph_wait_command(&command->base, &other->base, EDGE_LISTED);
            command_unref(&other->base);
        } else {
            graph_wait_mark(&command->base, mark_of(waits[i]));
        }
    }
    graph_close(&command->base);
}

static void run_callback(struct command_callback *base)
{
    struct event_callback *callback = (struct event_callback *)(void *)base;
    struct opencl_command *command = callback->command;

    callback->run(command->handle, base->status, callback->data);
    worker_came_back();
    /* in this order: a handle that the driver has freed may already be another event's */
    command_drop_record(command);
    front.target.clReleaseEvent(command->handle);
    command_unref(&command->base);
    free(callback);
}

bool command_callback(struct opencl_command *command, cl_int at,
                      void(CL_CALLBACK *run)(cl_event, cl_int, void *), void *data)
{
    struct event_callback *callback = malloc(sizeof *callback);

    if (!callback)
        return false;
    *callback = (struct event_callback){
        .base = {.at = at, .run = run_callback}, .command = command, .run = run, .data = data};
    command_ref(&command->base);
    command_hold_record(command);
    front.target.clRetainEvent(command->handle);
    graph_callback(&command->base, &callback->base);
    return true;
}
