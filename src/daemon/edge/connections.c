#include "daemon/edge/connections.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "wire/frame.h"

#define SO_PEERPIDFD_LATER 77 /* Linux 6.5; the headers of Debian 12 lack it */
/* How much is read from one client at a time, so that a busy client does not delay the others. */
#define BYTES_A_TURN 256

static void close_connection(struct loop *loop, unsigned slot)
{
    struct connection *connection = &loop->connections[slot];

    if (connection->fd >= 0)
        loop_close(loop, connection->fd);
    connection->fd = -1;
    if (connection->page >= 0)
        close(connection->page);
    connection->page = -1;
}

static void forget_process(struct loop *loop, unsigned slot)
{
    if (loop->connections[slot].pidfd >= 0)
        loop_close(loop, loop->connections[slot].pidfd);
    loop->connections[slot].pidfd = -1;
}

/* The connection ends; the slot may stay in use until the process ends. */
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

/* Sends the queued output; false: the connection is gone. */
static bool flush_one(struct loop *loop, unsigned slot)
{
    struct connection *connection = &loop->connections[slot];
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = loop_tag(SOURCE_PEER, slot)};
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

void connections_flush(struct loop *loop)
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
    int pidfd;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) {
        close(fd);
        return;
    }
    pidfd = watch_process(fd, peer.pid);
    /* The process has ended already, or there is no room to watch it. */
    if (pidfd < 0 && peer.pid > 0 && errno != ENOSYS) {
        who = (struct credentials){peer.pid, peer.uid, peer.gid, true};
        if (errno != ESRCH)
            server_refused(loop->server, &who, errno, clock_now());
        refuse(fd);
        return;
    }
    who = (struct credentials){peer.pid, peer.uid, peer.gid, pidfd < 0};
    if (server_accept(loop->server, &who, clock_now(), &slot) != 0) {
        if (pidfd >= 0)
            close(pidfd);
        refuse(fd);
        return;
    }
    /* the slot's earlier client may have left before its process ended */
    forget_process(loop, slot);
    connection = &loop->connections[slot];
    *connection = (struct connection){.fd = fd, .pidfd = pidfd, .page = -1};
    if (loop_watch(loop, fd, EPOLLIN, SOURCE_PEER, slot) < 0 ||
        (pidfd >= 0 && loop_watch(loop, pidfd, EPOLLIN, SOURCE_EXIT, slot) < 0))
        lose(loop, slot);
}

void connections_accept(struct loop *loop)
{
    for (unsigned i = 0; i < 64; i++) {
        int fd = accept4(loop->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0) {
            loop_not_accepted(loop, errno);
            return;
        }
        accept_one(loop, fd);
    }
}

void connections_on_peer(struct loop *loop, unsigned slot, uint32_t events)
{
    struct connection *connection = &loop->connections[slot];
    uint8_t bytes[BYTES_A_TURN];

    if (connection->fd < 0)
        return;
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
        ssize_t n = recv(connection->fd, bytes, sizeof bytes, MSG_DONTWAIT);

        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
            lose(loop, slot);
            return;
        }
        if (n > 0 && server_receive(loop->server, slot, bytes, (size_t)n, clock_now()) == SERVER_DROP)
            return; /* connections_flush() sends the reason and closes */
    }
    if ((events & EPOLLOUT) && !flush_one(loop, slot))
        lose(loop, slot);
}

void connections_on_exit(struct loop *loop, unsigned slot)
{
    forget_process(loop, slot);
    if (server_has(loop->server, slot))
        server_exited(loop->server, slot, clock_now());
}

int connections_watch_unscheduled(struct loop *loop, pid_t pid, unsigned process)
{
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    int result = pidfd < 0 ? -errno : loop_watch(loop, pidfd, EPOLLIN, SOURCE_UNSCHEDULED, process);

    if (!result)
        loop->unscheduled[process] = pidfd;
    else if (pidfd >= 0)
        close(pidfd);
    return result;
}

void connections_on_unscheduled(struct loop *loop, unsigned process)
{
    if (loop->unscheduled[process] < 0)
        return;
    loop_close(loop, loop->unscheduled[process]);
    loop->unscheduled[process] = -1;
    server_unscheduled_ended(loop->server, process, clock_now());
}

void connections_close(struct loop *loop)
{
    for (unsigned i = 0; i < UNSCHEDULED_MAX; i++) {
        if (loop->unscheduled[i] >= 0)
            loop_close(loop, loop->unscheduled[i]);
    }
    for (unsigned i = 0; loop->connections && i < loop->config.clients; i++) {
        close_connection(loop, i);
        forget_process(loop, i);
    }
}
