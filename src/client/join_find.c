/* Finds the session of this process: the layer's, or else one that libbaton opens. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "client/join.h"
#include "client/settings.h"

#define LAYER_FILE "libbaton-layer.so"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct join_hooks *hooks; /* guarded by lock */

/* Stores the path of the layer if this object is the layer. */
static int look_at_object(struct dl_phdr_info *info, size_t size, void *ret_path)
{
    const char *name = info->dlpi_name ? info->dlpi_name : "";
    const char *slash = strrchr(name, '/');

    (void)size;
    if (strncmp(slash ? slash + 1 : name, LAYER_FILE, sizeof LAYER_FILE - 1) != 0)
        return 0;
    (void)snprintf(ret_path, 4096, "%s", name);
    return 1;
}

const struct join_hooks *join_find_layer(void)
{
    int (*ask)(uint32_t, size_t, void *, size_t *) = NULL;
    const struct join_hooks *found = NULL;
    char path[4096] = "";
    void *layer;

    if (!dl_iterate_phdr(look_at_object, path))
        return NULL;
    layer = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (!layer)
        return NULL;
    *(void **)&ask = dlsym(layer, "clGetLayerInfo");
    if (!ask || ask(JOIN_LAYER_INFO, sizeof(void *), (void *)&found, NULL) != 0)
        found = NULL;
    return found && found->version == JOIN_VERSION ? found : NULL; /* keeps the layer loaded */
}

/*
 * The CUDA front comes before all other libraries in symbol lookup. It answers once the program has
 * used CUDA.
 */
const struct join_hooks *join_find_cuda(void)
{
    const struct join_hooks *(*ask)(void) = NULL;
    const struct join_hooks *found;

    *(void **)&ask = dlsym(RTLD_DEFAULT, JOIN_CUDA_SYMBOL);
    found = ask ? ask() : NULL;
    return found && found->version == JOIN_VERSION ? found : NULL;
}

void (*join_find_cuda_pass(void))(bool on)
{
    void (*found)(bool on) = NULL;

    *(void **)&found = dlsym(RTLD_DEFAULT, JOIN_CUDA_PASS_SYMBOL);
    return found;
}

const char *(*join_find_cuda_name(void))(int device)
{
    const char *(*found)(int device) = NULL;

    *(void **)&found = dlsym(RTLD_DEFAULT, JOIN_CUDA_NAME_SYMBOL);
    return found;
}

/* Without the layer: libbaton's own session, which has no engines but keeps the statistics. */
static const struct join_hooks *hooks_of_our_own(void)
{
    struct session *session = NULL;
    struct settings settings;
    const char *bad;

    settings_from_environment(&settings, &bad);
    settings.require_daemon = false;
    if (session_open(&settings, NULL, &session) < 0)
        return NULL;
    join_offer(session);
    return &join_hooks;
}

const struct join_hooks *join_find(void)
{
    const struct join_hooks *found;

    pthread_mutex_lock(&lock);
    if (!hooks)
        hooks = join_find_layer();
    if (!hooks)
        hooks = join_find_cuda();
    if (!hooks)
        hooks = hooks_of_our_own();
    found = hooks;
    pthread_mutex_unlock(&lock);
    return found;
}
