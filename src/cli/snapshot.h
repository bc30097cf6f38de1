/* Everything that batond knows at one instant, for `baton top`. */
#ifndef CLI_SNAPSHOT_H
#define CLI_SNAPSHOT_H

#include <stdint.h>

#include "cli/monitor.h"

#define SNAPSHOT_DEVICES 64
#define SNAPSHOT_ENGINES 256
#define SNAPSHOT_CLIENTS 256 /* the first of them; `daemon.clients` is the total */
#define SNAPSHOT_TASKS   256

struct snapshot {
    struct frame_about_daemon daemon;
    struct frame_about_admission admission;
    struct frame_about_device devices[SNAPSHOT_DEVICES];
    struct frame_about_engine engines[SNAPSHOT_ENGINES];
    struct frame_about_client clients[SNAPSHOT_CLIENTS];
    struct frame_about_task tasks[SNAPSHOT_TASKS];
    uint32_t n_devices, n_engines, n_clients, n_tasks;
};

/* Asks for everything; 0 or -errno. */
int snapshot_take(struct snapshot *ret_snapshot, struct monitor *monitor);

/* The client of this number, or NULL. */
const struct frame_about_client *snapshot_client(const struct snapshot *snapshot, uint32_t client);

#endif
