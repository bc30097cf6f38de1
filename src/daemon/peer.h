/*
 * The server's state. Files that share it: server.c (peers and time), conversation.c (frames),
 * terms.c (priority and place of a client), arbiter.c and holds.c (leases and decisions), devices.c
 * and answers.c (questions).
 */
#ifndef DAEMON_PEER_H
#define DAEMON_PEER_H

#include "daemon/admission.h"
#include "daemon/history.h"
#include "daemon/job_costs.h"
#include "daemon/moves.h"
#include "daemon/requests.h"
#include "daemon/server.h"
#include "daemon/tally.h"
#include "daemon/unscheduled.h"
#include "sched/core.h"
#include "wire/frame.h"
#include "wire/outbox.h"

#define PEER_MAX_THREADS 16
#define PEER_MAX_NOTICES 32
#define PEER_GROUPS      PAGE_LEASES /* at once: every group has at least one lease */
/*
 * Events that follow from one message, or from one client at a tick: each hold causes at most two
 * at a time.
 */
#define SERVER_QUEUE 1024

/*
 * The state of one lease in the daemon.
 *
 *   UNUSED -ATTACH-> FREE -REQUEST-> WAITING -grant-> HELD -RELEASE, ended, gone-> FREE
 *             |                         ^               | RELEASE with next
 *             +-- busy: DECLARED        +---------------+
 */
enum hold_state {
    HOLD_UNUSED,
    HOLD_FREE,
    HOLD_WAITING,
    HOLD_HELD,
    HOLD_DECLARED, /* busy since before this daemon: its engines are blocked until its release */
};

struct hold {
    enum hold_state state;
    uint32_t epoch;
    unsigned device;
    uint32_t kind; /* enum engine_kind */
    struct engine_set engines;
    /* 0: alone; leases with the same other number are one request, on a lane of their own. */
    unsigned group;
    baton_nsec contended_at; /* since when another client waits for its engines; 0: none does */
    baton_nsec yield_at;     /* when it was asked to yield; 0: it was not */
    bool yields_late;        /* it has not for late_yield_ms: no analysis counts so long a hold */
    uint64_t told;           /* LEASE_FLAG_* that the client was told by frame */
};

enum peer_state { PEER_NONE, PEER_GREETING, PEER_CLIENT, PEER_MONITOR, PEER_DRAINING };

enum peer_token { PEER_TOKEN_NONE, PEER_TOKEN_ASKED, PEER_TOKEN_OURS };

enum peer_job { JOB_NONE, JOB_RUNS, JOB_OVER, JOB_ENDING }; /* daemon/lanes.h */

struct peer {
    enum peer_state state;
    unsigned slot;
    uint32_t client; /* shown to users, never used again */
    struct credentials who;
    struct frame_hello hello;
    bool joined;       /* known to the core */
    bool gone;         /* the core was told that it has gone */
    bool exact;        /* asked to be ranked by its engine time: keeps no idle leases */
    bool reports_jobs; /* says where its jobs begin and end: it was told to by the welcome or its terms */
    bool realtime;     /* connected, and has deadlines or a real-time priority with Linux */
    bool best_effort;  /* in force */
    bool foreign;      /* its name is a task that another user runs */
    bool reserves;     /* a process that holds the task's place until a program runs it */
    bool awaits_verdict;
    bool connected;   /* the end of its connection has not been seen */
    bool exited;      /* its process has ended */
    bool finished;    /* said goodbye: none of its work runs */
    bool dirty, drop; /* has output; is to be dropped */
    bool admitted;    /* a task of the plan, in force ... */
    bool no_deadline; /* ... which has none */
    /* used a GPU outside gpu_set: was granted an execution engine there, or opened that GPU */
    bool strayed;
    uint64_t computed_on;         /* GPUs whose execution engine it was granted */
    unsigned boosted;             /* the level that its threads were raised to; 0: they were not */
    unsigned priority;            /* in force */
    uint32_t serial, taken;       /* of the newest terms; of the terms in force */
    struct frame_plan terms;      /* the newest; in force once the client has taken them */
    struct task_entry *task;      /* the task that it runs or reserves; NULL: none */
    uint64_t gpu_set;             /* in force: GPUs that the plan assigns to it; 0: none */
    uint64_t late, late_reported; /* jobs */
    baton_nsec late_at;           /* when the last report was made; 0: never */
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
    unsigned token_gpu;                /* PEER_TOKEN_OURS: the token's GPU */
    uint64_t token_gpus;               /* PEER_TOKEN_ASKED: GPUs of which it takes one */
    baton_nsec token_at;               /* when it was asked for, or granted */
    bool turn_over;                    /* it goes back when no engine is held (token_turns.h) */
    unsigned gpu_cluster, cpu_cluster; /* as joined */
    uint32_t queue;                    /* leases that wait for the lane */
    int engaged;                       /* the lease that has the lane, or -1 */
    unsigned last_engaged;             /* the lease that had it last */
    uint32_t place_number, place_leases;
    unsigned place_home; /* SCHED_NO_GPU: its data is on no GPU */
    uint64_t place_gpus;
    baton_nsec place_migration, place_work;
    baton_nsec next_deadline_at;
    baton_nsec release_at, deadline_at, budget; /* of the present or last job */
    /* past its budget: gets no engine before; 0: it is not throttled */
    baton_nsec throttled_until;
    uint64_t overruns; /* jobs */
    /* of the present job (daemon/requests.h) */
    struct plan_requests counted;
    struct request_tally tally;
    uint64_t excesses;       /* requests beyond what the plan counts */
    uint64_t early;          /* jobs that ended a claim (daemon/releases.h) */
    struct job_span span;    /* of the present or last job in the core (daemon/job_costs.h) */
    baton_nsec job_ended_at; /* of the last job that has ended in the core; 0: none has */
    uint64_t costly;         /* jobs whose cost ended a claim */
    bool uses_gpu;           /* as joined */
    bool unmanaged;          /* it uses, or has asked for, a GPU that batond does not manage */
    bool gpu_over;           /* the job reported that it needs no more GPU */
    /* the next job has begun before this one ended in the core */
    bool next_begins;
    bool placing; /* its question about a GPU waits for the token */
    /*
     * The client does not report where jobs begin: CPU work before the first command belongs to no
     * job.
     */
    bool inferred;
    bool reported;      /* it has said where a job begins, inferred or not */
    bool welcomed_jobs; /* its welcome had WELCOME_JOBS */
    /* Its threads on the CPUs (daemon/cpus.h). */
    bool suspended;  /* a donor that must not run (C2) */
    bool disordered; /* the host could not set its level */
    bool stranger;   /* after the last look some thread of it was not ordered */
    unsigned level;  /* 0: the threads have the program's own policy */
    baton_nsec since_at, drain_at;
    uint64_t requests, grants, yields;
    uint32_t late_yields;
    struct peer_notice {
        struct frame_notice said; /* as printable text */
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
    struct peer *holders[SCHED_MAX_ENGINES];   /* the client that holds each engine ... */
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
    bool plan_admits; /* false: computed, or a task set has replaced it; the set decides who joins */
    char plan_path[257];
    baton_nsec settle_at; /* until then engines are kept for clients of the predecessor; NSEC_MAX: settled */
    baton_nsec timer_at;
    baton_nsec now_at;
    struct claims claims;
    struct unscheduled unscheduled;
    struct foreign foreign;
    struct history history;
    struct job_costs job_costs;
    struct tally tally;
    struct moves moves;
    uint64_t grants, yields, leases_ended, drops, late_yields, late;
    uint32_t reloads, declared;
    unsigned n_realtime; /* connected programs with deadlines or a real-time priority */
    bool ranks_changed;  /* levels on the CPUs must be computed again */
};

/* ---- server.c ---- */
void peer_put(struct server *server, struct peer *peer, const struct frame *frame);
void peer_drop(struct server *server, struct peer *peer, enum report_kind report, uint64_t detail);
void peer_report(struct server *server, const struct peer *peer, enum report_kind report, uint64_t detail);
/* it has output, or is to be dropped */
void peer_dirty(struct server *server, struct peer *peer);
/* is one an earlier connection of the other's session? */
bool same_session(const struct peer *a, const struct peer *b);
/*
 * Earlier connections of this session: nothing more is granted to them, and their holds wait for
 * declarations.
 */
void peer_replace_earlier(struct server *server, struct peer *peer);
void server_arm(struct server *server, baton_nsec at); /* asks for a tick by then */

/* ---- devices.c ---- */
int device_find(struct server *server, const char *name, bool declare, unsigned *ret_device);

/* ---- terms.c ---- */
/* tells the client its terms from now on */
void peer_plan(struct server *server, struct peer *peer);
/* ... and applies them to its waiting requests */
void peer_plan_now(struct server *server, struct peer *peer);
/* tells the client its next terms, if they have changed */
void peer_plan_again(struct server *server, struct peer *peer);
void peer_taken(struct server *server, struct peer *peer, uint32_t serial);

/* ---- observe.c ---- */
/* Keeps what was observed of the client. */
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
/*
 * The client holds and awaits nothing. If it does not report jobs, its next request begins its next
 * job.
 */
void arbiter_rejoin(struct server *server, struct peer *peer);
/*
 * Withdraws the client's requests and ends its holds, except those of work that still runs. True:
 * it holds nothing any more, and the client is out of the core.
 */
bool arbiter_leave(struct server *server, struct peer *peer);
void arbiter_settle(struct server *server, bool settled);
void arbiter_tick(struct server *server);

/* ---- placement.c ---- */
void placement_request(struct server *server, struct peer *peer, const struct frame_place *frame);
void placement_moved(struct server *server, struct peer *peer, const struct frame_moved *frame);

/* ---- answers.c ---- */
void answer_query(struct server *server, struct peer *peer, const struct frame_query *frame);

#endif
