#include "cuda_cpu/device_state.h"

struct device_state device_state = {.lock = PTHREAD_MUTEX_INITIALIZER};
