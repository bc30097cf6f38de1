/* Commands of the graph: made from drafts with all that they need, kept, let go. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "opencl/graph/graph.h"
#include "opencl/graph/widening.h"
#include "opencl/layer.h"
#include "opencl/objects.h"

static bool own_blob(struct command *command, const void *bytes, size_t size)
{
    command->owned = calloc(1, size ? size : 1);
    if (command->owned && size)
        memcpy(command->owned, bytes, size);
    return command->owned != NULL;
}

/* Copies what the draft borrowed from the caller: the caller may reuse it as soon as the call returns. */
static bool adopt_arrays(struct command *command)
{
    struct command_native *native = &command->u.native;
    struct command_svm *svm = &command->u.svm;
    size_t mem_bytes, place_bytes;
    char *at;

    switch (command->kind) {
    case COMMAND_NATIVE:
        mem_bytes = native->n * sizeof(cl_mem);
        place_bytes = native->n * sizeof(void *);
        command->owned = at = malloc(mem_bytes + place_bytes + native->size + 1);
        if (!at)
            return false;
        if (native->n) {
            memcpy(at, native->mems, mem_bytes);
            for (cl_uint i = 0; i < native->n; i++) {
                /* Places point into the arguments; they move with them. */
                const char *place = (const char *)native->places[i] - (const char *)native->args + at +
                                    mem_bytes + place_bytes;
                memcpy(at + mem_bytes + i * sizeof place, &place, sizeof place);
            }
            native->mems = (const cl_mem *)(void *)at;
            native->places = (const void **)(void *)(at + mem_bytes);
        }
        if (native->size)
            native->args = memcpy(at + mem_bytes + place_bytes, native->args, native->size);
        return true;
    case COMMAND_SVM_FREE:
        if (!own_blob(command, svm->pointers, svm->n * sizeof(void *)))
            return false;
        svm->pointers = command->owned;
        return true;
    case COMMAND_SVM_MIGRATE:
        command->owned = at = malloc(svm->n * (sizeof *svm->pointers + sizeof *svm->sizes) + 1);
        if (!at)
            return false;
        memcpy(at, svm->pointers, svm->n * sizeof *svm->pointers);
        svm->pointers = (void **)(void *)at;
        if (svm->sizes)
            svm->sizes = memcpy(at + svm->n * sizeof *svm->pointers, svm->sizes, svm->n * sizeof *svm->sizes);
        return true;
    case COMMAND_MIGRATE:
        if (!own_blob(command, command->u.migrate.mems, command->u.migrate.n * sizeof(cl_mem)))
            return false;
        command->u.migrate.mems = command->owned;
        return true;
    default:
        return true;
    }
}

static bool adopt_args(struct command *command)
{
    struct command_launch *launch = &command->u.launch;
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

/* The handle inside an argument, if the bytes are those of a memory object that we know. */
static cl_mem mem_in(const struct arg_value *arg)
{
    struct mem_record *record;
    cl_mem mem;

    if (arg->kind != ARG_BYTES || arg->size != sizeof mem)
        return NULL;
    memcpy(&mem, arg->value.small, sizeof mem);
    record = mem_find(mem);
    if (!record)
        return NULL;
    mem_unref(record);
    return mem;
}

static void keep_mem(struct command *command, cl_mem mem)
{
    struct mem_record *record;

    if (!mem || target.clRetainMemObject(mem) != CL_SUCCESS)
        return;
    record = mem_find(mem);
    if (record)
        mem_hold(record);
    command->records[command->n_mems] = record;
    command->mems[command->n_mems++] = mem;
}

static bool keep_mems(struct command *command)
{
    const struct command_transfer *transfer = &command->u.transfer;
    cl_uint room = command->kind == COMMAND_KERNEL || command->kind == COMMAND_TASK ? command->u.launch.n_args
                   : command->kind == COMMAND_NATIVE                                ? command->u.native.n
                   : command->kind == COMMAND_MIGRATE                               ? command->u.migrate.n
                                                                                    : 2;

    command->mems = calloc(room + 1, sizeof *command->mems + sizeof *command->records);
    if (!command->mems)
        return false;
    command->records = (struct mem_record **)(void *)(command->mems + room + 1);
    switch (command->kind) {
    case COMMAND_KERNEL:
    case COMMAND_TASK:
        for (cl_uint i = 0; i < command->u.launch.n_args; i++)
            keep_mem(command, mem_in(&command->u.launch.args[i]));
        break;
    case COMMAND_NATIVE:
        for (cl_uint i = 0; i < command->u.native.n; i++)
            keep_mem(command, command->u.native.mems[i]);
        break;
    case COMMAND_MIGRATE:
        for (cl_uint i = 0; i < command->u.migrate.n; i++)
            keep_mem(command, command->u.migrate.mems[i]);
        break;
    case COMMAND_MAP:
    case COMMAND_UNMAP:
        keep_mem(command, command->u.map.mem);
        break;
    default:
        if (command->kind >= COMMAND_READ && command->kind <= COMMAND_FILL_IMAGE) {
            keep_mem(command, transfer->a);
            keep_mem(command, transfer->b);
        }
    }
    return true;
}

struct command *graph_adopt(const struct command *draft)
{
    struct command *command = malloc(sizeof *command);
    bool launch = draft->kind == COMMAND_KERNEL || draft->kind == COMMAND_TASK;

    if (!command)
        return NULL;
    *command = *draft;
    command->owned = NULL;
    command->mems = NULL;
    command->n_mems = 0;
    atomic_init(&command->refs, 1);
    list_init(&command->in_queue);
    list_init(&command->in_ready);
    command->dependents = NULL;
    command->callbacks = NULL;
    command->handle = NULL;
    atomic_init(&command->app_refs, 0);
    atomic_init(&command->record_holds, 0);
    command->first_event = command->driver_event = NULL;
    command->n_waiting = 0;
    command->piece_status = CL_COMPLETE;
    command->begun = command->ended = command->resumed = command->reported = 0;
    command->run_pieces = 0;
    command->failed_wait = command->issued = command->timed = false;
    command->status = command->kind == COMMAND_USER ? CL_SUBMITTED : CL_QUEUED;
    command->queued_at = clock_now();
    if (command->queue) {
        atomic_fetch_add(&command->queue->refs, 1);
        target.clRetainCommandQueue(command->queue->handle);
    }
    if (launch) {
        command->u.launch.args = NULL;
        command->u.launch.n_args = 0;
        atomic_fetch_add(&command->u.launch.kernel->refs, 1);
        target.clRetainKernel(
            command->u.launch.kernel->handle); /* its program is asked for when the launch is issued */
    }
    if (!adopt_arrays(command) || (launch && !adopt_args(command)) || !keep_mems(command)) {
        graph_unref(command);
        return NULL;
    }
    return command;
}

void graph_ref(struct command *command)
{
    atomic_fetch_add_explicit(&command->refs, 1, memory_order_relaxed);
}

static void CL_CALLBACK release_mem(cl_event unused, cl_int status, void *mem)
{
    (void)unused;
    (void)status;
    target.clReleaseMemObject(mem);
}

struct command_callback *graph_take_abandoned(struct command *command)
{
    struct command_callback *list = NULL, *callback;

    for (cl_uint i = 0; i < command->n_mems; i++) {
        struct mem_record *record = command->records[i];
        if (!record || atomic_load(&record->app_refs) || !(callback = calloc(1, sizeof *callback)))
            continue;
        *callback = (struct command_callback){.next = list, .run = release_mem, .data = command->mems[i]};
        list = callback;
        mem_let_go(record);
        mem_unref(record);
        command->records[i] = NULL;
        command->mems[i] = NULL;
    }
    return list;
}

void graph_let_go(struct command *command)
{
    bool launch = command->kind == COMMAND_KERNEL || command->kind == COMMAND_TASK;

    for (cl_uint i = 0; i < command->n_mems; i++) {
        if (command->records[i]) {
            mem_let_go(command->records[i]);
            mem_unref(command->records[i]);
        }
        if (command->mems[i])
            target.clReleaseMemObject(command->mems[i]);
    }
    command->n_mems = 0;
    if (launch && command->u.launch.kernel) {
        for (cl_uint i = 0; command->u.launch.args && i < command->u.launch.n_args + KERNEL_EXEC_INFOS; i++)
            arg_value_done(&command->u.launch.args[i]);
        free(command->u.launch.args);
        command->u.launch.args = NULL;
        command->u.launch.n_args = 0;
        target.clReleaseKernel(command->u.launch.kernel->handle);
        kernel_unref(command->u.launch.kernel);
        command->u.launch.kernel = NULL;
    }
    if (command->first_event)
        target.clReleaseEvent(command->first_event);
    if (command->driver_event) {
        if (command->first_event) /* of a piece */
            widening_over(command->driver_event);
        target.clReleaseEvent(command->driver_event);
    }
    command->first_event = command->driver_event = NULL;
}

void graph_unref(struct command *command)
{
    if (atomic_fetch_sub_explicit(&command->refs, 1, memory_order_acq_rel) != 1)
        return;
    graph_let_go(command);
    while (command->dependents) { /* only when never completed */
        struct command_edge *next = command->dependents->next;
        graph_unref(command->dependents->dependent);
        free(command->dependents);
        command->dependents = next;
    }
    free(command->mems);
    free(command->owned);
    if (command->queue) {
        target.clReleaseCommandQueue(command->queue->handle);
        queue_unref(command->queue);
    }
    free(command);
}
