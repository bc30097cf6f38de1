/* libbaton-cuda.so: the first call of any stub loads libbaton-layer.so (stubs.h). */
#include "cuda/stubs/stubs.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "cuda/entries.h"
#include "version.h"

extern char stub_begin[];
extern void *_Atomic stub_targets[ENTRY_N];
void *stub_resolve(unsigned index); /* for stubs.S */

static struct {
    pthread_once_t begun;
    stubs_resolve resolve; /* of the layer; NULL: it cannot be loaded */
} stubs_state = {.begun = PTHREAD_ONCE_INIT};

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
    static const struct stubs stubs = {BATON_VERSION, ENTRY_N, stub_begin, stub_targets};
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
