/*
 * Sums and counts: prefix sums of blocks, scans of large arrays, reduction, histograms, a counter.
 * All in wrapping integers.
 */
#include "workload.h"

#include <stdlib.h>

enum { INPUT, OUTPUT, SUMS, SUMS_OF_SUMS };
enum { GROUP = 64, BLOCK = 2 * GROUP };

/*
 * Exclusive sums of a block of 128 words in local memory, up and down a tree (Blelloch); the
 * block's total goes to sums.
 */
#define SCAN_BLOCK                                                                                           \
    OPENCL(kernel void scan_block(global const uint *in, global uint *out, global uint *sums) {              \
        local uint tree[128];                                                                                \
        uint l = get_local_id(0);                                                                            \
        size_t base = get_group_id(0) * 128;                                                                 \
        tree[l] = in[base + l];                                                                              \
        tree[l + 64] = in[base + l + 64];                                                                    \
        for (uint far = 1; far < 128; far *= 2) {                                                            \
            uint right = (2 * l + 2) * far - 1;                                                              \
            barrier(CLK_LOCAL_MEM_FENCE);                                                                    \
            if (right < 128)                                                                                 \
                tree[right] += tree[right - far];                                                            \
        }                                                                                                    \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                        \
        if (l == 0) {                                                                                        \
            sums[get_group_id(0)] = tree[127];                                                               \
            tree[127] = 0;                                                                                   \
        }                                                                                                    \
        for (uint far = 64; far > 0; far /= 2) {                                                             \
            uint right = (2 * l + 2) * far - 1;                                                              \
            barrier(CLK_LOCAL_MEM_FENCE);                                                                    \
            if (right < 128) {                                                                               \
                uint left = tree[right - far];                                                               \
                tree[right - far] = tree[right];                                                             \
                tree[right] += left;                                                                         \
            }                                                                                                \
        }                                                                                                    \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                        \
        out[base + l] = tree[l];                                                                             \
        out[base + l + 64] = tree[l + 64];                                                                   \
    })

/* The exclusive sum begins again at every multiple of `block`. */
static bool check_scan(const struct work *work, size_t n, size_t block)
{
    const uint32_t *in = work->buffers[INPUT].in;
    const uint32_t *out = work->buffers[OUTPUT].out;
    uint32_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        if (i % block == 0)
            sum = 0;
        if (out[i] != sum)
            return check_failed(work, "sum %zu is %u, not %u", i, out[i], sum);
        sum += in[i];
    }
    return true;
}

/* ---- prefix-sum: each block by itself ---- */

static void prefix_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, BLOCK);

    work_buffer(work, INPUT, work_words(work, n, UINT32_MAX), NULL, n * sizeof(uint32_t));
    work_buffer(work, OUTPUT, NULL, work_array(work, n * sizeof(uint32_t)), n * sizeof(uint32_t));
    work_buffer(work, SUMS, NULL, work_array(work, n / BLOCK * sizeof(uint32_t)),
                n / BLOCK * sizeof(uint32_t));
}

static void prefix_run(struct work *work)
{
    LAUNCH(work, "scan_block", SHAPE1(work->size / 2, GROUP), BUFFER(INPUT), BUFFER(OUTPUT), BUFFER(SUMS));
}

static bool prefix_check(const struct work *work)
{
    const uint32_t *in = work->buffers[INPUT].in;
    const uint32_t *sums = work->buffers[SUMS].out;

    for (size_t i = 0; i < work->size / BLOCK; i++) {
        uint32_t sum = 0;
        for (size_t j = 0; j < BLOCK; j++)
            sum += in[i * BLOCK + j];
        if (sums[i] != sum)
            return check_failed(work, "total %zu is %u, not %u", i, sums[i], sum);
    }
    return check_scan(work, work->size, BLOCK);
}

const struct workload workload_prefix_sum = {
    .name = "prefix-sum",
    .row = "PrefixSum",
    .unit = "numbers",
    .sizes = {2048, 1 << 17, 1 << 20},
    .source = SCAN_BLOCK,
    .prepare = prefix_prepare,
    .run = prefix_run,
    .check = prefix_check,
};

/* ---- scan: blocks, their sums by blocks, the sums of those by one work-item, and back ---- */

static void scan_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, BLOCK * BLOCK);

    work_buffer(work, INPUT, work_words(work, n, UINT32_MAX), NULL, n * sizeof(uint32_t));
    work_buffer(work, OUTPUT, NULL, work_array(work, n * sizeof(uint32_t)), n * sizeof(uint32_t));
    work_buffer(work, SUMS, NULL, NULL, n / BLOCK * sizeof(uint32_t));
    work_buffer(work, SUMS_OF_SUMS, NULL, NULL, n / BLOCK / BLOCK * sizeof(uint32_t));
}

static void scan_run(struct work *work)
{
    size_t sums = work->size / BLOCK;

    LAUNCH(work, "scan_block", SHAPE1(work->size / 2, GROUP), BUFFER(INPUT), BUFFER(OUTPUT), BUFFER(SUMS));
    LAUNCH(work, "scan_block", SHAPE1(sums / 2, GROUP), BUFFER(SUMS), BUFFER(SUMS), BUFFER(SUMS_OF_SUMS));
    LAUNCH(work, "scan_few", SHAPE1(1, 1), BUFFER(SUMS_OF_SUMS), INT(sums / BLOCK));
    LAUNCH(work, "add_before", SHAPE1(sums, BLOCK), BUFFER(SUMS), BUFFER(SUMS_OF_SUMS));
    LAUNCH(work, "add_before", SHAPE1(work->size, BLOCK), BUFFER(OUTPUT), BUFFER(SUMS));
}

static bool scan_check(const struct work *work)
{
    return check_scan(work, work->size, work->size);
}

const struct workload workload_scan = {
    .name = "scan",
    .row = "ScanLargeArrays",
    .unit = "numbers",
    .sizes = {16384, 1 << 17, 1 << 20},
    .source = SCAN_BLOCK " " OPENCL(
        kernel void scan_few(global uint *sums, uint n) {
            uint before = 0;
            for (uint i = 0; i < n; i++) {
                uint here = sums[i];
                sums[i] = before;
                before += here;
            }
        }

        kernel void add_before(global uint *out, global const uint *sums) {
            out[get_global_id(0)] += sums[get_group_id(0)];
        }),
    .prepare = scan_prepare,
    .run = scan_run,
    .check = scan_check,
};

/* ---- reduction: passes over ever fewer sums, the last by one group ---- */

static void reduction_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, BLOCK);

    work_buffer(work, INPUT, work_words(work, n, UINT32_MAX), NULL, n * sizeof(uint32_t));
    work_buffer(work, SUMS, NULL, NULL, n / BLOCK * sizeof(uint32_t));
    work_buffer(work, SUMS_OF_SUMS, NULL, NULL, n / BLOCK * sizeof(uint32_t));
    work_buffer(work, OUTPUT, NULL, work_array(work, sizeof(uint32_t)), sizeof(uint32_t));
}

static void reduction_run(struct work *work)
{
    size_t from = INPUT;
    size_t to = SUMS;
    size_t n = work->size;

    while (n > 1) {
        size_t groups = (n + BLOCK - 1) / BLOCK;
        LAUNCH(work, "reduce", SHAPE1(groups * GROUP, GROUP), BUFFER(from), BUFFER(groups == 1 ? OUTPUT : to),
               INT(n), LOCAL(GROUP * sizeof(uint32_t)));
        from = to;
        to = to == SUMS ? SUMS_OF_SUMS : SUMS;
        n = groups;
    }
}

static bool reduction_check(const struct work *work)
{
    const uint32_t *in = work->buffers[INPUT].in;
    uint32_t sum = 0;

    for (size_t i = 0; i < work->size; i++)
        sum += in[i];
    return check_words(work, work->buffers[OUTPUT].out, &sum, 1);
}

const struct workload workload_reduction = {
    .name = "reduction",
    .row = "Reduction",
    .unit = "numbers",
    .sizes = {16384, 1 << 18, 1 << 21},
    .source = OPENCL(kernel void reduce(global const uint *in, global uint *out, uint n, local uint *part) {
        uint l = get_local_id(0);
        uint at = get_group_id(0) * 2 * get_local_size(0) + l;
        uint sum = at < n ? in[at] : 0;
        if (at + get_local_size(0) < n)
            sum += in[at + get_local_size(0)];
        part[l] = sum;
        for (uint width = get_local_size(0) / 2; width > 0; width /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (l < width)
                part[l] += part[l + width];
        }
        if (l == 0)
            out[get_group_id(0)] = part[0];
    }),
    .prepare = reduction_prepare,
    .run = reduction_run,
    .check = reduction_check,
};

/*
 * ---- histogram: 256 bins without atomics: a byte per bin and work-item, sums per group, then sums
 * of those ----
 */

enum { BINS = 256, BYTES_EACH = 128 };

static uint8_t *random_bytes(struct work *work, size_t n)
{
    uint8_t *bytes = work_array(work, n);

    for (size_t i = 0; i < n; i++) {
        uint64_t word = random_u64(&work->random);
        bytes[i] = (uint8_t)(word & word >> 32); /* uneven on purpose */
    }
    return bytes;
}

static void histogram_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, (size_t)GROUP * BYTES_EACH);

    work_buffer(work, INPUT, random_bytes(work, n), NULL, n);
    work_buffer(work, SUMS, NULL, NULL, n / (GROUP * BYTES_EACH) * BINS * sizeof(uint32_t));
    work_buffer(work, OUTPUT, NULL, work_array(work, BINS * sizeof(uint32_t)), BINS * sizeof(uint32_t));
}

static void histogram_run(struct work *work)
{
    LAUNCH(work, "count", SHAPE1(work->size / BYTES_EACH, GROUP), BUFFER(INPUT), BUFFER(SUMS));
    LAUNCH(work, "sum", SHAPE1(BINS, GROUP), BUFFER(SUMS), BUFFER(OUTPUT),
           INT(work->size / (GROUP * BYTES_EACH)));
}

static bool histogram_check(const struct work *work)
{
    const uint8_t *in = work->buffers[INPUT].in;
    uint32_t bins[BINS] = {0};

    for (size_t i = 0; i < work->size; i++)
        bins[in[i]]++;
    return check_words(work, work->buffers[OUTPUT].out, bins, BINS);
}

const struct workload workload_histogram = {
    .name = "histogram",
    .row = "Histogram",
    .unit = "bytes",
    .sizes = {1 << 17, 1 << 21, 1 << 24},
    .source = OPENCL(
        kernel __attribute__((reqd_work_group_size(64, 1, 1))) void count(global const uchar *in,
                                                                          global uint *sums) {
            local uchar bins[64 * 256];
            uint l = get_local_id(0);
            global const uchar *mine = in + get_group_id(0) * 64 * 128;
            for (uint i = 0; i < 256; i++)
                bins[l * 256 + i] = 0;
            for (uint i = 0; i < 128; i++)
                bins[l * 256 + mine[i * 64 + l]]++;
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint bin = l; bin < 256; bin += 64) {
                uint sum = 0;
                for (uint i = 0; i < 64; i++)
                    sum += bins[i * 256 + bin];
                sums[get_group_id(0) * 256 + bin] = sum;
            }
        }

        kernel void sum(global const uint *sums, global uint *bins, uint groups) {
            uint bin = get_global_id(0);
            uint sum = 0;
            for (uint i = 0; i < groups; i++)
                sum += sums[i * 256 + bin];
            bins[bin] = sum;
        }),
    .prepare = histogram_prepare,
    .run = histogram_run,
    .check = histogram_check,
};

/*
 * ---- histogram-atomics: groups add their local counts to global bins; wrong on two devices unless
 * kept on one ----
 */

static void atomics_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, (size_t)GROUP * BYTES_EACH);
    size_t bytes = BINS * sizeof(uint32_t);

    work_buffer(work, INPUT, random_bytes(work, n), NULL, n);
    work_buffer(work, OUTPUT, work_array(work, bytes), work_array(work, bytes), bytes);
}

static void atomics_run(struct work *work)
{
    LAUNCH(work, "count", SHAPE1(work->size / BYTES_EACH, GROUP), BUFFER(INPUT), BUFFER(OUTPUT));
}

const struct workload workload_histogram_atomics = {
    .name = "histogram-atomics",
    .row = "HistogramAtomics",
    .unit = "bytes",
    .sizes = {1 << 17, 1 << 21, 1 << 24},
    .source = OPENCL(kernel void count(global const uchar *in, global uint *bins) {
        local uint part[256];
        uint l = get_local_id(0);
        global const uchar *mine = in + get_group_id(0) * get_local_size(0) * 128;
        for (uint i = l; i < 256; i += get_local_size(0))
            part[i] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = l; i < get_local_size(0) * 128; i += get_local_size(0))
            atomic_inc(&part[mine[i]]);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = l; i < 256; i += get_local_size(0))
            atomic_add(&bins[i], part[i]);
    }),
    .prepare = atomics_prepare,
    .run = atomics_run,
    .check = histogram_check,
};

/* ---- atomic-counters: how often is one value there? ---- */

static void counters_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, GROUP);

    work_buffer(work, INPUT, work_words(work, n, 7), NULL, n * sizeof(uint32_t));
    work_buffer(work, OUTPUT, work_array(work, sizeof(uint32_t)), work_array(work, sizeof(uint32_t)),
                sizeof(uint32_t));
}

static void counters_run(struct work *work)
{
    LAUNCH(work, "count_value", SHAPE1(work->size, GROUP), BUFFER(INPUT), BUFFER(OUTPUT), INT(3));
}

static bool counters_check(const struct work *work)
{
    const uint32_t *in = work->buffers[INPUT].in;
    uint32_t count = 0;

    for (size_t i = 0; i < work->size; i++)
        count += in[i] == 3;
    return check_words(work, work->buffers[OUTPUT].out, &count, 1);
}

const struct workload workload_atomic_counters = {
    .name = "atomic-counters",
    .row = "AtomicCounters",
    .unit = "numbers",
    .sizes = {16384, 1 << 18, 1 << 21},
    .source = OPENCL(kernel void count_value(global const uint *in, global uint *counter, uint value) {
        if (in[get_global_id(0)] == value)
            atomic_inc(counter);
    }),
    .prepare = counters_prepare,
    .run = counters_run,
    .check = counters_check,
};
