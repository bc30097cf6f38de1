#include "cuda_cpu/driver/action.h"

#include <stdlib.h>
#include <string.h>

#include "cuda_cpu/driver/event.h"
#include "cuda_cpu/driver/event_page.h"
#include "cuda_cpu/driver/memory.h"
#include "cuda_cpu/driver/module.h"
#include "cuda_cpu/driver/scripted.h"

/* --- what each kind does --- */

/*
 * Another context may have freed the memory since the call that named it, or it was freed before a
 * graph was launched again.
 */
static uint64_t bytes_of(const struct action_place *place, const struct action_copy *copy)
{
    return (copy->depth - 1) * place->slice_pitch + (copy->height - 1) * place->row_pitch + copy->width;
}

static CUresult copy_now(const struct action_copy *copy)
{
    if (!memory_covers(copy->from.address, bytes_of(&copy->from, copy)) ||
        !memory_takes(copy->to.address, bytes_of(&copy->to, copy)))
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    for (uint64_t z = 0; z < copy->depth; z++)
        for (uint64_t y = 0; y < copy->height; y++) {
            const char *from = (const char *)(uintptr_t)(copy->from.address + z * copy->from.slice_pitch +
                                                         y * copy->from.row_pitch);
            char *to =
                (char *)(uintptr_t)(copy->to.address + z * copy->to.slice_pitch + y * copy->to.row_pitch);

            memmove(to, from, copy->width);
        }
    return CUDA_SUCCESS;
}

static CUresult run_copy(struct work *work)
{
    CUresult code;

    memory_begin_use(MEMORY_COPIES);
    code = copy_now(&((struct action *)work->data)->u.copy);
    memory_end_use(MEMORY_COPIES);
    if (work->engine == WORK_COPY_IN || work->engine == WORK_COPY_OUT)
        scripted_spend(work->engine == WORK_COPY_IN ? SCRIPTED_IN : SCRIPTED_OUT, 1, work->begin_at);
    return code;
}

static void set_row(const struct action_set *set, char *row)
{
    uint16_t value16 = (uint16_t)set->value;
    uint32_t value32 = set->value;

    if (set->element == 1) {
        memset(row, (int)(set->value & 0xff), set->width);
        return;
    }
    for (uint64_t x = 0; x < set->width; x++)
        memcpy(row + x * set->element, set->element == 2 ? (const void *)&value16 : &value32, set->element);
}

static CUresult run_set(struct work *work)
{
    const struct action_set *set = &((struct action *)work->data)->u.set;
    CUresult code = CUDA_ERROR_ILLEGAL_ADDRESS;

    memory_begin_use(MEMORY_COPIES);
    if (memory_takes(set->address, (set->height - 1) * set->pitch + set->width * set->element)) {
        for (uint64_t y = 0; y < set->height; y++)
            set_row(set, (char *)(uintptr_t)(set->address + y * set->pitch));
        code = CUDA_SUCCESS;
    }
    memory_end_use(MEMORY_COPIES);
    return code;
}

static CUresult run_launch(struct work *work)
{
    const struct action_launch *launch = &((struct action *)work->data)->u.launch;
    CUresult code;

    memory_begin_use(MEMORY_KERNELS);
    code = function_run(launch, work->context);
    memory_end_use(MEMORY_KERNELS);
    scripted_spend(SCRIPTED_BLOCK, (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2],
                   work->begin_at);
    return code;
}

/* As documented, a host function is not called when its context has failed. */
static CUresult run_host(struct work *work)
{
    struct action *action = work->data;

    if (atomic_load(&work->context->error) == CUDA_SUCCESS)
        action->u.host.run(action->u.host.user);
    return CUDA_SUCCESS;
}

/* A callback is called in any case, with the status. */
static CUresult run_callback(struct work *work)
{
    struct action *action = work->data;

    action->u.callback.run(action->u.callback.stream, (CUresult)atomic_load(&work->context->error),
                           action->u.callback.user);
    return CUDA_SUCCESS;
}

static CUresult run_free(struct work *work)
{
    const struct action *action = work->data;
    struct memory_block block;

    if (memory_remove_id(action->u.free.address, action->u.free.id, &block) == 0)
        pool_freed(&block);
    return CUDA_SUCCESS;
}

static CUresult run_write_value(struct work *work)
{
    const struct action_value *value = &((struct action *)work->data)->u.value;
    bool takes;

    memory_begin_use(MEMORY_COPIES);
    takes = memory_takes(value->address, value->wide ? 8 : 4);
    if (takes && value->wide)
        atomic_store((_Atomic uint64_t *)(uintptr_t)value->address, value->value);
    else if (takes)
        atomic_store((_Atomic uint32_t *)(uintptr_t)value->address, (uint32_t)value->value);
    memory_end_use(MEMORY_COPIES);
    return takes ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

/* False: the word's memory has been freed. */
static bool read_value(const struct action_value *value, uint64_t *ret_found)
{
    bool covers;

    memory_begin_use(MEMORY_COPIES);
    covers = memory_covers(value->address, value->wide ? 8 : 4);
    if (covers)
        *ret_found = value->wide ? atomic_load((_Atomic uint64_t *)(uintptr_t)value->address)
                                 : atomic_load((_Atomic uint32_t *)(uintptr_t)value->address);
    memory_end_use(MEMORY_COPIES);
    return covers;
}

static bool is_met(struct work *work)
{
    const struct action_value *value = &((struct action *)work->data)->u.value;
    uint64_t mask = value->wide ? UINT64_MAX : UINT32_MAX, wanted = value->value & mask, found;

    if (!read_value(value, &found)) { /* the word's memory has been freed: the wait is over */
        atomic_store(&work->context->error, CUDA_ERROR_ILLEGAL_ADDRESS);
        return true;
    }
    switch (value->flags & 3) {
    case CU_STREAM_WAIT_VALUE_GEQ: /* cyclic: the difference is not negative */
        return value->wide ? (int64_t)(found - wanted) >= 0
                           : (int32_t)((uint32_t)found - (uint32_t)wanted) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
        return found == wanted;
    case CU_STREAM_WAIT_VALUE_AND:
        return (found & wanted) != 0;
    default:
        return (~(found | wanted) & mask) != 0;
    }
}

enum { LOOKS_BEFORE_DEATH = 256 }; /* looks at a word between two looks for a dead process, which cost more */

static bool is_published(struct work *work)
{
    struct action *action = work->data;
    CUevent event = action->u.page.event;

    return atomic_load(&work->context->ending) ||
           event_page_is_complete(event->page, action->u.page.record,
                                  ++action->u.page.looks % LOOKS_BEFORE_DEATH == 0);
}

static CUresult run_nothing(struct work *work)
{
    (void)work;
    return CUDA_SUCCESS;
}

static void drop(struct work *work)
{
    action_unref(work->data);
    work->data = NULL;
}

static const struct {
    enum work_engine engine;
    struct work_kind kind;
} kinds[] = {
    [ACTION_LAUNCH] = {WORK_EXECUTION, {"launch", run_launch, NULL, drop}},
    [ACTION_COPY] = {WORK_COPY_IN, {"copy", run_copy, NULL, drop}},
    [ACTION_SET] = {WORK_EXECUTION, {"set", run_set, NULL, drop}},
    [ACTION_HOST] = {WORK_HOST, {"host function", run_host, NULL, drop}},
    [ACTION_CALLBACK] = {WORK_HOST, {"callback", run_callback, NULL, drop}},
    [ACTION_EMPTY] = {WORK_NONE, {"join", run_nothing, NULL, drop}},
    [ACTION_RECORD] = {WORK_NONE, {"record", run_nothing, NULL, drop}},
    [ACTION_AWAIT] = {WORK_NONE, {"wait", run_nothing, NULL, drop}},
    [ACTION_FREE] = {WORK_NONE, {"free", run_free, NULL, drop}},
    [ACTION_ALLOCATED] = {WORK_NONE, {"allocation", run_nothing, NULL, drop}},
    [ACTION_FREED] = {WORK_NONE, {"free", run_nothing, NULL, drop}},
    [ACTION_WRITE_VALUE] = {WORK_EXECUTION, {"write value", run_write_value, NULL, drop}},
    [ACTION_WAIT_VALUE] = {WORK_POLL, {"wait value", run_nothing, is_met, drop}},
    [ACTION_AWAIT_PAGE] = {WORK_POLL, {"wait", run_nothing, is_published, drop}},
    [ACTION_PUBLISH] = {WORK_NONE, {"record", run_nothing, NULL, drop}},
};

/* --- lifetime --- */

struct action *action_new(enum action_kind kind)
{
    struct action *action = calloc(1, sizeof *action);

    if (!action)
        return NULL;
    action->refs = 1;
    action->kind = kind;
    action->engine = kinds[kind].engine;
    return action;
}

struct action *action_ref(struct action *action)
{
    atomic_fetch_add_explicit(&action->refs, 1, memory_order_relaxed);
    return action;
}

void action_unref(struct action *action)
{
    if (!action || atomic_fetch_sub(&action->refs, 1) != 1)
        return;
    if (action->kind == ACTION_COPY)
        free(action->u.copy.staged);
    if (action->kind == ACTION_LAUNCH) {
        free(action->u.launch.parameters);
        free(action->u.launch.pointers);
        module_unref(action->u.launch.module);
    }
    if (action->kind == ACTION_RECORD || action->kind == ACTION_AWAIT)
        event_unref(action->u.event.event);
    if (action->kind == ACTION_PUBLISH) /* also when the context is broken: the record is over */
        event_page_complete(action->u.page.event->page, action->u.page.record);
    if (action->kind == ACTION_PUBLISH || action->kind == ACTION_AWAIT_PAGE)
        event_unref(action->u.page.event);
    if (action->kind == ACTION_ALLOCATED)
        memory_end_graph(action->u.memory.address, action->u.memory.id);
    free(action);
}

struct work *action_work(struct action *action, struct work_context *context)
{
    struct work *work = work_new(&kinds[action->kind].kind, action->engine, context, action);

    if (!work)
        action_unref(action);
    return work;
}
