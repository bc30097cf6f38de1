/*
 *  baton-mpi.so: the transport of studies over MPI. The library stays loaded until the process
 *  ends.
 */
#include <errno.h>
#include <mpi.h>

#include "study/run/transport.h"

const struct study_transport *baton_mpi_open(void);

static int send_bytes(unsigned to, int tag, const void *bytes, size_t n)
{
    return MPI_Send(bytes, (int)n, MPI_BYTE, (int)to, tag, MPI_COMM_WORLD) == MPI_SUCCESS ? 0 : -EIO;
}

static int poll_bytes(unsigned *ret_from, int *ret_tag, void *ret_bytes, size_t size)
{
    MPI_Status status;
    int there = 0;
    int n = 0;

    if (MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status) != MPI_SUCCESS)
        return -EIO;
    if (!there)
        return 0;
    if (MPI_Get_count(&status, MPI_BYTE, &n) != MPI_SUCCESS)
        return -EIO;
    if (n < 0 || (size_t)n > size)
        return -EMSGSIZE;
    if (MPI_Recv(ret_bytes, n, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status) !=
        MPI_SUCCESS)
        return -EIO;
    *ret_from = (unsigned)status.MPI_SOURCE;
    *ret_tag = status.MPI_TAG;
    return 1;
}

static void done(void)
{
    (void)MPI_Finalize();
}

static void abort_all(int status)
{
    (void)MPI_Abort(MPI_COMM_WORLD, status);
}

__attribute__((visibility("default"))) const struct study_transport *baton_mpi_open(void)
{
    static struct study_transport transport = {
        .send = send_bytes, .poll = poll_bytes, .done = done, .abort = abort_all};
    int provided;
    int rank;
    int size;

    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
        return NULL;
    if (MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS ||
        MPI_Comm_size(MPI_COMM_WORLD, &size) != MPI_SUCCESS)
        return NULL;
    transport.rank = (unsigned)rank;
    transport.size = (unsigned)size;
    return &transport;
}
