#include "sim/timers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

int timers_new(uint32_t n, struct timers *ret_timers)
{
    struct timers timers = {.n = n};

    timers.due = calloc(n, sizeof *timers.due);
    timers.rank = calloc(n, sizeof *timers.rank);
    timers.place = calloc(n, sizeof *timers.place);
    timers.heap = calloc(n, sizeof *timers.heap);
    if (!timers.due || !timers.rank || !timers.place || !timers.heap) {
        timers_free(&timers);
        return -ENOMEM;
    }
    timers_reset(&timers, NULL);
    *ret_timers = timers;
    return 0;
}

void timers_free(struct timers *timers)
{
    free(timers->due);
    free(timers->rank);
    free(timers->place);
    free(timers->heap);
    *timers = (struct timers){0};
}

void timers_reset(struct timers *timers, struct random_state *shuffle)
{
    timers->n_armed = 0;
    for (uint32_t i = 0; i < timers->n; i++) {
        timers->place[i] = TIMER_NONE;
        timers->rank[i] = i;
    }
    for (uint32_t i = timers->n; shuffle && i > 1; i--) {
        uint32_t other = (uint32_t)random_below(shuffle, i);
        uint32_t rank = timers->rank[i - 1];

        timers->rank[i - 1] = timers->rank[other];
        timers->rank[other] = rank;
    }
}

static bool earlier(const struct timers *timers, uint32_t a, uint32_t b)
{
    return timers->due[a] != timers->due[b] ? timers->due[a] < timers->due[b]
                                            : timers->rank[a] < timers->rank[b];
}

static void put(struct timers *timers, uint32_t place, uint32_t timer)
{
    timers->heap[place] = timer;
    timers->place[timer] = place;
}

static void rise(struct timers *timers, uint32_t place)
{
    uint32_t timer = timers->heap[place];

    while (place > 0 && earlier(timers, timer, timers->heap[(place - 1) / 2])) {
        put(timers, place, timers->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put(timers, place, timer);
}

static void sink(struct timers *timers, uint32_t place)
{
    uint32_t timer = timers->heap[place];

    for (;;) {
        uint32_t child = 2 * place + 1;

        if (child >= timers->n_armed)
            break;
        if (child + 1 < timers->n_armed && earlier(timers, timers->heap[child + 1], timers->heap[child]))
            child++;
        if (!earlier(timers, timers->heap[child], timer))
            break;
        put(timers, place, timers->heap[child]);
        place = child;
    }
    put(timers, place, timer);
}

void timer_arm(struct timers *timers, uint32_t timer, baton_nsec due_at)
{
    timers->due[timer] = due_at;
    if (timers->place[timer] == TIMER_NONE)
        put(timers, timers->n_armed++, timer);
    rise(timers, timers->place[timer]);
    sink(timers, timers->place[timer]);
}

void timer_disarm(struct timers *timers, uint32_t timer)
{
    uint32_t place = timers->place[timer];
    uint32_t last;

    if (place == TIMER_NONE)
        return;
    last = timers->heap[--timers->n_armed];
    timers->place[timer] = TIMER_NONE;
    if (last == timer)
        return;
    put(timers, place, last);
    rise(timers, place);
    sink(timers, timers->place[last]);
}

uint32_t timers_next(struct timers *timers)
{
    uint32_t timer;

    if (timers->n_armed == 0)
        return TIMER_NONE;
    timer = timers->heap[0];
    timer_disarm(timers, timer);
    return timer;
}
