/*
 * Memory and events that processes share. Shared bytes are a memory file (memfd). The file's name
 * says to which device of the machine it belongs. So a descriptor from a program can be
 * distinguished from any other file.
 *
 * Handles for other processes (cuIpcGetMemHandle and the like) hold no descriptor. They name the
 * process that owns the file, the number of its descriptor and the file's inode. Another process
 * opens the file below /proc. It can do so while the owner lives and has not freed the memory.
 * Memory that is mapped stays mapped when the owner ends.
 */
#ifndef CUDA_CPU_DRIVER_SHARED_MEMORY_H
#define CUDA_CPU_DRIVER_SHARED_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

enum { SHARE_NAME = 32 };

enum share_kind { SHARE_MEMORY = 1, SHARE_EVENT, SHARE_POOL_MEMORY };

/* The layout of the 64 bytes of a handle. */
struct share_handle {
    uint32_t magic, kind;
    uint32_t process;
    int32_t file; /* descriptor in the owner's process */
    uint64_t born;
    uint64_t inode;
    uint64_t pages, offset, size; /* bytes */
};

/* The name of a memory file of a device, as the program counts devices. */
void share_name(int device, char ret_name[SHARE_NAME]);
/* A new memory file of `size` zero bytes: a descriptor, or -errno. */
int share_new(int device, uint64_t size);
/*
 * Is this a memory file of a device that the program sees? *ret_device: the program's number of it;
 * *ret_size: bytes.
 */
bool share_is(int file, int *ret_device, uint64_t *ret_size);

/* Fills in the fields that identify the file and this process. 0 or -errno. */
int share_describe(int file, enum share_kind kind, struct share_handle *ret_handle);
/*
 * A descriptor of the file that the handle names. -EINVAL: no handle of this kind; -ESRCH: its
 * process or its memory is gone; -EXDEV: this process exported it.
 */
int share_open(const struct share_handle *handle, enum share_kind kind);

#endif
