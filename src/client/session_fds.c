/*
 * The session's descriptors live in another program's process. Some programs close every descriptor
 * that they do not know (daemons at their start, closefrom()), and the kernel then reuses the
 * numbers for their files. So nothing here reads, writes or closes a descriptor unless it certainly
 * belongs to the session. Timers take calls that the kernel refuses for any other file, and a
 * socket is known by its inode. A closed descriptor is replaced, and the daemon is dialled again.
 */
#include <errno.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "client/lease_private.h"

static bool is_timer(int fd)
{
    struct itimerspec left;

    return fd >= 0 && timerfd_gettime(fd, &left) == 0;
}

static bool expired(int fd)
{
    uint64_t count;

    return is_timer(fd) && read(fd, &count, sizeof count) > 0;
}

static ino_t inode_of(int fd)
{
    struct stat status;

    return fd >= 0 && fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode) ? status.st_ino : 0;
}

void session_wake(struct session *session)
{
    const struct itimerspec now = {.it_value = {.tv_nsec = 1}};

    (void)timerfd_settime(atomic_load(&session->wake), TFD_TIMER_ABSTIME, &now, NULL);
}

bool session_heard(struct session *session)
{
    (void)expired(atomic_load(&session->wake));
    return expired(session->alarm);
}

void session_take_socket(struct session *session, int fd)
{
    session->socket = fd;
    session->socket_inode = inode_of(fd);
}

bool session_has_socket(const struct session *session)
{
    return session->socket >= 0 && inode_of(session->socket) == session->socket_inode;
}

void session_drop_socket(struct session *session)
{
    if (session_has_socket(session))
        close(session->socket);
    session->socket = -1;
}

int session_make_timers(struct session *session)
{
    if (!is_timer(atomic_load(&session->wake)))
        atomic_store(&session->wake, timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!is_timer(session->alarm))
        session->alarm = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return atomic_load(&session->wake) >= 0 && session->alarm >= 0 ? 0 : -errno;
}

void session_drop_timers(struct session *session)
{
    if (is_timer(atomic_load(&session->wake)))
        close(atomic_load(&session->wake));
    if (is_timer(session->alarm))
        close(session->alarm);
}

void session_renew(struct session *session)
{
    if (is_timer(atomic_load(&session->wake)) && is_timer(session->alarm))
        return;
    pthread_mutex_lock(&session->lock);
    (void)session_make_timers(session);
    for (unsigned i = 0; i < session->protocol.n_leases; i++) /* their alarm is lost */
        lease_linger_end(&session->leases[i]);
    session_flush(session);
    pthread_mutex_unlock(&session->lock);
}
