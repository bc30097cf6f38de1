/*
 * Prepares CUDA programs for `baton run`: preloads libbaton-cuda.so (LD_PRELOAD) so that it
 * precedes the driver's libcuda.so.1, and passes the path of that library (BATON_CUDA_LIBRARY). A
 * program that never uses CUDA is unaffected. Without a driver nothing is preloaded.
 */
#ifndef CLI_RUN_CUDA_H
#define CLI_RUN_CUDA_H

#include "cli/subcommand.h"

/*
 * Changes the environment. 0, or an exit code after a message: the program needs CUDA and there is
 * no driver, or --device names a device other than cpu.
 */
int run_cuda_prepare(const struct cli_args *args);

#endif
