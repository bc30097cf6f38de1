/*
 * Linked with --wrap into the workloads over CUDA's driver API. Every module is cut as it is
 * loaded, and every launch runs in random pieces, in random order. A kernel that is not cut ends
 * the program: every workload's kernels can be.
 *
 * BATON_CUT_SEED: another seed. BATON_CUT_COUNT=1: says on standard error what was done.
 */
#include "base/file.h"
#include "cuda_abi/driver_calls.h"
#include "pieces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FUNCTIONS = 256, MOST_ARGUMENTS = 64 };

static struct ptx_cut cut;
static CUmodule cut_module;
static struct {
    CUfunction whole, piece;
    const struct ptx_cut_entry *entry;
} functions[MOST_FUNCTIONS];
static size_t n_functions;
static struct random_state chance;
struct pieces_count pieces_count;

CUresult __real_cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
CUresult __wrap_cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
CUresult __wrap_cuModuleLoad(CUmodule *module, const char *path);
CUresult __real_cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                               unsigned by, unsigned bz, unsigned shared, CUstream stream, void **parameters,
                               void **extra);
CUresult __wrap_cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                               unsigned by, unsigned bz, unsigned shared, CUstream stream, void **parameters,
                               void **extra);

static void tell(void)
{
    fprintf(stderr, "%zu launches in %zu pieces, %zu whole\n", pieces_count.launches, pieces_count.pieces,
            pieces_count.whole);
}

static _Noreturn void give_up(const char *what, const char *why)
{
    fprintf(stderr, "workloads: %s: %s\n", what, why);
    exit(3); /* NOLINT(concurrency-mt-unsafe): the only thread */
}

CUresult __wrap_cuModuleLoad(CUmodule *module, const char *path)
{
    const char *seed = getenv("BATON_CUT_SEED"); /* NOLINT(concurrency-mt-unsafe): the only thread */
    CUresult result;
    char *text;
    size_t size;

    if (!pieces_count.launches) {
        random_init(&chance, seed ? strtoull(seed, NULL, 10) : 1, 22);
        if (getenv("BATON_CUT_COUNT")) /* NOLINT(concurrency-mt-unsafe): the only thread */
            (void)atexit(tell);
    }
    ptx_cut_done(&cut);
    n_functions = 0;
    if (file_read(path, 64 << 20, &text, &size) < 0 || ptx_cut(text, size, &cut) < 0)
        give_up(path, "cannot be read");
    for (size_t i = 0; i < cut.n_entries; i++)
        if (cut.entries[i].reason != PTX_CUT)
            give_up(cut.entries[i].name, ptx_whole_sentence(cut.entries[i].reason));
    result = cuModuleLoadData(module, cut.text);
    cut_module = *module;
    free(text);
    return result;
}

CUresult __wrap_cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    const struct ptx_cut_entry *entry = module == cut_module ? ptx_cut_find(&cut, name) : NULL;
    CUresult result = __real_cuModuleGetFunction(function, module, name);

    if (result != CUDA_SUCCESS || !entry)
        return result;
    for (size_t i = 0; i < n_functions; i++)
        if (functions[i].whole == *function)
            return result;
    if (n_functions == MOST_FUNCTIONS)
        give_up(name, "too many kernels");
    functions[n_functions].whole = *function;
    functions[n_functions].entry = entry;
    return __real_cuModuleGetFunction(&functions[n_functions++].piece, module, entry->piece_name);
}

CUresult __wrap_cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                               unsigned by, unsigned bz, unsigned shared, CUstream stream, void **parameters,
                               void **extra)
{
    const uint32_t grid[3] = {gx, gy, gz};
    void *more[MOST_ARGUMENTS + 1];
    struct pieces pieces;
    CUresult result = CUDA_SUCCESS;
    size_t i = 0;

    while (i < n_functions && functions[i].whole != function)
        i++;
    if (i == n_functions || pieces_make(&pieces, grid, &chance) ||
        functions[i].entry->n_parameters > MOST_ARGUMENTS) {
        pieces_count.whole++;
        return __real_cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
    }
    pieces_count.launches++;
    memcpy(more, parameters, functions[i].entry->n_parameters * sizeof *more);
    more[functions[i].entry->n_parameters] = &pieces.whole;
    for (unsigned k = 0; k < pieces.n && result == CUDA_SUCCESS; k++) {
        pieces.whole.first = pieces.begin[k];
        result = __real_cuLaunchKernel(functions[i].piece, pieces.end[k] - pieces.begin[k], 1, 1, bx, by, bz,
                                       shared, stream, more, NULL);
        pieces_count.pieces++;
    }
    return result;
}
