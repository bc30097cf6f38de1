#include "study/run/transport.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "baton-mpi.so"

int transport_wanted(void)
{
    const char *size = getenv("OMPI_COMM_WORLD_SIZE");

    return size && strtol(size, NULL, 10) > 1;
}

/* path/LIBRARY and path/../lib/baton/LIBRARY; path is the folder of this program. */
static void *load_beside_program(char ret_reason[], size_t size)
{
    static const char *const places[] = {"", "/../lib/baton", NULL};
    char folder[4096];
    char path[4200];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    void *library = NULL;
    char *slash;

    if (length < 0) {
        (void)snprintf(ret_reason, size, "/proc/self/exe: %s", strerror(errno));
        return NULL;
    }
    folder[length] = 0;
    slash = strrchr(folder, '/');
    *(slash ? slash : folder) = 0;
    for (size_t i = 0; places[i] && !library; i++) {
        (void)snprintf(path, sizeof path, "%s%s/%s", folder, places[i], LIBRARY);
        library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
        if (!library && (i == 0 || access(path, F_OK) == 0))
            (void)snprintf(ret_reason, size, "%s", dlerror());
    }
    return library;
}

int transport_open(const struct study_transport **ret_transport, char ret_reason[], size_t size)
{
    const struct study_transport *(*entry)(void);
    const struct study_transport *transport;
    void *library = load_beside_program(ret_reason, size);
    void *symbol = library ? dlsym(library, TRANSPORT_ENTRY) : NULL;

    if (!symbol)
        return -ENOENT;
    memcpy(&entry, &symbol, sizeof entry); /* POSIX's way to get a function pointer from dlsym */
    transport = entry();
    if (!transport) {
        (void)snprintf(ret_reason, size, "MPI does not start");
        return -ENOENT;
    }
    *ret_transport = transport;
    return 0;
}
