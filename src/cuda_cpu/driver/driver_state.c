#include "cuda_cpu/driver/driver_state.h"

struct device_driver driver = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .handles.lock = PTHREAD_MUTEX_INITIALIZER,
    .inject = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT},
    .machine = {.lock = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP, .ended = PTHREAD_COND_INITIALIZER},
    .script.once = PTHREAD_ONCE_INIT,
    .streams = {.all = {&driver.streams.all, &driver.streams.all}, .once = PTHREAD_ONCE_INIT},
    .captures = {.lock = PTHREAD_MUTEX_INITIALIZER, .all = {&driver.captures.all, &driver.captures.all}},
    .memory = {.lock = PTHREAD_MUTEX_INITIALIZER,
               .uses = {PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP,
                        PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP}},
    .advices.lock = PTHREAD_MUTEX_INITIALIZER,
    .pools.lock = PTHREAD_MUTEX_INITIALIZER,
    .addresses = {.lock = PTHREAD_MUTEX_INITIALIZER,
                  .physicals = {&driver.addresses.physicals, &driver.addresses.physicals},
                  .reservations = {&driver.addresses.reservations, &driver.addresses.reservations}},
    .modules = {.lock = PTHREAD_MUTEX_INITIALIZER, .all = {&driver.modules.all, &driver.modules.all}},
    .libraries.lock = PTHREAD_MUTEX_INITIALIZER,
    .legacy_lock = PTHREAD_MUTEX_INITIALIZER,
};

_Thread_local struct driver_thread driver_thread = {.capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL};
