/* Order: binary search, bitonic sort, Batcher's odd-even merge network, radix sort. */
#include "workload.h"

#include <stdlib.h>
#include <string.h>

static int compare_words(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;

    return (left > right) - (left < right);
}

/* The output must be the input in order. */
static bool check_sorted(const struct work *work, const uint32_t *in, const uint32_t *out, size_t n)
{
    uint32_t *sorted = check_array(n * sizeof *sorted);
    bool ok;

    memcpy(sorted, in, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_words);
    ok = check_words(work, out, sorted, n);
    free(sorted);
    return ok;
}

/*
 * ---- binary-search: each launch looks into 256 parts at once; only the work-item that finds the
 * key writes ----
 */

enum { SORTED, FOUND };
enum { PARTS = 256, GROUP = 64 };

static void search_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, PARTS);
    uint32_t *sorted = work_words(work, n, 5);

    for (size_t i = 1; i < n; i++) /* strictly increasing */
        sorted[i] += sorted[i - 1] + 1;
    work_buffer(work, SORTED, sorted, NULL, n * sizeof *sorted);
    work_buffer(work, FOUND, NULL, work_array(work, 4 * sizeof(uint32_t)), 4 * sizeof(uint32_t));
}

static uint32_t search_key(const struct work *work)
{
    const uint32_t *sorted = work->buffers[SORTED].in;

    return sorted[work->size * 5 / 7];
}

static void search_run(struct work *work)
{
    uint32_t found[4] = {0, (uint32_t)work->size};

    do {
        uint32_t low = found[0];
        uint32_t length = (found[1] + PARTS - 1) / PARTS;
        work_fill(work, FOUND, 0, sizeof found);
        LAUNCH(work, "search", SHAPE1(PARTS, GROUP), BUFFER(SORTED), BUFFER(FOUND), INT(search_key(work)),
               INT(low), INT(length), INT(low + found[1]));
        work_read(work, FOUND, found, sizeof found);
    } while (found[2] && found[1] > 1);
}

static bool search_check(const struct work *work)
{
    const uint32_t want[4] = {(uint32_t)(work->size * 5 / 7), 1, 1, search_key(work)};

    return check_words(work, work->buffers[FOUND].out, want, 4);
}

const struct workload workload_binary_search = {
    .name = "binary-search",
    .row = "BinarySearch",
    .unit = "numbers",
    .sizes = {65536, 1 << 20, 1 << 22},
    .source = OPENCL(kernel void search(global const uint *sorted, global uint *found, uint key, uint low,
                                        uint length, uint end) {
        uint first = low + get_global_id(0) * length;
        if (first >= end)
            return;
        uint last = min(first + length, end) - 1;
        if (sorted[first] <= key && key <= sorted[last]) {
            found[0] = first;
            found[1] = last - first + 1;
            found[2] = 1;
            found[3] = key;
        }
    }),
    .prepare = search_prepare,
    .run = search_run,
    .check = search_check,
};

/* ---- bitonic: compare and exchange in place, one launch per pass ---- */

enum { KEYS };

static void bitonic_prepare(struct work *work)
{
    size_t n = work->size = work_power_of_two(work->size, 2 * GROUP);

    work_buffer(work, KEYS, work_words(work, n, UINT32_MAX), work_array(work, n * sizeof(uint32_t)),
                n * sizeof(uint32_t));
}

static void bitonic_run(struct work *work)
{
    for (size_t length = 2; length <= work->size; length *= 2)
        for (size_t far = length / 2; far > 0; far /= 2)
            LAUNCH(work, "exchange", SHAPE1(work->size / 2, GROUP), BUFFER(KEYS), INT(far), INT(length));
}

static bool keys_check(const struct work *work)
{
    return check_sorted(work, work->buffers[KEYS].in, work->buffers[KEYS].out, work->size);
}

const struct workload workload_bitonic_sort = {
    .name = "bitonic-sort",
    .row = "BitonicSort",
    .unit = "numbers",
    .sizes = {2048, 32768, 1 << 18},
    .source = OPENCL(kernel void exchange(global uint *keys, uint far, uint length) {
        uint i = get_global_id(0);
        uint left = i / far * 2 * far + i % far;
        uint right = left + far;
        uint a = keys[left];
        uint b = keys[right];
        bool rising = (left & length) == 0;
        if ((a > b) == rising) {
            keys[left] = b;
            keys[right] = a;
        }
    }),
    .prepare = bitonic_prepare,
    .run = bitonic_run,
    .check = keys_check,
};

/*
 * ---- sorting-network: arrays of 512 keys with values; halves in local memory, the last merge in
 * global memory ----
 */

enum { VALUES = 1 };
enum { ARRAY = 512, HALF = ARRAY / 2 };

static void network_prepare(struct work *work)
{
    size_t n = work->size * ARRAY;
    uint32_t *values = work_array(work, n * sizeof *values);

    for (size_t i = 0; i < n; i++)
        values[i] = (uint32_t)i;
    work_buffer(work, KEYS, work_words(work, n, 1000), work_array(work, n * sizeof(uint32_t)),
                n * sizeof(uint32_t));
    work_buffer(work, VALUES, values, work_array(work, n * sizeof(uint32_t)), n * sizeof(uint32_t));
}

static void network_run(struct work *work)
{
    size_t n = work->size * ARRAY;

    LAUNCH(work, "sort_halves", SHAPE1(n / 2, HALF / 2), BUFFER(KEYS), BUFFER(VALUES));
    for (size_t far = HALF; far > 0; far /= 2)
        LAUNCH(work, "merge", SHAPE1(n / 2, GROUP), BUFFER(KEYS), BUFFER(VALUES), INT(far));
}

static bool network_check(const struct work *work)
{
    const uint32_t *in = work->buffers[KEYS].in;
    const uint32_t *keys = work->buffers[KEYS].out;
    const uint32_t *values = work->buffers[VALUES].out;
    size_t n = work->size * ARRAY;
    bool *seen = check_array(n);
    bool ok = true;

    for (size_t i = 0; ok && i < work->size; i++)
        ok = check_sorted(work, in + i * ARRAY, keys + i * ARRAY, ARRAY);
    for (size_t i = 0; ok && i < n; i++) { /* every value once, with its key */
        if (values[i] >= n || seen[values[i]] || in[values[i]] != keys[i])
            ok = check_failed(work, "value %zu is %u", i, values[i]);
        else
            seen[values[i]] = true;
    }
    free(seen);
    return ok;
}

const struct workload workload_sorting_network = {
    .name = "sorting-network",
    .row = "SortingNetworks",
    .unit = "arrays of 512",
    .sizes = {8, 64, 512},
    .source = OPENCL(
        kernel __attribute__((reqd_work_group_size(128, 1, 1))) void sort_halves(global uint *keys,
                                                                                 global uint *values) {
            local uint k[256];
            local uint v[256];
            uint l = get_local_id(0);
            size_t base = get_group_id(0) * 256;
            for (uint i = l; i < 256; i += 128) {
                k[i] = keys[base + i];
                v[i] = values[base + i];
            }
            for (uint length = 2; length <= 256; length *= 2) {
                uint offset = l & (length / 2 - 1);
                for (uint far = length / 2; far > 0; far /= 2) {
                    uint at = 2 * l - (l & (far - 1));
                    uint left = far == length / 2 ? at : at - far;
                    barrier(CLK_LOCAL_MEM_FENCE);
                    if ((far == length / 2 || offset >= far) && k[left] > k[left + far]) {
                        uint key = k[left];
                        uint value = v[left];
                        k[left] = k[left + far];
                        v[left] = v[left + far];
                        k[left + far] = key;
                        v[left + far] = value;
                    }
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint i = l; i < 256; i += 128) {
                keys[base + i] = k[i];
                values[base + i] = v[i];
            }
        }

        kernel void merge(global uint *keys, global uint *values, uint far) {
            uint i = get_global_id(0);
            uint at = 2 * i - (i & (far - 1));
            uint left = far == 256 ? at : at - far;
            if (far < 256 && (i & 255) < far)
                return;
            uint a = keys[left];
            uint b = keys[left + far];
            if (a > b) {
                uint value = values[left];
                keys[left] = b;
                keys[left + far] = a;
                values[left] = values[left + far];
                values[left + far] = value;
            }
        }),
    .prepare = network_prepare,
    .run = network_run,
    .check = network_check,
};

/* ---- radix-sort: eight passes of four bits: count, scan, scatter ---- */

enum { OTHER = 1, COUNTS };
enum { EACH = 64, DIGITS = 16 }; /* EACH: consecutive keys of one work-item */

static void radix_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, EACH * GROUP);

    work_buffer(work, KEYS, work_words(work, n, UINT32_MAX), work_array(work, n * sizeof(uint32_t)),
                n * sizeof(uint32_t));
    work_buffer(work, OTHER, NULL, NULL, n * sizeof(uint32_t));
    work_buffer(work, COUNTS, NULL, NULL, n / EACH * DIGITS * sizeof(uint32_t));
}

static void radix_run(struct work *work)
{
    size_t items = work->size / EACH;

    for (size_t pass = 0; pass < 8; pass++) {
        size_t from = pass % 2 ? OTHER : KEYS;
        size_t to = pass % 2 ? KEYS : OTHER;
        LAUNCH(work, "count", SHAPE1(items, GROUP), BUFFER(from), BUFFER(COUNTS), INT(4 * pass));
        LAUNCH(work, "scan", SHAPE1(GROUP, GROUP), BUFFER(COUNTS), INT(items * DIGITS / GROUP));
        LAUNCH(work, "scatter", SHAPE1(items, GROUP), BUFFER(from), BUFFER(COUNTS), BUFFER(to),
               INT(4 * pass));
    }
}

const struct workload workload_radix_sort = {
    .name = "radix-sort",
    .row = "RadixSort",
    .unit = "numbers",
    .sizes = {8192, 1 << 17, 1 << 19},
    .source = OPENCL(
        kernel void count(global const uint *keys, global uint *counts, uint shift) {
            uint item = get_global_id(0);
            uint items = get_global_size(0);
            uint mine[16];
            for (uint d = 0; d < 16; d++)
                mine[d] = 0;
            for (uint i = 0; i < 64; i++)
                mine[keys[item * 64 + i] >> shift & 15]++;
            for (uint d = 0; d < 16; d++)
                counts[d * items + item] = mine[d];
        }

        kernel void scan(global uint *counts, uint each) {
            local uint sums[64];
            uint l = get_local_id(0);
            uint sum = 0;
            for (uint i = 0; i < each; i++)
                sum += counts[l * each + i];
            sums[l] = sum;
            barrier(CLK_LOCAL_MEM_FENCE);
            uint before = 0;
            for (uint i = 0; i < l; i++)
                before += sums[i];
            for (uint i = 0; i < each; i++) {
                uint here = counts[l * each + i];
                counts[l * each + i] = before;
                before += here;
            }
        }

        kernel void scatter(global const uint *keys, global const uint *offsets, global uint *sorted,
                            uint shift) {
            uint item = get_global_id(0);
            uint items = get_global_size(0);
            uint next[16];
            for (uint d = 0; d < 16; d++)
                next[d] = offsets[d * items + item];
            for (uint i = 0; i < 64; i++) {
                uint key = keys[item * 64 + i];
                sorted[next[key >> shift & 15]++] = key;
            }
        }),
    .prepare = radix_prepare,
    .run = radix_run,
    .check = keys_check,
};
