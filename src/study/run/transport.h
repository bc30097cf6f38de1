/*
 * Messages between the processes of one study. The only one there is speaks MPI; it lives in a library of its own (baton-mpi.so), so that
 * baton starts without MPI. Used by one thread.
 */
#ifndef STUDY_TRANSPORT_H
#define STUDY_TRANSPORT_H

#include <stddef.h>

struct study_transport {
    unsigned rank, size;
    /* Delivers to another process, in order. 0 or -EIO. */
    int (*send)(unsigned to, int tag, const void *bytes, size_t n);
    /* Takes the next message if there is one: 1, 0 if none, -EIO, -EMSGSIZE past size. */
    int (*poll)(unsigned *ret_from, int *ret_tag, void *ret_bytes, size_t size);
    void (*done)(void);        /* all processes together */
    void (*abort)(int status); /* ends all of them */
};

/* Whether this process was started by mpirun with others. */
int transport_wanted(void);

/* Loads the library from beside the program or where it is installed. 0, or -ENOENT with the reason. */
int transport_open(const struct study_transport **ret_transport, char ret_reason[], size_t size);

#define TRANSPORT_ENTRY                                                                                      \
    "baton_mpi_open" /* const struct study_transport *(void); NULL if MPI does not start */

#endif
