#include "engine/policy.h"

#include "engine/runtime.h"

void policy_resolve(struct policy *ret_policy)
{
    runtime_policy(ret_policy);
}

bool policy_slicing(void)
{
    struct policy policy;

    policy_resolve(&policy);
    return policy.slicing;
}

bool policy_chunking(void)
{
    struct policy policy;

    policy_resolve(&policy);
    return policy.chunking;
}

bool policy_exact(void)
{
    return atomic_load_explicit(&runtime.plan.exact, memory_order_relaxed);
}

int64_t policy_chunk(bool out)
{
    return atomic_load_explicit(out ? &runtime.plan.chunk_out : &runtime.plan.chunk_in, memory_order_relaxed);
}

bool policy_saves_state(void)
{
    return atomic_load_explicit(&runtime.plan.saves_state, memory_order_relaxed);
}

bool policy_peer_copies(void)
{
    return atomic_load_explicit(&runtime.plan.peer_copies, memory_order_relaxed);
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
