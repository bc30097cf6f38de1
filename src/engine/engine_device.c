#include "engine/engine_device.h"

#include "client/lease.h"
#include "engine/runtime.h"

/* Devices are made one at a time, while readers walk the list. */
static void link_device(struct engine_device *device)
{
    device->next = atomic_load(&runtime.devices);
    atomic_store(&runtime.devices, device);
}

void engine_device_init(struct engine_device *device, const char *name, struct engine_device *whole)
{
    struct session *session = runtime_session();

    device_clock_init(&device->clock);
    device->engines = whole ? whole->engines : device->own;
    for (int kind = 0; !whole && kind < ENGINE_N; kind++) {
        struct device_engine *engine = &device->own[kind];

        engine_init(engine, device, (enum engine_kind)kind);
        if (!session || lease_open(session, name, engine->kind, &engine->lease) != 0)
            engine->lease = NULL;
    }
    link_device(device);
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
