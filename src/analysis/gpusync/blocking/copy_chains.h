/*
 * The tightest bound on waiting for copy engines under peer-to-peer migration (GPUSync App. E-B2, "Tight bounds for CE blocking"): every
 * request of mine can be delayed by one chain of others' requests; which chains exist follows from the lock queues. The worst
 * assignment of requests to chains is an integer program, solved with glpk.
 */
#ifndef ANALYSIS_COPY_CHAINS_H
#define ANALYSIS_COPY_CHAINS_H

#include <stdbool.h>
#include <stddef.h>

/* What waits: my request to copy in, to copy out, or to migrate (pull) state. */
enum copy_request { COPY_REQUEST_IN, COPY_REQUEST_OUT, COPY_REQUEST_PEER, COPY_REQUESTS };

/* How many requests of others one chain holds, by what they do. */
struct copy_chain {
    unsigned count[COPY_REQUESTS];
};

#define COPY_CHAINS_MAX 4096

/*
 * The chains that can delay one request of this kind, two copy engines per GPU, rho tokens per GPU, g GPUs in the cluster, at most
 * `others` other token holders (docs/gpusync.md, "Chains", proves that there are no others for g <= 2 and that none is missing for g > 2).
 * Only chains that are not part of a larger one, since availability is a limit of its own. Writes at most COPY_CHAINS_MAX; the number.
 */
size_t copy_chains_list(enum copy_request own, unsigned tokens, unsigned gpus, unsigned others,
                        struct copy_chain ret_chains[]);

/* Table VIII, rho = 3, g = 2, with the lost letters put back: its maximal chains. */
size_t copy_chains_printed(enum copy_request own, struct copy_chain ret_chains[]);

/* Requests of one other task: up to `available` of this length while mine is pending. */
struct copy_supply {
    enum copy_request kind;
    double length, available;
    size_t task; /* any number; equal for requests of one task */
};

struct copy_chains_problem {
    double own[COPY_REQUESTS];                      /* my requests by kind */
    const struct copy_chain *chains[COPY_REQUESTS]; /* what may delay each */
    size_t n_chains[COPY_REQUESTS];
    const struct copy_supply *supplies;
    size_t n_supplies;
    double per_task; /* at most so many requests of each other task; INFINITY: no such limit */
};

/*
 * The longest total delay. 0, -ENOMEM, or -ENOSYS where Baton was built without glpk. *ret_bound is safe even if the solver
 * stops early: then it is the bound of the relaxation.
 */
int copy_chains_solve(const struct copy_chains_problem *problem, double *ret_bound);

bool copy_chains_available(void);

#endif
