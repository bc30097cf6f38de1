#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/session_private.h"
#include "wire/dial.h"

#define RETRY_MS 1000 /* for a folder that cannot be watched, or for a missed event */
#define LOOK_MS  1000 /* between checks for closed descriptors, which no event reports */
/*
 * A daemon that keeps a connection for this long has accepted the client. If it closes earlier, the
 * client does not reconnect at once.
 */
#define STAYS        NSEC_PER_SEC
#define THREAD_STACK (128 * 1024)

/* ---- connecting ---- */

static void try_to_connect(struct session *session)
{
    char path[SOCKET_PATH_SIZE];
    int fd = dial(session->settings.socket, SOCK_NONBLOCK, path);

    if (fd < 0)
        return;
    pthread_mutex_lock(&session->lock);
    session_take_socket(session, fd);
    session->dialled_at = clock_now();
    if (atomic_load(&session->job_number) > 0)
        session->protocol.hello.flags |= HELLO_BEGAN;
    protocol_connected(&session->protocol);
    session_flush(session);
    pthread_mutex_unlock(&session->lock);
}

/* Watches for any new file in a folder where a daemon's socket may be. */
static void watch_folders(int watch, const char *given)
{
    char path[SOCKET_PATH_SIZE];
    int result;

    for (unsigned i = 0; (result = socket_path_candidate(given, i, path)) != -ENOENT; i++) {
        char *slash;

        if (result)
            continue; /* too long for a socket's path, so no daemon listens there */
        slash = strrchr(path, '/');
        if (slash && slash != path)
            *slash = 0;
        (void)inotify_add_watch(watch, slash ? path : ".", IN_CREATE | IN_MOVED_TO | IN_ATTRIB);
    }
}

/*
 * Clears the wake-ups from other threads of this process, and ends holds that have lingered long
 * enough.
 */
static void heard(struct session *session)
{
    if (session_heard(session))
        lease_linger_due(session);
}

/* Sleeps until a socket may have appeared. */
static void wait_for_daemon(struct session *session)
{
    int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    struct pollfd fds[3] = {{session->wake, POLLIN, 0}, {session->alarm, POLLIN, 0}, {watch, POLLIN, 0}};

    if (watch >= 0)
        watch_folders(watch, session->settings.socket);
    (void)poll(fds, watch >= 0 ? 3 : 2, RETRY_MS);
    heard(session);
    if (watch >= 0 && inotify_add_watch(watch, "/", IN_DELETE_SELF) >= 0) /* any other file refuses this */
        close(watch);
}

/* ---- the thread ---- */

/*
 * False: the daemon sent no welcome, or closed the connection soon after it. The caller then waits
 * before it reconnects.
 */
static bool hang_up(struct session *session)
{
    bool stayed = clock_now() - session->dialled_at >= STAYS;
    bool was_online;

    pthread_mutex_lock(&session->lock);
    session_drop_socket(session);
    if (session->page_fd >= 0)
        close(session->page_fd);
    session->page_fd = -1;
    was_online = atomic_exchange(&session->view.online, false);
    atomic_store(&session->view.one_bus, false);
    protocol_lost(&session->protocol);
    session->attempted = true;
    pthread_cond_broadcast(&session->welcomed);
    pthread_mutex_unlock(&session->lock);
    heard(session); /* the connection is broken */
    os_priority_abandoned(&session->os_priority);
    return was_online && stayed;
}

/*
 * By its alignment the buffer for one descriptor has room for two. The session must close all that
 * arrive; the last may be the page.
 */
static void take_descriptors(struct session *session, const struct cmsghdr *part)
{
    size_t n = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);

    for (size_t i = 0; i < n; i++) {
        if (session->page_fd >= 0)
            close(session->page_fd);
        memcpy(&session->page_fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
    }
}

static ssize_t receive(struct session *session, uint8_t *bytes, size_t room)
{
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec vector = {bytes, room};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t n;

    if (!session_has_socket(session))
        return -EBADF;
    n = recvmsg(session->socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0)
        return -errno;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS)
            take_descriptors(session, part);
    }
    return n;
}

/* Sends what a new daemon must know besides the leases. */
static void introduce(struct session *session)
{
    pthread_mutex_lock(&session->lock);
    for (size_t i = 0; i < session->n_threads; i++) {
        struct frame frame = {.type = FRAME_THREAD, .thread = {.tid = (uint32_t)session->threads[i]}};

        protocol_send(&session->protocol, &frame);
    }
    for (int i = 0; i < session->n_notices; i++)
        session_send_notice(session, i);
    session_flush(session);
    atomic_store(&session->view.one_bus, (session->protocol.flags & WELCOME_BUS) != 0);
    atomic_store(&session->view.online, true);
    pthread_cond_broadcast(&session->welcomed);
    pthread_mutex_unlock(&session->lock);
    session_publish_job(session);
    session_publish(session);
}

/* Wakes the threads that wait for an answer of the daemon. */
static void announce(struct session *session)
{
    pthread_mutex_lock(&session->lock);
    pthread_cond_broadcast(&session->welcomed);
    pthread_mutex_unlock(&session->lock);
}

static void deliver(struct session *session, const struct protocol_event *event)
{
    struct session_listener *listener = &session->listener;
    struct lease *lease = &session->leases[event->lease];

    switch (event->kind) {
    case PROTOCOL_YIELD:
        if (!lease_linger_called(lease) && listener->on_yield && lease_wanted(lease))
            listener->on_yield(listener->user, lease);
        break;
    case PROTOCOL_ATTACHED:
        announce(session);
        if (listener->on_refused && lease_refusal(lease, false) != 0)
            listener->on_refused(listener->user, lease);
        break;
    case PROTOCOL_PLANNED:
        session_plan_came(session);
        break;
    case PROTOCOL_WELCOMED:
        introduce(session);
        break;
    case PROTOCOL_PLACED:
        announce(session);
        break;
    case PROTOCOL_TOLD_PRIORITY:
        session_set_priority(session, session->protocol.told_priority);
        break;
    case PROTOCOL_TOLD_RESET:
        session_reset_worst(session);
        break;
    case PROTOCOL_ANSWER:
        break;
    }
}

static void deliver_all(struct session *session)
{
    uint32_t yields = atomic_exchange(&session->local_yields, 0);
    struct protocol_event event;

    for (;;) {
        bool more;

        pthread_mutex_lock(&session->lock);
        more = protocol_event(&session->protocol, &event);
        pthread_mutex_unlock(&session->lock);
        if (!more)
            break;
        deliver(session, &event);
    }
    if (atomic_exchange(&session->plan_due, false))
        session_plan_take(session);
    for (; yields; yields &= yields - 1) {
        event = (struct protocol_event){PROTOCOL_YIELD, (unsigned)__builtin_ctz(yields)};
        deliver(session, &event);
    }
}

/* Reads what has arrived; false: the connection is lost. */
static bool read_socket(struct session *session)
{
    uint8_t bytes[4096];

    for (;;) {
        ssize_t n = receive(session, bytes, sizeof bytes);
        int result;

        if (n == -EINTR)
            continue;
        if (n == -EAGAIN)
            return true;
        if (n <= 0)
            return false;
        pthread_mutex_lock(&session->lock);
        result = protocol_receive(&session->protocol, bytes, (size_t)n);
        session_flush(session);
        pthread_mutex_unlock(&session->lock);
        if (result < 0)
            return false;
        deliver_all(session);
    }
}

/* One round on a connection; false: the connection is lost. */
static bool converse(struct session *session)
{
    struct pollfd fds[3] = {
        {session->wake, POLLIN, 0}, {session->socket, POLLIN, 0}, {session->alarm, POLLIN, 0}};
    const uint8_t *bytes;
    bool broken;

    pthread_mutex_lock(&session->lock);
    if (outbox_pending(&session->protocol.out, &bytes))
        fds[1].events |= POLLOUT;
    pthread_mutex_unlock(&session->lock);
    (void)poll(fds, 3, LOOK_MS);
    heard(session);
    if ((fds[1].revents & (POLLIN | POLLHUP | POLLERR)) && !read_socket(session))
        return false;
    pthread_mutex_lock(&session->lock);
    session_flush(session);
    broken = session->protocol.broken || !session_has_socket(session);
    pthread_mutex_unlock(&session->lock);
    deliver_all(session);
    return !broken;
}

static bool stopping(struct session *session)
{
    bool stop;

    pthread_mutex_lock(&session->lock);
    stop = session->stop;
    pthread_mutex_unlock(&session->lock);
    return stop;
}

static void *thread_main(void *argument)
{
    struct session *session = argument;
    struct page *page;

    session_register_thread(session, gettid()); /* the reaper: holders yield through it */
    while (!stopping(session)) {
        session_renew(session);
        if (session->socket < 0)
            try_to_connect(session);
        if (session->socket < 0) {
            deliver_all(session);
            pthread_mutex_lock(&session->lock);
            session->attempted = true;
            pthread_cond_broadcast(&session->welcomed);
            pthread_mutex_unlock(&session->lock);
            wait_for_daemon(session);
        } else if (!converse(session)) {
            bool again = hang_up(session);

            deliver_all(session);
            if (!again && !stopping(session))
                wait_for_daemon(session);
        }
    }
    page = atomic_load(&session->protocol.page);
    if (page)
        page_disown(page);
    return NULL;
}

int session_start_thread(struct session *session)
{
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t before;
    int result;

    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, THREAD_STACK);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    result = pthread_create(&session->thread, &attributes, thread_main, session);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return -result;
}
