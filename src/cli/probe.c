#include "cli/probe.h"

#include <CL/cl.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/patience.h"

#define PROBE_SECONDS    20
#define PROBE_MAX_ANSWER ((size_t)1 << 20)
#define MAX_PLATFORMS    16
#define MAX_DEVICES      64
#define NV_ASYNC_ENGINES                                                                                     \
    0x4007 /* CL_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT_NV: copy engines, if the driver reports them */

/* CL_ICDL_VERSION and CL_ICDL_NAME of cl_khr_icd's loader query; Debian's headers lack them. */
#define LOADER_VERSION 2
#define LOADER_NAME    3

/* The loader's functions, resolved at run time so that `baton` starts without OpenCL. */
struct loader {
    void *handle;
    cl_int(CL_API_CALL *get_platforms)(cl_uint, cl_platform_id *, cl_uint *);
    cl_int(CL_API_CALL *get_platform)(cl_platform_id, cl_platform_info, size_t, void *, size_t *);
    cl_int(CL_API_CALL *get_devices)(cl_platform_id, cl_device_type, cl_uint, cl_device_id *, cl_uint *);
    cl_int(CL_API_CALL *get_device)(cl_device_id, cl_device_info, size_t, void *, size_t *);
};

static bool loader_open(struct loader *loader)
{
    loader->handle = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!loader->handle)
        return false;
    *(void **)&loader->get_platforms = dlsym(loader->handle, "clGetPlatformIDs");
    *(void **)&loader->get_platform = dlsym(loader->handle, "clGetPlatformInfo");
    *(void **)&loader->get_devices = dlsym(loader->handle, "clGetDeviceIDs");
    *(void **)&loader->get_device = dlsym(loader->handle, "clGetDeviceInfo");
    return loader->get_platforms && loader->get_platform && loader->get_devices && loader->get_device;
}

/* The loader's name, by the query that both ocl-icd and Khronos' loader answer. */
static void name_loader(const struct loader *loader, char *ret_name, size_t size)
{
    cl_int(CL_API_CALL * get_info)(cl_uint, size_t, void *, size_t *) = NULL;
    void *(CL_API_CALL * get_address)(const char *);
    char name[48] = "unknown";
    char version[48] = "";

    *(void **)&get_address = dlsym(loader->handle, "clGetExtensionFunctionAddress");
    if (get_address)
        *(void **)&get_info = get_address("clGetICDLoaderInfoOCLICD");
    if (get_info) {
        get_info(LOADER_NAME, sizeof name - 1, name, NULL);
        get_info(LOADER_VERSION, sizeof version - 1, version, NULL);
    }
    (void)snprintf(ret_name, size, "%s %s", name, version);
}

static json_t *device_answer(const struct loader *loader, cl_device_id device)
{
    char name[256] = "";
    char version[256] = "";
    cl_device_type type = 0;
    cl_uint units = 0;
    cl_uint engines = 0;
    cl_ulong memory = 0;
    json_t *answer;

    loader->get_device(device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
    loader->get_device(device, CL_DEVICE_VERSION, sizeof version - 1, version, NULL);
    loader->get_device(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    loader->get_device(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    loader->get_device(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof memory, &memory, NULL);
    answer = json_pack("{s:s, s:s, s:s, s:I, s:I}", "name", name, "type",
                       type & CL_DEVICE_TYPE_GPU   ? "gpu"
                       : type & CL_DEVICE_TYPE_CPU ? "cpu"
                                                   : "other",
                       "version", version, "compute_units", (json_int_t)units, "memory", (json_int_t)memory);
    if (loader->get_device(device, NV_ASYNC_ENGINES, sizeof engines, &engines, NULL) == CL_SUCCESS)
        json_object_set_new(answer, "copy_engines", json_integer(engines));
    else
        json_object_set_new(answer, "copy_engines", json_null());
    return answer;
}

static json_t *platform_answer(const struct loader *loader, cl_platform_id platform)
{
    char name[256] = "";
    char version[256] = "";
    cl_device_id devices[MAX_DEVICES];
    cl_uint n = 0;
    json_t *list = json_array();

    loader->get_platform(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
    loader->get_platform(platform, CL_PLATFORM_VERSION, sizeof version - 1, version, NULL);
    if (loader->get_devices(platform, CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &n) != CL_SUCCESS)
        n = 0;
    for (cl_uint i = 0; i < n && i < MAX_DEVICES; i++)
        json_array_append_new(list, device_answer(loader, devices[i]));
    return json_pack("{s:s, s:s, s:o}", "name", name, "version", version, "devices", list);
}

/* Is a file mapped into this process? Nothing else shows that the loader honoured OPENCL_LAYERS. */
static bool is_mapped(const char *path)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char *real = realpath(path, NULL);
    char line[4096];
    bool found = false;

    while (maps && real && !found && fgets(line, sizeof line, maps))
        found = strstr(line, real) != NULL;
    if (maps)
        (void)fclose(maps);
    free(real);
    return found;
}

/* In the child: looks around and writes one JSON text to fd. */
static void look(const char *layer, int fd)
{
    struct loader loader = {0};
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint n = 0;
    json_t *answer;
    char loader_name[128] = "";
    Dl_info where;

    if (layer)
        setenv("OPENCL_LAYERS", layer, 1);
    else
        unsetenv("OPENCL_LAYERS");
    if (!loader_open(&loader)) {
        answer = json_pack("{s:s}", "error", "no OpenCL loader (libOpenCL.so.1)");
    } else {
        json_t *list = json_array();

        if (loader.get_platforms(MAX_PLATFORMS, platforms, &n) != CL_SUCCESS)
            n = 0;
        for (cl_uint i = 0; i < n && i < MAX_PLATFORMS; i++)
            json_array_append_new(list, platform_answer(&loader, platforms[i]));
        name_loader(&loader, loader_name, sizeof loader_name);
        answer = json_pack(
            "{s:s, s:s, s:b, s:o}", "loader",
            dladdr(*(void **)&loader.get_platforms, &where) ? where.dli_fname : "libOpenCL.so.1",
            "loader_name", loader_name, "layer_loaded", layer && is_mapped(layer), "platforms", list);
    }
    json_dumpfd(answer, fd, JSON_COMPACT);
    _exit(0);
}

/* who: the API whose driver answers, for messages. */
static json_t *read_answer(int fd, const char *who)
{
    baton_nsec end_at = clock_now() + patience_limit(PROBE_SECONDS * NSEC_PER_SEC);
    char *text = malloc(PROBE_MAX_ANSWER);
    size_t size = 0;
    json_t *answer = NULL;
    bool closed = false;

    while (text && !closed && size < PROBE_MAX_ANSWER) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        baton_nsec left = end_at - clock_now();
        ssize_t n;

        if (left <= 0 || poll(&ready, 1, (int)(left / NSEC_PER_MS) + 1) == 0)
            break;
        n = read(fd, text + size, PROBE_MAX_ANSWER - size);
        if (n > 0)
            size += (size_t)n;
        closed = n == 0 || (n < 0 && errno != EINTR);
    }
    if (text && closed)
        answer = json_loadb(text, size, 0, NULL);
    free(text);
    if (!answer && !closed)
        answer = json_pack("{s:s++}", "error", "the ", who, " driver did not answer in 20 s");
    return answer;
}

/* What `ask` writes in a child process. */
static json_t *ask_child(void (*ask)(const char *argument, int fd), const char *argument, const char *who)
{
    int ends[2];
    json_t *answer;
    pid_t child;
    int status = 0;

    if (pipe(ends) < 0)
        return json_pack("{s:s}", "error", strerror(errno));
    (void)fflush(NULL);
    child = fork();
    if (child == 0) {
        close(ends[0]);
        ask(argument, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    answer = child > 0 ? read_answer(ends[0], who) : json_pack("{s:s}", "error", strerror(errno));
    close(ends[0]);
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
    }
    if (!answer)
        answer =
            json_pack("{s:s++}", "error", "the ", who, " driver crashed while it was asked for its devices");
    return answer;
}

json_t *probe_opencl(const char *layer)
{
    return ask_child(look, layer, "OpenCL");
}

/* ---- CUDA ---- */

/* The library, or NULL after an answer that says why not. */
static void *open_library(const char *name, json_t **ret_answer)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    struct link_map *map = NULL;
    char path[PATH_MAX];

    if (!library) {
        const char *why = dlerror();

        *ret_answer = json_pack("{s:s, s:b}", "error", why ? why : "it cannot be loaded", "missing",
                                why && strstr(why, "No such file"));
        return NULL;
    }
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || !map->l_name || !realpath(map->l_name, path))
        (void)snprintf(path, sizeof path, "%s", name);
    *ret_answer = json_pack("{s:s}", "path", path);
    return library;
}

static _Noreturn void look_at_library(const char *name, int fd)
{
    json_t *answer;

    (void)open_library(name, &answer);
    json_dumpfd(answer, fd, JSON_COMPACT);
    _exit(0);
}

static _Noreturn void look_at_cuda(const char *name, int fd)
{
    json_t *answer;
    void *library = open_library(name, &answer);
    int (*initialise)(unsigned) = NULL;
    int (*ask[2])(int *) = {NULL, NULL}; /* for the version and for the number of devices */
    int values[2] = {0, 0};

    if (library) {
        *(void **)&initialise = dlsym(library, "cuInit");
        *(void **)&ask[0] = dlsym(library, "cuDriverGetVersion");
        *(void **)&ask[1] = dlsym(library, "cuDeviceGetCount");
    }
    if (initialise) {
        int code = initialise(0);

        for (size_t i = 0; i < 2; i++)
            if (ask[i] && (i == 0 || code == 0) && ask[i](&values[i]) != 0)
                values[i] = 0;
        json_object_set_new(answer, "init", json_integer(code));
        json_object_set_new(answer, "version", json_integer(values[0]));
        json_object_set_new(answer, "devices", json_integer(values[1]));
    }
    json_dumpfd(answer, fd, JSON_COMPACT);
    _exit(0);
}

json_t *probe_cuda(const char *library)
{
    return ask_child(look_at_cuda, library, "CUDA");
}

json_t *probe_library(const char *path)
{
    return ask_child(look_at_library, path, "CUDA");
}
