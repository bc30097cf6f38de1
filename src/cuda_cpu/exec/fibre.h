/*
 * Stacks on which one host thread runs in turn. A fibre is a saved stack pointer. A switch saves
 * only what a function call must preserve: no signal mask, no floating-point state.
 */
#ifndef CUDA_CPU_FIBRE_H
#define CUDA_CPU_FIBRE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Saves this stack in *save and continues on the other, which came from fibre_prepare() or an
 * earlier switch.
 */
void fibre_switch(void **save, void *other);

/* A stack [low, high) that calls run(argument) when it is switched to; run must not return. */
void *fibre_prepare(uint64_t low, uint64_t high, void (*run)(void *argument), void *argument);

#endif
