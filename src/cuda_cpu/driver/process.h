/*
 * A process, identified by its number and its start time. No other process ever has both. They stay
 * the same over exec().
 */
#ifndef CUDA_CPU_DRIVER_PROCESS_H
#define CUDA_CPU_DRIVER_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

void process_self(uint32_t *ret_process, uint64_t *ret_born);
/* Does that process exist, and is it no zombie? */
bool process_lives(uint32_t process, uint64_t born);

#endif
