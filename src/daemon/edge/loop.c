#include "daemon/edge/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "wire/frame.h"

#define SO_PEERPIDFD_LATER 77 /* Linux 6.5; Debian 12's headers do not have it */
#define PROBE_LIMIT        (30 * NSEC_PER_SEC)
#define READS_A_TURN       4 /* so that one talkative client does not keep the others waiting */

enum source { SOURCE_LISTENER, SOURCE_SIGNAL, SOURCE_TIMER, SOURCE_PROBE, SOURCE_PEER, SOURCE_EXIT };

static uint64_t tag(enum source source, unsigned slot)
{
    return (uint64_t)source << 32 | slot;
}

static int watch(struct loop *loop, int fd, uint32_t events, enum source source, unsigned slot)
{
    struct epoll_event event = {.events = events, .data.u64 = tag(source, slot)};

    return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* ---- what the server asks for ---- */

static int page_new(void *user, unsigned slot, struct page **ret_page)
{
    struct loop *loop = user;
    int fd = memfd_create("baton-leases", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    void *page = MAP_FAILED;

    if (fd < 0)
        return -errno;
    /* The size is fixed for good: a client that could shrink the file would make our accesses fault. */
    if (ftruncate(fd, (off_t)PAGE_SIZE_BYTES) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        page = mmap(NULL, PAGE_SIZE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) {
        int result = -errno;

        close(fd);
        return result;
    }
    loop->connections[slot].page = fd;
    *ret_page = page;
    return 0;
}

static void page_free(void *user, unsigned slot, struct page *page)
{
    (void)user;
    (void)slot;
    (void)munmap(page, PAGE_SIZE_BYTES);
}

static void wake(void *user, lease_word *word)
{
    (void)user;
    (void)syscall(SYS_futex, page_futex(word), FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void boost(void *user, pid_t pid, const pid_t *threads, size_t n, unsigned priority)
{
    boost_threads(&((struct loop *)user)->boost, pid, threads, n, priority);
}

static void report(void *user, enum server_report what, unsigned slot, uint64_t detail)
{
    struct loop *loop = user;

    switch (what) {
    case REPORT_BAD_FRAME:
        loop->log("client in slot %u sent bytes that are no message; dropped", slot);
        break;
    case REPORT_SLOW:
        loop->log("client in slot %u does not read; dropped", slot);
        break;
    case REPORT_OVERDUE:
        loop->log("client in slot %u does not give way on engine %u", slot, (unsigned)detail);
        break;
    case REPORT_REFUSED:
        loop->log("a device of the client in slot %u is not managed: %s", slot, strerror((int)detail));
        break;
    case REPORT_UNDRAINED:
        if (detail == 0)
            loop->log("the process of slot %u cannot be watched; its work is taken as drained", slot);
        break;
    case REPORT_SETTLED:
        loop->log("settled; %u engines were declared busy by clients of the predecessor", (unsigned)detail);
        break;
    }
}

static int reload(void *user, char *ret_text, size_t size)
{
    struct loop *loop = user;

    return loop->reload(loop, ret_text, size);
}

/* ---- connections ---- */

static void close_connection(struct loop *loop, unsigned slot)
{
    struct connection *connection = &loop->connections[slot];

    if (connection->fd >= 0)
        close(connection->fd);
    connection->fd = -1;
    if (connection->page >= 0)
        close(connection->page);
    connection->page = -1;
}

static void forget_process(struct loop *loop, unsigned slot)
{
    if (loop->connections[slot].pidfd >= 0)
        close(loop->connections[slot].pidfd);
    loop->connections[slot].pidfd = -1;
}

/* The connection ends; the slot may live on until its process does. */
static void lose(struct loop *loop, unsigned slot)
{
    close_connection(loop, slot);
    if (!server_lost(loop->server, slot, clock_now()))
        forget_process(loop, slot);
}

static ssize_t send_some(struct connection *connection, const uint8_t *bytes, size_t n)
{
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct iovec vector = {(void *)bytes, n};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};

    if (connection->page >= 0) {
        struct cmsghdr *part;

        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        part = CMSG_FIRSTHDR(&message);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(part), &connection->page, sizeof(int));
    }
    return sendmsg(connection->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Sends what waits; false: the connection is gone. */
static bool flush_one(struct loop *loop, unsigned slot)
{
    struct connection *connection = &loop->connections[slot];
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = tag(SOURCE_PEER, slot)};
    const uint8_t *bytes;
    size_t pending;

    while ((pending = server_pending(loop->server, slot, &bytes)) > 0) {
        ssize_t n = send_some(connection, bytes, pending);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            return false;
        if (n < 0)
            break;
        if (connection->page >= 0) {
            close(connection->page);
            connection->page = -1;
        }
        server_sent(loop->server, slot, (size_t)n);
    }
    if (connection->waits != (pending > 0)) {
        connection->waits = pending > 0;
        event.events |= connection->waits ? EPOLLOUT : 0;
        (void)epoll_ctl(loop->epoll, EPOLL_CTL_MOD, connection->fd, &event);
    }
    return true;
}

static void flush(struct loop *loop)
{
    unsigned slot;
    bool drop;

    while (server_next_dirty(loop->server, &slot, &drop)) {
        if (loop->connections[slot].fd < 0)
            continue;
        if (!flush_one(loop, slot) || drop)
            lose(loop, slot);
    }
}

static int watch_process(int fd, pid_t pid)
{
    int pidfd = -1;
    socklen_t size = sizeof pidfd;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD_LATER, &pidfd, &size) == 0 && pidfd >= 0)
        return pidfd;
    return pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

static void refuse(int fd)
{
    struct frame frame = {.type = FRAME_ERROR, .error = {.reason = EUSERS, .text = "too many connections"}};
    uint8_t bytes[FRAME_MAX_SIZE];
    size_t n = frame_encode(&frame, bytes);

    (void)!send(fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);
    close(fd);
}

static void accept_one(struct loop *loop, int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    struct connection *connection;
    struct credentials who;
    unsigned slot;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) {
        close(fd);
        return;
    }
    who = (struct credentials){peer.pid, peer.uid, peer.gid};
    if (server_accept(loop->server, &who, clock_now(), &slot) != 0) {
        refuse(fd);
        return;
    }
    connection = &loop->connections[slot];
    *connection = (struct connection){.fd = fd, .pidfd = watch_process(fd, peer.pid), .page = -1};
    if (watch(loop, fd, EPOLLIN, SOURCE_PEER, slot) < 0) {
        lose(loop, slot);
        return;
    }
    if (connection->pidfd >= 0 && watch(loop, connection->pidfd, EPOLLIN, SOURCE_EXIT, slot) < 0)
        forget_process(loop, slot);
}

static void accept_all(struct loop *loop)
{
    for (unsigned i = 0; i < 64; i++) {
        int fd = accept4(loop->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0)
            return;
        accept_one(loop, fd);
    }
}

static void on_peer(struct loop *loop, unsigned slot, uint32_t events)
{
    struct connection *connection = &loop->connections[slot];
    uint8_t bytes[8192];

    if (connection->fd < 0)
        return;
    for (unsigned i = 0; i < READS_A_TURN && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)); i++) {
        ssize_t n = recv(connection->fd, bytes, sizeof bytes, MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (n <= 0) {
            lose(loop, slot);
            return;
        }
        if (server_receive(loop->server, slot, bytes, (size_t)n, clock_now()) == SERVER_DROP)
            return; /* flush() sends the reason and closes */
    }
    if ((events & EPOLLOUT) && !flush_one(loop, slot))
        lose(loop, slot);
}

static void on_exit_of(struct loop *loop, unsigned slot)
{
    forget_process(loop, slot);
    if (server_has(loop->server, slot))
        server_exited(loop->server, slot, clock_now());
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
            loop->log("device %s is one too many (devices: %u)", name, loop->config.devices);
    }
    probe_stop(&loop->probe);
    loop->log("%u OpenCL device%s found", n, n == 1 ? "" : "s");
}

static void on_signal(struct loop *loop)
{
    struct signalfd_siginfo signal_info;
    char text[256] = "";

    while (read(loop->signals, &signal_info, sizeof signal_info) == (ssize_t)sizeof signal_info) {
        if (signal_info.ssi_signo == SIGHUP)
            loop->log("reload: %s", loop->reload(loop, text, sizeof text) == 0 ? "done" : text);
        else
            loop->stop = true;
    }
}

static baton_nsec next_at(const struct loop *loop)
{
    baton_nsec at = server_next_at(loop->server);

    if (loop->probe.pid > 0 && loop->probe_until_at < at)
        at = loop->probe_until_at;
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

static void on_timer(struct loop *loop)
{
    uint64_t count;

    (void)!read(loop->timer, &count, sizeof count);
    loop->armed_at = NSEC_MAX - 1; /* spent: set it anew whatever comes */
    if (loop->probe.pid > 0 && clock_now() >= loop->probe_until_at) {
        loop->log("the OpenCL probe hangs; killed");
        probe_stop(&loop->probe);
    }
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

static enum source source_of(const struct epoll_event *event)
{
    return (enum source)(event->data.u64 >> 32);
}

static void handle(struct loop *loop, const struct epoll_event *event)
{
    unsigned slot = (unsigned)event->data.u64;

    switch (source_of(event)) {
    case SOURCE_LISTENER:
        accept_all(loop);
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
        on_peer(loop, slot, event->events);
        break;
    case SOURCE_EXIT:
        on_exit_of(loop, slot);
        break;
    }
}

void loop_run(struct loop *loop)
{
    struct epoll_event events[32];

    while (!loop->stop) {
        int n;

        server_tick(loop->server, clock_now());
        flush(loop);
        look_at_loneliness(loop);
        arm_timer(loop);
        if (loop->stop)
            break;
        n = epoll_wait(loop->epoll, events, 32, -1);
        /* Newcomers last: they take the slots of the departed, for whom this turn may hold one more event. */
        for (int i = 0; i < n; i++)
            if (source_of(&events[i]) != SOURCE_LISTENER)
                handle(loop, &events[i]);
        for (int i = 0; i < n; i++)
            if (source_of(&events[i]) == SOURCE_LISTENER)
                handle(loop, &events[i]);
    }
}

/* ---- start and end ---- */

static int start_server(struct loop *loop)
{
    struct server_host host = {loop, page_new, page_free, wake, boost, report, reload};
    struct server_start start = {.generation = loop->listener.generation,
                                 .pid = getpid(),
                                 .uid = getuid(),
                                 .settle = loop->listener.unclean,
                                 .now_at = clock_now()};

    boost_init(&loop->boost, loop->config.band_low, loop->config.band_high, loop->config.realtime,
               &start.about);
    if (loop->config.realtime && !(start.about & ABOUT_REALTIME))
        loop->log("no permission for SCHED_FIFO: order is kept, no bound is claimed (CAP_SYS_NICE)");
    if (loop->config.realtime && !(start.about & ABOUT_LOCKED))
        loop->log("no permission to lock memory (CAP_IPC_LOCK, or a higher RLIMIT_MEMLOCK)");
    return server_new(&loop->config, &host, &start, &loop->server);
}

static int start_sources(struct loop *loop)
{
    sigset_t signals;
    int result;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    loop->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (loop->epoll < 0 || loop->signals < 0 || loop->timer < 0)
        return -errno;
    result = watch(loop, loop->listener.fd, EPOLLIN, SOURCE_LISTENER, 0);
    if (!result)
        result = watch(loop, loop->signals, EPOLLIN, SOURCE_SIGNAL, 0);
    if (!result)
        result = watch(loop, loop->timer, EPOLLIN, SOURCE_TIMER, 0);
    return result;
}

int loop_init(struct loop *loop)
{
    int result;

    loop->epoll = loop->signals = loop->timer = -1;
    loop->armed_at = NSEC_MAX;
    loop->lonely_at = NSEC_MAX;
    loop->probe.fd = -1;
    loop->connections = calloc(loop->config.clients, sizeof *loop->connections);
    if (!loop->connections)
        return -ENOMEM;
    for (unsigned i = 0; i < loop->config.clients; i++)
        loop->connections[i] = (struct connection){.fd = -1, .pidfd = -1, .page = -1};
    result = start_sources(loop);
    if (!result)
        result = start_server(loop);
    if (!result && loop->config.probe && probe_start(&loop->probe) == 0) {
        loop->probe_until_at = clock_now() + PROBE_LIMIT;
        result = watch(loop, loop->probe.fd, EPOLLIN, SOURCE_PROBE, 0);
    }
    return result;
}

void loop_done(struct loop *loop)
{
    probe_stop(&loop->probe);
    server_free(loop->server);
    boost_done(&loop->boost);
    for (unsigned i = 0; loop->connections && i < loop->config.clients; i++) {
        close_connection(loop, i);
        forget_process(loop, i);
    }
    free(loop->connections);
    if (loop->epoll >= 0)
        close(loop->epoll);
    if (loop->signals >= 0)
        close(loop->signals);
    if (loop->timer >= 0)
        close(loop->timer);
}
