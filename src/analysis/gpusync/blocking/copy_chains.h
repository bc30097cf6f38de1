/*
 * The tightest bound on waiting for copy engines under peer-to-peer migration (GPUSync App. E-B2,
 * "Tight bounds for CE blocking"). One chain of other tasks' requests can delay each own request;
 * the lock queues decide which chains exist. The worst assignment of requests to chains is an
 * integer program, solved with glpk.
 */
#ifndef ANALYSIS_COPY_CHAINS_H
#define ANALYSIS_COPY_CHAINS_H

#include <stdbool.h>
#include <stddef.h>

/* The request that waits: copy in, copy out, or migrate (pull) state. */
enum copy_request { COPY_REQUEST_IN, COPY_REQUEST_OUT, COPY_REQUEST_PEER, COPY_REQUESTS };

/* How many requests of other tasks one chain holds, by operation. */
struct copy_chain {
    unsigned count[COPY_REQUESTS];
};

#define COPY_CHAINS_MAX 4096

/*
 * The chains that can delay one request of this kind, with two copy engines per GPU. The cluster
 * has `gpus` GPUs with `tokens` each, and at most `others` other token holders.
 * docs/gpusync-analysis.md, "Chains", proves that the list is exact for g <= 2 and complete for g >
 * 2. Only maximal chains are listed, since availability is a limit of its own. Writes at most
 * COPY_CHAINS_MAX and answers the number.
 */
size_t copy_chains_list(enum copy_request own, unsigned tokens, unsigned gpus, unsigned others,
                        struct copy_chain ret_chains[]);

/* The maximal chains of Table VIII (rho = 3, g = 2), with its lost letters restored. */
size_t copy_chains_printed(enum copy_request own, struct copy_chain ret_chains[]);

/* Requests of one other task: up to `available` of this length while the own request is pending. */
struct copy_supply {
    enum copy_request kind;
    double length, available;
    size_t task; /* any number; equal for requests of one task */
};

struct copy_chains_problem {
    double own[COPY_REQUESTS];                      /* own requests by kind */
    const struct copy_chain *chains[COPY_REQUESTS]; /* the chains that may delay each kind */
    size_t n_chains[COPY_REQUESTS];
    const struct copy_supply *supplies;
    size_t n_supplies;
    double per_task; /* limit on the requests of each other task; INFINITY: no limit */
};

/*
 * The longest total delay. 0, -ENOMEM, or -ENOSYS when Baton is built without glpk. *ret_bound is
 * safe even if the solver stops early: it is then the bound of the relaxation.
 */
int copy_chains_solve(const struct copy_chains_problem *problem, double *ret_bound);

bool copy_chains_available(void);

#endif
