/*
 * Recent events, as batond and the clients' pages hold them, collected for `baton trace`. The
 * daemon's decisions (queued, granted, asked to yield) come from its ring. Runs come from the rings
 * in the clients' pages, also of clients that have left. The recording owns everything in it. One
 * thread uses it.
 */
#ifndef CLI_RECORDING_H
#define CLI_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/monitor.h"
#include "wire/page.h"

#define RECORDING_ENGINES 256
#define RECORDING_TASKS   256

struct recorded_client {
    uint32_t client, pid;
    uint64_t deadline; /* relative, nanoseconds; 0: none */
    uint64_t misses;   /* since it began; 0 for a client that has left */
    char name[65];
    uint64_t on[RECORDING_ENGINES / 64]; /* engines that the client asked for */
    bool has_token;                      /* it held one, or waited for it */
};

struct trace_recording {
    struct frame_about_daemon daemon;
    struct trace_record *records; /* by time; kernel is 1 + an index into `kernels`, 0: no name */
    size_t n, room;
    uint64_t lost; /* older records that were overwritten */
    struct recorded_client *clients;
    size_t n_clients, clients_room;
    char engines[RECORDING_ENGINES][33]; /* by index; "": there is none */
    struct frame_about_task tasks[RECORDING_TASKS];
    uint32_t n_tasks;
    char (*kernels)[PAGE_KERNEL];
    size_t n_kernels, kernels_room;
    struct frame_about_notice *notices;
    size_t n_notices;
};

/* Asks for everything: 0 or -errno. The caller calls recording_done() in both cases. */
int recording_take(struct trace_recording *recording, struct monitor *monitor);
void recording_done(struct trace_recording *recording);

/* The client of that number, or NULL. */
struct recorded_client *recording_client(const struct trace_recording *recording, uint32_t client);

/* The name of a record's kernel, or NULL. */
const char *recording_kernel(const struct trace_recording *recording, const struct trace_record *record);

/* Did the client ask for that engine? */
bool recording_is_on(const struct recorded_client *client, uint32_t engine);

/*
 * When the activity that records[from] began was over. That is the next record of one of two kinds
 * of the same client on the same engine, or the client's departure. Without either it is the last
 * record.
 */
uint64_t recording_ended_at(const struct trace_recording *recording, size_t from, uint32_t kind,
                            uint32_t other);

#endif
