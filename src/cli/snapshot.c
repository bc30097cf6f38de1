#include "cli/snapshot.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static int one(struct monitor *monitor, enum query_what what, enum frame_type type, struct frame *ret_frame)
{
    int result = monitor_query(monitor, what, 0, 0, ret_frame);

    return result ? result : ret_frame->type == type ? 0 : -EPROTO;
}

/* Keeps an answer. False: it was the last one, or there is no more room. */
static bool keep(struct snapshot *snapshot, const struct frame *frame)
{
    switch (frame->type) {
    case FRAME_ABOUT_DEVICE:
        snapshot->devices[snapshot->n_devices++] = frame->about_device;
        return snapshot->n_devices < SNAPSHOT_DEVICES;
    case FRAME_ABOUT_ENGINE:
        snapshot->engines[snapshot->n_engines++] = frame->about_engine;
        return snapshot->n_engines < SNAPSHOT_ENGINES;
    case FRAME_ABOUT_CLIENT:
        snapshot->clients[snapshot->n_clients++] = frame->about_client;
        return snapshot->n_clients < SNAPSHOT_CLIENTS;
    case FRAME_ABOUT_TASK:
        if (frame->about_task.state == VERDICT_UNKNOWN)
            return true;
        snapshot->tasks[snapshot->n_tasks++] = frame->about_task;
        return snapshot->n_tasks < SNAPSHOT_TASKS;
    default:
        return false;
    }
}

static int all(struct snapshot *snapshot, struct monitor *monitor, enum query_what what)
{
    uint32_t index = 0;
    struct frame frame;

    for (;;) {
        int result = monitor_query(monitor, what, index, 0, &frame);

        if (result || !keep(snapshot, &frame))
            return result;
        index = monitor_next(&frame, index);
    }
}

int snapshot_take(struct snapshot *ret_snapshot, struct monitor *monitor)
{
    static const enum query_what lists[] = {QUERY_DEVICE, QUERY_ENGINE, QUERY_CLIENT, QUERY_TASK};
    struct frame frame;
    int result = one(monitor, QUERY_DAEMON, FRAME_ABOUT_DAEMON, &frame);

    if (result)
        return result;
    memset(ret_snapshot, 0, sizeof *ret_snapshot);
    ret_snapshot->daemon = frame.about_daemon;
    result = one(monitor, QUERY_ADMISSION, FRAME_ABOUT_ADMISSION, &frame);
    if (!result)
        ret_snapshot->admission = frame.about_admission;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0] && !result; i++)
        result = all(ret_snapshot, monitor, lists[i]);
    return result;
}

const struct frame_about_client *snapshot_client(const struct snapshot *snapshot, uint32_t client)
{
    for (uint32_t i = 0; i < snapshot->n_clients; i++) {
        if (snapshot->clients[i].client == client)
            return &snapshot->clients[i];
    }
    return NULL;
}
