/*
 * A process by its number and the time when it began: together they name no other process, now or
 * later. After exec() a process has the same name.
 */
#ifndef CUDA_CPU_DRIVER_PROCESS_H
#define CUDA_CPU_DRIVER_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

void process_self(uint32_t *ret_process, uint64_t *ret_born);
/* Is that process there, and no zombie? */
bool process_lives(uint32_t process, uint64_t born);

#endif
