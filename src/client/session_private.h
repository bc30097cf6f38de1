/*
 * The session's state, shared by session.c (opening, closing, queries), session_thread.c (socket
 * and reaper), session_plan.c, session_fds.c, lease*.c, place.c, join.c, notices.c and stats.c
 * (jobs and counters).
 */
#ifndef CLIENT_SESSION_PRIVATE_H
#define CLIENT_SESSION_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/patience.h"
#include "client/jobs.h"
#include "client/lease.h"
#include "client/linger.h"
#include "client/protocol.h"
#include "client/session.h"
#include "client/os_priority.h"

#define SESSION_THREADS 16
#define SESSION_NOTICES 32
#define SESSION_NAMED   32 /* devices; further ones keep the name that they are given */

struct lease {
    struct lease_view view; /* first */
    struct session *session;
    unsigned index;
    atomic_bool on_cores; /* lease_on_cores() */
    /*
     * By the kind of the command that ended the hold: after a copy in, a program is back sooner
     * than after a copy out. This and the following: under the session's lock.
     */
    struct lingering linger[ENGINE_N];
    struct linger_credit linger_credit;
    _Atomic bool lingers; /* BUSY without a user, until ... */
    baton_nsec lingers_until;
    bool was_told;             /* ... and the reaper was armed before */
    _Atomic baton_nsec worked; /* engine time since the credit has grown; under no lock */
};

/*
 * Locks: `lock` guards protocol, socket and plan; `jobs_lock` guards jobs. No thread holds both,
 * nor either of them during callbacks. Nothing blocks while holding them.
 */
struct session {
    struct session_view view; /* first */
    pthread_mutex_t lock;
    pthread_cond_t welcomed; /* signalled on a welcome, a loss or an answer: waiters check again */
    pthread_t thread;
    struct settings settings;
    struct session_listener listener;
    struct protocol protocol;
    struct page *private_page;
    bool attempted; /* the first connection has failed or ended; guarded by the lock */
    int socket;     /* -1: none */
    ino_t socket_inode;
    baton_nsec dialled_at; /* when it was connected */
    _Atomic int wake;      /* timerfd: the thread has something to do */
    int alarm;             /* timerfd: a lingering hold is due */
    int page_fd;           /* came with the last bytes; -1: none */
    bool stop;
    pid_t threads[SESSION_THREADS]; /* registered; reported to every new daemon */
    size_t n_threads;
    struct os_priority os_priority;
    struct frame_plan plan; /* the plan in force; protocol.plan is the newest */
    bool plan_waits;        /* jobs_lock: the newest plan waits for the end of the running job ... */
    _Atomic bool plan_due;  /* ... and that job has ended */
    _Atomic uint64_t bound; /* of the plan in force; 0: none */
    uint32_t placings;      /* PLACE questions asked so far */
    _Atomic bool online;
    _Atomic bool one_bus;          /* the daemon arbitrates buses (lease_on_one_bus()) */
    _Atomic uint32_t local_yields; /* leases whose reaper was armed when YIELD was already set */
    struct lease leases[PAGE_LEASES];
    pthread_mutex_t jobs_lock;
    struct jobs jobs;
    bool leaving;          /* lock: the process ends, so no wait for a placement */
    bool never_lingers;    /* BATON_TEST_NO_LINGER, for tests and benchmarks */
    _Atomic bool gpu_done; /* the running job has reported that it is done with the GPU */
    bool explicit_jobs;
    _Atomic uint32_t job_number;
    unsigned number;   /* from 1; of the sessions of this process, and of those that it was forked from */
    uint64_t job_mark; /* jobs_lock, as the next three: as in struct page */
    baton_nsec used;
    baton_nsec released_at;
    baton_nsec apart; /* to be noted in a page (page_note_apart()); NSEC_MAX: nothing */
    struct session_notice {
        struct frame_notice said;
        _Atomic uint64_t launches;
    } notices[SESSION_NOTICES]; /* n_notices of them: session's lock */
    int n_notices;
    uint64_t notices_left_out; /* session's lock */
    struct named_device {
        uintptr_t device;
        char name[DEVICE_NAME_SIZE];
    } named[SESSION_NAMED]; /* n_named of them: session's lock */
    unsigned n_named;
};

/*
 * How long a caller waits for the first words of a daemon that listens; longer for one that is
 * required.
 */
static inline baton_nsec session_patience(const struct session *session)
{
    return patience_limit(session->settings.require_daemon ? 30 * NSEC_PER_SEC : 2 * NSEC_PER_SEC);
}

/* Lock held: sends notice number i to a daemon that understands notices. */
void session_send_notice(struct session *session, int i);

/* Prints the list of notices as JSON, with its key. */
void session_print_notices(struct session *session, FILE *out);

/*
 * Starts the session's thread: it connects, talks to the daemon, reconnects and calls back until
 * `stop`. 0 or -EAGAIN.
 */
int session_start_thread(struct session *session);

/* Writes the state of the job into the page, for example into a new page. Takes jobs_lock. */
void session_publish_job(struct session *session);

/* Sends what is queued; lock held. Never blocks. */
void session_flush(struct session *session);

/*
 * On the session's thread: a plan has arrived. Brings the newest into force, or lets it wait for
 * the border.
 */
void session_plan_came(struct session *session);
void session_plan_take(struct session *session);

/* A job ended (jobs_lock held): has a waiting plan become due? */
void session_plan_border(struct session *session);

/*
 * On the session's thread. lease_linger_due() ends holds that have lingered long enough.
 * lease_linger_called() ends this hold if a client waits that is no less urgent; false: the hold
 * does not linger.
 */
void lease_linger_due(struct session *session);
bool lease_linger_called(struct lease *lease);

/* ---- session_fds.c: descriptors that the program may have closed ---- */

/* Wakes the session's thread. */
void session_wake(struct session *session);
/* On the session's thread: clears the wake-up. True: the alarm is due. */
bool session_heard(struct session *session);

/* Sets, checks and drops the session's socket. Lock held. */
void session_take_socket(struct session *session, int fd);
bool session_has_socket(const struct session *session);
void session_drop_socket(struct session *session);

/* Makes those of the two timers that do not exist yet. 0 or -errno. */
int session_make_timers(struct session *session);
void session_drop_timers(struct session *session);
/*
 * On the session's thread, from time to time: replaces timers that the program has closed, while
 * other threads use them.
 */
void session_renew(struct session *session);

#endif
