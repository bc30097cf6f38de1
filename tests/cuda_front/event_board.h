/* What the processes of held_events.c tell each other: a file that both map. */
#ifndef TESTS_CUDA_FRONT_EVENT_BOARD_H
#define TESTS_CUDA_FRONT_EVENT_BOARD_H

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda_abi/memory_abi.h"

struct board {
    volatile int step; /* of the peer: what it has come to */
    volatile int go;   /* ... what it may do */
    volatile int pending, words_right;
    CUipcEventHandle event, reply;
    CUipcMemHandle memory;
};

static inline struct board *map_board(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *at = MAP_FAILED;

    if (fd >= 0 && ftruncate(fd, sizeof(struct board)) == 0)
        at = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        exit(3);
    (void)close(fd);
    return at;
}

static inline void await_step(const volatile int *step, int value)
{
    while (__atomic_load_n(step, __ATOMIC_ACQUIRE) < value)
        (void)usleep(1000);
}

static inline void tell(volatile int *step, int value)
{
    __atomic_store_n(step, value, __ATOMIC_RELEASE);
}

#endif
