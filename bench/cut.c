/*
 * What cutting adds to loading a CUDA module: the first time (baton-translate runs) and later (disk
 * cache), beside the work itself within this process. Each round uses a text never seen before.
 * Modules: tests/cut/loops.ptx (28 kernels), its first 20 kernels, tests/cuda_cpu/kernels.ptx
 * (about 50).
 */
#include "base/clock.h"
#include "base/file.h"
#include "figure.h"
#include "translate/translate_cut.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 25, KINDS = 3 };

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double since_ms(baton_nsec begin_at)
{
    return (double)(clock_now() - begin_at) / 1e6;
}

static void measure(const char *text, size_t size, double ret_ms[KINDS], size_t *ret_kernels)
{
    struct ptx_cut cut[KINDS];
    bool from_cache[2];
    baton_nsec begin_at = clock_now();

    if (ptx_cut(text, size, &cut[0]))
        exit(3);
    ret_ms[0] = since_ms(begin_at);
    for (unsigned i = 0; i < 2; i++) {
        begin_at = clock_now();
        if (translate_cut(text, size, &cut[1 + i], &from_cache[i]) || cut[1 + i].reason != PTX_CUT) {
            (void)fprintf(stderr, "bench-cut: no answer\n");
            exit(3);
        }
        ret_ms[1 + i] = since_ms(begin_at);
    }
    if (from_cache[0] || !from_cache[1]) {
        (void)fprintf(stderr, "bench-cut: the cache does not work\n");
        exit(3);
    }
    *ret_kernels = cut[0].n_entries;
    for (unsigned i = 0; i < KINDS; i++)
        ptx_cut_done(&cut[i]);
}

/* Ends the text before kernel number `most`. */
static void keep_kernels(char *text, unsigned most)
{
    char *at = text;

    for (unsigned n = 0; (at = strstr(at, ".visible .entry")); n++, at++)
        if (n == most) {
            *at = 0;
            return;
        }
}

/* most: how many of its kernels. */
static void measure_module(const char *path, const char *name, unsigned most)
{
    static const char *const kinds[KINDS] = {"in-process", "first", "cached"};
    double times[KINDS][ROUNDS];
    size_t kernels = 0;
    size_t size;
    char *text;

    if (file_read(path, 16 << 20, &text, &size) < 0) {
        (void)fprintf(stderr, "bench-cut: cannot read %s (start it in the source folder)\n", path);
        exit(3);
    }
    keep_kernels(text, most);
    size = strlen(text);
    for (unsigned i = 0; i < ROUNDS; i++) {
        double ms[KINDS];
        char *fresh;
        int n = asprintf(&fresh, "%s\n// %ld %u\n", text, (long)getpid(), i);

        if (n < 0)
            exit(3);
        measure(fresh, (size_t)n, ms, &kernels);
        for (unsigned k = 0; k < KINDS; k++)
            times[k][i] = ms[k];
        free(fresh);
    }
    (void)printf("%s: %zu kernels, %zu bytes\n", name, kernels, size);
    for (unsigned k = 0; k < KINDS; k++) {
        qsort(times[k], ROUNDS, sizeof times[k][0], compare_times);
        (void)printf("  %-12s median %8.3f ms   (%.3f .. %.3f)\n", kinds[k], times[k][ROUNDS / 2],
                     times[k][1], times[k][ROUNDS - 2]);
    }
    figure_of("cut", name, "first", times[1][ROUNDS / 2], times[1][1], times[1][ROUNDS - 2]);
    figure_of("cut", name, "cached", times[2][ROUNDS / 2], times[2][1], times[2][ROUNDS - 2]);
    free(text);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)st;
    (void)kind;
    (void)walk;
    return remove(path);
}

int main(void)
{
    char cache[] = "/tmp/bench-cut-XXXXXX";

    if (!mkdtemp(cache) || setenv("BATON_CACHE_DIR", cache, 1))
        return 3;
    measure_module("tests/cut/loops.ptx", "loops", UINT_MAX);
    measure_module("tests/cut/loops.ptx", "twenty", 20);
    measure_module("tests/cuda_cpu/kernels.ptx", "kernels", UINT_MAX);
    (void)nftw(cache, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return 0;
}
