/*
 * Prepares CUDA programs for `baton run`: preloads libbaton-cuda.so (LD_PRELOAD) so that it
 * precedes the driver's libcuda.so.1, and passes the path of that library (BATON_CUDA_LIBRARY). A
 * program that never uses CUDA is unaffected. Without a driver nothing is preloaded.
 */
#ifndef CLI_RUN_CUDA_H
#define CLI_RUN_CUDA_H

#include <limits.h>
#include <stdbool.h>

#include "cli/subcommand.h"

#define RUN_CUDA_FRONT    "libbaton-cuda.so"
#define RUN_CUDA_DRIVER   "libcuda.so.1"
#define RUN_CUDA_VARIABLE "BATON_CUDA_LIBRARY"

/*
 * Changes the environment. 0, or an exit code after a message: the program needs CUDA and there is
 * no driver, or --device names a device other than cpu.
 */
int run_cuda_prepare(const struct cli_args *args);

/* The path of the CPU device's driver. 0 or -errno. */
int run_cuda_cpu_driver(char ret_path[PATH_MAX]);

/*
 * Can the library be preloaded? The dynamic loader separates the entries of LD_PRELOAD by spaces
 * and colons, those of LD_LIBRARY_PATH by colons and semicolons. A library in a folder with a space
 * is preloaded by its name, with the folder first in LD_LIBRARY_PATH.
 */
bool run_cuda_can_preload(const char *path);

#endif
