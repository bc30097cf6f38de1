/*
 * The scheduling core: events in, decisions out. It reads no clock, starts no thread, does no I/O and allocates nothing
 * after sched_core_new(); equal events give equal decisions. The daemon feeds it real events, the simulator virtual ones,
 * the tests all of them. The rules (Q1.., G1.., R1.., C1.., E1.., A1.., X1.., M1..) are those of docs/protocols.md.
 *
 * Who is who. A *client* is a process (at run time) or a task (in the simulator). It releases *jobs*. A job asks for engines
 * on one of its *lanes*; a lane has at most one engine request and at most one token at a time. A split kernel uses one lane per
 * sub-kernel (M1: a lane is a sub-job). The caller picks all ids below the capacities of the configuration.
 *
 * Idle leases (M3). A client that keeps an engine without using it has released it as far as the core knows. Before the caller feeds
 * another client's request for that engine, it takes the cached permission back. If that fails because the client has
 * become busy again, it first feeds an ENGINE_REQUEST for that client, which is granted in the same step since the engine is free.
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
#define SCHED_LEAD_NS NSEC_PER_SEC      /* Q8: at most so much does `adaptive` hold a long job against it */

/* Answers of sched_core_handle(); the state is unchanged after each of them. */
#define SCHED_REFUSED                                                                                        \
    1 /* the event breaks a rule: an unknown job, a lane that already waits, no token (G3, E3) ... */
#define SCHED_FULL 2 /* an id at or above the capacity given at start */

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
    bool demote_overruns;          /* a job past its budget ranks below all others until it is done */
    bool keep_gpu; /* a GPU cluster with no more GPU clients than GPUs gives each a GPU of its own */
};

/* Everything about the machine from the platform; profile `priority`, policy `fixed`, lock `r2dglp`; capacities 0. */
void sched_config_init(struct sched_config *ret_config, const struct platform *platform);

enum sched_event_kind {
    /* Clients. */
    /* client, uses_gpu, gpu_cluster, cpu_cluster, keeps_idle; again for a client that did not use GPUs: now it does */
    SCHED_CLIENT_JOIN,
    SCHED_CLIENT_LEAVE,   /* client; refused while it has jobs */
    SCHED_CLIENT_GONE,    /* client: it died. What waits is dropped; what it holds stays held (X1) ... */
    SCHED_CLIENT_DRAINED, /* ... until the GPUs have finished its work: given on; the ids are free again */
    /* Jobs. */
    SCHED_JOB_RELEASE, /* job, client, admitted, priority, deadline_at, cost, budget */
    SCHED_JOB_PRIORITY, /* job, admitted, priority, deadline_at: from now on (R10: requests that wait are not covered by a bound) */
    SCHED_JOB_NEXT, /* job: the client's next one takes its place, with its rank and with what it holds and awaits */
    SCHED_JOB_DONE, /* job; refused while it holds or awaits something. CK-OMLP may defer the end: SCHED_ENDED */
    /* job, n, gpus, home, migration, cost, occupied: choose n GPUs among gpus (placement `chosen`); gpus 0: forget the choice */
    SCHED_PLACE,
    /* Tokens; profile `gpusync` only. */
    /*
     * job, lane, n, gpus, home, migration, cost: for the lanes lane .. lane + n - 1 at once (M1). gpus 0: of any GPU of the
     * client's cluster. Else only of these, which are of one cluster; bounds do not cover a request for fewer than all its GPUs.
     */
    SCHED_TOKEN_REQUEST,
    SCHED_TOKEN_RELEASE, /* job, lane; a waiting request is withdrawn */
    /* Engines. */
    SCHED_ENGINE_REQUEST, /* job, lane, engines, one_of, batch, home */
    SCHED_PIECE_DONE, /* job, lane: a border was reached and more pieces follow (Q3): gives way, or is granted again */
    SCHED_ENGINE_RELEASE, /* job, lane: all of the request's engines; a waiting request is withdrawn */
    SCHED_ENGINE_BLOCK,   /* engine: busy with something unknown (found after a restart); not granted ... */
    SCHED_ENGINE_UNBLOCK, /* ... until as many UNBLOCKs */
    SCHED_TICK, /* only charges running jobs up to `at`, so that overruns show without waiting for a border */
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
    bool admitted;          /* a task of the plan in force: above every job that is none (G1) */
    unsigned priority;      /* 1..99, larger is more urgent; 0: none */
    baton_nsec deadline_at; /* NSEC_MAX: none */
    /* Worst case: of the whole job (fair lateness), of the critical section or the GPU work (placing); 0: unknown. */
    baton_nsec cost;
    baton_nsec budget; /* engine time the job may use; 0: no limit */
    /* PLACE, TOKEN_REQUEST, ENGINE_REQUEST: */
    baton_nsec migration; /* predicted cost of running elsewhere than at home */
    uint64_t gpus;        /* PLACE, TOKEN_REQUEST: bit q: GPU q is allowed */
    uint64_t occupied;    /* PLACE: bit q: somebody who announced nothing works on GPU q */
    unsigned home;        /* the GPU that holds the job's data, or SCHED_NO_GPU */
    /* CLIENT_JOIN: */
    unsigned gpu_cluster, cpu_cluster;
    bool uses_gpu; /* counts as one of the n tasks of its GPU cluster (A1) */
    bool
        keeps_idle; /* may keep engines that it does not use: a hold says how long it needs only while others wait */
    /* ENGINE_REQUEST: */
    bool one_of; /* any one of the engines: a kernel of placement `any`, over execution engines (Q1) */
    /* Holds the group to its end: never asked to yield; engines are kept idle for it while it waits (M2, E2). */
    bool batch;
    struct engine_set engines; /* all of them at once (E1), unless one_of */
    engine_id engine;          /* ENGINE_BLOCK, ENGINE_UNBLOCK */
};

enum sched_action {
    SCHED_GRANT, /* job, lane, engines, gpu: it holds the engines from now on (also: go on after PIECE_DONE) */
    SCHED_YIELD, /* job, lane, engine, as: give way to job `as` at the next piece border; once per grant (Q2) */
    /* job, lane, engine: an equal waits, so work beyond the request that was granted ends with a turn; once per grant (Q6) */
    SCHED_TURN,
    SCHED_TOKEN, /* job, lane, gpu, ahead: it holds a token of this GPU */
    SCHED_EFF,   /* job, as: it now runs with the priority of job `as`; as == job: with its own again (G4) */
    SCHED_SUSPEND, /* job: a donor must not run (C2) */
    SCHED_RESUME,  /* job: it may */
    SCHED_PLACED,  /* job, gpus: bit q: GPU q was chosen */
    SCHED_OVERRUN, /* job: has used more engine time than its budget; once per job */
    SCHED_ENDED,   /* job: its deferred end has come (C5), the id is free */
};

/*
 * In the order in which they are to be carried out: EFF that raises a holder precedes its YIELD; EFF that lowers one precedes the
 * GRANT that its release makes possible.
 */
struct sched_decision {
    enum sched_action action;
    job_id job;
    unsigned lane;
    unsigned gpu;              /* GRANT: of its first execution or copy engine, or SCHED_NO_GPU; TOKEN */
    unsigned ahead;            /* TOKEN: how many critical sections stood before this request (D8) */
    job_id as;                 /* EFF, YIELD */
    uint64_t gpus;             /* PLACED */
    engine_id engine;          /* YIELD: that is wanted; GRANT: the first of engines */
    struct engine_set engines; /* GRANT */
};

struct sched_core;

/* Allocates everything the core will ever need. -EINVAL: a capacity of 0, or more engines than SCHED_MAX_ENGINES. */
int sched_core_new(const struct sched_config *config, struct sched_core **ret_core);
void sched_core_free(struct sched_core *core);

/* Forgets all clients, jobs and time, as if it were new. */
void sched_core_reset(struct sched_core *core);

/*
 * Handles one event. 0 with the decisions (borrowed until the next call), or SCHED_REFUSED or SCHED_FULL without any.
 */
int sched_core_handle(struct sched_core *core, const struct sched_event *event,
                      const struct sched_decision **ret_decisions, size_t *ret_n);

/* Names of engines; `copy` is COPY_IN or COPY_OUT (two copy engines: 0 for in, 1 for out). */
engine_id sched_execution_engine(const struct sched_core *core, unsigned gpu);
engine_id sched_copy_engine(const struct sched_core *core, unsigned gpu, enum copy_direction copy);
engine_id sched_bus_engine(const struct sched_core *core, unsigned bus);
unsigned sched_bus_of_gpu(const struct sched_core *core, unsigned gpu);
unsigned sched_engines(const struct sched_core *core); /* ids are 0 .. n - 1 */
/* The GPU of an execution or copy engine, SCHED_NO_GPU for a bus. */
unsigned sched_engine_gpu(const struct sched_core *core, engine_id engine);
/* "gpu0", "gpu0 copy", "gpu0 in", "gpu0 out", "bus0". Writes at most size bytes, 0 included. */
void sched_engine_name(const struct sched_core *core, engine_id engine, char *ret_name, size_t size);

/* What a copy on this GPU asks for in this profile: its copy engine, and the bus where the profile arbitrates buses (Q4). */
struct engine_set sched_copy_engines(const struct sched_core *core, unsigned gpu, enum copy_direction copy);

/* Questions; they change nothing. */
const struct sched_config *sched_core_config(const struct sched_core *core);
/* The lowest unused id, or SCHED_FULL. */
int sched_core_unused_client(const struct sched_core *core, client_id *ret_client);
int sched_core_unused_job(const struct sched_core *core, job_id *ret_job);
/* Is this id in use (a deferred end included)? */
bool sched_core_has_job(const struct sched_core *core, job_id job);
/* Who holds the engine: SCHED_NO_JOB when it is free (blocked engines included). */
job_id sched_core_holder(const struct sched_core *core, engine_id engine, unsigned *ret_lane);
/* Requests that wait for the engine (one_of requests wait for each of theirs). */
size_t sched_core_waiting(const struct sched_core *core, engine_id engine);
/* The job whose priority this one runs with now; itself when nobody pushes it. */
job_id sched_core_effective(const struct sched_core *core, job_id job);
/* Is a above b by rank, and by release where the ranks are equal (G1)? A strict total order over the jobs that are there. */
bool sched_core_above(const struct sched_core *core, job_id a, job_id b);
/* A rank (G1): the tier, then the key, then the number of the release; the smaller the more urgent. */
struct sched_rank {
    unsigned tier;
    int64_t key;
    uint64_t seq;
};
struct sched_rank sched_core_rank(const struct sched_core *core, job_id job);
/* The rank that a job would have if this JOB_RELEASE came next (admitted, priority, deadline_at, cost). */
struct sched_rank sched_core_rank_of(const struct sched_core *core, const struct sched_event *release);
static inline bool sched_rank_above(const struct sched_rank *a, const struct sched_rank *b)
{
    if (a->tier != b->tier)
        return a->tier < b->tier;
    return a->key != b->key ? a->key < b->key : a->seq < b->seq;
}
/* Engine time charged to the job so far. */
baton_nsec sched_core_used(const struct sched_core *core, job_id job);
/* How long until some holder exceeds its budget if all go on from `at`: for the caller's timer. NSEC_MAX: never. */
baton_nsec sched_core_next_overrun(const struct sched_core *core, baton_nsec at);

/*
 * Most critical sections that may stand before one token request in a cluster with n GPU clients (the bounds of R2DGLP, FIFO and
 * CK-OMLP in docs/protocols.md); 0 for profiles without tokens.
 */
unsigned sched_core_token_bound(const struct sched_core *core, unsigned gpu_cluster);

#endif
