/* The texts of this folder, for the beginning of generated units. */
#ifndef CUDA_CPU_DEVICE_TEXT_H
#define CUDA_CPU_DEVICE_TEXT_H

extern const char device_abi[];
extern const char device_integer[];
extern const char device_real[];
extern const char device_half[];
extern const char device_convert[];
extern const char device_access[];

#endif
