#include "engine/engine_device.h"

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

/* The engine's lease; without one its work is under no rule, which batond must know. */
static void open_lease(struct session *session, const char *name, struct device_engine *engine)
{
    engine->lease = NULL;
    if (session && lease_open(session, name, engine->kind, &engine->lease) != 0)
        (void)session_notice(session, NOTICE_UNMANAGED, "", name);
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
        open_lease(session, name, engine);
    }
    link_device(device);
    pthread_mutex_unlock(&runtime.devices_lock);
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
