#include "cli/outsiders.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILES 4096 /* per process; further ones are ignored */

bool outsiders_is_gpu(const char *path)
{
    /*
     * NVIDIA's GPUs, DRM's render nodes, AMD's compute, Mali, Adreno. nvidiactl, nvidia-uvm and
     * nvidia-modeset are absent because idle tools open them too.
     */
    static const char *const numbered[] = {"/dev/nvidia", "/dev/dri/renderD", "/dev/mali"};
    static const char *const named[] = {"/dev/kfd", "/dev/kgsl-3d0"};

    for (size_t i = 0; i < sizeof numbered / sizeof numbered[0]; i++) {
        size_t length = strlen(numbered[i]);

        if (strncmp(path, numbered[i], length) == 0 && isdigit((unsigned char)path[length]))
            return true;
    }
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        if (strcmp(path, named[i]) == 0)
            return true;
    }
    return false;
}

/* Inspects the open files of one process: 1 if one belongs to a GPU, else 0 or -errno. */
static int look_at(int process, struct outsider *outsider)
{
    int fd = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *files = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    int found = 0;

    if (!files) {
        int result = -errno;

        if (fd >= 0)
            close(fd);
        return result;
    }
    for (unsigned i = 0; !found && i < MAX_FILES && (entry = readdir(files)); i++) {
        char path[sizeof outsider->device];
        ssize_t n = readlinkat(fd, entry->d_name, path, sizeof path - 1);

        path[n > 0 ? n : 0] = 0;
        if (!outsiders_is_gpu(path))
            continue;
        memcpy(outsider->device, path, sizeof path);
        found = 1;
    }
    (void)closedir(files);
    return found;
}

static void name_process(int process, struct outsider *outsider)
{
    int fd = openat(process, "comm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, outsider->name, sizeof outsider->name - 1);
    struct stat status;

    outsider->name[n > 0 ? n : 0] = 0;
    outsider->name[strcspn(outsider->name, "\n")] = 0;
    if (fd >= 0)
        close(fd);
    outsider->uid = fstat(process, &status) == 0 ? status.st_uid : 0;
}

static bool is_client(uint32_t pid, const uint32_t *clients, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (clients[i] == pid)
            return true;
    }
    return false;
}

static void add(struct outsiders *outsiders, const struct outsider *outsider)
{
    if (outsiders->n < OUTSIDERS_MAX)
        outsiders->all[outsiders->n++] = *outsider;
    else
        outsiders->more++;
}

int outsiders_find(const char *proc, const uint32_t *clients, size_t n_clients,
                   struct outsiders *ret_outsiders)
{
    DIR *folder = opendir(proc);
    const struct dirent *entry;

    if (!folder)
        return -errno;
    *ret_outsiders = (struct outsiders){0};
    while ((entry = readdir(folder))) {
        char *end;
        struct outsider outsider = {.pid = (uint32_t)strtoul(entry->d_name, &end, 10)};
        int process;
        int result;

        if (!isdigit((unsigned char)entry->d_name[0]) || *end || is_client(outsider.pid, clients, n_clients))
            continue;
        process = openat(dirfd(folder), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (process < 0)
            continue;
        result = look_at(process, &outsider);
        if (result == -EACCES || result == -EPERM)
            ret_outsiders->partial = true;
        if (result > 0) {
            name_process(process, &outsider);
            add(ret_outsiders, &outsider);
        }
        close(process);
    }
    (void)closedir(folder);
    return 0;
}
