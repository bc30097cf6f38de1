#include "engine/policy.h"

#include "engine/runtime.h"

/* automatic: is it done if no number was given? */
static bool cutting(int64_t setting, bool automatic)
{
    return setting == SETTING_AUTO ? automatic : setting > 0;
}

void policy_resolve(struct policy *ret_policy)
{
    struct session *session = runtime_session();
    bool online = session && session_online(session);
    bool automatic = online && atomic_load_explicit(&runtime.plan.slicing, memory_order_relaxed);

    *ret_policy = (struct policy){.session = session,
                                  .online = online,
                                  .slicing = cutting(runtime.settings.slice, automatic),
                                  .chunking = cutting(runtime.settings.chunk, automatic)};
}

void policy_count(const struct policy *policy, enum session_counter counter, uint64_t n)
{
    if (policy->session)
        session_count(policy->session, counter, n);
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

bool policy_peer_copies(void)
{
    return atomic_load_explicit(&runtime.plan.peer_copies, memory_order_relaxed);
}

bool policy_exact(void)
{
    return atomic_load_explicit(&runtime.plan.exact, memory_order_relaxed);
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
