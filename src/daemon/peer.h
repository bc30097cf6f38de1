/*
 * The server's state, shared by server.c (peers and time), conversation.c (frames), terms.c (what holds for a client), arbiter.c
 * and holds.c (leases and decisions), devices.c and answers.c (questions).
 */
#ifndef DAEMON_PEER_H
#define DAEMON_PEER_H

#include "daemon/admission.h"
#include "daemon/history.h"
#include "daemon/moves.h"
#include "daemon/server.h"
#include "daemon/tally.h"
#include "sched/core.h"
#include "wire/frame.h"
#include "wire/outbox.h"

#define PEER_MAX_THREADS 16
#define PEER_MAX_NOTICES 32
#define PEER_GROUPS      PAGE_LEASES /* at once: every one has at least one lease */
#define SERVER_QUEUE     1024 /* events that follow from decisions; each hold causes at most two at a time */

/*
 * The daemon's truth about one lease.
 *
 *   UNUSED -ATTACH-> FREE -REQUEST-> WAITING -grant-> HELD -RELEASE, taken back, gone-> FREE
 *             |                         ^               | RELEASE with next
 *             +-- busy: DECLARED        +---------------+
 */
enum hold_state {
    HOLD_UNUSED,
    HOLD_FREE,
    HOLD_WAITING,
    HOLD_HELD,
    HOLD_DECLARED, /* busy since before this daemon: its engines are blocked until it is released */
};

struct hold {
    enum hold_state state;
    uint32_t epoch;
    unsigned device;
    struct engine_set engines;
    /* 0: alone; else the leases with the same number here are one request, on a lane of their own. */
    unsigned group;
    baton_nsec yield_at; /* when it was asked to give way; 0: it was not */
    bool overdue;
    uint64_t told; /* LEASE_FLAG_* that the client was told of by frame */
};

enum peer_state { PEER_NONE, PEER_GREETING, PEER_CLIENT, PEER_MONITOR, PEER_DRAINING };

enum peer_token { TOKEN_NONE, TOKEN_ASKED, TOKEN_OURS };

enum peer_job { JOB_NONE, JOB_RUNS, JOB_OVER, JOB_ENDING }; /* daemon/lanes.h */

struct peer {
    enum peer_state state;
    unsigned slot;
    uint32_t client; /* number for people, never used again */
    struct credentials who;
    struct frame_hello hello;
    bool joined;       /* known to the core */
    bool gone;         /* ... which knows that it has gone */
    bool exact;        /* asked to be ranked by its engine time: keeps no idle leases */
    bool reports_jobs; /* says where its jobs begin and end */
    bool realtime;     /* connected, and has deadlines or a real-time priority with Linux */
    bool best_effort;  /* in force */
    bool foreign;      /* its name is a task that another user runs */
    bool reserves;     /* a process that will become the task's; until it ends */
    bool awaits_verdict;
    bool connected;   /* its end has not been seen */
    bool exited;      /* the process is gone */
    bool finished;    /* said goodbye: nothing of it runs */
    bool dirty, drop; /* has output; is to be dropped */
    bool admitted;    /* a task of the plan, in force */
    bool
        strayed; /* kernels or data beside gpu_set: an execution engine was granted there, or it opened that GPU */
    uint64_t computed_on;         /* GPUs whose execution engine it was granted */
    unsigned boosted;             /* the level that its threads were raised to; 0: they were not */
    unsigned priority;            /* in force */
    uint32_t serial, taken;       /* of the newest terms; of those in force */
    struct frame_plan terms;      /* the newest, in force once they were taken */
    struct task_entry *task;      /* that it is, or reserves; NULL: none */
    uint64_t gpu_set;             /* in force: GPUs that the plan assigns to it; 0: none */
    uint64_t late, late_reported; /* jobs */
    baton_nsec late_at;           /* when that was reported; 0: never */
    struct page *page;
    struct hold holds[PAGE_LEASES];
    struct outbox in, out;
    struct peer *next_dirty;
    pid_t threads[PEER_MAX_THREADS];
    size_t n_threads;
    uint64_t placed; /* GPUs that were chosen for its job; 0: it did not ask */
    /* Profile `gpusync`: one lane, one token, one engine at a time (daemon/lanes.h). */
    enum peer_job job;
    enum peer_token token;
    unsigned token_gpu;                /* TOKEN_OURS: whose */
    unsigned gpu_cluster, cpu_cluster; /* as joined */
    bool uses_gpu;                     /* as joined */
    uint32_t queue;                    /* leases that wait for the lane */
    int engaged;                       /* the lease that has it, or -1 */
    bool gpu_over;                     /* the job said that it needs no GPU any more */
    bool next_begins;                  /* the next job has begun before this one ended in the core */
    baton_nsec next_deadline_at;
    baton_nsec release_at, deadline_at, budget; /* of the present or last job */
    baton_nsec throttled_until;                 /* past its budget: no engine before; 0: it is not */
    uint64_t overruns;                          /* jobs */
    bool placing;                               /* its question about a GPU waits for the token */
    uint32_t place_number, place_leases;
    uint64_t place_gpus;
    unsigned place_home; /* SCHED_NO_GPU: its data is nowhere */
    baton_nsec place_migration, place_work;
    /* Its threads on the CPUs (daemon/cpus.h). */
    unsigned level; /* 0: they are as the program made them */
    bool
        inferred; /* it does not say itself where its jobs begin: CPU work before the first command is in none */
    bool suspended;  /* a donor that must stand still (C2) */
    bool disordered; /* its level could not be had */
    baton_nsec since_at, drain_at;
    uint64_t requests, grants, yields;
    uint32_t overdue;
    struct peer_notice {
        struct frame_notice said; /* printable */
        baton_nsec at;
    } notices[PEER_MAX_NOTICES];
    unsigned n_notices;
};

struct device {
    char name[DEVICE_NAME_SIZE];
    char description[129];
    unsigned copy_engines;
    bool discovered;
    baton_nsec drain;
};

struct server {
    struct config config;
    struct server_host host;
    struct server_start start;
    struct sched_core *core;
    const struct sched_profile *profile;
    struct peer **peers; /* config.clients slots */
    unsigned n_peers;
    uint32_t next_client;
    struct device devices[PLATFORM_MAX_GPUS];
    unsigned n_devices;
    struct peer *holders[SCHED_MAX_ENGINES];   /* who holds each engine ... */
    unsigned holder_leases[SCHED_MAX_ENGINES]; /* ... and by which lease */
    struct {
        uint64_t grants, yields;
    } engines[SCHED_MAX_ENGINES];
    struct sched_event queue[SERVER_QUEUE];
    size_t queue_begin, queue_n;
    struct peer *dirty; /* list by next_dirty */
    struct admission admission;
    struct plan plan;
    bool has_plan;
    char plan_path[257];
    baton_nsec settle_at; /* NSEC_MAX: settled */
    baton_nsec timer_at;
    baton_nsec now_at;
    struct claims claims;
    struct history history;
    struct tally tally;
    struct moves moves;
    uint64_t grants, yields, taken_back, drops, overdue, late;
    uint32_t reloads, declared;
    unsigned n_realtime; /* connected programs of that kind */
    bool ranks_changed;  /* levels on the CPUs are to be found anew */
};

/* ---- server.c ---- */
void peer_put(struct server *server, struct peer *peer, const struct frame *frame);
void peer_drop(struct server *server, struct peer *peer, enum report_kind report, uint64_t detail);
void peer_report(struct server *server, const struct peer *peer, enum report_kind report, uint64_t detail);
void peer_dirty(struct server *server, struct peer *peer);     /* it has output, or is to be dropped */
bool same_session(const struct peer *a, const struct peer *b); /* an earlier connection of the same one */
/* Connections that this session had before: nothing more is granted to them, and what they hold waits for declarations. */
void peer_replace_earlier(struct server *server, struct peer *peer);
void server_arm(struct server *server, baton_nsec at); /* wants a tick by then */

/* ---- devices.c ---- */
int device_find(struct server *server, const char *name, bool declare, unsigned *ret_device);

/* ---- terms.c ---- */
void peer_plan(struct server *server, struct peer *peer);       /* says what holds for it from now on */
void peer_plan_now(struct server *server, struct peer *peer);   /* ... and for what it waits for already */
void peer_plan_again(struct server *server, struct peer *peer); /* says what will, if that has changed */
void peer_taken(struct server *server, struct peer *peer, uint32_t serial);

/* ---- observe.c ---- */
/* Keeps what was seen of it. */
void observe_departed(struct task_entry *entry, const struct peer *peer, baton_nsec now_at);

/* ---- holds.c ---- */
uint32_t peer_engine(const struct peer *peer,
                     unsigned lease); /* first engine of a lease; UINT32_MAX: not attached */

/* ---- arbiter.c ---- */
void arbiter_join(struct server *server, struct peer *peer);
void arbiter_attach(struct server *server, struct peer *peer, const struct frame_attach *frame);
void arbiter_request(struct server *server, struct peer *peer, uint32_t index, uint32_t epoch);
void arbiter_release(struct server *server, struct peer *peer, const struct frame_release *frame);
void arbiter_group(struct server *server, struct peer *peer, const struct frame_group *frame);
void arbiter_group_release(struct server *server, struct peer *peer, const struct frame_group_release *frame);
void arbiter_priority(struct server *server, struct peer *peer, baton_nsec deadline_at);
void arbiter_job(struct server *server, struct peer *peer, const struct frame_job *frame);
/* It awaits nothing and is in nothing: what it asks for next is its next job, if it does not report jobs. */
void arbiter_rejoin(struct server *server, struct peer *peer);
/* Takes everything back that is not running. True: nothing is left, the peer is out of the core. */
bool arbiter_leave(struct server *server, struct peer *peer);
void arbiter_settle(struct server *server, bool settled);
void arbiter_tick(struct server *server);

/* ---- placement.c ---- */
void placement_request(struct server *server, struct peer *peer, const struct frame_place *frame);
void placement_moved(struct server *server, struct peer *peer, const struct frame_moved *frame);

/* ---- answers.c ---- */
void answer_query(struct server *server, struct peer *peer, const struct frame_query *frame);

#endif
