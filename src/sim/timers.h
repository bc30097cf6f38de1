/*
 * Virtual time: a fixed set of timers in an indexed binary heap. Nothing is allocated after
 * timers_new(). Timers due at the same instant fire in the order of their ranks, which the owner
 * may shuffle.
 */
#ifndef SIM_TIMERS_H
#define SIM_TIMERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/nsec.h"
#include "base/random.h"

#define TIMER_NONE UINT32_MAX

struct timers {
    uint32_t n; /* number of timers */
    baton_nsec *due;
    uint32_t *rank;
    uint32_t *place; /* in heap; TIMER_NONE: not armed */
    uint32_t *heap;
    uint32_t n_armed;
};

int timers_new(uint32_t n, struct timers *ret_timers); /* 0 or -ENOMEM */
void timers_free(struct timers *timers);

/* Disarms all; ranks by id, or in random order. */
void timers_reset(struct timers *timers, struct random_state *shuffle);

/* arming an armed timer moves it */
void timer_arm(struct timers *timers, uint32_t timer, baton_nsec due_at);
void timer_disarm(struct timers *timers, uint32_t timer);

/* The next timer, which is disarmed, or TIMER_NONE. due[] keeps its instant. */
uint32_t timers_next(struct timers *timers);

#endif
