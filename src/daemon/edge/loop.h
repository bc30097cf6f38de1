/*
 * batond's edges: one epoll thread that carries bytes, descriptors, signals and timers to the server and back. It sleeps
 * in epoll_wait without a timeout; timers are armed only when the server asked for one.
 */
#ifndef DAEMON_LOOP_H
#define DAEMON_LOOP_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/edge/boost.h"
#include "daemon/config.h"
#include "daemon/edge/listener.h"
#include "daemon/edge/probe.h"
#include "daemon/server.h"

/* One connection, by slot. */
struct connection {
    int fd;     /* -1: gone */
    int pidfd;  /* -1: the process cannot be watched, or has ended */
    int page;   /* memfd until it was sent; -1 */
    bool waits; /* for room to write */
};

struct loop {
    int epoll, signals, timer;
    struct listener listener;
    struct config config;
    struct server *server;
    struct connection *connections; /* config.clients */
    struct boost boost;
    struct probe probe;
    baton_nsec probe_until_at;
    baton_nsec armed_at;  /* what the timer is set to; NSEC_MAX: off */
    baton_nsec lonely_at; /* since when nobody is connected */
    bool stop;
    /* Words things for people. */
    void (*log)(const char *format, ...) __attribute__((format(printf, 1, 2)));
    /* Reads configuration and plan again; text for whoever asked. */
    int (*reload)(struct loop *loop, char *ret_text, size_t size);
};

/* Takes config, listener, log and reload from *loop; the rest is made here. 0 or -errno. */
int loop_init(struct loop *loop);

/* Runs until SIGTERM or SIGINT, or until nobody has been there for config.idle_exit. */
void loop_run(struct loop *loop);

void loop_done(struct loop *loop);

#endif
