/* How the CUDA front tells this project's CPU device from a GPU. */
#ifndef CUDA_ABI_CPU_DEVICE_H
#define CUDA_ABI_CPU_DEVICE_H

#define CPU_DEVICE_NAME "Baton CPU device" /* what cuDeviceGetName answers begins with it */

#endif
