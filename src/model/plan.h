/*
 * A plan: what `baton plan` decided and what the simulator and the daemon enforce. It names the analysis whose bounds it
 * carries and the profile whose rules those bounds assume.
 */
#ifndef MODEL_PLAN_H
#define MODEL_PLAN_H

#include <stddef.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/input_error.h"
#include "base/nsec.h"
#include "model/task_set.h"

struct plan_task {
    const char *name;
    unsigned priority; /* 1..99, unique in the plan */
    unsigned gpus;     /* how many GPUs its kernels run on; 1: single mode */
    struct placement placement;
    unsigned gpu_cluster, cpu_cluster;
    baton_nsec piece;            /* longest kernel piece; 0: whole */
    int64_t chunk_in, chunk_out; /* bytes; 0: whole */
    baton_nsec bound;            /* on the response time; -1: none is claimed */
};

struct plan {
    struct arena arena;   /* owns everything below */
    const char *analysis; /* "holistic", "gpusync", ... */
    const char *profile;  /* "priority", "gpusync" */
    struct plan_task *tasks;
    size_t n_tasks;
    const char **conditions; /* what its bounds rest on besides the profile, one sentence each */
    size_t n_conditions;
};

int plan_read_file(const char *path, struct plan *ret_plan, struct input_error *ret_error);
int plan_read(const char *name, const char *text, size_t size, struct plan *ret_plan,
              struct input_error *ret_error);
void plan_done(struct plan *plan);

/* Prints YAML that reads to the same plan. */
void plan_print(const struct plan *plan, FILE *out);

/* The entry of this name, or NULL. */
const struct plan_task *plan_find(const struct plan *plan, const char *name);

#endif
