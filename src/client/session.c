#include "client/session.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/patience.h"
#include "client/client_process.h"
#include "client/program_name.h"
#include "client/session_private.h"
#include "wire/rank.h"

#define GOODBYE_WAIT (100 * NSEC_PER_MS)

/* ---- callbacks of the protocol ---- */

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
    if (page == MAP_FAILED)
        return NULL;
    page_own(page); /* on the session's thread; a page stays mapped when another one follows */
    return page;
}

static void wake_word(void *user, lease_word *word)
{
    (void)user;
    (void)syscall(SYS_futex, page_futex(word), FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* ---- helpers ---- */

void session_flush(struct session *session)
{
    const uint8_t *bytes;
    size_t pending;

    while (session->socket >= 0 && (pending = outbox_pending(&session->protocol.out, &bytes)) > 0) {
        ssize_t n = -1;

        errno = EBADF;
        if (session_has_socket(session))
            n = send(session->socket, bytes, pending, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            if (errno != EAGAIN)
                session->protocol.broken = true;
            session_wake(session); /* the thread waits for room, or closes the connection */
            return;
        }
        outbox_drop(&session->protocol.out, (size_t)n);
    }
    if (session->protocol.broken)
        session_wake(session);
}

/* ---- opening and closing ---- */

static void fill_hello(const struct settings *settings, struct frame_hello *hello)
{
    *hello = (struct frame_hello){.period = (uint64_t)settings->period,
                                  .flags = HELLO_TOLD | HELLO_USED | HELLO_MANAGED};
    hello->deadline = (uint64_t)(settings->deadline ? settings->deadline : settings->period);
    if (settings->priority == SETTING_PRIORITY_ADAPTIVE)
        hello->flags |= HELLO_ADAPTIVE;
    else
        hello->priority = settings->priority > 0 ? (uint32_t)settings->priority : os_priority_own();
    if (settings->period || settings->deadline || os_priority_rank() > 0)
        hello->flags |= HELLO_REALTIME;
    else if (settings->priority == SETTING_PRIORITY_UNSET)
        hello->flags |= HELLO_NICE;
    if (settings->slice != SETTING_AUTO || settings->chunk != SETTING_AUTO || settings->gpus != SETTING_OFF ||
        settings->placement != SETTING_PLACEMENT_UNSET)
        hello->flags |= HELLO_OWN;
    if (settings->task[0]) {
        hello->flags |= HELLO_TASK;
        (void)snprintf(hello->name, sizeof hello->name, "%.64s", settings->task);
    } else if (settings->name[0])
        (void)snprintf(hello->name, sizeof hello->name, "%.64s", settings->name);
    else
        program_name_own(hello->name, sizeof hello->name);
    if (getrandom(&hello->key, sizeof hello->key, GRND_NONBLOCK) != sizeof hello->key)
        hello->key = (uint64_t)clock_now();
}

/*
 * Until the first attempt is over: welcomed, or there is no daemon. A wait for a condition may also
 * end without a reason, before the thread has dialled.
 */
static void wait_for_welcome(struct session *session)
{
    baton_nsec until_at = clock_now() + session_patience(session);
    struct timespec until = {until_at / NSEC_PER_SEC, until_at % NSEC_PER_SEC};

    pthread_mutex_lock(&session->lock);
    while (session->protocol.state != PROTOCOL_ONLINE && !session->attempted)
        if (pthread_cond_timedwait(&session->welcomed, &session->lock, &until) != 0)
            break;
    pthread_mutex_unlock(&session->lock);
}

static void free_session(struct session *session)
{
    session_drop_socket(session);
    session_drop_timers(session);
    if (session->view.parent)
        munmap(session->view.parent, 4096);
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
    session->socket = session->page_fd = session->alarm = -1;
    atomic_store(&session->wake, -1);
    session->private_page = aligned_alloc(64, PAGE_SIZE_BYTES);
    marker = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    session->view.parent = marker == MAP_FAILED ? NULL : marker;
    if (session_make_timers(session) < 0 || !session->private_page || !session->view.parent ||
        madvise(session->view.parent, 4096, MADV_WIPEONFORK) < 0) {
        free_session(session);
        return -ENOMEM;
    }
    *session->view.parent = 1;
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
    session->number = atomic_fetch_add(&client_process.n_sessions, 1) + 1;
    session->apart = NSEC_MAX;
    session->plan = (struct frame_plan){.flags = PLAN_SLICING};
    session->never_lingers = getenv("BATON_TEST_NO_LINGER") != NULL;
    jobs_init(&session->jobs, settings->period, settings->deadline);
    jobs_warm_up(&session->jobs, settings->warm > 0 ? (uint64_t)settings->warm : 0);
    fill_hello(settings, &hello);
    os_priority_init(&session->os_priority, settings->period || settings->deadline,
                     rank_level(false, hello.priority));
    protocol_init(&session->protocol, &hello, session->private_page, &host);
    for (unsigned i = 0; i < PAGE_LEASES; i++)
        session->leases[i] =
            (struct lease){.view = {&session->protocol.leases[i].word, &session->protocol.leases[i].grouped,
                                    &session->view.one_bus},
                           .session = session,
                           .index = i};
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
    result = session_start_thread(session);
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

/* Waits a short time until the daemon has closed the connection: no grant can follow then. */
static void say_goodbye(struct session *session)
{
    struct frame frame = {.type = FRAME_GOODBYE};
    baton_nsec until_at = clock_now() + patience_limit(GOODBYE_WAIT);
    uint8_t rest[512];

    if (session->socket < 0)
        return;
    protocol_send(&session->protocol, &frame);
    session_flush(session);
    while (clock_now() < until_at && session_has_socket(session)) {
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
    os_priority_restore(&session->os_priority);
    say_goodbye(session);
    free_session(session);
}

/* ---- queries and requests ---- */

static bool is_online_with(struct session *session, uint32_t flag)
{
    bool has;

    pthread_mutex_lock(&session->lock);
    has = session->protocol.state == PROTOCOL_ONLINE && (session->protocol.flags & flag);
    pthread_mutex_unlock(&session->lock);
    return has;
}

bool session_follows(struct session *session)
{
    return is_online_with(session, WELCOME_FOLLOWS);
}

bool session_has_tokens(struct session *session)
{
    return is_online_with(session, WELCOME_TOKENS);
}

uint32_t session_generation(struct session *session)
{
    uint32_t generation;

    pthread_mutex_lock(&session->lock);
    generation = session->protocol.generation;
    pthread_mutex_unlock(&session->lock);
    return generation;
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
    session->protocol.hello.flags &= ~(HELLO_ADAPTIVE | HELLO_NICE);
    pthread_mutex_unlock(&session->lock);
    frame.priority.priority = priority;
    send_now(session, &frame);
}

/* Under the lock. */
static bool has_thread(const struct session *session, pid_t tid)
{
    for (size_t i = 0; i < session->n_threads; i++)
        if (session->threads[i] == tid)
            return true;
    return false;
}

bool session_has_thread(struct session *session, pid_t tid)
{
    bool has;

    pthread_mutex_lock(&session->lock);
    has = has_thread(session, tid);
    pthread_mutex_unlock(&session->lock);
    return has;
}

/* Under the lock: makes room in the full list of threads if some have ended. */
static void forget_ended_threads(struct session *session)
{
    size_t n = 0;

    for (size_t i = 0; i < session->n_threads; i++) {
        if (tgkill(getpid(), session->threads[i], 0) == 0)
            session->threads[n++] = session->threads[i];
    }
    session->n_threads = n;
}

void session_register_thread(struct session *session, pid_t tid)
{
    struct frame frame = {.type = FRAME_THREAD, .thread = {.tid = (uint32_t)tid}};
    bool fresh;

    if (session_forked(session))
        return;
    if (tid == gettid())
        os_priority_raise(&session->os_priority);
    pthread_mutex_lock(&session->lock);
    if (session->n_threads == SESSION_THREADS)
        forget_ended_threads(session);
    fresh = session->n_threads < SESSION_THREADS && !has_thread(session, tid);
    if (fresh)
        session->threads[session->n_threads++] = tid;
    pthread_mutex_unlock(&session->lock);
    if (!fresh)
        return;
    os_priority_name(&session->os_priority, tid);
    send_now(session, &frame);
}

void session_restore_threads(struct session *session)
{
    if (!session_forked(session))
        os_priority_restore(&session->os_priority);
}
