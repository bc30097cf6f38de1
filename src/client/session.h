/*
 * A process's conversation with batond. It never blocks the application: opening waits a short,
 * bounded time for the daemon's welcome, everything else is asynchronous. Without a daemon (absent,
 * dead, refusing) every lease is free ("pass through"), and the session's thread reconnects when a
 * daemon appears.
 *
 * Each session has one thread, with all signals blocked. It reads the socket. It is also the
 * reaper: it sleeps until the daemon wants a lease back. Callbacks run on it, with no lock held;
 * they may call everything in session.h and lease.h but session_close().
 *
 * fork: the child's session answers "pass through" for ever and sends nothing, because it shares
 * the parent's socket. A page that the kernel wipes in the child reveals the fork, so this needs no
 * atfork handler and one load per use. exec'ed programs open their own session.
 *
 * All functions are thread-safe.
 */
#ifndef CLIENT_SESSION_H
#define CLIENT_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/nsec.h"
#include "client/settings.h"
#include "wire/device_name.h"
#include "wire/notice.h"

struct session;
struct lease;

/*
 * What the loaded plan says about this program. The daemon sends it when it changes. 0: not
 * specified.
 */
struct session_plan {
    unsigned priority; /* effective, after the user's ceiling */
    unsigned gpus;
    uint64_t gpu_set; /* placement: bit i is GPU i; 0: any or chosen */
    unsigned gpu_cluster, cpu_cluster;
    baton_nsec piece;            /* longest kernel piece */
    int64_t chunk_in, chunk_out; /* bytes */
    bool slicing;     /* false under the profiles `fifo` and `priority-whole`: run everything whole */
    bool saves_state; /* migration `system`: GPU-only data goes to the host at each job end */
    bool peer_copies; /* migration `p2p`: GPU-only data goes directly from GPU to GPU */
    bool exact;       /* each piece of the plan's length is a request that an analysis counts */
    bool best_effort; /* its task was not admitted: behind every program that has a priority */
    baton_nsec bound; /* on the response time of its jobs */
};

/* What is counted. The daemon reads the counters from the shared page for `baton status`. */
enum session_counter {
#define COUNTER(identifier, text) COUNTER_##identifier,
#include "wire/counters.def"
#undef COUNTER
    COUNTER_N
};

/* What every launch reads of a session, without a call. The session begins with it. */
struct session_view {
    unsigned char *parent; /* one page that reads 1 here and 0 in a forked child */
    _Atomic bool online;
    _Atomic bool one_bus; /* ... and that daemon arbitrates buses (client/lease.h) */
    _Atomic uint64_t counters[COUNTER_N];
};

static inline const struct session_view *session_view(const struct session *session)
{
    return (const struct session_view *)(const void *)session;
}

/* Any may be NULL. */
struct session_listener {
    /*
     * The lease is BUSY, its reaper is armed, and a client waits (a more urgent one:
     * LEASE_FLAG_YIELD). The callee lets what is in flight drain, then calls lease_yield() or
     * lease_end().
     */
    void (*on_yield)(void *user, struct lease *lease);
    /* The daemon does not manage the lease's engine (lease_refusal()). */
    void (*on_refused)(void *user, struct lease *lease);
    void (*on_plan)(void *user, const struct session_plan *plan);
    /*
     * A job of this process begins or has ended; on the thread that reports it. number counts from
     * 1.
     */
    void (*on_job)(void *user, bool begins, bool explicit_job, uint32_t number, baton_nsec at);
    /* The same, for explicit jobs only. */
    void (*on_explicit_job)(void *user, bool begins);
    /*
     * A job of this process is about to end, on the thread that reports it; it may still use the
     * GPU.
     */
    void (*on_job_ending)(void *user);
    void *user;
};

/*
 * Connects and starts the thread. settings and listener are copied; listener may be NULL. Waits for
 * the welcome of a daemon that listens, at most about 2 s, or 30 s if settings->require_daemon. On
 * a busy machine the welcome may take long. If commands passed through meanwhile, they would
 * collide with those of other clients.
 * Returns at once without a daemon: 0 (passing through), or -ECONNREFUSED if
 * settings->require_daemon. -ENOMEM, -EAGAIN (no thread).
 */
int session_open(const struct settings *settings, const struct session_listener *listener,
                 struct session **ret_session);

/*
 * Sends GOODBYE, gives every lease back, joins the thread. Leases opened on it are invalid. NULL is
 * allowed.
 */
void session_close(struct session *session);

/* True in a forked child. */
static inline bool session_forked(const struct session *session)
{
    return *(const volatile unsigned char *)session_view(session)->parent == 0;
}

/* Welcomed by a daemon, and not a forked child. */
static inline bool session_online(const struct session *session)
{
    return !session_forked(session) && atomic_load(&session_view(session)->online);
}

/*
 * Replaces the name by the one that the device was first given in this process. device: a CUDA
 * ordinal, or the handle of an OpenCL root device. A front and a batch both name devices by calls
 * of the driver, any of which may fail once. If one device had two names, a batch would hold the
 * bus of one name. Its own commands would then wait for the bus of the other. session: NULL is
 * allowed.
 */
void session_name_device(struct session *session, uintptr_t device, char name[DEVICE_NAME_SIZE]);

/* May a job get another GPU than the one before, with its state (WELCOME_FOLLOWS)? */
bool session_follows(struct session *session);

/*
 * Does a job use the GPU of its token only (WELCOME_TOKENS)? Then a program may not open a GPU that
 * the daemon does not manage (lease_refusal()).
 */
bool session_has_tokens(struct session *session);

/* The daemon's generation; 0 before the first welcome. */
uint32_t session_generation(struct session *session);

/*
 * The plan in force, or defaults (slicing, priority 0) before the first welcome. A new plan waits
 * for the end of the running job.
 */
void session_plan(const struct session *session, struct session_plan *ret_plan);

/*
 * Asks for another base priority, 1..99. The daemon limits it to the user's ceiling and answers
 * with a plan.
 */
void session_set_priority(struct session *session, unsigned priority);

/*
 * Call it on each thread that issues work; the thread that opens the session is registered already.
 * Threads of a real-time client get their scheduling with the operating system
 * (client/os_priority.h), and the daemon may boost them while the process holds an engine. The
 * daemon remembers at most 16 threads of a client.
 */
void session_register_thread(struct session *session, pid_t tid);

bool session_has_thread(struct session *session, pid_t tid);

/* At exit: undoes what session_register_thread() did to the scheduling of threads, for good. */
void session_restore_threads(struct session *session);

/*
 * The worst values that the daemon shows (response, jitter, tardiness) count from now on. --stats
 * still covers all jobs.
 */
void session_reset_worst(struct session *session);

/* Adds to a counter; one relaxed atomic addition. */
static inline void session_count(struct session *session, enum session_counter counter, uint64_t n)
{
    struct session_view *view = (struct session_view *)(void *)session;

    (void)atomic_fetch_add_explicit(&view->counters[counter], n, memory_order_relaxed);
}
uint64_t session_counter(const struct session *session, enum session_counter counter);

/*
 * Stores a notice (wire/notice.h) about the kernel of that name ("": about the program), for
 * `--stats` and, once, for the daemon. detail: further facts, or "". Answers its number for
 * session_notice_again(), which counts one more launch of the kind; -1: there are too many to keep.
 */
int session_notice(struct session *session, enum notice notice, const char *kernel, const char *detail);
void session_notice_again(struct session *session, int number);

/*
 * Jobs (client/jobs.h). The first job that the program itself reports switches inferred jobs off
 * for good, and the statistics begin anew. Instants are of CLOCK_MONOTONIC. Release and end are
 * measured here, once. The statistics, the trace and the daemon all use these two numbers.
 */
void session_job_begin(struct session *session, bool explicit_job, baton_nsec at);
/* An explicit job whose release the program states: 0, or -EINVAL (client/jobs.h). */
int session_job_begin_released(struct session *session, baton_nsec release_at, baton_nsec at);
/*
 * Call it before the end is measured: the listener may have work left for the job. Ignored while no
 * job of this kind runs.
 */
void session_job_ending(struct session *session, bool explicit_job);
/*
 * The running job, an explicit one, has finished with the GPU: under the profile `gpusync` it may
 * lose its token.
 */
void session_job_gpu_done(struct session *session);
void session_job_end(struct session *session, bool explicit_job, baton_nsec at);
/*
 * Commands are submitted that begin no job: those of a batch. No bound counts them if no job runs,
 * and the daemon learns that. session_job_begin() for an inferred job does the same after the
 * program has reported a job itself.
 */
void session_submits(struct session *session);

/*
 * Writes the object of `--stats` (docs/statistics.md) to path, whole or not at all; 0 or -errno.
 * session: NULL for a program that has not used Baton; then every key is there with nothing
 * counted.
 */
int session_write_stats(struct session *session, const char *path);

/*
 * Copies the counters to the shared page. Jobs do so at their end; call it also before long waits.
 */
void session_publish(struct session *session);

#endif
