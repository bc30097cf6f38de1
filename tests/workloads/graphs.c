/*
 * Graphs: breadth-first search, all shortest paths, ranking pages. Scattered reads and writes, many
 * dependent launches.
 */
#include "workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 64 };

/*
 * ---- bfs: one launch per level until none changes anything; several work-items may write the same
 * level ----
 */

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

/* ---- floyd-warshall: one launch per node; distances and the node in between, in place ---- */

enum { DISTANCES, BETWEEN };
enum { TILE = 16, NO_NODE = -1, FAR_AWAY = 1 << 20 };

static void floyd_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, TILE);
    uint32_t *distances = work_words(work, n * n, 1000);
    int32_t *between = work_array(work, n * n * sizeof *between);

    for (size_t i = 0; i < n * n; i++) {
        if (random_below(&work->random, 4)) /* every fourth edge is there */
            distances[i] = FAR_AWAY;
        if (i / n == i % n)
            distances[i] = 0;
        between[i] = NO_NODE;
    }
    work_buffer(work, DISTANCES, distances, work_array(work, n * n * sizeof(uint32_t)),
                n * n * sizeof(uint32_t));
    work_buffer(work, BETWEEN, between, work_array(work, n * n * sizeof(int32_t)), n * n * sizeof(int32_t));
}

static void floyd_run(struct work *work)
{
    size_t n = work->size;

    for (size_t node = 0; node < n; node++)
        LAUNCH(work, "through", SHAPE2(n, n, TILE, TILE), BUFFER(DISTANCES), BUFFER(BETWEEN), INT(node));
}

/* Dijkstra from one node, quadratic. */
static void shortest_from(const uint32_t *edges, size_t n, size_t start, uint32_t *ret_distances, bool *done)
{
    memset(done, 0, n);
    for (size_t i = 0; i < n; i++)
        ret_distances[i] = i == start ? 0 : FAR_AWAY;
    for (size_t round = 0; round < n; round++) {
        size_t next = n;
        for (size_t i = 0; i < n; i++)
            if (!done[i] && (next == n || ret_distances[i] < ret_distances[next]))
                next = i;
        done[next] = true;
        for (size_t i = 0; i < n; i++)
            if (ret_distances[next] + edges[next * n + i] < ret_distances[i])
                ret_distances[i] = ret_distances[next] + edges[next * n + i];
    }
}

static bool floyd_check(const struct work *work)
{
    const uint32_t *got = work->buffers[DISTANCES].out;
    const int32_t *between = work->buffers[BETWEEN].out;
    size_t n = work->size;
    uint32_t *distances = check_array(n * sizeof *distances);
    bool *done = check_array(n);
    bool ok = true;

    for (size_t i = 0; ok && i < n; i++) {
        shortest_from(work->buffers[DISTANCES].in, n, i, distances, done);
        ok = check_words(work, got + i * n, distances, n);
        for (size_t j = 0; ok && j < n; j++) {
            int32_t node = between[i * n + j];
            if (node != NO_NODE && ((size_t)node >= n ||
                                    got[i * n + (size_t)node] + got[(size_t)node * n + j] != got[i * n + j]))
                ok = check_failed(work, "from %zu to %zu not through %d", i, j, node);
        }
    }
    free(distances);
    free(done);
    return ok;
}

const struct workload workload_floyd_warshall = {
    .name = "floyd-warshall",
    .row = "FloydWarshall",
    .unit = "nodes",
    .sizes = {32, 96, 256},
    .source = OPENCL(kernel void through(global uint *distances, global int *between, uint node) {
        uint n = get_global_size(0);
        uint to = get_global_id(0);
        uint from = get_global_id(1);
        uint detour = distances[from * n + node] + distances[node * n + to];
        if (detour < distances[from * n + to]) {
            distances[from * n + to] = detour;
            between[from * n + to] = node;
        }
    }),
    .prepare = floyd_prepare,
    .run = floyd_run,
    .check = floyd_check,
};

/* ---- pagerank: every launch reads all ranks and writes all ranks ---- */

enum { SOURCES = 1, SHARES, RANKS, RANKS_NEXT };
enum { ROUNDS = 8, LINKS = 4, NEAR = 512 };

/* As on the web, whose pages mostly link to their own site: at most NEAR pages away. */
static uint32_t near_page(struct work *work, size_t page, size_t n)
{
    size_t away = (size_t)random_below(&work->random, 2 * NEAR + 1);

    return (uint32_t)((page + n + away - NEAR) % n);
}

static void pagerank_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, 2 * NEAR);
    uint32_t *offsets = work_array(work, (n + 1) * sizeof *offsets);
    float *shares = work_array(work, n * sizeof *shares);
    float *ranks = work_array(work, n * sizeof *ranks);
    uint32_t *sources;

    work->rounds = work->rounds ? work_rounded(work->rounds, 2) : ROUNDS; /* even: the last writes RANKS */
    for (size_t i = 0; i < n; i++)
        offsets[i + 1] = offsets[i] + (uint32_t)random_below(&work->random, 2 * LINKS + 1);
    sources = work_array(work, offsets[n] * sizeof *sources);
    for (size_t i = 0; i < n; i++)
        for (size_t e = offsets[i]; e < offsets[i + 1]; e++)
            shares[sources[e] = near_page(work, i, n)]++;
    for (size_t i = 0; i < n; i++) {
        shares[i] = shares[i] > 0 ? 1 / shares[i] : 0;
        ranks[i] = 1;
    }
    work_buffer(work, OFFSETS, offsets, NULL, (n + 1) * sizeof *offsets);
    work_buffer(work, SOURCES, sources, NULL, offsets[n] * sizeof *sources);
    work_buffer(work, SHARES, shares, NULL, n * sizeof *shares);
    work_buffer(work, RANKS, ranks, work_array(work, n * sizeof *ranks), n * sizeof *ranks);
    work_buffer(work, RANKS_NEXT, NULL, NULL, n * sizeof *ranks);
}

static void pagerank_run(struct work *work)
{
    for (size_t round = 0; round < work->rounds; round++)
        LAUNCH(work, "rank", SHAPE1(work->size, GROUP), BUFFER(OFFSETS), BUFFER(SOURCES), BUFFER(SHARES),
               BUFFER(round % 2 ? RANKS_NEXT : RANKS), BUFFER(round % 2 ? RANKS : RANKS_NEXT));
}

static bool pagerank_check(const struct work *work)
{
    const uint32_t *offsets = work->buffers[OFFSETS].in;
    const uint32_t *sources = work->buffers[SOURCES].in;
    const float *shares = work->buffers[SHARES].in;
    const float *got = work->buffers[RANKS].out;
    size_t n = work->size;
    double *ranks = check_array(2 * n * sizeof *ranks);
    bool ok = true;

    for (size_t i = 0; i < n; i++)
        ranks[i] = 1;
    for (size_t round = 0; round < work->rounds; round++) {
        for (size_t i = 0; i < n; i++) {
            double sum = 0;
            for (uint32_t e = offsets[i]; e < offsets[i + 1]; e++)
                sum += ranks[sources[e]] * (double)shares[sources[e]];
            ranks[n + i] = 0.15 + 0.85 * sum;
        }
        memcpy(ranks, ranks + n, n * sizeof *ranks);
    }
    for (size_t i = 0; ok && i < n; i++)
        if (!(fabs(ranks[i] - (double)got[i]) <= 1e-4 * (1 + ranks[i])))
            ok = check_failed(work, "rank %zu is %g, not %g", i, (double)got[i], ranks[i]);
    free(ranks);
    return ok;
}

const struct workload workload_pagerank = {
    .name = "pagerank",
    .row = "Pagerank (Table II)",
    .unit = "pages",
    .sizes = {4096, 65536, 1 << 19},
    .source =
        OPENCL(kernel void rank(global const uint *offsets, global const uint *sources,
                                global const float *shares, global const float *ranks, global float *next) {
            size_t page = get_global_id(0);
            float sum = 0;
            for (uint link = offsets[page]; link < offsets[page + 1]; link++)
                sum += ranks[sources[link]] * shares[sources[link]];
            next[page] = 0.15f + 0.85f * sum;
        }),
    .prepare = pagerank_prepare,
    .run = pagerank_run,
    .check = pagerank_check,
};
