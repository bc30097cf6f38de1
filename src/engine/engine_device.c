#include "engine/engine_device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/lease.h"
#include "engine/runtime.h"

/* Under devices_lock, while readers walk the list. */
static void link_device(struct engine_device *device)
{
    device->next = atomic_load(&runtime.devices);
    atomic_store(&runtime.devices, device);
}

/* Under devices_lock: the device of that name which has engines of its own, or NULL. */
static struct engine_device *find_device(const char *name)
{
    struct engine_device *device = engine_devices();

    while (device && (device->engines != device->own || strcmp(device->name, name) != 0))
        device = device->next;
    return device;
}

void engine_device_init(struct engine_device *device, const struct driver_ops *ops, const char *name,
                        struct engine_device *whole)
{
    struct session *session = runtime_session();

    device->ops = ops;
    device_clock_init(&device->clock);
    pthread_mutex_lock(&runtime.devices_lock);
    if (!whole) {
        (void)snprintf(device->name, sizeof device->name, "%s", name);
        whole = find_device(name);
    }
    device->engines = whole ? whole->engines : device->own;
    for (int kind = 0; !whole && kind < ENGINE_N; kind++) {
        struct device_engine *engine = &device->own[kind];

        engine_init(engine, device, (enum engine_kind)kind);
        engine->lease = NULL;
        if (session)
            (void)lease_open(session, name, engine->kind, &engine->lease);
    }
    link_device(device);
    pthread_mutex_unlock(&runtime.devices_lock);
}

/* --- devices that batond does not manage --- */

/* lease_refusal() of its engines; -EMFILE: the session has no lease for one of them. */
static int refusal_of(const struct engine_device *device, bool wait)
{
    int reason = 0;

    for (int kind = 0; kind < ENGINE_N && reason == 0; kind++) {
        struct lease *lease = device->engines[kind].lease;

        reason = lease ? lease_refusal(lease, wait) : -EMFILE;
    }
    return reason;
}

/* A part of a device has the name of the whole. */
static const char *whole_name(const struct engine_device *device)
{
    return device->engines->device->name;
}

static const char *words_for(int reason)
{
    switch (reason) {
    case -ENOSPC:
        return "there are more GPUs than `devices:` says";
    case -ENODEV:
        return "it was not found, and `declare:` is false";
    case -EMFILE:
        return "a process has at most 32 engines";
    default:
        return "batond does not answer";
    }
}

/* Stores the notice once. False: it is stored already. */
static bool tell(enum notice notice, struct engine_device *device, int reason)
{
    char detail[DEVICE_NAME_SIZE + 64];

    if (atomic_exchange(&device->told[notice], true))
        return false;
    (void)snprintf(detail, sizeof detail, "%s: %s", whole_name(device), words_for(reason));
    (void)session_notice(runtime_session(), notice, "", detail);
    return true;
}

bool engine_device_barred(const struct engine_device *device)
{
    struct session *session = runtime_session();

    return session && session_has_tokens(session) && refusal_of(device, true) != 0;
}

bool engine_device_admit(struct engine_device *device)
{
    struct session *session = runtime_session();
    int reason = session && session_has_tokens(session) ? refusal_of(device, true) : 0;

    if (reason == 0)
        return true;
    if (tell(NOTICE_REFUSED, device, reason))
        (void)fprintf(stderr,
                      "baton: this program may not open the GPU %s, since batond does not manage it: %s "
                      "(docs/daemon.md)\n",
                      whole_name(device), words_for(reason));
    return false;
}

void engine_device_use(struct engine_device *device)
{
    struct session *session = runtime_session();
    int reason;

    atomic_store(&device->used, true); /* before the question: engine_device_on_refused() has later answers */
    reason = session ? refusal_of(device, false) : 0;
    if (reason)
        (void)tell(NOTICE_UNMANAGED, device, reason);
}

void engine_device_on_refused(void *user, struct lease *lease)
{
    (void)user;
    for (struct engine_device *device = engine_devices(); device; device = device->next)
        for (int kind = 0; kind < ENGINE_N; kind++)
            if (device->engines[kind].lease == lease && atomic_load(&device->used))
                (void)tell(NOTICE_UNMANAGED, device, lease_refusal(lease, false));
}

void engine_device_on_cores(struct engine_device *device)
{
    for (int kind = 0; kind < ENGINE_N; kind++)
        if (device->engines[kind].lease)
            lease_on_cores(device->engines[kind].lease);
}

struct engine_device *engine_devices(void)
{
    return atomic_load(&runtime.devices);
}
