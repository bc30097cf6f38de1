#include "daemon/edge/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/patience.h"
#include "daemon/edge/connections.h"
#include "daemon/edge/machine.h"
#include "daemon/edge/words.h"
#include "wire/frame.h"

#define PROBE_LIMIT (30 * NSEC_PER_SEC)
#define DEAF        (100 * NSEC_PER_MS)

int loop_watch(struct loop *loop, int fd, uint32_t events, enum loop_source source, unsigned slot)
{
    struct epoll_event event = {.events = events, .data.u64 = loop_tag(source, slot)};

    return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static void on_planned(struct loop *loop)
{
    struct planning planning;

    if (loop->planner->pid <= 0)
        return;
    planning = planner_end(loop->planner, clock_now());
    server_planned(loop->server, &planning, clock_now());
}

/* ---- signals, timers, the probe ---- */

static void end_probe(struct loop *loop)
{
    const char *name;
    const char *description;
    size_t at = 0;
    unsigned n = 0;

    while (probe_next(&loop->probe, &at, &name, &description)) {
        if (server_add_device(loop->server, name, description) == 0)
            n++;
        else
            loop->log(LOG_LEVEL_WARNING, "device %s is ignored: there are more than %u (devices:)", name,
                      loop->config.devices);
    }
    probe_stop(&loop->probe);
    loop->log(LOG_LEVEL_INFO, "%u OpenCL device%s found", n, n == 1 ? "" : "s");
}

static void on_hangup(struct loop *loop)
{
    char text[256] = "";
    bool done = loop->reload(loop, text, sizeof text) == 0;

    loop->log(done ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING, "reload: %s", done ? "done" : text);
}

static void on_signal(struct loop *loop)
{
    struct signalfd_siginfo signal_info;

    while (read(loop->signals, &signal_info, sizeof signal_info) == (ssize_t)sizeof signal_info) {
        if (signal_info.ssi_signo == SIGHUP)
            on_hangup(loop);
        else
            loop->stop = true;
    }
}

static baton_nsec next_at(const struct loop *loop)
{
    baton_nsec at = server_next_at(loop->server);

    if (loop->probe.pid > 0 && loop->probe_until_at < at)
        at = loop->probe_until_at;
    if (loop->planner->until_at < at)
        at = loop->planner->until_at;
    if (loop->deaf_until_at < at)
        at = loop->deaf_until_at;
    if (metrics_next_at(&loop->metrics) < at)
        at = metrics_next_at(&loop->metrics);
    if (loop->config.idle_exit && loop->lonely_at != NSEC_MAX &&
        loop->lonely_at + loop->config.idle_exit < at)
        at = loop->lonely_at + loop->config.idle_exit;
    return at;
}

static void arm_timer(struct loop *loop)
{
    baton_nsec at = next_at(loop);
    struct itimerspec when = {0};

    if (at == loop->armed_at)
        return;
    if (at != NSEC_MAX) {
        when.it_value.tv_sec = at / NSEC_PER_SEC;
        when.it_value.tv_nsec = at % NSEC_PER_SEC;
        if (at <= 0)
            when.it_value.tv_nsec = 1;
    }
    (void)timerfd_settime(loop->timer, TFD_TIMER_ABSTIME, &when, NULL);
    loop->armed_at = at;
}

/* Listens for new clients, or stops listening. */
static void hear_newcomers(struct loop *loop, bool hear)
{
    struct epoll_event event = {.events = hear ? EPOLLIN : 0, .data.u64 = loop_tag(SOURCE_LISTENER, 0)};

    (void)epoll_ctl(loop->epoll, EPOLL_CTL_MOD, loop->listener.fd, &event);
    event.data.u64 = loop_tag(SOURCE_METRICS, 0);
    if (loop->metrics.fd >= 0)
        (void)epoll_ctl(loop->epoll, EPOLL_CTL_MOD, loop->metrics.fd, &event);
    loop->deaf_until_at = hear ? NSEC_MAX : clock_now() + DEAF;
}

void loop_not_accepted(struct loop *loop, int error)
{
    if (error != EAGAIN && error != EINTR && error != ECONNABORTED)
        hear_newcomers(loop, false);
}

static void on_timer(struct loop *loop)
{
    uint64_t count;

    (void)!read(loop->timer, &count, sizeof count);
    loop->armed_at = NSEC_MAX - 1; /* it has fired: arm it again in any case */
    if (loop->probe.pid > 0 && clock_now() >= loop->probe_until_at) {
        loop->log(LOG_LEVEL_WARNING, "the OpenCL probe does not answer; batond has stopped it");
        probe_stop(&loop->probe);
    }
    if (clock_now() >= loop->planner->until_at)
        planner_expire(loop->planner);
    if (clock_now() >= loop->deaf_until_at)
        hear_newcomers(loop, true);
    metrics_tick(&loop->metrics, clock_now());
}

static void look_at_loneliness(struct loop *loop)
{
    if (server_peers(loop->server) > 0)
        loop->lonely_at = NSEC_MAX;
    else if (loop->lonely_at == NSEC_MAX)
        loop->lonely_at = clock_now();
    else if (loop->config.idle_exit && clock_now() - loop->lonely_at >= loop->config.idle_exit)
        loop->stop = true;
}

static enum loop_source source_of(const struct epoll_event *event)
{
    return (enum loop_source)(event->data.u64 >> 32);
}

static void on_metrics(struct loop *loop)
{
    int reader = metrics_accept(&loop->metrics, clock_now());

    if (reader >= 0)
        (void)loop_watch(loop, loop->metrics.readers[reader].fd, EPOLLIN, SOURCE_READER, (unsigned)reader);
    else if (reader != -EBUSY)
        loop_not_accepted(loop, -reader);
}

static void on_reader(struct loop *loop, unsigned reader)
{
    struct epoll_event event = {.events = EPOLLOUT, .data.u64 = loop_tag(SOURCE_READER, reader)};

    server_look(loop->server, clock_now());
    if (metrics_serve(&loop->metrics, reader, loop->server) == 1)
        (void)epoll_ctl(loop->epoll, EPOLL_CTL_MOD, loop->metrics.readers[reader].fd, &event);
}

static bool brings_newcomers(const struct epoll_event *event)
{
    return source_of(event) == SOURCE_LISTENER || source_of(event) == SOURCE_METRICS;
}

static void handle(struct loop *loop, const struct epoll_event *event)
{
    unsigned slot = (unsigned)event->data.u64;

    switch (source_of(event)) {
    case SOURCE_LISTENER:
        connections_accept(loop);
        break;
    case SOURCE_SIGNAL:
        on_signal(loop);
        break;
    case SOURCE_TIMER:
        on_timer(loop);
        break;
    case SOURCE_PROBE:
        if (loop->probe.fd >= 0 && probe_read(&loop->probe))
            end_probe(loop);
        break;
    case SOURCE_PEER:
        connections_on_peer(loop, slot, event->events);
        break;
    case SOURCE_EXIT:
        connections_on_exit(loop, slot);
        break;
    case SOURCE_PLANNER:
        planner_read(loop->planner, slot);
        break;
    case SOURCE_PLANNED:
        on_planned(loop);
        break;
    case SOURCE_METRICS:
        on_metrics(loop);
        break;
    case SOURCE_READER:
        on_reader(loop, slot);
        break;
    case SOURCE_UNSCHEDULED:
        connections_on_unscheduled(loop, slot);
        break;
    }
}

void loop_run(struct loop *loop)
{
    struct epoll_event events[32];

    while (!loop->stop) {
        int n;

        server_tick(loop->server, clock_now());
        connections_flush(loop);
        awake_keep(&loop->awake, server_has_realtime(loop->server));
        look_at_loneliness(loop);
        arm_timer(loop);
        if (loop->stop)
            break;
        n = epoll_wait(loop->epoll, events, 32, -1);
        /*
         * New clients last: they take the slots of departed clients, which may have one more event
         * in this batch.
         */
        for (int i = 0; i < n; i++)
            if (!brings_newcomers(&events[i]))
                handle(loop, &events[i]);
        for (int i = 0; i < n; i++)
            if (brings_newcomers(&events[i]))
                handle(loop, &events[i]);
    }
    connections_flush(loop);
}

/* ---- start and end ---- */

static int start_server(struct loop *loop)
{
    struct server_host host = loop_host(loop);
    struct server_start start = {.generation = loop->listener.generation,
                                 .pid = getpid(),
                                 .uid = getuid(),
                                 .settle = loop->listener.unclean,
                                 .now_at = clock_now()};

    boost_init(&loop->boost, loop->config.band_low, loop->config.band_high, loop->config.realtime,
               &start.about);
    pins_init(&loop->pins, loop->config.band_low);
    if (loop->config.realtime && !(start.about & ABOUT_REALTIME))
        loop->log(LOG_LEVEL_WARNING,
                  "no permission for SCHED_FIFO: order is kept, no bound is claimed (CAP_SYS_NICE)");
    awake_init(&loop->awake, loop->config.awake);
    start.about |= loop->awake.permitted ? ABOUT_AWAKE : 0;
    if (loop->config.awake && !loop->awake.permitted)
        loop->log(LOG_LEVEL_WARNING,
                  "no permission for /dev/cpu_dma_latency: idle cores sleep, so grants come later");
    if (loop->config.realtime && !(start.about & ABOUT_LOCKED))
        loop->log(LOG_LEVEL_WARNING,
                  "no permission to lock memory (CAP_IPC_LOCK, or a higher RLIMIT_MEMLOCK)");
    return server_new(&loop->config, &host, &start, &loop->server);
}

static sigset_t signals_to_read(void)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    return signals;
}

void loop_hold_signals(void)
{
    sigset_t signals = signals_to_read();

    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
}

static int start_sources(struct loop *loop)
{
    sigset_t signals = signals_to_read();
    int result;

    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    loop->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (loop->epoll < 0 || loop->signals < 0 || loop->timer < 0)
        return -errno;
    result = loop_watch(loop, loop->listener.fd, EPOLLIN, SOURCE_LISTENER, 0);
    if (!result)
        result = loop_watch(loop, loop->signals, EPOLLIN, SOURCE_SIGNAL, 0);
    if (!result)
        result = loop_watch(loop, loop->timer, EPOLLIN, SOURCE_TIMER, 0);
    return result;
}

/*
 * Descriptors for the most clients (socket, process, page), up to the hard limit: the usual soft
 * limit is smaller.
 */
static void make_room(unsigned clients)
{
    struct rlimit limit;
    rlim_t wanted = 3 * (rlim_t)clients + UNSCHEDULED_MAX + 64;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/*
 * A file in the way is a mistake in the configuration, and batond does not start. If the
 * machine refuses the place now (in use, no network, no permission), batond runs without metrics:
 * programs with deadlines depend on it.
 */
static int start_metrics(struct loop *loop)
{
    int result = metrics_open(&loop->metrics, loop->config.metrics);
    bool mistake = result == -EEXIST || result == -ENAMETOOLONG;

    if (!result)
        return loop_watch(loop, loop->metrics.fd, EPOLLIN, SOURCE_METRICS, 0);
    loop->log(LOG_LEVEL_WARNING, "metrics: cannot listen on %s: %s%s", loop->config.metrics,
              socket_file_words(result), mistake ? "" : "; there are none until batond is restarted");
    return mistake ? result : 0;
}

int loop_init(struct loop *loop)
{
    int result;

    loop->epoll = loop->signals = loop->timer = -1;
    loop->armed_at = NSEC_MAX;
    loop->lonely_at = NSEC_MAX;
    loop->deaf_until_at = NSEC_MAX;
    loop->probe.fd = -1;
    for (unsigned i = 0; i < UNSCHEDULED_MAX; i++)
        loop->unscheduled[i] = -1;
    metrics_init(&loop->metrics);
    processes_init(&loop->processes);
    make_room(loop->config.clients);
    loop->connections = calloc(loop->config.clients, sizeof *loop->connections);
    loop->planner = malloc(sizeof *loop->planner);
    if (loop->planner)
        planner_init(loop->planner);
    if (!loop->connections || !loop->planner)
        return -ENOMEM;
    for (unsigned i = 0; i < loop->config.clients; i++)
        loop->connections[i] = (struct connection){.fd = -1, .pidfd = -1, .page = -1};
    result = start_sources(loop);
    if (!result)
        result = start_server(loop);
    if (!result && loop->config.metrics[0])
        result = start_metrics(loop);
    if (!result && loop->config.probe && probe_start(&loop->probe) == 0) {
        loop->probe_until_at = clock_now() + patience_limit(PROBE_LIMIT);
        result = loop_watch(loop, loop->probe.fd, EPOLLIN, SOURCE_PROBE, 0);
    }
    return result;
}

void loop_done(struct loop *loop)
{
    probe_stop(&loop->probe);
    metrics_close(&loop->metrics);
    if (loop->planner)
        planner_stop(loop->planner);
    server_free(loop->server);
    boost_done(&loop->boost);
    pins_done(&loop->pins);
    processes_done(&loop->processes);
    awake_keep(&loop->awake, false);
    connections_close(loop);
    free(loop->connections);
    free(loop->planner);
    if (loop->epoll >= 0)
        close(loop->epoll);
    if (loop->signals >= 0)
        close(loop->signals);
    if (loop->timer >= 0)
        close(loop->timer);
}
