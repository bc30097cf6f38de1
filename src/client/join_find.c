/* Finds the session of this process: the layer's, or else one that libbaton opens. */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/client_process.h"
#include "client/join.h"
#include "client/settings.h"

/* Is this the path of the layer, with or without a version behind its name? */
static bool is_layer(const char *path)
{
    const char *slash = strrchr(path, '/');

    return strncmp(slash ? slash + 1 : path, JOIN_LAYER_FILE, sizeof JOIN_LAYER_FILE - 1) == 0;
}

/* Stores the path of the layer if this object is the layer. */
static int look_at_object(struct dl_phdr_info *info, size_t size, void *ret_path)
{
    (void)size;
    if (!info->dlpi_name || !is_layer(info->dlpi_name))
        return 0;
    (void)snprintf(ret_path, PATH_MAX, "%s", info->dlpi_name);
    return 1;
}

/* The layer that `baton run` has put into the list of OpenCL layers. */
static bool find_listed(char ret_path[PATH_MAX])
{
    const char *at = secure_getenv("OPENCL_LAYERS");

    while (at && *at) {
        size_t length = strcspn(at, ":");

        if (length < PATH_MAX) {
            (void)snprintf(ret_path, PATH_MAX, "%.*s", (int)length, at);
            if (is_layer(ret_path))
                return true;
        }
        at += length + (at[length] != 0);
    }
    return false;
}

/* Keeps the layer loaded. */
static const struct join_hooks *hooks_of_layer(void)
{
    const struct join_hooks *(*ask)(void) = NULL;
    const struct join_hooks *found;
    char path[PATH_MAX] = "";
    void *layer;

    if (!dl_iterate_phdr(look_at_object, path) && !find_listed(path))
        return NULL;
    layer = dlopen(path, RTLD_LAZY);
    if (layer)
        *(void **)&ask = dlsym(layer, JOIN_SYMBOL);
    found = ask ? ask() : NULL;
    return found && found->version == JOIN_VERSION ? found : NULL;
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

    pthread_mutex_lock(&client_process.hooks_lock);
    if (!client_process.hooks)
        client_process.hooks = hooks_of_layer();
    if (!client_process.hooks)
        client_process.hooks = hooks_of_our_own();
    found = client_process.hooks;
    pthread_mutex_unlock(&client_process.hooks_lock);
    return found;
}
