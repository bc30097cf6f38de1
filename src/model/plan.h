/*
 * A plan: the decisions of `baton plan` that the simulator and the daemon enforce. It names the
 * analysis behind its bounds, the profile that those bounds assume, and everything else that they
 * rest on (model/plan_basis.def).
 *
 * Seals. `baton plan` writes four hexadecimal digits for every field. A field that was edited
 * afterwards does not match its digits, and its bounds were computed for another value. A plan
 * without seals (from an older version, or written by hand) is accepted, but none of its bounds can
 * be checked.
 */
#ifndef MODEL_PLAN_H
#define MODEL_PLAN_H

#include <stddef.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/input_error.h"
#include "base/nsec.h"
#include "model/plan_basis.h"
#include "model/plan_requests.h"
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
    baton_nsec period, deadline; /* 0: not in the plan */
    bool has_point;
    baton_nsec point; /* priority point of fair lateness, from the release; may be negative */
    /*
     * C of fair lateness: how long a job may be among the most urgent of its CPU cluster, with all
     * that it waits for; 0: the analysis has no such term.
     */
    baton_nsec cost;
    bool until_gpu;                /* a job holds its token until its last GPU segment; else until its end */
    baton_nsec budget;             /* engine time of one job, copies included; 0: no limit in the plan */
    struct plan_requests requests; /* of one job; profile `gpusync` */
    /*
     * `deadline_ms: none`: its jobs come at any rate, and it is less urgent than all tasks with one
     */
    bool no_deadline;
    uint64_t changed; /* bit i: plan_task_fields[i] was edited after sealing */
};

/* The fields of a task: the key in the file, and the value as the file has it. */
struct plan_task_field {
    const char *key;
    void (*print)(const struct plan_task *task, FILE *out);
};
extern const struct plan_task_field plan_task_fields[];
extern const size_t plan_n_task_fields;

/* The fields of the plan itself: those that follow, then the basis. */
enum plan_field { PLAN_ANALYSIS, PLAN_PROFILE, PLAN_CONDITIONS, PLAN_TASKS, PLAN_BASIS };
#define PLAN_FIELDS (PLAN_BASIS + PLAN_BASIS_FIELDS)

struct plan {
    struct arena arena;   /* owns everything below */
    const char *analysis; /* "holistic", "gpusync", ... */
    const char *profile;  /* "priority", "gpusync" */
    struct plan_task *tasks;
    size_t n_tasks;
    const char **conditions; /* what its bounds rest on besides the profile, one sentence each */
    size_t n_conditions;
    struct plan_basis basis;
    bool sealed;      /* it states what its bounds rest on, field by field */
    uint64_t changed; /* bit i: field i (enum plan_field) was edited after sealing */
};

int plan_read_file(const char *path, struct plan *ret_plan, struct input_error *ret_error);
int plan_read(const char *name, const char *text, size_t size, struct plan *ret_plan,
              struct input_error *ret_error);
void plan_done(struct plan *plan);

/* The key of field i of the plan in a file, 0 .. PLAN_FIELDS - 1. */
const char *plan_field_key(size_t field);

/*
 * Prints YAML that reads back as the same plan; with seals only if the plan is sealed and unedited.
 */
void plan_print(const struct plan *plan, FILE *out);

/* The entry of this name, or NULL. */
const struct plan_task *plan_find(const struct plan *plan, const char *name);

/*
 * Compares the seals of a document with its values; fills sealed and changed. Part of plan_read().
 */
int plan_check_seals(const struct document *document, struct plan *plan, struct input_error *ret_error);

#endif
