/*
 * batond's server on a scripted machine with a clock that only the test moves, a plan that fits it,
 * and questions about claims.
 */
#ifndef TESTS_DAEMON_CLAIMS_WORLD_H
#define TESTS_DAEMON_CLAIMS_WORLD_H

#include "daemon/server.h"
#include "model/plan.h"

#define GPU    "pci:0000:01:00.0"
#define PERIOD (20 * NSEC_PER_MS)

#define CLAIMS_CLIENT 4711 /* the process id of the first client */

/* A process beside batond and its clients. */
struct claims_other {
    pid_t pid;
    int rank; /* real-time priority of a thread, which may run on these cores; 0: it has none */
    struct core_set cores;
};

struct claims_world {
    struct machine cores;               /* of the machine */
    bool hidden;                        /* the machine does not say which */
    bool settles;                       /* the next daemon's predecessor ended without saying so */
    struct core_set of_program;         /* what its programs may run on */
    struct rt_limit limit, group_limit; /* of the machine; of the group that its programs are in */
    size_t device_threads;              /* of its programs, on the cores of devices */
    bool realtime;                      /* its programs have real-time threads */
    int ranks[4];                       /* real-time priorities of clients, in the order in which they join */
    int thread_ranks[4];                /* ... of threads that they name, by number; below 0: it has ended */
    struct core_set of_thread;          /* what these threads may run on; empty: what the programs may */
    unsigned joined;
    unsigned asked;              /* how often the cores of a thread were asked for */
    int order_answer;            /* of an attempt to pin and order threads, if it fails */
    bool ordered[4];             /* which clients have been ordered, in the order in which they join */
    unsigned levels[4];          /* of the clients on the CPUs; 0: none */
    unsigned levels_at_grant[4]; /* at the last grant */
    size_t strangers;            /* threads that are not ordered */
    bool adopts;                 /* an attempt to order threads orders these, too */
    struct claims_other others[512];
    unsigned n_others, next_other;
    unsigned asked_others; /* how often one of them was looked at */
    baton_nsec now_at;
    struct page *pages[64]; /* of the clients */
    char logged[16384];     /* fields that were reported, one per line */
};
extern struct claims_world claims_world;

extern struct plan_task claims_tasks[2]; /* of the plan: eye and ear */

struct core_set claims_cores(const char *list);

/* Two tasks on two cores and one GPU; its text is freed by the caller. */
struct plan claims_good_plan(void);
char *claims_text(const struct plan *plan);

/* batond's defaults, on a machine of two cores, whose programs are real-time. */
struct config claims_plain_config(void);
struct server *claims_start(const struct config *config);
void claims_give(struct server *server, const char *plan);
unsigned claims_join(struct server *server, const char *name, uint32_t flags, baton_nsec period);

/*
 * The process of a client ends, or becomes another program: the kernel marks its page. True: its
 * work drains.
 */
bool claims_dies(struct server *server, unsigned peer);

/* A client says something. */
void claims_say(struct server *server, unsigned peer, const struct frame *frame);

/* A client says that its job, which ends just beyond this bound, exceeded it. */
void claims_say_late(struct server *server, unsigned peer, baton_nsec release_at, baton_nsec bound);
/* A program outside of the plan comes and goes. */
void claims_disturb(struct server *server);

/* A client begins or ends a job: in its page, and with a frame. */
void claims_job_begins(struct server *server, unsigned peer, baton_nsec release_at);
void claims_job_ends(struct server *server, unsigned peer);

/* One question of a monitor, a quarter of a second after the last. */
struct frame claims_ask(struct server *server, enum query_what what, uint32_t index);
enum model_rule claims_rule(struct server *server); /* of the task eye */
enum model_rule claims_rule_of(struct server *server, uint32_t task);
void claims_expect_rules(struct server *server, enum model_rule of_eye, enum model_rule of_ear);

/* Is there a difference in this field (of this task, "": of the plan)? Then *ret_frame is it. */
bool claims_differs(struct server *server, const char *field, const char *task, struct frame *ret_frame);
/* ... and the bound is not claimed, and the log has the field. */
void claims_expect_unclaimed(struct server *server, const char *field, const char *task);

/*
 * A plan of gpusync that fits: four GPUs in two clusters, four cores in two clusters, tokens by
 * R2DGLP. eye is in the first clusters and ear in the second. The text is freed by the caller.
 */
extern struct plan_task claims_gpusync_tasks[2];
struct plan claims_gpusync_plan(void);
struct config claims_gpusync_config(void);
struct server *claims_gpusync_start(const struct config *config, const struct plan *plan, char **ret_text);

void claims_names_thread(struct server *server, unsigned peer, uint32_t tid);
void claims_has_a_job(struct server *server, unsigned peer);
/* A program of the plan with ordered threads, whose first job was released a period ago. */
unsigned claims_join_ordered(struct server *server, const char *name);

#endif
