/* A launch as a call describes it, for streams and for the nodes of graphs. */
#ifndef CUDA_CPU_DRIVER_LAUNCH_ACTION_H
#define CUDA_CPU_DRIVER_LAUNCH_ACTION_H

#include "cuda_cpu/driver/module.h"

struct launch_request {
    unsigned grid[3], block[3], shared;
    bool cooperative;
    void **parameters, **extra; /* the program's: copied */
};

/* NULL, and the documented code, if the launch exceeds a limit or lacks parameters. */
struct action *launch_action(const struct launch_request *request, struct function *function,
                             CUresult *ret_code);

#endif
