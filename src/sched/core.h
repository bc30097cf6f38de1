/*
 * The scheduling core: events in, decisions out. It reads no clock, starts no thread, does no I/O
 * and allocates nothing after sched_core_new(); equal events give equal decisions. The daemon feeds
 * it real events, the simulator virtual ones, the tests both. The rules (Q1.., G1.., R1.., C1..,
 * E1.., A1.., X1.., M1..) are those of docs/protocols.md.
 *
 * Terms. A *client* is a process (at run time) or a task (in the simulator). It releases *jobs*. A
 * job asks for engines on one of its *lanes*. A lane has at most one engine request and at most one
 * token at a time. A split kernel uses one lane per sub-kernel (M1: a lane is a sub-job). The
 * caller picks all ids below the capacities of the configuration.
 *
 * Idle leases (M3). For the core, a client that keeps an engine without using it has released it.
 * Before the caller feeds another client's request for that engine, the caller ends the lease. If
 * the client has become busy again, the caller first feeds an ENGINE_REQUEST for that client. The
 * core grants it in the same step, since the engine is free.
 */
#ifndef SCHED_CORE_H
#define SCHED_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/nsec.h"
#include "model/platform.h"
#include "sched/profile.h"

typedef uint32_t client_id;
typedef uint32_t job_id;
typedef uint32_t engine_id;

#define SCHED_NO_JOB      UINT32_MAX
#define SCHED_NO_ENGINE   UINT32_MAX
#define SCHED_NO_GPU      UINT32_MAX
#define SCHED_MAX_ENGINES 256 /* 64 GPUs with three engines each, and 64 buses */
#define SCHED_MAX_BUSES   64

#define SCHED_TURN_NS (5 * NSEC_PER_MS) /* Q6: how long a holder may go on while an equal waits */
#define SCHED_LOOK_NS (NSEC_PER_MS / 2) /* the least time between two looks at engine time that is told */
#define SCHED_LEAD_NS NSEC_PER_SEC      /* Q8: the most that `adaptive` adds to a long job's tag */

/* Answers of sched_core_handle(); the state is unchanged after each of them. */
/* The event breaks a rule: an unknown job, a lane that already waits, no token (G3, E3) ... */
#define SCHED_REFUSED 1
#define SCHED_FULL    2 /* an id at or above the capacity given at start */

/* What the core does about a job that uses more engine time than its budget, besides saying so. */
enum sched_overrun {
    SCHED_OVERRUN_TELL,
    /*
     * Until it is done it ranks below all tasks of the plan that have a deadline (B1). A job
     * without a deadline, or outside the plan, ranks below all others.
     */
    SCHED_OVERRUN_DEMOTE,
    /*
     * At its next border it gives its engines back. It gets no engine before its next budget, at
     * its release plus a whole number of periods. Not under tokens, whose release is the caller's.
     */
    SCHED_OVERRUN_THROTTLE,
};

struct engine_set {
    uint64_t bits[SCHED_MAX_ENGINES / 64];
};

static inline void engine_set_add(struct engine_set *set, engine_id engine)
{
    set->bits[engine / 64] |= UINT64_C(1) << engine % 64;
}

static inline bool engine_set_has(const struct engine_set *set, engine_id engine)
{
    return set->bits[engine / 64] >> engine % 64 & 1;
}

struct sched_config {
    enum sched_profile_id profile; /* which rules run together; sched/profile.h */
    enum sched_policy_id policy;   /* how jobs are ranked */
    enum sched_lock_id lock;       /* which token lock; used by the profile `gpusync` only */

    unsigned gpus, copy_engines; /* copy engines per GPU: 1 or 2 */
    unsigned buses;              /* independent ones; GPU q is on bus q * buses / gpus */
    unsigned gpu_cluster;        /* GPUs per cluster, divides gpus; 0: all */
    unsigned tokens_per_gpu;     /* rho; TOKENS_UNLIMITED */
    unsigned cpus, cpu_cluster;  /* c = cpu_cluster: CPUs per cluster; 0: all */
    unsigned sharing_cpus;       /* M: CPUs that share one GPU cluster (CK-OMLP); 0: cpu_cluster */

    unsigned clients, jobs, lanes; /* capacities; lanes per job */
    enum sched_overrun overrun;
    /* a GPU cluster with no more GPU clients than GPUs gives each a GPU of its own */
    bool keep_gpu;
};

/*
 * Takes the machine from the platform. Profile `priority`, policy `fixed`, lock `r2dglp`,
 * capacities 0.
 */
void sched_config_init(struct sched_config *ret_config, const struct platform *platform);

enum sched_event_kind {
    /* Clients. */
    /*
     * client, uses_gpu, gpu_cluster, cpu_cluster, keeps_idle; repeated when a client without GPUs
     * begins to use them
     */
    SCHED_CLIENT_JOIN,
    SCHED_CLIENT_LEAVE, /* client; refused while it has jobs */
    /* client: it died. Its waiting requests are dropped. What it holds stays held (X1) ... */
    SCHED_CLIENT_GONE,
    /* ... until the GPUs have finished its work: all that it held is free, and so are its ids */
    SCHED_CLIENT_DRAINED,
    /* Jobs. */
    /*
     * job, client, admitted, no_deadline, priority, deadline_at, cost, budget, period, release_at,
     * told
     */
    SCHED_JOB_RELEASE,
    /*
     * job, budget, period, release_at, told, carry: from now on; engine time used so far is not in
     * it
     */
    SCHED_JOB_BUDGET,
    SCHED_JOB_USED, /* job, used: of a job with `told` */
    /*
     * job, admitted, no_deadline, priority, deadline_at: from now on (R10: no bound covers waiting
     * requests)
     */
    SCHED_JOB_PRIORITY,
    /*
     * job: the client's next job takes its place, with its rank, its holds and its waiting requests
     */
    SCHED_JOB_NEXT,
    /* job; refused while it holds or awaits something. CK-OMLP may defer the end: SCHED_ENDED */
    SCHED_JOB_DONE,
    /*
     * job, n, gpus, home, migration, cost, occupied: choose n GPUs among gpus (placement `chosen`);
     * gpus 0: forget the choice
     */
    SCHED_PLACE,
    /* Tokens; profile `gpusync` only. */
    /*
     * job, lane, n, gpus, home, migration, cost: for the lanes lane .. lane + n - 1 at once (M1).
     * gpus 0: a token of any GPU of the client's cluster. Otherwise only of these GPUs, which
     * belong to one cluster. Bounds do not cover a request that excludes a GPU of the cluster.
     */
    SCHED_TOKEN_REQUEST,
    SCHED_TOKEN_RELEASE, /* job, lane; a waiting request is withdrawn */
    /* Engines. */
    SCHED_ENGINE_REQUEST, /* job, lane, engines, one_of, batch, home */
    /* job, lane: a border, and more pieces follow (Q3): the job yields, or is granted again */
    SCHED_PIECE_DONE,
    /* job, lane: all of the request's engines; a waiting request is withdrawn */
    SCHED_ENGINE_RELEASE,
    /* engine: busy with unknown work (found after a restart); not granted ... */
    SCHED_ENGINE_BLOCK,
    SCHED_ENGINE_UNBLOCK, /* ... until as many UNBLOCKs */
    /*
     * charges running jobs up to `at`, so that an overrun shows before the next border; throttled
     * jobs whose next budget is due go on
     */
    SCHED_TICK,
    SCHED_EVENT_KINDS,
};

struct sched_event {
    enum sched_event_kind kind;
    client_id client;
    baton_nsec at; /* never decreases from event to event */
    job_id job;
    unsigned lane;
    unsigned n; /* PLACE: how many GPUs; TOKEN_REQUEST: how many lanes (0 counts as 1) */
    /* JOB_RELEASE, JOB_PRIORITY: */
    bool admitted;          /* a task of the plan in force: above every job outside the plan (G1) */
    bool no_deadline;       /* admitted: below all jobs with a deadline, demoted ones too (B1) */
    unsigned priority;      /* 1..99, larger is more urgent; 0: none */
    baton_nsec deadline_at; /* NSEC_MAX: none */
    /*
     * Worst case of the whole job (fair lateness), or of the critical section or GPU work
     * (placing); 0: unknown.
     */
    baton_nsec cost;
    baton_nsec budget; /* engine time the job may use; 0: no limit */
    /*
     * Only SCHED_JOB_USED uses the budget: the client counts the engine time of its commands.
     * Otherwise holds use it, with every pause of the client while it holds an engine.
     */
    bool told;
    bool carry;        /* JOB_BUDGET: work of the last budget goes on, and what is left of it is added */
    baton_nsec used;   /* JOB_USED: engine time since the budget began; less than before: no change */
    baton_nsec period; /* time between two budgets of a throttled job; 0: the job is not throttled */
    baton_nsec release_at;
    /* PLACE, TOKEN_REQUEST, ENGINE_REQUEST: */
    baton_nsec migration; /* predicted cost of running elsewhere than at home */
    uint64_t gpus;        /* PLACE, TOKEN_REQUEST: bit q: GPU q is allowed */
    uint64_t occupied;    /* PLACE: bit q: a client that announced no work uses GPU q */
    unsigned home;        /* the GPU that holds the job's data, or SCHED_NO_GPU */
    /* CLIENT_JOIN: */
    unsigned gpu_cluster, cpu_cluster;
    bool uses_gpu; /* counts as one of the n tasks of its GPU cluster (A1) */
    /* may keep engines unused: then a hold shows how long the job needs only while others wait */
    bool keeps_idle;
    /* ENGINE_REQUEST: */
    /* any one of the engines: a kernel of placement `any`, over execution engines (Q1) */
    bool one_of;
    /*
     * Holds the group to its end: it is never asked to yield, and engines stay idle for it while it
     * waits (M2, E2).
     */
    bool batch;
    struct engine_set engines; /* all of them at once (E1), unless one_of */
    engine_id engine;          /* ENGINE_BLOCK, ENGINE_UNBLOCK */
};

enum sched_action {
    /* job, lane, engines, gpu: it holds the engines from now on (also: go on after PIECE_DONE) */
    SCHED_GRANT,
    /*
     * job, lane, engine, as: yield to job `as` at the next piece border; once per grant (Q2).
     * as == job: to no job in particular, because its budget is used up
     */
    SCHED_YIELD,
    /*
     * job, lane, engine: an equal waits, so work beyond the granted request ends with a turn; once
     * per grant (Q6)
     */
    SCHED_TURN,
    SCHED_TOKEN, /* job, lane, gpu, ahead: it holds a token of this GPU */
    /* job, as: it now runs with the priority of job `as`; as == job: with its own again (G4) */
    SCHED_EFF,
    SCHED_SUSPEND, /* job: a donor must not run (C2) */
    SCHED_RESUME,  /* job: it may run again */
    SCHED_PLACED,  /* job, gpus: bit q: GPU q was chosen */
    SCHED_OVERRUN, /* job: has used more engine time than its budget; once per budget */
    /* job: its deferred end has come (C5), the id is free; this ends its suspension, too */
    SCHED_ENDED,
};

/*
 * In the order in which the caller carries them out. An EFF that raises a holder precedes its
 * YIELD. An EFF that lowers a holder precedes the GRANT that its release makes possible.
 */
struct sched_decision {
    enum sched_action action;
    job_id job;
    unsigned lane;
    unsigned gpu; /* GRANT: of its first execution or copy engine, or SCHED_NO_GPU; TOKEN */
    /* TOKEN: how many critical sections were ahead of this request (D8) */
    unsigned ahead;
    job_id as;                 /* EFF, YIELD */
    uint64_t gpus;             /* PLACED */
    engine_id engine;          /* YIELD: the engine that is wanted; GRANT: the first of engines */
    struct engine_set engines; /* GRANT */
};

struct sched_core;

/*
 * Allocates all memory that the core needs. -EINVAL: a capacity of 0, or more engines than
 * SCHED_MAX_ENGINES.
 */
int sched_core_new(const struct sched_config *config, struct sched_core **ret_core);
void sched_core_free(struct sched_core *core);

/* Forgets all clients, jobs and times: the core is as new. */
void sched_core_reset(struct sched_core *core);

/*
 * Handles one event. 0 with the decisions (borrowed until the next call), or SCHED_REFUSED or
 * SCHED_FULL without any.
 */
int sched_core_handle(struct sched_core *core, const struct sched_event *event,
                      const struct sched_decision **ret_decisions, size_t *ret_n);

/* Names of engines. Of two copy engines, DIRECTION_IN is the first, DIRECTION_OUT the second. */
engine_id sched_execution_engine(const struct sched_core *core, unsigned gpu);
engine_id sched_copy_engine(const struct sched_core *core, unsigned gpu, enum copy_direction copy);
engine_id sched_bus_engine(const struct sched_core *core, unsigned bus);
unsigned sched_bus_of_gpu(const struct sched_core *core, unsigned gpu);
unsigned sched_engines(const struct sched_core *core); /* ids are 0 .. n - 1 */
/* The GPU of an execution or copy engine, SCHED_NO_GPU for a bus. */
unsigned sched_engine_gpu(const struct sched_core *core, engine_id engine);
/* "gpu0", "gpu0 copy", "gpu0 in", "gpu0 out", "bus0". Writes at most size bytes, 0 included. */
void sched_engine_name(const struct sched_core *core, engine_id engine, char *ret_name, size_t size);

/*
 * The engines that a copy on this GPU asks for: its copy engine, and the bus if the profile
 * arbitrates buses (Q4).
 */
struct engine_set sched_copy_engines(const struct sched_core *core, unsigned gpu, enum copy_direction copy);

/* Questions; they change nothing. */
const struct sched_config *sched_core_config(const struct sched_core *core);
/* Is this id in use (a deferred end included)? */
bool sched_core_has_job(const struct sched_core *core, job_id job);
/* The job that holds the engine; SCHED_NO_JOB: the engine is free or blocked. */
job_id sched_core_holder(const struct sched_core *core, engine_id engine, unsigned *ret_lane);
/*
 * The number of requests that wait for the engine (a one_of request waits for each of its engines).
 */
size_t sched_core_waiting(const struct sched_core *core, engine_id engine);
/*
 * The job whose priority this job runs with now; the job itself when no waiting job lends it one.
 */
job_id sched_core_effective(const struct sched_core *core, job_id job);
/*
 * Is a above b by rank, or by release when the ranks are equal (G1)? A strict total order over
 * present jobs.
 */
bool sched_core_above(const struct sched_core *core, job_id a, job_id b);
/*
 * A rank (G1): the tier, then the key, then the number of the release; a smaller one is more
 * urgent.
 */
struct sched_rank {
    unsigned tier;
    int64_t key;
    uint64_t seq;
};
struct sched_rank sched_core_rank(const struct sched_core *core, job_id job);
/*
 * The rank that a job would have if this JOB_RELEASE came next (admitted, no_deadline, priority,
 * deadline_at, cost).
 */
struct sched_rank sched_core_rank_of(const struct sched_core *core, const struct sched_event *release);
static inline bool sched_rank_above(const struct sched_rank *a, const struct sched_rank *b)
{
    if (a->tier != b->tier)
        return a->tier < b->tier;
    return a->key != b->key ? a->key < b->key : a->seq < b->seq;
}
/* Engine time charged to the job so far. */
baton_nsec sched_core_used(const struct sched_core *core, job_id job);
/*
 * Time until a SCHED_TICK is due if all holders go on from `at`. It is due when a holder exceeds
 * its budget, or when a throttled job gets its next one. NSEC_MAX: never.
 */
baton_nsec sched_core_next_tick(const struct sched_core *core, baton_nsec at);

/*
 * The most critical sections that may be ahead of one token request in a cluster with n GPU
 * clients. docs/protocols.md has the bounds of R2DGLP, FIFO and CK-OMLP. 0 for profiles without
 * tokens.
 */
unsigned sched_core_token_bound(const struct sched_core *core, unsigned gpu_cluster);

#endif
