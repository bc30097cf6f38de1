#include "cli/run_cuda.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/installed.h"
#include "cli/needed.h"

#define CPU_DEVICE    "cuda-cpu/" RUN_CUDA_DRIVER
#define CPU_INSTALLED "baton/" CPU_DEVICE /* among the libraries of an installation */

/* Prepends the value, with a separator, to the variable. 0 or -errno. */
static int put_first(const char *variable, const char *value)
{
    const char *before = getenv(variable);
    char *list = NULL;
    int result;

    if (asprintf(&list, "%s%s%s", value, before && before[0] ? ":" : "", before ? before : "") < 0)
        return -ENOMEM;
    result = setenv(variable, list, 1) < 0 ? -errno : 0;
    free(list);
    return result;
}

/* The driver's library as the dynamic loader finds it. -ENOENT: there is none. */
static int find_driver(char ret_path[PATH_MAX])
{
    void *library = dlopen(RUN_CUDA_DRIVER, RTLD_LAZY | RTLD_LOCAL);
    struct link_map *map = NULL;
    int result = -ENOENT;

    if (!library)
        return result;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map->l_name && realpath(map->l_name, ret_path))
        result = 0;
    (void)dlclose(library);
    return result;
}

int run_cuda_cpu_driver(char ret_path[PATH_MAX])
{
    int result = installed_find(CPU_DEVICE, ret_path, PATH_MAX);

    return result ? installed_find(CPU_INSTALLED, ret_path, PATH_MAX) : 0;
}

/* The CPU device's libraries: its driver, and the folder that also holds its runtime. */
static int choose_cpu(const struct cli_args *args)
{
    char path[PATH_MAX];
    char *slash;
    int result = run_cuda_cpu_driver(path);

    if (result)
        return cli_fail_environment(args, result, "--device cpu: " CPU_DEVICE);
    if (setenv(RUN_CUDA_VARIABLE, path, 1) < 0)
        return cli_fail_environment(args, errno, "environment");
    slash = strrchr(path, '/');
    if (slash)
        *slash = 0;
    result = put_first("LD_LIBRARY_PATH", path);
    return result ? cli_fail_environment(args, result, "environment") : 0;
}

/* Sets *ret_there: a driver is known. */
static int choose_driver(const struct cli_args *args, bool *ret_there)
{
    const char *given = getenv(RUN_CUDA_VARIABLE);
    char path[PATH_MAX];

    *ret_there = true;
    if (given && given[0])
        return access(given, R_OK) == 0 ? 0
                                        : cli_fail_environment(args, errno, RUN_CUDA_VARIABLE ": %s", given);
    if (find_driver(path) == 0)
        return setenv(RUN_CUDA_VARIABLE, path, 1) == 0 ? 0 : cli_fail_environment(args, errno, "environment");
    *ret_there = false;
    if (needed_by_program(args->positional[0], "libcuda.so") ||
        needed_by_program(args->positional[0], "libcudart.so"))
        return cli_fail_environment(args, 0,
                                    "%s needs CUDA, and there is no CUDA driver (" RUN_CUDA_DRIVER
                                    ") here; `--device cpu` runs it on CPU cores",
                                    args->positional[0]);
    return 0;
}

bool run_cuda_can_preload(const char *path)
{
    return !strchr(path, ':') && !(strchr(path, ' ') && strchr(path, ';'));
}

/* Preloads the front by its name: the loader looks for it in the folders of LD_LIBRARY_PATH. */
static int put_by_name(const char *front)
{
    char folder[PATH_MAX];
    int n = snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(front, '/') - front), front);
    int result = (size_t)n < sizeof folder ? put_first("LD_LIBRARY_PATH", folder) : -ENAMETOOLONG;

    return result ? result : put_first("LD_PRELOAD", RUN_CUDA_FRONT);
}

static int put_front(const struct cli_args *args, const char *front)
{
    const char *others = getenv("LD_PRELOAD");
    bool by_name = strchr(front, ' ') != NULL;
    int result;

    if (!run_cuda_can_preload(front))
        return cli_fail_environment(
            args, 0, "%s: CUDA programs cannot be scheduled from a folder with a colon in its path", front);
    if (others && strstr(others, by_name ? RUN_CUDA_FRONT : front))
        return 0; /* started by a program that itself runs under Baton */
    result = by_name ? put_by_name(front) : put_first("LD_PRELOAD", front);
    return result ? cli_fail_environment(args, result, "environment") : 0;
}

int run_cuda_prepare(const struct cli_args *args)
{
    const char *device = cli_value(args, "device", NULL);
    char front[PATH_MAX];
    bool there = true;
    int result;

    if (device && strcmp(device, "cpu") != 0)
        return cli_fail_usage(args, "--device: expected cpu, found '%s'", device);
    result = device ? choose_cpu(args) : choose_driver(args, &there);
    if (result || !there)
        return result;
    result = installed_find(RUN_CUDA_FRONT, front, sizeof front);
    if (result && !device)
        return 0; /* built without CUDA */
    return result ? cli_fail_environment(args, result, RUN_CUDA_FRONT) : put_front(args, front);
}
