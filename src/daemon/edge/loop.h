/*
 * batond's edges: one epoll thread that carries bytes, descriptors, signals and timers to the
 * server and back. It sleeps in epoll_wait without a timeout; timers are armed only when the server
 * asked for one.
 */
#ifndef DAEMON_LOOP_H
#define DAEMON_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "daemon/edge/awake.h"
#include "daemon/edge/boost.h"
#include "daemon/edge/pins.h"
#include "daemon/config.h"
#include "daemon/edge/listener.h"
#include "daemon/edge/log.h"
#include "daemon/edge/metrics.h"
#include "daemon/edge/planner_child.h"
#include "daemon/edge/processes.h"
#include "daemon/edge/device_probe.h"
#include "daemon/server.h"
#include "daemon/unscheduled.h"

/* One connection, by slot. */
struct connection {
    int fd;     /* -1: gone */
    int pidfd;  /* -1: the process cannot be watched, or has ended */
    int page;   /* memfd until it is sent; -1: none */
    bool waits; /* waits for room to write */
};

/* The kind of an event; the slot of a peer, reader or pipe goes with it. */
enum loop_source {
    SOURCE_LISTENER,
    SOURCE_SIGNAL,
    SOURCE_TIMER,
    SOURCE_PROBE,
    SOURCE_PEER,
    SOURCE_EXIT,
    SOURCE_PLANNER,
    SOURCE_PLANNED,
    SOURCE_METRICS,
    SOURCE_READER,
    SOURCE_UNSCHEDULED,
};

struct loop {
    int epoll, signals, timer;
    struct listener listener;
    struct config config;
    struct server *server;
    struct connection *connections;   /* config.clients */
    int unscheduled[UNSCHEDULED_MAX]; /* of processes that are not scheduled; -1: none */
    struct boost boost;
    struct pins pins;
    struct processes processes;
    struct awake awake;
    struct device_probe probe;
    struct metrics metrics;
    struct planner_child *planner; /* owned */
    baton_nsec probe_until_at;
    baton_nsec armed_at;      /* what the timer is set to; NSEC_MAX: off */
    baton_nsec lonely_at;     /* since when no client is connected */
    baton_nsec deaf_until_at; /* no room for new clients until then; NSEC_MAX: there is room */
    struct {
        baton_nsec since_at;
        unsigned lines, left_out;
    } said[REPORT_KINDS]; /* within a second, so that no client can fill the log */
    /* Fingerprints of the differences of the last two lists that the server reported. */
    struct {
        uint64_t before[CLAIMS_MAX], now[CLAIMS_MAX];
        unsigned n_before, n_now;
    } differences;
    bool stop;
    /* Puts a report into words. */
    void (*log)(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
    /* Reads configuration and plan again; the text answers the client that asked. */
    int (*reload)(struct loop *loop, char *ret_text, size_t size);
    /* Loads another plan (tasks: another task set) from this path; text likewise. */
    int (*load)(struct loop *loop, bool tasks, const char *path, char *ret_text, size_t size);
};

/*
 * SIGTERM, SIGINT and SIGHUP wait until loop_run() reads them. Call it before batond listens: from
 * then on other processes know that it runs, and may stop it.
 */
void loop_hold_signals(void);

/* Takes config, listener, log, reload and load from *loop; the rest is made here. 0 or -errno. */
int loop_init(struct loop *loop);

/* Runs until SIGTERM or SIGINT, or until no client has been connected for config.idle_exit. */
void loop_run(struct loop *loop);

void loop_done(struct loop *loop);

/* What the server asks of its host, carried out by this loop. */
struct server_host loop_host(struct loop *loop);

/* Waits for these epoll events of a descriptor, too. */
int loop_watch(struct loop *loop, int fd, uint32_t events, enum loop_source source, unsigned slot);

/*
 * accept() failed with this error. Without descriptors or memory, new clients wait for a moment: an
 * immediate retry would loop.
 */
void loop_not_accepted(struct loop *loop, int error);

static inline uint64_t loop_tag(enum loop_source source, unsigned slot)
{
    return (uint64_t)source << 32 | slot;
}

/*
 * Ends the watch and closes the descriptor. close() alone does not end the watch if a forked child
 * has not called exec() yet, because that child still has the descriptor. Then epoll would report
 * events of a client that has left, for a slot that another client may have by then.
 */
static inline void loop_close(const struct loop *loop, int fd)
{
    (void)epoll_ctl(loop->epoll, EPOLL_CTL_DEL, fd, NULL);
    close(fd);
}

#endif
