/* Graphs: breadth-first search, all shortest paths, ranking pages. Scattered reads and writes, many dependent launches. */
#include "workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 64 };

/* ---- bfs: one launch per level until none changes anything; several work-items may write the same level ---- */

enum { OFFSETS, TARGETS, LEVELS, CHANGED };
enum { DEGREE = 6 };

static void bfs_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, GROUP);
    uint32_t *offsets = work_array(work, (n + 1) * sizeof *offsets);
    uint32_t *targets = work_words(work, n * DEGREE, (uint32_t)n);
    int32_t *levels = work_array(work, n * sizeof *levels);

    /* Node 0 has DEGREE edges, the others up to as many, so that some are never reached. */
    for (size_t i = 0; i < n; i++)
        offsets[i + 1] = offsets[i] + (i ? (uint32_t)random_below(&work->random, DEGREE + 1) : DEGREE);
    for (size_t i = 1; i < n; i++)
        levels[i] = -1;
    work_buffer(work, OFFSETS, offsets, NULL, (n + 1) * sizeof *offsets);
    work_buffer(work, TARGETS, targets, NULL, n * DEGREE * sizeof *targets);
    work_buffer(work, LEVELS, levels, work_array(work, n * sizeof *levels), n * sizeof *levels);
    work_buffer(work, CHANGED, NULL, work_array(work, sizeof(uint32_t)), sizeof(uint32_t));
}

static void bfs_run(struct work *work)
{
    uint32_t changed = 1;

    for (size_t level = 0; changed && level < work->size; level++) {
        work_fill(work, CHANGED, 0, sizeof changed);
        LAUNCH(work, "expand", SHAPE1(work->size, GROUP), BUFFER(OFFSETS), BUFFER(TARGETS), BUFFER(LEVELS),
               BUFFER(CHANGED), INT(level));
        work_read(work, CHANGED, &changed, sizeof changed);
    }
}

/* With a queue. */
static bool bfs_check(const struct work *work)
{
    const uint32_t *offsets = work->buffers[OFFSETS].in;
    const uint32_t *targets = work->buffers[TARGETS].in;
    size_t n = work->size;
    int32_t *levels = check_array(n * sizeof *levels);
    uint32_t *queue = check_array(n * sizeof *queue);
    size_t head = 0;
    size_t tail = 1;
    bool ok;

    memset(levels, 0xff, n * sizeof *levels);
    levels[0] = 0;
    while (head < tail) {
        uint32_t node = queue[head++];
        for (uint32_t e = offsets[node]; e < offsets[node + 1]; e++) {
            if (levels[targets[e]] < 0) {
                levels[targets[e]] = levels[node] + 1;
                queue[tail++] = targets[e];
            }
        }
    }
    ok = check_bytes(work, work->buffers[LEVELS].out, levels, n * sizeof *levels);
    free(levels);
    free(queue);
    return ok;
}

const struct workload workload_bfs = {
    .name = "bfs",
    .row = "bfs (GPES)",
    .unit = "nodes",
    .sizes = {4096, 65536, 1 << 19},
    .source = OPENCL(kernel void expand(global const uint *offsets, global const uint *targets,
                                        global int *levels, global uint *changed, int level) {
        size_t node = get_global_id(0);
        if (levels[node] != level)
            return;
        for (uint edge = offsets[node]; edge < offsets[node + 1]; edge++) {
            if (levels[targets[edge]] < 0) {
                levels[targets[edge]] = level + 1;
                *changed = 1;
            }
        }
    }),
    .prepare = bfs_prepare,
    .run = bfs_run,
    .check = bfs_check,
};
