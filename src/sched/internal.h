/*
 * The state behind sched/core.h, shared by the files of this folder only. Each file owns one
 * concern:
 *
 *     core.c          events to their handlers, tables of clients and jobs
 *     rank_policy.c   how jobs are ranked, budgets
 *     engine_queue.c  engine queues and grants (Q1, Q3, Q4, E1..E5, M2)
 *     engine_calls.c  what holders are told: yields (Q2) and turns (Q6)
 *     share.c         how equals share engines (Q6, Q8)
 *     lane_place.c    choice of GPUs (A1, A2)
 *     inherit.c       inherited priorities (G4)
 *     token.c         which lock serves an event
 *     r2dglp.c        R1..R10 and FIFO k-exclusion
 *     ck_omlp.c       C1..C7
 *     query.c         names of engines, questions
 */
#ifndef SCHED_INTERNAL_H
#define SCHED_INTERNAL_H

#include "sched/core.h"

#define NO_LANE UINT32_MAX

typedef uint32_t lane_id; /* job * lanes per job + lane */

enum engine_state {
    ENGINE_NONE,
    ENGINE_WAITS,
    ENGINE_HOLDS,
    ENGINE_PARKED, /* asked for, but its job is throttled: in no queue until its next budget */
};

enum token_state {
    TOKEN_NONE,
    TOKEN_PARKED, /* R2DGLP: in PQ. CK-OMLP: asked for, but not yet a request (C3) */
    TOKEN_DONOR,  /* R2DGLP: lends its priority to a queued request */
    TOKEN_QUEUED, /* in FQ (not its head) or KQ */
    TOKEN_HELD,
};

/* Share of a lane among its equals; share.c has the rule. */
struct share {
    /* engine time served among equals at the request; grows while it holds and an equal waits */
    baton_nsec tag;
    /* never below the level of its equals when it came; for lanes that come later */
    baton_nsec level;
    baton_nsec lead;       /* `adaptive`: added to the tag; grows with the length of the job */
    baton_nsec served;     /* the part of the tag that the present hold added */
    baton_nsec charged_at; /* contended: served time is in the tag up to this instant */
    bool contended;        /* an equal of another client waits for one of its engines */
};

struct sched_lane {
    /* Engines. */
    enum engine_state state;
    bool one_of, batch;
    bool started;  /* at least one piece ran: the lane stays on its engines (Q3) */
    bool yielding; /* was asked to yield since its last grant */
    bool turned;   /* was told since its last grant that an equal waits (Q6) */
    struct share share;
    unsigned home;
    engine_id target;          /* one_of: the engine that was granted */
    uint64_t seq;              /* number of the request's event: FIFO order, and ties */
    struct engine_set engines; /* the engines asked for; once granted: held */
    baton_nsec charged_at;     /* engine time is charged to the job up to this instant */
    /* Token. */
    enum token_state token;
    unsigned queue; /* QUEUED, HELD: replica; the index of its FQ */
    unsigned gpu;   /* HELD: the GPU of the token */
    unsigned ahead; /* critical sections that were ahead of it */
    uint64_t token_seq;
    unsigned token_home;
    unsigned cluster;             /* the GPU cluster whose tokens it asks for */
    uint64_t token_gpus;          /* the GPUs whose tokens it takes; 0: any of the cluster */
    baton_nsec migration, length; /* announced by the request; they decide its queue */
    lane_id donor, donee;         /* R2DGLP: NO_LANE if none */
};

/* The tiers of ranks: a job never overtakes one of a smaller tier, whatever its priority (G1). */
enum tier {
    TIER_ADMITTED,   /* a task of the plan */
    TIER_DEMOTED,    /* a task of the plan whose job has used more than its budget (B1) */
    TIER_BACKGROUND, /* a task of the plan without a deadline */
    TIER_OTHERS,
    TIER_LAST, /* one of the last two that has used more than its budget */
};

struct job {
    bool used;
    bool dead; /* a ghost: holds something until its client has drained (X1) */
    client_id client;
    bool admitted, no_deadline;
    unsigned priority;
    baton_nsec deadline_at, cost;
    baton_nsec budget, period, release_at;
    baton_nsec budget_from;     /* engine time when the budget began, and what was carried over */
    bool told;                  /* SCHED_JOB_USED uses the budget, not the holds */
    baton_nsec reported;        /* told: the engine time by the last SCHED_JOB_USED */
    baton_nsec throttled_until; /* 0: the job is not throttled */
    enum tier tier;             /* rank: first this, the smaller the more urgent ... */
    int64_t key;                /* ... then this: base priority, the smaller the more urgent */
    uint64_t seq;               /* ties: the number of its release */
    job_id as;                  /* the job whose priority it was last told to run with */
    unsigned engaged;           /* lanes that hold or await an engine */
    unsigned tokens;            /* lanes that hold or await a token */
    baton_nsec spent;           /* engine time */
    baton_nsec contended;       /* the part of it during which an equal waited */
    bool overrun;               /* of the present budget */
    uint64_t placed;            /* GPUs chosen by PLACE */
    baton_nsec load;            /* what it adds to the load of each of those GPUs */
    /* CK-OMLP. */
    job_id ck_donor, ck_donee;
    lane_id ck_lane; /* of its token request */
    bool ck_ended;   /* done, but still a donor: leaves later (C5) */
    bool ck_suspended;
};

struct client {
    bool used, dead, uses_gpu;
    unsigned gpu_cluster, cpu_cluster;
    unsigned jobs;
    unsigned own_gpu; /* the GPU it keeps for itself (keep_gpu), or SCHED_NO_GPU */
    bool keeps_idle;
    bool has_average;
    baton_nsec average; /* moving average of its jobs' engine time */
    bool has_shared;    /* has been served beside an equal */
    baton_nsec served;  /* engine time served beside equals; only differences matter */
    baton_nsec last;    /* the part of it that the last hold added */
};

struct engine {
    lane_id holder; /* NO_LANE: free */
    unsigned blocked;
    unsigned paused; /* waiting lanes that have started here */
    lane_id *queue;  /* the best first */
    size_t n, at;    /* at: cursor of a dispatch in progress */
};

/* One GPU cluster under a token lock. */
struct token_cluster {
    unsigned first_gpu, g, k;
    unsigned slots, cap; /* F and CAP of docs/protocols.md; UINT_MAX for FIFO k-exclusion */
    unsigned n_clients;  /* registered GPU clients: n */
    unsigned in_queues;
    lane_id **queues; /* k queues; entry 0 holds the replica */
    unsigned *lengths;
    /* every request from TOKEN_REQUEST to its release, the highest base priority first */
    lane_id *incomplete;
    unsigned n_incomplete;
    lane_id *parked; /* PQ, the highest base priority first */
    unsigned n_parked;
    unsigned n_donors;
    /* CK-OMLP: queues[0] is KQ without holders; free tokens per GPU of the cluster. */
    unsigned *free_tokens;
};

/* One CPU cluster: its pending jobs, the most urgent first (CK-OMLP). */
struct cpu_cluster {
    job_id *jobs;
    unsigned n;
};

struct sched_core {
    struct sched_config config;
    const struct sched_profile *profile;
    unsigned n_engines, n_words, engines_per_gpu;
    unsigned n_lanes; /* over all jobs */
    unsigned n_gpu_clusters, n_cpu_clusters;
    struct client *clients;
    struct job *jobs;
    struct sched_lane *lanes;
    struct engine *engines;
    struct token_cluster *clusters;
    struct cpu_cluster *cpu_clusters;
    baton_nsec *gpu_load; /* per GPU: announced work placed there */
    unsigned n_reserving; /* batches that wait */
    uint64_t seq;
    baton_nsec at;

    /* What the event in progress has done so far. */
    lane_id *granted; /* engines */
    size_t n_granted;
    lane_id *token_granted;
    size_t n_token_granted;
    struct engine_set touched; /* engines whose holder or queue changed */
    bool throttled;            /* a job has used up its budget: its lanes yield */
    bool died;                 /* a client died: repairs are due (R8, C6) */
    bool pushes_changed;       /* the waits that decide about inheritance may have changed (G4) */
    /*
     * Of inherit.c: for each job the best job whose chain reaches it, now and before, and the event
     * that found it.
     */
    job_id *best, *reached, *reached_before;
    uint64_t *reached_in;
    size_t n_reached;
    struct sched_decision *decisions;
    size_t n_decisions;
};

static inline job_id job_of(const struct sched_core *core, lane_id lane)
{
    return lane / core->config.lanes;
}

static inline lane_id lane_of(const struct sched_core *core, job_id job, unsigned lane)
{
    return job * core->config.lanes + lane;
}

/* G1: the rank. No other code compares ranks. Negative: a is more urgent; 0: equals. */
static inline int rank_compare(const struct job *a, const struct job *b)
{
    if (a->tier != b->tier)
        return a->tier < b->tier ? -1 : 1;
    return (a->key > b->key) - (a->key < b->key);
}

/* G1: the rank, then the number of the release. */
static inline bool job_above(const struct job *a, const struct job *b)
{
    int rank = rank_compare(a, b);

    return rank ? rank < 0 : a->seq < b->seq;
}

/*
 * The same over lanes. Lanes of one job, and equals outside the plan, are ordered by the number of
 * their token request. A program that does not say where its jobs end has one job for ever; its
 * early release must not put it before its equals.
 */
static inline bool token_above(const struct sched_core *core, lane_id a, lane_id b)
{
    const struct job *x = &core->jobs[job_of(core, a)];
    const struct job *y = &core->jobs[job_of(core, b)];

    if (x == y || (x->tier != TIER_ADMITTED && rank_compare(x, y) == 0))
        return core->lanes[a].token_seq < core->lanes[b].token_seq;
    return job_above(x, y);
}

/* Runs the body once per engine of the set. */
#define engine_set_each(core, set, engine)                                                                   \
    for (unsigned engine##_w = 0; engine##_w < (core)->n_words; engine##_w++)                                \
        for (uint64_t engine##_b = (set)->bits[engine##_w]; engine##_b; engine##_b &= engine##_b - 1)        \
            for (engine_id engine = engine##_w * 64 + (unsigned)__builtin_ctzll(engine##_b), engine##_1 = 1; \
                 engine##_1; engine##_1 = 0)

struct sched_decision *core_decide(struct sched_core *core, enum sched_action action, job_id job);

/* engine_queue.c, engine_calls.c */
int engine_request(struct sched_core *core, const struct sched_event *event);
int engine_piece_done(struct sched_core *core, lane_id lane);
/* releases, or withdraws a waiting request */
void engine_leave(struct sched_core *core, lane_id lane);
void engine_block(struct sched_core *core, engine_id engine);
int engine_unblock(struct sched_core *core, engine_id engine);
void engine_rerank(struct sched_core *core, job_id job); /* the job's key has changed */
/* Does lane a stand before lane b in engine queues? */
bool engine_lane_before(const struct sched_core *core, lane_id a, lane_id b);
/* Throttled jobs: waiting lanes leave their queues, holders are asked to yield. */
void engine_throttle(struct sched_core *core);
/* Parked lanes of the job ask again. */
void engine_unpark(struct sched_core *core, job_id job);
void engine_emit_grants(struct sched_core *core);
void engine_emit_calls(struct sched_core *core); /* YIELD, TURN */

/* rank_policy.c */
void policy_rank(struct sched_core *core, job_id job); /* sets the job's key */
void policy_charge(struct sched_core *core, lane_id lane);
void policy_job_done(struct sched_core *core, job_id job);
void policy_tick(struct sched_core *core);
void policy_budget(struct sched_core *core, const struct sched_event *event);
/* The client has told the job's engine time. */
void policy_told(struct sched_core *core, const struct sched_event *event);
/* How long the client's jobs are known to take, for `adaptive`; 0: unknown. */
baton_nsec policy_length(const struct sched_core *core, const struct job *job, baton_nsec since_charged);

/* share.c */
bool share_equals(const struct sched_core *core, const struct job *a, const struct job *b);
void share_enter(struct sched_core *core, lane_id lane);  /* call before the lane is put into queues */
void share_charge(struct sched_core *core, lane_id lane); /* charges a holder up to now */
void share_leave(struct sched_core *core, lane_id lane);  /* a hold or its piece ends */
/* after the event: finds the holders that an equal waits for */
void share_update(struct sched_core *core);
/*
 * Of two equals: how much more engine time one has been served than the other. If positive, the
 * other precedes it.
 */
baton_nsec share_ahead(const struct sched_lane *lane, const struct sched_lane *other);

/* lane_place.c */
int place_job(struct sched_core *core, const struct sched_event *event);
void place_forget(struct sched_core *core, job_id job);

/* token.c */
int token_new(struct sched_core *core);
void token_free(struct sched_core *core);
void token_reset(struct sched_core *core);
int token_request(struct sched_core *core, const struct sched_event *event);
/* releases, or withdraws a waiting request */
void token_leave(struct sched_core *core, lane_id lane);
void token_rerank(struct sched_core *core, job_id job);
void token_give(struct sched_core *core, lane_id lane, unsigned gpu);
void token_emit_grants(struct sched_core *core);
/*
 * The index of the GPU in the cluster where the lane's client must run (keep_gpu); SCHED_NO_GPU:
 * free choice.
 */
unsigned token_own_gpu(struct sched_core *core, struct token_cluster *cluster, lane_id lane);
struct token_cluster *token_cluster_of(struct sched_core *core, lane_id lane);
/* Does the lane's request take a token of this GPU? */
bool token_allowed(const struct sched_core *core, lane_id lane, unsigned gpu);
/* Does CK-OMLP apply? With rho = infinity there is no token lock, and so no donation. */
bool token_ck(const struct sched_core *core);

/* r2dglp.c */
void r2dglp_request(struct sched_core *core, struct token_cluster *cluster, lane_id lane);
void r2dglp_leave(struct sched_core *core, struct token_cluster *cluster, lane_id lane);
void r2dglp_rerank(struct sched_core *core, struct token_cluster *cluster, lane_id lane);
void r2dglp_repair(struct sched_core *core, struct token_cluster *cluster);

/* ck_omlp.c */
void ck_job_released(struct sched_core *core, job_id job);
bool ck_job_done(struct sched_core *core, job_id job); /* false: deferred */
void ck_request(struct sched_core *core, struct token_cluster *cluster, lane_id lane);
void ck_leave(struct sched_core *core, struct token_cluster *cluster, lane_id lane);
void ck_forget(struct sched_core *core, job_id job);
void ck_job_died(struct sched_core *core, job_id job);
void ck_recheck(struct sched_core *core);
void ck_emit_suspensions(struct sched_core *core);
void ck_rerank(struct sched_core *core, job_id job);

/* core.c */
void core_end_job(struct sched_core *core, job_id job); /* forgets a job that holds nothing */

/* inherit.c */
void inherit_update(struct sched_core *core,
                    job_id left); /* left: a job that may have given up its last engine, or SCHED_NO_JOB */

#endif
