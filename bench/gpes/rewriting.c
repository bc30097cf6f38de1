/*
 * Sec. IV-A2: rewriting kernels when a program loads them, without their source. CUDA programs
 * bring PTX; the front has it rewritten by baton-cut in a process of its own, or takes the answer
 * from the disk cache. The OpenCL rows rewrite the same programs' source (baton-translate). Each
 * round uses a text never seen before. What the rewritten kernels cost as they run is Fig. 5.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "figure.h"
#include "gpes.h"
#include "translate/translate_cut.h"
#include "translate/translate.h"

enum { MOST_ROUNDS = 25, WAYS = 2, MOST_TEXT = 16 << 20 };

/* One program over one API. */
struct rewriting {
    size_t bytes, kernels, whole; /* whole: kernels that cannot be cut */
    double ms[WAYS][MOST_ROUNDS]; /* the first time; from the cache */
};

static void fail(const char *name, const char *why)
{
    fprintf(stderr, "gpes: rewriting %s: %s\n", name, why);
    exit(3);
}

/* The rewriting programs are those of this build. */
static void name_program(const struct gpes *gpes, const char *variable, const char *name)
{
    char path[PATH_MAX + 32];

    (void)snprintf(path, sizeof path, "%s/%s", gpes->stage.build, name);
    (void)setenv(variable, path, 0);
}

/* The program's kernels as it brings them: PTX, or OpenCL C. Freed by the caller. */
static char *read_kernels(struct gpes *gpes, const char *name, size_t *ret_size)
{
    static const struct stage_how plain = {0};
    struct stage_program run = {0};
    char path[PATH_MAX];
    char *text;

    (void)snprintf(path, sizeof path, WORKLOADS_PTX "/%s.ptx", name);
    if (gpes->api == &gpes_opencl) {
        gpes_run(gpes, &run, &plain, gpes->api->workloads, (const char *const[]){"--source", name, NULL});
        (void)snprintf(path, sizeof path, "%s", run.output);
    }
    if (file_read(path, MOST_TEXT, &text, ret_size) < 0)
        fail(name, path);
    return text;
}

static bool cut_ptx(const char *name, const char *text, size_t size, struct rewriting *rewriting)
{
    struct ptx_cut cut;
    bool from_cache = false;

    if (translate_cut(text, size, &cut, &from_cache) || cut.reason != PTX_CUT)
        fail(name, "no answer of baton-cut");
    rewriting->kernels = cut.n_entries;
    rewriting->whole = 0;
    for (size_t i = 0; i < cut.n_entries; i++)
        rewriting->whole += cut.entries[i].reason != PTX_CUT;
    ptx_cut_done(&cut);
    return from_cache;
}

static bool translate_source(const char *name, const char *text, size_t size, struct rewriting *rewriting)
{
    const struct translate_request request = {.sources = &text,
                                              .lengths = &size,
                                              .n_sources = 1,
                                              .options = "",
                                              .device = {.version = "OpenCL 3.0",
                                                         .c_version = "OpenCL C 1.2",
                                                         .extensions = "cl_khr_fp64",
                                                         .driver = "gpes",
                                                         .address_bits = 64,
                                                         .images = true,
                                                         .little_endian = true}};
    struct translate_result result;
    bool from_cache;

    if (translate_program(&request, &result))
        fail(name, "no answer of baton-translate");
    from_cache = result.from_cache;
    rewriting->kernels = result.n_kernels;
    rewriting->whole = 0;
    for (size_t i = 0; i < result.n_kernels; i++)
        rewriting->whole += !result.kernels[i].sliceable;
    translate_result_done(&result);
    return from_cache;
}

static void measure(struct gpes *gpes, const char *name, size_t rounds, struct rewriting *ret_rewriting)
{
    char *text = read_kernels(gpes, name, &ret_rewriting->bytes);

    for (size_t round = 0; round < rounds; round++) {
        char *fresh;
        int n = asprintf(&fresh, "%s\n// %ld %zu\n", text, (long)getpid(), round);

        if (n < 0)
            fail(name, "no memory");
        for (size_t way = 0; way < WAYS; way++) {
            baton_nsec begin_at = clock_now();
            bool cached = gpes->api == &gpes_opencl ? translate_source(name, fresh, (size_t)n, ret_rewriting)
                                                    : cut_ptx(name, fresh, (size_t)n, ret_rewriting);

            ret_rewriting->ms[way][round] = (double)(clock_now() - begin_at) / 1e6;
            if (cached != (way == 1))
                fail(name, "the cache does not work");
        }
        free(fresh);
    }
    free(text);
}

void gpes_rewriting(struct gpes *gpes)
{
    static struct rewriting rewritings[GPES_PROGRAMS];
    size_t rounds = gpes->quick ? 5 : MOST_ROUNDS;

    name_program(gpes, "BATON_CUT", "baton-cut");
    name_program(gpes, "BATON_TRANSLATE", "baton-translate");
    printf("\nSec. IV-A2: kernels rewritten as they are loaded: PTX without source (CUDA), source (OpenCL); "
           "ms,\nleast to most of %zu\n",
           rounds);
    printf("  %-10s %-7s %8s %8s %6s   %-24s %s\n", "", "", "bytes", "kernels", "whole", "first",
           "from the cache");
    for (size_t a = 0; a < gpes->n_apis; a++) {
        struct gpes_range worst[WAYS] = {{0, 0, 0}}; /* of the slowest program, ms */

        gpes->api = gpes->apis[a];
        for (size_t p = 0; p < GPES_PROGRAMS; p++) {
            struct rewriting *row = &rewritings[p];

            measure(gpes, gpes_names[p], rounds, row);
            printf("  %-10s %-7s %8zu %8zu %6zu  ", gpes_names[p], gpes->api->name, row->bytes, row->kernels,
                   row->whole);
            for (size_t way = 0; way < WAYS; way++) {
                struct gpes_range ms = gpes_range_of(row->ms[way], rounds);

                printf(" %10.2g to %-10.2g", ms.least, ms.most);
                worst[way] = ms.median > worst[way].median ? ms : worst[way];
            }
            printf("\n");
            (void)fflush(stdout);
        }
        figure_of(gpes->api->figures, "rewriting", "first", worst[0].median, worst[0].least, worst[0].most);
        figure_of(gpes->api->figures, "rewriting", "cached", worst[1].median, worst[1].least, worst[1].most);
    }
    printf("  GPES tells no time for its rewriting of binaries, which handles \"simple kernels\" only\n");
}
