/*
 * Programs that keep compiled kernels. A kernel can be cut only if its source is known, and a
 * binary has none.
 *
 * Binaries that a program got under Baton, and loads again in this process or a later one, are
 * known by their hash: the text and options that they came from are kept in the translator's cache
 * folder. That leaves caches that were filled without Baton, or whose origin was forgotten with the
 * folder. Frameworks name what they keep after the driver's version, as a binary does not outlive
 * an update. So the version that the program sees ends in a mark of the folder (CL_DRIVER_VERSION,
 * "3.1 baton-1a2b3c4d"): the framework finds nothing under that name, builds from source once, in
 * front of our eyes, and keeps that beside what it had. No call fails.
 *
 * A binary that is not known all the same is loaded, and its kernels run whole. It is refused
 * (CL_INVALID_BINARY) only where the user says that the program copes (--binaries refuse): nothing
 * else proves it. That a program builds from source, or keeps binaries itself, does not: hashcat
 * does both and gives up. pyopencl goes on with a warning, which may be an error.
 */
#ifndef OPENCL_PROGRAM_KNOWN_BINARIES_H
#define OPENCL_PROGRAM_KNOWN_BINARIES_H

#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>
#include <pthread.h>

/* What the driver's version ends in. In struct opencl_front (layer.h). */
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

/*
 * What to add to the driver's version; "" for nothing: --binaries keep, or no folder to remember
 * anything in.
 */
const char *known_binaries_mark(void);

void known_binaries_remember(const struct program_record *program, unsigned char *const binaries[], size_t n);

/* Fills in source, options and files if all n binaries are known and came from the same. */
void known_binaries_find(struct program_record *program, const unsigned char *const binaries[],
                         const size_t lengths[], size_t n);

/*
 * A driver has taken these binaries. True: the program is to be told that it has not; ret_status (n
 * or NULL) says which.
 */
bool known_binaries_refuses(const unsigned char *const binaries[], const size_t lengths[], size_t n,
                            cl_int *ret_status);

#endif
