/*
 * A length that a file only says how to compute: `kernel_ms: {ptx: FILE, entry: NAME, warps: N,
 * clock: MHZ, ...}` (a makespan bound), or `copy_in_ms: {route: [MEM0, GPU0], topology: FILE}` (a
 * transfer over a known interconnect). This module only reads the question; a higher layer answers
 * it (src/cli/task_lengths.h). docs/task-sets.md has the vocabulary.
 */
#ifndef MODEL_SEGMENT_SOURCE_H
#define MODEL_SEGMENT_SOURCE_H

#include "model/document.h"
#include "model/task_set.h"

#define SOURCE_UNITS     4 /* L, C, S, D in this order */
#define SOURCE_MAX_LOOPS 48

enum source_kind { SOURCE_MAKESPAN, SOURCE_ROUTE };

struct source_loop {
    const char *label;
    size_t passes;
};

struct segment_source {
    enum source_kind kind;
    unsigned line, column; /* of the mapping */
    /* SOURCE_MAKESPAN: */
    const char *string; /* an instruction string; else NULL and ptx is given */
    const char *ptx;    /* as in the file; relative to the file's folder */
    const char *entry;  /* NULL: the only one */
    struct source_loop loops[SOURCE_MAX_LOOPS];
    size_t n_loops;
    unsigned warps;                 /* that run together on one multiprocessor */
    unsigned issue;                 /* 0: no cap */
    unsigned units[SOURCE_UNITS];   /* warps per cycle on each kind of unit; at least 1 */
    unsigned latency[SOURCE_UNITS]; /* cycles; at least 1 */
    double clock_mhz;
    int64_t multiprocessors, groups, resident; /* resident divides warps */
    /* SOURCE_ROUTE: */
    const char *topology; /* as the file says */
    const char *from, *to;
    enum source_sharing { SHARING_BY_ANALYSIS, SHARING_ALONE, SHARING_CONTENDED } sharing;
};

/*
 * Reads a mapping in place of a number of ms: a makespan for a kernel, a route for a copy; other
 * kinds are rejected. The result lives in arena.
 */
int segment_source_read(const struct document *document, const struct node *mapping, enum segment_kind kind,
                        struct arena *arena, struct segment_source **ret_source,
                        struct input_error *ret_error);
void segment_source_print(const struct segment_source *source, FILE *out);

#endif
