/*
 * The GPUs that this daemon knows: found by the probe, named in the configuration, or declared by
 * clients.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/peer.h"

int server_add_device(struct server *server, const char *name, const char *description)
{
    unsigned index = 0;
    struct device *device;

    if (!device_name_valid(name))
        return -EINVAL;
    if (device_find(server, name, false, &index) == 0) {
        device = &server->devices[index];
    } else {
        if (server->n_devices == server->config.devices)
            return -ENOSPC;
        device = &server->devices[server->n_devices++];
        memcpy(device->name, name, strlen(name) + 1);
        device->copy_engines = server->config.copy_engines;
        for (size_t i = 0; i < server->config.n_listed; i++) {
            if (strcmp(server->config.listed[i].name, name) == 0) {
                device->copy_engines = server->config.listed[i].copy_engines;
                device->drain = server->config.listed[i].drain;
            }
        }
        if (device->copy_engines > server->config.copy_engines)
            device->copy_engines = server->config.copy_engines;
    }
    device->discovered = strcmp(description, "configured") != 0 && strcmp(description, "declared") != 0;
    (void)snprintf(device->description, sizeof device->description, "%s", description);
    claims_check(server);
    return 0;
}

int device_find(struct server *server, const char *name, bool declare, unsigned *ret_device)
{
    for (unsigned i = 0; i < server->n_devices; i++) {
        if (strcmp(server->devices[i].name, name) == 0) {
            *ret_device = i;
            return 0;
        }
    }
    if (!declare)
        return -ENODEV;
    if (server_add_device(server, name, "declared") < 0)
        return -ENOSPC;
    *ret_device = server->n_devices - 1;
    return 0;
}

bool server_engine_free(const struct server *server, const char *device, unsigned engine)
{
    for (unsigned i = 0; i < server->n_devices; i++) {
        if (strcmp(server->devices[i].name, device) == 0) {
            engine_id id = engine == ENGINE_EXECUTION
                               ? sched_execution_engine(server->core, i)
                               : sched_copy_engine(server->core, i,
                                                   engine == ENGINE_COPY_IN ? DIRECTION_IN : DIRECTION_OUT);
            unsigned lane;

            return sched_core_holder(server->core, id, &lane) == SCHED_NO_JOB;
        }
    }
    return true;
}
