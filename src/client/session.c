#include "client/session.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/session_private.h"
#include "wire/socket_path.h"

#define WELCOME_WAIT (2 * NSEC_PER_SEC) /* of a daemon that is there; one that is absent is not waited for */
#define RETRY_MS     1000               /* where the socket's folder cannot be watched, or to be sure */
#define GOODBYE_WAIT (100 * NSEC_PER_MS)
#define THREAD_STACK (128 * 1024)

/* ---- what the protocol machine asks for ---- */

static struct page *map_page(void *user, size_t size)
{
    struct session *session = user;
    struct stat status;
    void *page;
    int seals;

    if (session->page_fd < 0)
        return NULL;
    seals = fcntl(session->page_fd, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(session->page_fd, &status) < 0 ||
        (size_t)status.st_size != size)
        page = MAP_FAILED;
    else
        page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, session->page_fd, 0);
    close(session->page_fd);
    session->page_fd = -1;
    return page == MAP_FAILED ? NULL : page;
}

static void wake_word(void *user, lease_word *word)
{
    (void)user;
    (void)syscall(SYS_futex, page_futex(word), FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* ---- small things ---- */

bool session_forked(const struct session *session)
{
    return __atomic_load_n(session->parent, __ATOMIC_RELAXED) == 0;
}

void session_wake(struct session *session)
{
    uint64_t one = 1;

    (void)!write(session->wake, &one, sizeof one);
}

void session_flush(struct session *session)
{
    const uint8_t *bytes;
    size_t pending;

    while (session->socket >= 0 && (pending = outbox_pending(&session->protocol.out, &bytes)) > 0) {
        ssize_t n = send(session->socket, bytes, pending, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            if (errno != EAGAIN)
                session->protocol.broken = true;
            session_wake(session); /* the thread waits for room, or hangs up */
            return;
        }
        outbox_drop(&session->protocol.out, (size_t)n);
    }
    if (session->protocol.broken)
        session_wake(session);
}

/* ---- connecting ---- */

/* A socket that somebody else put in our place is not our daemon. */
static bool trusted(int fd, bool given)
{
    struct ucred peer;
    socklen_t size = sizeof peer;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return false;
    return given || peer.uid == 0 || peer.uid == getuid();
}

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -errno;
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0) {
        int result = -errno;

        close(fd);
        return result;
    }
    return fd;
}

static void try_to_connect(struct session *session)
{
    bool given = session->settings.socket[0] != 0;
    char path[SOCKET_PATH_SIZE];

    for (unsigned i = 0; socket_path_candidate(session->settings.socket, i, path) == 0; i++) {
        int fd = connect_to(path);

        if (fd < 0)
            continue;
        if (!trusted(fd, given)) {
            close(fd);
            continue;
        }
        pthread_mutex_lock(&session->lock);
        session->socket = fd;
        protocol_connected(&session->protocol);
        session_flush(session);
        pthread_mutex_unlock(&session->lock);
        return;
    }
}

/* Sleeps until a socket may have appeared. */
static void wait_for_daemon(struct session *session)
{
    int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    struct pollfd fds[2] = {{session->wake, POLLIN, 0}, {watch, POLLIN, 0}};
    char path[SOCKET_PATH_SIZE];
    uint64_t count;

    for (unsigned i = 0; watch >= 0 && socket_path_candidate(session->settings.socket, i, path) == 0; i++) {
        char *slash = strrchr(path, '/');

        if (slash && slash != path)
            *slash = 0;
        (void)inotify_add_watch(watch, slash ? path : ".", IN_CREATE | IN_MOVED_TO | IN_ATTRIB);
    }
    (void)poll(fds, watch >= 0 ? 2 : 1, RETRY_MS);
    (void)!read(session->wake, &count, sizeof count);
    if (watch >= 0)
        close(watch);
}

/* ---- the thread ---- */

/* True if the daemon had welcomed us; one that did not is not asked again at once. */
static bool hang_up(struct session *session)
{
    bool was_online;

    pthread_mutex_lock(&session->lock);
    if (session->socket >= 0)
        close(session->socket);
    session->socket = -1;
    if (session->page_fd >= 0)
        close(session->page_fd);
    session->page_fd = -1;
    was_online = atomic_exchange(&session->online, false);
    protocol_lost(&session->protocol);
    pthread_cond_broadcast(&session->welcomed);
    pthread_mutex_unlock(&session->lock);
    if (was_online && session->listener.on_online)
        session->listener.on_online(session->listener.user, false);
    return was_online;
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
    ssize_t n = recvmsg(session->socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    if (n < 0)
        return -errno;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS &&
            part->cmsg_len == CMSG_LEN(sizeof(int))) {
            if (session->page_fd >= 0)
                close(session->page_fd);
            memcpy(&session->page_fd, CMSG_DATA(part), sizeof(int));
        }
    }
    return n;
}

/* What a new daemon must know besides the leases. */
static void introduce(struct session *session)
{
    pthread_mutex_lock(&session->lock);
    for (size_t i = 0; i < session->n_threads; i++) {
        struct frame frame = {.type = FRAME_THREAD, .thread = {.tid = (uint32_t)session->threads[i]}};

        protocol_send(&session->protocol, &frame);
    }
    session_flush(session);
    atomic_store(&session->online, true);
    pthread_cond_broadcast(&session->welcomed);
    pthread_mutex_unlock(&session->lock);
    session_publish(session);
}

static void deliver(struct session *session, const struct protocol_event *event)
{
    struct session_listener *listener = &session->listener;
    struct lease *lease = &session->leases[event->lease];
    bool granted;

    switch (event->kind) {
    case PROTOCOL_GRANTED:
        pthread_mutex_lock(&session->lock);
        granted = protocol_granted(&session->protocol, event->lease);
        pthread_mutex_unlock(&session->lock);
        if (granted && listener->on_grant)
            listener->on_grant(listener->user, lease);
        break;
    case PROTOCOL_YIELD:
        if (listener->on_yield && lease_wanted(lease))
            listener->on_yield(listener->user, lease);
        break;
    case PROTOCOL_PLANNED:
        session_plan_came(session);
        break;
    case PROTOCOL_WELCOMED:
        introduce(session);
        if (listener->on_online)
            listener->on_online(listener->user, true);
        break;
    case PROTOCOL_PLACED:
        pthread_mutex_lock(&session->lock);
        pthread_cond_broadcast(&session->welcomed);
        pthread_mutex_unlock(&session->lock);
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

/* Reads what there is; false: the connection is gone. */
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

/* One round on a connection; false: it is gone. */
static bool converse(struct session *session)
{
    struct pollfd fds[2] = {{session->wake, POLLIN, 0}, {session->socket, POLLIN, 0}};
    const uint8_t *bytes;
    uint64_t count;
    bool broken;

    pthread_mutex_lock(&session->lock);
    if (outbox_pending(&session->protocol.out, &bytes))
        fds[1].events |= POLLOUT;
    pthread_mutex_unlock(&session->lock);
    (void)poll(fds, 2, -1);
    (void)!read(session->wake, &count, sizeof count);
    if ((fds[1].revents & (POLLIN | POLLHUP | POLLERR)) && !read_socket(session))
        return false;
    pthread_mutex_lock(&session->lock);
    session_flush(session);
    broken = session->protocol.broken;
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

    session_register_thread(session, gettid()); /* the reaper: holders give way through it */
    while (!stopping(session)) {
        if (session->socket < 0)
            try_to_connect(session);
        if (session->socket < 0) {
            deliver_all(session);
            pthread_mutex_lock(&session->lock);
            pthread_cond_broadcast(&session->welcomed);
            pthread_mutex_unlock(&session->lock);
            wait_for_daemon(session);
        } else if (!converse(session)) {
            bool was_online = hang_up(session);

            deliver_all(session);
            if (!was_online && !stopping(session))
                wait_for_daemon(session);
        }
    }
    return NULL;
}

static int start_thread(struct session *session)
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

/* ---- opening and closing ---- */

static void default_name(char *ret_name, size_t size)
{
    (void)snprintf(ret_name, size, "%s", program_invocation_short_name);
}

static void fill_hello(const struct settings *settings, struct frame_hello *hello)
{
    *hello = (struct frame_hello){.period = (uint64_t)settings->period};
    hello->deadline = (uint64_t)(settings->deadline ? settings->deadline : settings->period);
    if (settings->priority == SETTING_PRIORITY_ADAPTIVE)
        hello->flags = HELLO_ADAPTIVE;
    else
        hello->priority = settings->priority > 0 ? (uint32_t)settings->priority : standing_own();
    if (settings->task[0]) {
        hello->flags |= HELLO_TASK;
        (void)snprintf(hello->name, sizeof hello->name, "%.64s", settings->task);
    } else if (settings->name[0])
        (void)snprintf(hello->name, sizeof hello->name, "%.64s", settings->name);
    else
        default_name(hello->name, sizeof hello->name);
    if (getrandom(&hello->key, sizeof hello->key, GRND_NONBLOCK) != sizeof hello->key)
        hello->key = (uint64_t)clock_now();
}

/* The first attempt is over: welcomed, or there is nobody. */
static void wait_for_welcome(struct session *session)
{
    baton_nsec until_at = clock_now() + WELCOME_WAIT;
    struct timespec until = {until_at / NSEC_PER_SEC, until_at % NSEC_PER_SEC};

    pthread_mutex_lock(&session->lock);
    while (session->protocol.state != PROTOCOL_ONLINE) {
        if (pthread_cond_timedwait(&session->welcomed, &session->lock, &until) != 0)
            break;
        if (session->socket < 0 && session->protocol.state == PROTOCOL_OFFLINE)
            break;
    }
    pthread_mutex_unlock(&session->lock);
}

static void free_session(struct session *session)
{
    if (session->socket >= 0)
        close(session->socket);
    if (session->wake >= 0)
        close(session->wake);
    if (session->parent)
        munmap(session->parent, 4096);
    jobs_done(&session->jobs);
    free(session->private_page);
    free(session);
}

static int make_session(const struct settings *settings, const struct session_listener *listener,
                        struct session **ret_session)
{
    struct session *session = calloc(1, sizeof *session);
    struct protocol_host host = {session, map_page, wake_word};
    struct frame_hello hello;
    pthread_condattr_t attributes;
    void *marker;

    if (!session)
        return -ENOMEM;
    session->socket = session->page_fd = -1;
    session->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    session->private_page = aligned_alloc(64, PAGE_SIZE_BYTES);
    marker = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    session->parent = marker == MAP_FAILED ? NULL : marker;
    if (session->wake < 0 || !session->private_page || !session->parent ||
        madvise(session->parent, 4096, MADV_WIPEONFORK) < 0) {
        free_session(session);
        return -ENOMEM;
    }
    *session->parent = 1;
    memset(session->private_page, 0, PAGE_SIZE_BYTES);
    session->settings = *settings;
    if (listener)
        session->listener = *listener;
    pthread_mutex_init(&session->lock, NULL);
    pthread_mutex_init(&session->jobs_lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&session->welcomed, &attributes);
    pthread_condattr_destroy(&attributes);
    session->plan = (struct frame_plan){.flags = PLAN_SLICING};
    jobs_init(&session->jobs, settings->period, settings->deadline);
    fill_hello(settings, &hello);
    standing_init(&session->standing, settings->period || settings->deadline, hello.priority);
    protocol_init(&session->protocol, &hello, session->private_page, &host);
    for (unsigned i = 0; i < PAGE_LEASES; i++)
        session->leases[i] = (struct lease){.session = session, .index = i};
    *ret_session = session;
    return 0;
}

int session_open(const struct settings *settings, const struct session_listener *listener,
                 struct session **ret_session)
{
    struct session *session = NULL;
    int result = make_session(settings, listener, &session);

    if (result)
        return result;
    result = start_thread(session);
    if (result) {
        free_session(session);
        return result;
    }
    wait_for_welcome(session);
    if (settings->require_daemon && session->protocol.state != PROTOCOL_ONLINE) {
        session_close(session);
        return -ECONNREFUSED;
    }
    session_register_thread(session, gettid());
    *ret_session = session;
    return 0;
}

/* Waits, briefly, until the daemon has hung up: then no grant can follow. */
static void say_goodbye(struct session *session)
{
    struct frame frame = {.type = FRAME_GOODBYE};
    baton_nsec until_at = clock_now() + GOODBYE_WAIT;
    uint8_t rest[512];

    if (session->socket < 0)
        return;
    protocol_send(&session->protocol, &frame);
    session_flush(session);
    while (clock_now() < until_at) {
        struct pollfd fd = {session->socket, POLLIN, 0};
        ssize_t n;

        if (poll(&fd, 1, 10) <= 0)
            continue;
        n = recv(session->socket, rest, sizeof rest, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
            return;
    }
}

void session_close(struct session *session)
{
    if (!session || session_forked(session))
        return;
    session_publish(session);
    pthread_mutex_lock(&session->lock);
    session->stop = true;
    session_wake(session);
    pthread_mutex_unlock(&session->lock);
    pthread_join(session->thread, NULL);
    standing_restore(&session->standing);
    say_goodbye(session);
    free_session(session);
}

/* ---- questions and wishes ---- */

bool session_online(const struct session *session)
{
    return !session_forked(session) && atomic_load(&session->online);
}

uint32_t session_generation(const struct session *session)
{
    return session->protocol.generation;
}

static void send_now(struct session *session, const struct frame *frame)
{
    if (session_forked(session))
        return;
    pthread_mutex_lock(&session->lock);
    protocol_send(&session->protocol, frame);
    session_flush(session);
    pthread_mutex_unlock(&session->lock);
}

void session_set_priority(struct session *session, unsigned priority)
{
    struct frame frame = {.type = FRAME_PRIORITY};

    if (session_forked(session) || priority < 1 || priority > 99)
        return;
    pthread_mutex_lock(&session->lock);
    session->protocol.hello.priority = priority;
    session->protocol.hello.flags &= ~HELLO_ADAPTIVE;
    pthread_mutex_unlock(&session->lock);
    frame.priority.priority = priority;
    send_now(session, &frame);
}

void session_register_thread(struct session *session, pid_t tid)
{
    struct frame frame = {.type = FRAME_THREAD, .thread = {.tid = (uint32_t)tid}};
    bool fresh;

    if (session_forked(session))
        return;
    if (tid == gettid())
        standing_raise(&session->standing);
    pthread_mutex_lock(&session->lock);
    fresh = session->n_threads < SESSION_THREADS;
    for (size_t i = 0; i < session->n_threads; i++)
        fresh = fresh && session->threads[i] != tid;
    if (fresh)
        session->threads[session->n_threads++] = tid;
    pthread_mutex_unlock(&session->lock);
    if (fresh)
        send_now(session, &frame);
}

void session_restore_threads(struct session *session)
{
    if (!session_forked(session))
        standing_restore(&session->standing);
}
