#include "cuda_cpu/runtime/cudart_state.h"

struct cudart cudart = {.lock = PTHREAD_MUTEX_INITIALIZER, .registry.lock = PTHREAD_MUTEX_INITIALIZER};

_Thread_local struct cudart_thread cudart_thread;
