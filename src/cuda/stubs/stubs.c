/* libbaton-cuda.so: the first call of any stub loads libbaton-layer.so (stubs.h). */
#include "cuda/stubs/stubs.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cuda/entries.h"
#include "version.h"

extern char stub_begin[];
void *stub_resolve(unsigned index); /* for stubs.S */

/* The state of the library. stubs.S lays it out and fills it in, because stubs jump by it. */
extern struct stubs_state {
    void *_Atomic targets[ENTRY_N];
    stubs_resolve resolve; /* of the layer; NULL: it cannot be loaded */
    pthread_once_t begun;
} stubs_state;
_Static_assert(offsetof(struct stubs_state, targets) == 0 &&
                   sizeof(struct stubs_state) == 8 * (ENTRY_N + 2) && PTHREAD_ONCE_INIT == 0,
               "as stubs.S has it");

static void *open_layer(void)
{
    char path[PATH_MAX] = "";
    const char *slash;
    Dl_info about;

    if (!dladdr(stub_begin, &about) || !about.dli_fname)
        return NULL;
    slash = strrchr(about.dli_fname, '/');
    if (snprintf(path, sizeof path, "%.*s" STUBS_LAYER, slash ? (int)(slash + 1 - about.dli_fname) : 0,
                 about.dli_fname) >= (int)sizeof path)
        return NULL;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void begin(void)
{
    static const struct stubs stubs = {BATON_VERSION, ENTRY_N, stub_begin, stubs_state.targets};
    union {
        void *symbol;
        stubs_resolve (*call)(const struct stubs *);
    } hand_over = {NULL};
    void *layer = open_layer();

    if (layer)
        hand_over.symbol = dlsym(layer, STUBS_SYMBOL);
    stubs_state.resolve = hand_over.symbol ? hand_over.call(&stubs) : NULL;
    if (!stubs_state.resolve)
        (void)fprintf(stderr, "baton: no " STUBS_LAYER " of version " BATON_VERSION
                              " beside libbaton-cuda.so; CUDA calls fail\n");
}

static CUresult no_layer(void)
{
    return CUDA_ERROR_NO_DEVICE;
}

void *stub_resolve(unsigned index)
{
    CUresult (*failing)(void) = no_layer;

    pthread_once(&stubs_state.begun, begin);
    return stubs_state.resolve ? stubs_state.resolve(index) : *(void **)&failing;
}
