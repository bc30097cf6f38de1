#include "cuda/genuine.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/loader_cache.h"
#include "cuda/front.h"

static const char *const folders[] = {
    "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib",
    "/usr/lib/wsl/lib",
};

/* Is the file the library of the stubs? Then opening it would find ourselves. */
static bool is_self(const char *path)
{
    struct stat ours, other;
    Dl_info about;

    if (!dladdr(cuda_front.genuine.stub, &about) || !about.dli_fname || stat(about.dli_fname, &ours) < 0 ||
        stat(path, &other) < 0)
        return false;
    return ours.st_dev == other.st_dev && ours.st_ino == other.st_ino;
}

static bool open_path(const char *path)
{
    if (is_self(path))
        return false;
    cuda_front.genuine.library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    return cuda_front.genuine.library != NULL;
}

static bool open_in(const char *folder, size_t length)
{
    char path[PATH_MAX];

    if (length == 0 || length > sizeof path - sizeof GENUINE_NAME - 2)
        return false;
    (void)snprintf(path, sizeof path, "%.*s/" GENUINE_NAME, (int)length, folder);
    return open_path(path);
}

static bool open_listed(const char *list)
{
    for (const char *at = list; at && *at;) {
        size_t length = strcspn(at, ":;");

        if (open_in(at, length))
            return true;
        at += length + (at[length] != 0);
    }
    return false;
}

static bool open_any(void)
{
    const char *given = getenv(GENUINE_VARIABLE);
    char path[PATH_MAX];

    if (given && given[0])
        return open_path(given);
    if (open_listed(getenv("LD_LIBRARY_PATH")))
        return true;
    if (loader_cache_find(GENUINE_NAME, path, sizeof path) == 0 && open_path(path))
        return true;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if (open_in(folders[i], strlen(folders[i])))
            return true;
    return false;
}

bool genuine_open(const void *stub)
{
    cuda_front.genuine.stub = stub;
    if (!open_any())
        return false;
#define GENUINE_FIND(name) *(void **)&cuda_front.genuine.name = dlsym(cuda_front.genuine.library, #name);
    GENUINE_FUNCTIONS(GENUINE_FIND)
#undef GENUINE_FIND
    return true;
}

void *genuine_symbol(const char *symbol)
{
    return cuda_front.genuine.library ? dlsym(cuda_front.genuine.library, symbol) : NULL;
}
