#include "layer/spread/placement.h"

#include "client/place.h"
#include "layer/layer.h"
#include "layer/enqueue/submit.h"

static unsigned job_seen;          /* spread_lock */
static int job_place = PLACE_HOME; /* where its kernels run, and its data is */
static size_t job_bytes;           /* moved in the job so far */
static atomic_bool announced;      /* the daemon counts this job's work */

bool placement_on(void)
{
    uint64_t set;

    if (settings.placement != SETTING_PLACEMENT_UNSET)
        return settings.placement != SETTING_PLACEMENT_FIXED;
    return layer_gpus(&set) > 0 && set == 0;
}

static int ask_daemon(struct device_record *home, struct further_device *const helpers[], unsigned n)
{
    struct lease *leases[FURTHER_MAX + 1] = {home->engines[ENGINE_EXECUTION].lease};
    struct place_request request = {.gpus = 1, .home = 0, .bytes = job_bytes};
    struct session *session = layer_session();
    uint32_t chosen = 1;

    for (unsigned i = 0; i < n; i++) {
        leases[i + 1] = helpers[i]->record->engines[ENGINE_EXECUTION].lease;
        if (helpers[i]->place == job_place)
            request.home = i + 1;
    }
    for (unsigned i = 0; i <= n; i++)
        if (!leases[i])
            return PLACE_HOME;
    if (!session || place_choose(session, leases, n + 1, &request, &chosen) != 0)
        return job_place;
    atomic_store(&announced, true);
    for (unsigned i = 0; i < n; i++)
        if (chosen >> (i + 1) & 1)
            return helpers[i]->place;
    return PLACE_HOME;
}

/* Where the data is, if that device is ours already; else the daemon knows who is free. */
static int find_free(struct device_record *home, struct further_device *const helpers[], unsigned n)
{
    const struct device_record *there = job_place == PLACE_HOME ? home : device_at(job_place)->record;

    if (engine_try_enter(&there->engines[ENGINE_EXECUTION], ENGINE_STAY)) {
        engine_leave(&there->engines[ENGINE_EXECUTION],
                     ENGINE_STAY); /* stays with us, idle, until the launch takes it */
        return job_place;
    }
    return ask_daemon(home, helpers, n);
}

bool placement_any(void)
{
    return settings.placement == SETTING_PLACEMENT_ANY;
}

unsigned placement_helpers(const struct device_record *home, struct further_device *ret_helpers[FURTHER_MAX])
{
    uint64_t set;

    (void)layer_gpus(&set);
    return device_helpers(home, FURTHER_MAX, set, ret_helpers);
}

struct further_device *placement_device(struct device_record *home)
{
    struct further_device *helpers[FURTHER_MAX];
    unsigned n = placement_helpers(home, helpers), number = submit_job_number();

    if (n == 0)
        return NULL;
    if (placement_any()) {
        job_place = find_free(home, helpers, n);
    } else if (number != job_seen) {
        job_seen = number;
        job_place = ask_daemon(home, helpers, n);
        job_bytes = 0;
    }
    return job_place == PLACE_HOME ? NULL : device_at(job_place);
}

void placement_job_over(void)
{
    struct session *session;

    if (!atomic_exchange(&announced, false))
        return;
    session = layer_session();
    if (session)
        place_end(session);
}

void placement_moved(const struct device_record *home, int from, int to, size_t bytes, baton_nsec took)
{
    struct session *session = layer_session();
    const struct device_record *there[2];

    job_bytes += bytes;
    if (!session || !placement_on() || to == PLACE_HOST)
        return;
    there[0] = from == PLACE_HOST ? NULL : from == PLACE_HOME ? home : device_at(from)->record;
    there[1] = to == PLACE_HOME ? home : device_at(to)->record;
    if (there[1]->engines[ENGINE_EXECUTION].lease)
        place_moved(session, there[0] ? there[0]->engines[ENGINE_EXECUTION].lease : NULL,
                    there[1]->engines[ENGINE_EXECUTION].lease, bytes, took);
}
