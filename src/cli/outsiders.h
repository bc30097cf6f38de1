/*
 * Programs outside of Baton that have a GPU's device file open. They use the GPU without asking
 * batond, and no schedule accounts for them. They are found in /proc, as far as the caller may
 * look: only root sees the open files of other users. A GPU without a device file (PoCL, the CUDA
 * device of this project) has no visible outsiders.
 */
#ifndef CLI_OUTSIDERS_H
#define CLI_OUTSIDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUTSIDERS_MAX 32

struct outsider {
    uint32_t pid, uid;
    char name[32];   /* of the program, as ps shows it */
    char device[32]; /* the first device file of a GPU that it has open */
};

struct outsiders {
    struct outsider all[OUTSIDERS_MAX];
    size_t n;
    size_t more;  /* that did not fit */
    bool partial; /* open files of some processes could not be read */
};

/* Is that path the device file of a GPU? */
bool outsiders_is_gpu(const char *path);

/*
 * Searches `proc` (the system's: "/proc") for programs that are not among `clients`. 0 or -errno;
 * processes that end meanwhile are skipped.
 */
int outsiders_find(const char *proc, const uint32_t *clients, size_t n_clients,
                   struct outsiders *ret_outsiders);

#endif
