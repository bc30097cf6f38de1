/*
 * What `baton run` does for CUDA programs: puts libbaton-cuda.so in front of the driver's libcuda.so.1
 * (LD_PRELOAD) and tells it where that library is (BATON_CUDA_LIBRARY). A program that never uses CUDA
 * does not notice; without a driver nothing is put in front of it.
 */
#ifndef CLI_RUN_CUDA_H
#define CLI_RUN_CUDA_H

#include "cli/command.h"

/*
 * Changes the environment. 0, or an exit code after a message: the program needs CUDA and there is no
 * driver, or --device names another device than cpu.
 */
int run_cuda_prepare(const struct cli_args *args);

#endif
