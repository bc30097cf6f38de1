/* The one state of the client: of libbaton.so, of each front, and of the command-line tool. */
#ifndef CLIENT_CLIENT_PROCESS_H
#define CLIENT_CLIENT_PROCESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "client/cuda_driver.h"
#include "client/join.h"
#include "client/opencl.h"

struct client_process {
    struct session *_Atomic offered; /* join_offer() */
    atomic_uint n_sessions;          /* so far, also before a fork */
    atomic_int n_cores;              /* cores that this process may use; 0: not yet counted (lease.c) */
    pthread_mutex_t hooks_lock;
    const struct join_hooks *hooks; /* join_find(); hooks_lock */

    /* Each is loaded once. */
    pthread_once_t opencl_once, cuda_once;
    bool opencl_complete, cuda_complete; /* every function that is needed was found */
    struct opencl opencl;
    struct cuda_driver cuda;
};

extern struct client_process client_process __attribute__((visibility("hidden")));

#endif
