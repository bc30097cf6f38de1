/*
 * The engine requests of one job, as the analysis of a plan counted them. Each piece of a kernel
 * and each chunk of a copy is one request. A bound assumes that no job makes more requests of a
 * kind than counted. It also assumes that the k-th longest request of a job is no longer than the
 * k-th longest counted.
 */
#ifndef MODEL_PLAN_REQUESTS_H
#define MODEL_PLAN_REQUESTS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/input_error.h"
#include "base/nsec.h"
#include "model/document.h"

enum plan_request_kind {
    REQUEST_EXECUTION,
    REQUEST_COPY_IN,
    REQUEST_COPY_OUT,
    REQUEST_PEER, /* from another GPU of the cluster: two copy engines at once */
    REQUEST_KINDS,
};

/* In a plan file: "execution", "copy_in", "copy_out", "peer". */
extern const char *const plan_request_kinds[REQUEST_KINDS + 1];

#define PLAN_REQUEST_LENGTHS 16 /* different lengths of one kind */

struct plan_requests {
    bool said; /* false: the analysis does not count requests, or the plan is older */
    struct plan_request_lengths {
        unsigned n;
        struct {
            baton_nsec length;
            unsigned count;
        } of[PLAN_REQUEST_LENGTHS]; /* the longest first, no length twice */
    } kinds[REQUEST_KINDS];
};

/*
 * Counts so many more requests of this length. With more than PLAN_REQUEST_LENGTHS lengths the two
 * shortest become one with the smaller length: a job may then do less than was counted, never more.
 */
void plan_requests_add(struct plan_requests *requests, enum plan_request_kind kind, baton_nsec length,
                       unsigned count);

/* Requests of this kind, of all lengths. */
unsigned plan_requests_count(const struct plan_requests *requests, enum plan_request_kind kind);

/* `[[execution, 3, 1.5], ...]`: kind, number, length in ms; `none`; `null`: not said. */
int plan_requests_read(const struct document *document, const struct node *node,
                       struct plan_requests *ret_requests, struct input_error *ret_error);
void plan_requests_print(const struct plan_requests *requests, FILE *out);

#endif
