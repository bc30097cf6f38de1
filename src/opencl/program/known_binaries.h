/*
 * Programs that keep compiled kernels. A kernel can be cut only if its source is known, and a
 * binary has none.
 *
 * Binaries that a program got under Baton are known by their hash, in this process and later ones.
 * The text and options that they were made from are kept in the translator's cache folder. Unknown
 * are binaries of caches that were filled without Baton, or whose origin was lost with the folder.
 *
 * Frameworks name their cache entries after the driver's version, because a binary does not outlive
 * an update. So the version that the program sees ends in a mark of the folder (CL_DRIVER_VERSION,
 * "3.1 baton-1a2b3c4d"). The framework finds no entry under that name, builds from source once
 * under Baton, and keeps the result beside its older entries. No call fails.
 *
 * A binary that is unknown all the same is loaded, and its kernels run whole. It is refused
 * (CL_INVALID_BINARY) only if the user says that the program copes (--binaries refuse). Nothing
 * else proves that it copes: hashcat builds from source and keeps binaries itself, and still gives
 * up. pyopencl continues with a warning, which may be treated as an error.
 */
#ifndef OPENCL_PROGRAM_KNOWN_BINARIES_H
#define OPENCL_PROGRAM_KNOWN_BINARIES_H

#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>
#include <pthread.h>

/* The mark at the end of the driver's version. In struct opencl_front (layer.h). */
struct known_binaries_mark {
    char text[32]; /* written once */
    pthread_once_t once;
};

struct program_record;

/*
 * May kernels ever be cut, with or without a daemon? Binaries are remembered only then. Asks no
 * daemon.
 */
bool known_binaries_wanted(void);

/* The text to append to the driver's version; "" for --binaries keep, or without a cache folder. */
const char *known_binaries_mark(void);

void known_binaries_remember(const struct program_record *program, unsigned char *const binaries[], size_t n);

/* Fills in source, options and files if all n binaries are known and have the same origin. */
void known_binaries_find(struct program_record *program, const unsigned char *const binaries[],
                         const size_t lengths[], size_t n);

/*
 * After the driver has accepted these binaries. True: the program is told that they are invalid;
 * ret_status (n entries, or NULL) says which.
 */
bool known_binaries_refuses(const unsigned char *const binaries[], const size_t lengths[], size_t n,
                            cl_int *ret_status);

#endif
