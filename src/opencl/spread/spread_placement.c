#include "opencl/spread/spread_placement.h"

#include "client/place.h"
#include "engine/inferred_job.h"
#include "engine/policy.h"
#include "opencl/layer.h"

/* Once per plan. Bounds rest on the answer, so a busy daemon gets this much time. */
#define LIST_PATIENCE     (2 * NSEC_PER_SEC)
#define REQUIRED_PATIENCE (30 * NSEC_PER_SEC) /* of a program that does not run without a daemon */

/* The GPUs that the plan lists; 0: it lists none, or the command line overrides it. */
static uint64_t plan_list(void)
{
    uint64_t set = 0;
    unsigned gpus = policy_gpus(&set);

    return gpus > 0 && runtime.settings.placement == SETTING_PLACEMENT_UNSET ? set : 0;
}

static bool is_at_home(const struct opencl_device *home, unsigned plan)
{
    return atomic_load_explicit(&home->planned_home, memory_order_acquire) == plan;
}

bool placement_on(const struct opencl_device *home)
{
    bool used = false;
    unsigned gpus, plan;
    uint64_t set;

    if (runtime.settings.placement != SETTING_PLACEMENT_UNSET)
        return runtime.settings.placement != SETTING_PLACEMENT_FIXED;
    gpus = policy_gpus(&set);
    if (gpus == 0 || set == 0)
        return gpus > 0;
    plan = policy_plan_number();
    if (home)
        return !is_at_home(home, plan);
    for (const struct opencl_device *device = device_records(); device; device = device->next) {
        if (!atomic_load_explicit(&device->has_queues, memory_order_relaxed))
            continue;
        used = true;
        if (!is_at_home(device, plan))
            return true;
    }
    return !used;
}

/* One lease for home and each helper. False: there is none for some device. */
static bool find_leases(struct opencl_device *home, struct further_device *const helpers[], unsigned n,
                        struct lease *ret_leases[FURTHER_MAX + 1])
{
    ret_leases[0] = home->base.engines[ENGINE_EXECUTION].lease;
    for (unsigned i = 0; i < n; i++)
        ret_leases[i + 1] = helpers[i]->record->base.engines[ENGINE_EXECUTION].lease;
    for (unsigned i = 0; i <= n; i++)
        if (!ret_leases[i])
            return false;
    return true;
}

/*
 * Which devices does the plan list? Its numbers are the daemon's, so the daemon is asked. False:
 * the daemon named fewer devices, or did not answer; the next job asks again.
 */
static bool find_listed(struct opencl_device *home, uint64_t set)
{
    struct further_device *helpers[FURTHER_MAX];
    struct lease *leases[FURTHER_MAX + 1];
    struct place_request request = {.gpus = (unsigned)__builtin_popcountll(set),
                                    .home = 0,
                                    .patience =
                                        runtime.settings.require_daemon ? REQUIRED_PATIENCE : LIST_PATIENCE};
    struct session *session = runtime_session();
    unsigned plan = policy_plan_number(), n;
    uint32_t chosen = 0;

    if (front.spread.placement.listed.home == home && front.spread.placement.listed.plan == plan)
        return true;
    if (front.spread.placement.listed.asked_job == inferred_job_number())
        return false;
    front.spread.placement.listed.asked_job = inferred_job_number();
    n = device_helpers(home, FURTHER_MAX, 0, helpers);
    if (!session || !find_leases(home, helpers, n, leases) ||
        place_choose(session, leases, n + 1, &request, &chosen) != 0)
        return false;
    atomic_store(&front.spread.placement.announced, true);
    front.spread.placement.listed.asked_job = 0;
    front.spread.placement.listed.home = home;
    front.spread.placement.listed.plan = plan;
    front.spread.placement.listed.team = (struct placement_team){.home = chosen & 1};
    for (unsigned i = 0; i < n; i++)
        if (chosen >> (i + 1) & 1)
            front.spread.placement.listed.team.helpers[front.spread.placement.listed.team.n++] = helpers[i];
    if (front.spread.placement.listed.team.home)
        atomic_store_explicit(&home->planned_home, plan, memory_order_release);
    return true;
}

void placement_team(struct opencl_device *home, unsigned devices, uint64_t set,
                    struct placement_team *ret_team)
{
    *ret_team = (struct placement_team){.home = true};
    if (set && plan_list()) {
        if (!find_listed(home, set))
            return;
        *ret_team = front.spread.placement.listed.team;
        while (ret_team->n + ret_team->home > devices && ret_team->n > 0)
            ret_team->n--;
        return;
    }
    ret_team->n = device_helpers(home, devices - 1, 0, ret_team->helpers);
}

static int ask_daemon(struct opencl_device *home, struct further_device *const helpers[], unsigned n)
{
    struct lease *leases[FURTHER_MAX + 1];
    struct place_request request = {.gpus = 1, .home = 0, .bytes = front.spread.placement.job_bytes};
    struct session *session = runtime_session();
    uint32_t chosen = 1;

    for (unsigned i = 0; i < n; i++)
        if (helpers[i]->place == front.spread.placement.job_place)
            request.home = i + 1;
    if (!find_leases(home, helpers, n, leases))
        return PLACE_HOME;
    if (!session || place_choose(session, leases, n + 1, &request, &chosen) != 0)
        return front.spread.placement.job_place;
    atomic_store(&front.spread.placement.announced, true);
    for (unsigned i = 0; i < n; i++)
        if (chosen >> (i + 1) & 1)
            return helpers[i]->place;
    return PLACE_HOME;
}

/*
 * The device with the data if this process holds it already; otherwise the daemon chooses a free
 * one.
 */
static int find_free(struct opencl_device *home, struct further_device *const helpers[], unsigned n)
{
    const struct opencl_device *there = front.spread.placement.job_place == PLACE_HOME
                                            ? home
                                            : device_at(front.spread.placement.job_place)->record;

    if (engine_try_stay(&there->base.engines[ENGINE_EXECUTION])) {
        engine_exit(&there->base.engines[ENGINE_EXECUTION], ENGINE_EXECUTION,
                    ENGINE_STAY); /* this process keeps the engine, unused, until the launch takes it */
        return front.spread.placement.job_place;
    }
    return ask_daemon(home, helpers, n);
}

bool placement_any(void)
{
    struct session *session;

    if (runtime.settings.placement != SETTING_PLACEMENT_ANY)
        return false;
    session = runtime_session();
    return !session || !session_has_tokens(session);
}

unsigned placement_helpers(const struct opencl_device *home, struct further_device *ret_helpers[FURTHER_MAX])
{
    return device_helpers(home, FURTHER_MAX, 0, ret_helpers);
}

struct further_device *placement_device(struct opencl_device *home)
{
    struct further_device *helpers[FURTHER_MAX];
    unsigned n, number = inferred_job_number();
    uint64_t set = plan_list();
    struct further_device *own;

    if (set) {
        if (find_listed(home, set))
            front.spread.placement.job_place =
                front.spread.placement.listed.team.home || !front.spread.placement.listed.team.n
                    ? PLACE_HOME
                    : front.spread.placement.listed.team.helpers[0]->place;
        return front.spread.placement.job_place == PLACE_HOME ? NULL
                                                              : device_at(front.spread.placement.job_place);
    }
    n = placement_helpers(home, helpers);
    if (n == 0)
        return NULL;
    if (placement_any()) {
        front.spread.placement.job_place = find_free(home, helpers, n);
    } else if (number != front.spread.placement.job_seen) {
        front.spread.placement.job_seen = number;
        front.spread.placement.job_place = ask_daemon(home, helpers, n);
        front.spread.placement.job_bytes = 0;
    }
    if (front.spread.placement.job_place == PLACE_HOME && (own = device_as_peer(home)))
        front.spread.placement.job_place = own->place;
    return front.spread.placement.job_place == PLACE_HOME ? NULL
                                                          : device_at(front.spread.placement.job_place);
}

int placement_last(void)
{
    return front.spread.placement.job_place;
}

void placement_job_over(void)
{
    struct session *session;

    if (!atomic_exchange(&front.spread.placement.announced, false))
        return;
    session = runtime_session();
    if (session)
        place_end(session);
}

void spread_placement_moved(const struct opencl_device *home, int from, int to, size_t bytes, baton_nsec took)
{
    struct session *session = runtime_session();
    const struct opencl_device *there[2];

    front.spread.placement.job_bytes += bytes;
    if (!session || !placement_on(home) || to == PLACE_HOST)
        return;
    there[0] = from == PLACE_HOST ? NULL : from == PLACE_HOME ? home : device_at(from)->record;
    there[1] = to == PLACE_HOME ? home : device_at(to)->record;
    if (there[1]->base.engines[ENGINE_EXECUTION].lease)
        place_moved(session, there[0] ? there[0]->base.engines[ENGINE_EXECUTION].lease : NULL,
                    there[1]->base.engines[ENGINE_EXECUTION].lease, bytes, took);
}
