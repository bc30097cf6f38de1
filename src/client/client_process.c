#include "client/client_process.h"

struct client_process client_process = {
    .hooks_lock = PTHREAD_MUTEX_INITIALIZER,
    .opencl_once = PTHREAD_ONCE_INIT,
    .cuda_once = PTHREAD_ONCE_INIT,
};
