/*
 * Adversarial releases: many short runs. Offsets, gaps, execution times, tie orders and GPU choices
 * are drawn at random, then improved by hill climbing towards the largest response / deadline.
 */
#ifndef SIM_SEARCH_H
#define SIM_SEARCH_H

#include "sim/sim.h"

struct sim_search {
    /* owned: the results of all runs together; maxima over all runs */
    struct sim_task_result *tasks;
    size_t n_tasks;
    uint64_t events;
    uint64_t yields, inheritances, preemptions;
    struct sim_run worst;      /* the run with the largest response / deadline of any task */
    baton_nsec *worst_offsets; /* owned; worst.offsets points here */
    double worst_ratio;
    size_t worst_task;
};

/*
 * Makes that many runs up to the horizon, from this seed. 0 or -ENOMEM; the caller calls
 * sim_search_done().
 */
int sim_search(struct sim *sim, size_t runs, baton_nsec horizon, uint64_t seed,
               struct sim_search *ret_search);
void sim_search_done(struct sim_search *search);

#endif
