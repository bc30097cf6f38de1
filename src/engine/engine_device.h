/*
 * A device as this process uses it through one API: its engines with their leases, and its clock.
 * Embedded in the front's record, made once, never freed. Devices that are one GPU share its
 * engines, because a lease belongs to the process. A part of a device (sub-device) has the engines
 * of the whole device. A device that several APIs or platforms list has those of the first record
 * with its name.
 *
 * batond may not manage a device, or the session may have no lease left for it. Under tokens a
 * program gets no context on such a device. Elsewhere its work there is under no rule, and the
 * notice `unmanaged` says so.
 */
#ifndef ENGINE_ENGINE_DEVICE_H
#define ENGINE_ENGINE_DEVICE_H

#include "client/lease.h"
#include "engine/device_clock.h"
#include "engine/engine.h"
#include "wire/device_name.h"

struct engine_device {
    struct engine_device *next;   /* runtime.devices */
    const struct driver_ops *ops; /* its front's */
    char name[DEVICE_NAME_SIZE];  /* "" for a part of a device */
    struct device_clock clock;
    struct device_engine own[ENGINE_N];
    struct device_engine *engines; /* its own, or those that it shares */
    atomic_bool used;              /* engine_device_use() */
    atomic_bool told[NOTICE_N];    /* these notices are about it */
};

/*
 * Opens the leases, or shares the engines of `whole` if that is not NULL, or those of a device of
 * the same name. Adds the device to the list that workers, drains and the end of the process go
 * through. name: wire/device_name.h; unused with `whole`. *device is zeroed by the caller.
 */
void engine_device_init(struct engine_device *device, const struct driver_ops *ops, const char *name,
                        struct engine_device *whole);

/*
 * May the program open no context on the device, because it must be managed and is not? Waits for
 * batond's answer (lease_refusal()). With no lock held.
 *
 * engine_device_admit(): the program wants a context on the device. False: it may have none; the
 * notice `refused` and a line on standard error say once which device, and why.
 */
bool engine_device_barred(const struct engine_device *device);
bool engine_device_admit(struct engine_device *device);

/*
 * The program has a context or queue on the device. If the device is not managed now, or later, the
 * notice `unmanaged` says so.
 */
void engine_device_use(struct engine_device *device);

/* struct session_listener::on_refused. */
void engine_device_on_refused(void *user, struct lease *lease);

/*
 * The device's engines are threads on the cores of this machine (client/lease.h: lease_on_cores).
 */
void engine_device_on_cores(struct engine_device *device);

/*
 * The engine on which a command of this kind runs now. Copies in both directions run on one engine,
 * with one lease, while the daemon arbitrates their bus (WELCOME_BUS). A command asks once and
 * keeps the answer: the next daemon may arbitrate otherwise.
 */
static inline struct device_engine *engine_device_for(const struct engine_device *device,
                                                      enum engine_kind kind)
{
    struct device_engine *engines = device->engines;

    if (kind == ENGINE_COPY_OUT && engines[kind].lease && lease_on_one_bus(engines[kind].lease))
        return &engines[ENGINE_COPY_IN];
    return &engines[kind];
}

/* All devices, linked by next. */
struct engine_device *engine_devices(void);

#endif
