/*
 * batond without its edges: connections as byte buffers, time as an argument, pages as memory that
 * the host provides. Reads no clock, opens no file, never blocks. daemon/edge/loop.c runs it over
 * epoll; tests run it against simulated clients.
 *
 *     bytes --> peers (server.c) --> leases (arbiter.c) --> sched/core
 *     --> decisions --> lease words, frames, boosts
 *
 * Peers are known by their slot. A peer that loses its connection while it holds something stays
 * and drains. It goes when its process has ended (server_exited), or when its lease words say that
 * it is done.
 */
#ifndef DAEMON_SERVER_H
#define DAEMON_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/nsec.h"
#include "daemon/claims.h"
#include "daemon/config.h"
#include "daemon/foreign.h"
#include "daemon/rt_limit.h"
#include "model/plan.h"
#include "sched/core.h"
#include "wire/frame.h"
#include "wire/page.h"

struct server;

/* The process at the other end, as the kernel reports it. */
struct credentials {
    pid_t pid;
    uid_t uid;
    gid_t gid;
    bool unwatched; /* the end of the process will not be reported */
};

/* An event that a user should know; the host puts it into words. */
enum report_kind {
    REPORT_BAD_FRAME,  /* peer: dropped for bytes that make no sense */
    REPORT_SLOW,       /* peer: dropped because it does not read */
    REPORT_LATE_YIELD, /* peer, detail: engine; has not yielded */
    REPORT_REFUSED,    /* peer, detail: errno */
    REPORT_VERSION,    /* peer, detail: dropped because it speaks this version of the protocol */
    /* detail: errno, count: process id, limit: its client number; its connection was refused */
    REPORT_TURNED_AWAY,
    REPORT_UNDRAINED, /* peer: its process cannot be watched; taken as drained after a wait */
    REPORT_SETTLED,   /* detail: clients that declared something busy */
    REPORT_OVERRUN,   /* peer, name, detail: its budget in ns; a job used more engine time than that */
    /*
     * peer, name, detail: enum plan_request_kind, count: as planned, response: length of a request
     * that is longer than planned; 0: a job made more requests
     */
    REPORT_REQUESTS,
    /* peer, name, response: time since the release of its last job, limit: its planned period */
    REPORT_EARLY,
    REPORT_COST, /* peer, name, response: cost of a job so far, limit: as planned (job_costs.h) */
    /*
     * peer, name, detail: LATE_*, response, limit, count: since the last report about this client
     */
    REPORT_LATE,
    REPORT_VERDICT,   /* name: task, detail: VERDICT_*, reason, other: cause, response, limit, cost */
    REPORT_PLANNED,   /* cost: the running set was planned again */
    REPORT_UNPLANNED, /* reason, cost, other: cause: it could not be; the plan stays */
    REPORT_DIFFERS,   /* difference: of the plan (detail) or partition to what runs here; count:
                         how many of its list were reported before it */
    REPORT_AGREES,    /* the last difference has gone */
    REPORT_NOTICE,    /* peer, name, detail: enum notice, other: kernel, more: what is known of it */
    REPORT_KINDS,
};

struct server_report {
    enum report_kind kind;
    unsigned peer; /* slot */
    uint64_t detail, count;
    const char *name, *other, *more; /* borrowed until the call returns */
    enum reason reason;
    baton_nsec response, limit, cost;
    const struct difference *difference; /* borrowed likewise */
};

/* What the server needs from its host. */
struct server_host {
    void *user;
    /* A zeroed page for this peer, not yet shared; -errno. */
    int (*page_new)(void *user, unsigned peer, struct page **ret_page);
    void (*page_free)(void *user, unsigned peer, struct page *page);
    /* Wakes the thread that may sleep on this word. */
    void (*wake)(void *user, lease_word *word);
    /* Raises (priority 1..99 of Baton) or restores (0) the threads of a peer. */
    void (*boost)(void *user, pid_t pid, const pid_t *threads, size_t n, unsigned priority);
    void (*report)(void *user, const struct server_report *report);
    /* A peer asked to reload; writes text for it. 0 or -errno. */
    int (*reload)(void *user, char *ret_text, size_t size);
    /*
     * A peer asked for another plan, or (tasks) another task set; text as above. 0 or -errno; NULL:
     * not supported.
     */
    int (*load)(void *user, bool tasks, const char *path, char *ret_text, size_t size);
    /*
     * A peer asked the daemon to end once its answer is sent; text as above. 0 or -errno; NULL: not
     * supported.
     */
    int (*stop)(void *user, char *ret_text, size_t size);
    /*
     * Plans this task set (text, copied; paths in it are relative to the folder of `file`).
     * server_planned() brings the answer, after this call has returned. 0 or -errno.
     */
    int (*plan)(void *user, const char *file, const char *text, size_t size);
    /*
     * The machine's cores now, and those that a thread of a process may run on. 0 or -errno;
     * -ESRCH: the process has no such thread. NULL: cores are unknown, so no bound is claimed.
     */
    int (*machine)(void *user, struct machine *ret_machine);
    int (*cores_of)(void *user, pid_t pid, pid_t tid, struct core_set *ret_cores);
    /*
     * The limits on real-time programs, and their number: of the machine (pid 0), or of the groups
     * that the process is in. NULL: there are none.
     */
    size_t (*limits_of)(void *user, pid_t pid, struct rt_limit ret_limits[RT_LIMITS]);
    /* How many threads of the process may run on these cores only. NULL: unknown, so none. */
    size_t (*threads_on)(void *user, pid_t pid, const struct core_set *cores);
    /*
     * The next process of the machine; 0: there are no more, and the next call begins anew. NULL:
     * other programs are not looked for.
     */
    pid_t (*next_process)(void *user);
    /*
     * The most urgent real-time thread of a process among those that may run on one of these cores;
     * false: it has none, or belongs to the kernel.
     */
    bool (*realtime_of)(void *user, pid_t pid, const struct core_set *cores,
                        struct realtime_thread *ret_thread);
    /* Is any thread of the process real-time? NULL: some thread of every process is. */
    bool (*is_realtime)(void *user, pid_t pid);
    /*
     * Pins all threads of a process to these cores, under SCHED_FIFO at this level of the band;
     * level 1 is the lowest priority. Level 0: restores them. 0; > 0: so many of them had not
     * been ordered before, or had changed since; -errno: one of them failed. NULL: programs are
     * not ordered on the CPUs.
     */
    int (*order)(void *user, pid_t pid, const struct core_set *cores, unsigned level);
    /* How many threads of the process have started or changed since. NULL: none ever. */
    size_t (*strangers)(void *user, pid_t pid);
    /*
     * Watches this process, which is not scheduled: server_unscheduled_ended() when it has ended.
     * 0, -ESRCH: it has ended already, or -errno. NULL: the caller watches.
     */
    int (*watch)(void *user, pid_t pid, unsigned process);
    /* Kills the process of a peer that used more than its budget. NULL: the process goes on. */
    void (*end)(void *user, unsigned peer);
    /* Every decision of the core, in order, before it is carried out. NULL: not reported. */
    void (*decided)(void *user, const struct sched_decision *decision);
    /*
     * The real-time priority of a thread of a process with the operating system; 0: it has none;
     * -errno, as for cores_of().
     */
    int (*rank_of)(void *user, pid_t pid, pid_t tid);
};

struct server_start {
    uint32_t generation;
    pid_t pid;
    uid_t uid;
    bool settle;    /* the predecessor did not end in order */
    uint32_t about; /* ABOUT_REALTIME, ABOUT_LOCKED, ABOUT_BOOSTS, ABOUT_AWAKE: what is permitted */
    baton_nsec now_at;
};

/* close this connection after sending the pending output, then call server_lost() */
#define SERVER_DROP 1
#define SERVER_BUSY 2 /* too many connections, of this user or of all */

/* config is copied. 0, -EINVAL or -ENOMEM. */
int server_new(const struct config *config, const struct server_host *host, const struct server_start *start,
               struct server **ret_server);
void server_free(struct server *server);

/*
 * A connection: 0 with its slot, or SERVER_BUSY, -ENOMEM. Then the process runs unscheduled
 * (daemon/unscheduled.h).
 */
int server_accept(struct server *server, const struct credentials *who, baton_nsec now_at,
                  unsigned *ret_peer);

/* The host had to refuse a connection with this errno. */
void server_refused(struct server *server, const struct credentials *who, int error, baton_nsec now_at);

/* A process that host.watch() was told of has ended. */
void server_unscheduled_ended(struct server *server, unsigned process, baton_nsec now_at);

/* Bytes from it: 0 or SERVER_DROP. */
int server_receive(struct server *server, unsigned peer, const uint8_t *bytes, size_t n, baton_nsec now_at);

/* Bytes for it; the page's descriptor goes with the first byte ever sent. */
size_t server_pending(const struct server *server, unsigned peer, const uint8_t **ret_bytes);
void server_sent(struct server *server, unsigned peer, size_t n);

/* The next peer with new output, or that must be dropped; false: none. */
bool server_next_dirty(struct server *server, unsigned *ret_peer, bool *ret_drop);

/*
 * The connection is lost. True: the slot stays in use and drains, and the caller watches for the
 * process's end.
 */
bool server_lost(struct server *server, unsigned peer, baton_nsec now_at);

/* The peer's process has ended; also while connected (a child may keep the socket open). */
void server_exited(struct server *server, unsigned peer, baton_nsec now_at);

/* Is this slot in use (connected or draining)? */
bool server_has(const struct server *server, unsigned peer);

/*
 * Is a program connected that has deadlines: a period, a task, or a real-time priority with Linux?
 */
bool server_has_realtime(const struct server *server);

/* Reads the machine again, before bounds are reported other than by a query (metrics). */
void server_look(struct server *server, baton_nsec now_at);

/* When server_tick() wants to be called; NSEC_MAX: not before the next event. */
baton_nsec server_next_at(const struct server *server);
void server_tick(struct server *server, baton_nsec now_at);

/* A device found by the probe; 0 or -ENOSPC. */
int server_add_device(struct server *server, const char *name, const char *description);

/*
 * Puts the plan (copied; NULL: none) into force and tells every client what changed for it. path is
 * for status.
 */
int server_set_plan(struct server *server, const struct plan *plan, const char *path, baton_nsec now_at);

/*
 * The tasks that admission covers. On success *set is taken over (NULL: none); path is for status.
 * Running tasks are asked about again. Decisions about other tasks, and the answer to a question
 * under way, no longer count. -E2BIG: more tasks than a plan has priorities; -ENOSPC: too many
 * names.
 */
int server_set_tasks(struct server *server, struct task_set *set, const char *path, baton_nsec now_at);

/*
 * No plan was given with the present task set, or there is neither. If a running task of the set
 * has a place in the present plan, that plan stays until the next one is computed, and admits no
 * other task. Otherwise no plan is in force from now on.
 */
void server_retire_plan(struct server *server, baton_nsec now_at);

/* The result of a question (server_host::plan). */
struct planning {
    bool late;                 /* stopped because it took too long */
    int status;                /* exit status of the planner; -1: it did not end by itself */
    const char *object, *plan; /* what it wrote, borrowed */
    size_t object_size, plan_size;
    baton_nsec cost; /* from the question to the answer */
};
void server_planned(struct server *server, const struct planning *planning, baton_nsec now_at);

/*
 * Takes the limits of users from a configuration that was read again; all other settings need a
 * restart.
 */
void server_set_limits(struct server *server, const struct config *config, baton_nsec now_at);

/* Numbers for tests and the loop. */
unsigned server_peers(const struct server *server); /* connected or draining, monitors included */
/* Does the core have a job of this peer (a deferred end included)? */
bool server_has_job(const struct server *server, unsigned peer);
bool server_engine_free(const struct server *server, const char *device, unsigned engine);

#endif
