#include "cuda_cpu/driver/shared_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cuda_cpu/driver/driver_state.h"
#include "cuda_cpu/driver/process.h"
#include "cuda_cpu/driver/visible.h"

#define SHARE_MAGIC  UINT32_C(0x43755348)
#define SHARE_PREFIX "baton-cuda-device-"

_Static_assert(sizeof(struct share_handle) <= 64, "a handle has 64 bytes");

void share_name(int device, char ret_name[SHARE_NAME])
{
    (void)snprintf(ret_name, SHARE_NAME, SHARE_PREFIX "%u", driver.machine_devices[device]);
}

int share_new(int device, uint64_t size)
{
    char name[SHARE_NAME];
    int file, error;

    share_name(device, name);
    file = memfd_create(name, MFD_CLOEXEC);
    if (file < 0)
        return -errno;
    if (ftruncate(file, (off_t)size) == 0)
        return file;
    error = errno;
    (void)close(file);
    return -error;
}

bool share_is(int file, int *ret_device, uint64_t *ret_size)
{
    char path[48], target[80];
    struct stat about;
    unsigned machine;
    ssize_t n;

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    n = file < 0 ? -1 : readlink(path, target, sizeof target - 1);
    if (n < 0 || fstat(file, &about) < 0 || !S_ISREG(about.st_mode))
        return false;
    target[n] = 0;
    if (sscanf(target, "/memfd:" SHARE_PREFIX "%u", &machine) != 1)
        return false;
    for (unsigned i = 0; i < driver.n_devices; i++)
        if (driver.machine_devices[i] == machine) {
            *ret_device = (int)i;
            *ret_size = (uint64_t)about.st_size;
            return true;
        }
    return false;
}

int share_describe(int file, enum share_kind kind, struct share_handle *ret_handle)
{
    struct stat about;

    if (fstat(file, &about) < 0)
        return -errno;
    ret_handle->magic = SHARE_MAGIC;
    ret_handle->kind = kind;
    ret_handle->file = file;
    ret_handle->inode = (uint64_t)about.st_ino;
    process_self(&ret_handle->process, &ret_handle->born);
    return 0;
}

int share_open(const struct share_handle *handle, enum share_kind kind)
{
    uint32_t process;
    uint64_t born;
    char path[64];
    struct stat about;
    int file;

    if (handle->magic != SHARE_MAGIC || handle->kind != (uint32_t)kind)
        return -EINVAL;
    process_self(&process, &born);
    if (handle->process == process && handle->born == born)
        return -EXDEV;
    if (!process_lives(handle->process, handle->born))
        return -ESRCH;
    (void)snprintf(path, sizeof path, "/proc/%u/fd/%d", handle->process, handle->file);
    file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return -ESRCH;
    if (fstat(file, &about) < 0 || (uint64_t)about.st_ino != handle->inode || !S_ISREG(about.st_mode) ||
        (uint64_t)about.st_size < handle->pages) { /* the descriptor's number now refers to another file */
        (void)close(file);
        return -ESRCH;
    }
    return file;
}
