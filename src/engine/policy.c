#include "engine/policy.h"

#include "engine/runtime.h"

static bool cutting(int64_t setting)
{
    struct session *known;

    if (setting != SETTING_AUTO)
        return setting > 0;
    known = runtime_session();
    return known && session_online(known) &&
           atomic_load_explicit(&runtime.plan.slicing, memory_order_relaxed);
}

bool policy_slicing(void)
{
    return cutting(runtime.settings.slice);
}

bool policy_chunking(void)
{
    return cutting(runtime.settings.chunk);
}

bool policy_tasked(void)
{
    return runtime.settings.task[0] != 0;
}

baton_nsec policy_piece(void)
{
    return atomic_load_explicit(&runtime.plan.piece, memory_order_relaxed);
}

int64_t policy_chunk(bool out)
{
    return atomic_load_explicit(out ? &runtime.plan.chunk_out : &runtime.plan.chunk_in, memory_order_relaxed);
}

bool policy_saves_state(void)
{
    return atomic_load_explicit(&runtime.plan.saves_state, memory_order_relaxed);
}

unsigned policy_gpus(uint64_t *ret_set)
{
    *ret_set = atomic_load_explicit(&runtime.plan.gpu_set, memory_order_relaxed);
    return atomic_load_explicit(&runtime.plan.gpus, memory_order_relaxed);
}

unsigned policy_plan_number(void)
{
    return atomic_load_explicit(&runtime.plan.number, memory_order_acquire);
}
