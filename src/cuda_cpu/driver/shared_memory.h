/*
 * Memory and events that processes share. Shared bytes are a memory file (memfd). Its name tells
 * which device of the machine it belongs to, so that a descriptor that a program hands in can be
 * told from any other file.
 *
 * Handles for other processes (cuIpcGetMemHandle and the like) hold no descriptor. They name the
 * process that owns the file, the descriptor's number there and the file's inode; the other process
 * opens it below /proc. It can do so as long as the owner lives and has not freed the memory. What
 * is mapped stays there, whatever becomes of the owner.
 */
#ifndef CUDA_CPU_DRIVER_SHARED_MEMORY_H
#define CUDA_CPU_DRIVER_SHARED_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

enum { SHARE_NAME = 32 };

enum share_kind { SHARE_MEMORY = 1, SHARE_EVENT, SHARE_POOL_MEMORY };

/* What the 64 bytes of a handle are. */
struct share_handle {
    uint32_t magic, kind;
    uint32_t process;
    int32_t file; /* descriptor in that process */
    uint64_t born;
    uint64_t inode;
    uint64_t pages, offset, size; /* bytes */
};

/* The name of a memory file of a device, as the program counts devices. */
void share_name(int device, char ret_name[SHARE_NAME]);
/* A new memory file of `size` zero bytes: a descriptor, or -errno. */
int share_new(int device, uint64_t size);
/*
 * Is it a memory file of ours, of a device that this program sees? *ret_device: as it counts them;
 * *ret_size: bytes.
 */
bool share_is(int file, int *ret_device, uint64_t *ret_size);

/* Fills in what names the file and this process. 0 or -errno. */
int share_describe(int file, enum share_kind kind, struct share_handle *ret_handle);
/*
 * A descriptor of the file that the handle names. -EINVAL: it is no handle of that kind; -ESRCH:
 * its process or its memory is gone; -EXDEV: it is of this process.
 */
int share_open(const struct share_handle *handle, enum share_kind kind);

#endif
