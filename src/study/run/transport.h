/*
 * Messages between the processes of one study. The only transport uses MPI. It is a separate
 * library (baton-mpi.so), so that baton starts without MPI. One thread uses it.
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

/* Whether mpirun started this process together with others. */
int transport_wanted(void);

/*
 * Loads the library from beside the program or from the installation. 0, or -ENOENT with the
 * reason.
 */
int transport_open(const struct study_transport **ret_transport, char ret_reason[], size_t size);

#define TRANSPORT_ENTRY                                                                                      \
    "baton_mpi_open" /* const struct study_transport *(void); NULL if MPI does not start */

#endif
