#include "makespan/search/starts.h"

#include <errno.h>
#include <stdlib.h>

const char *start_name(enum start start)
{
    static const char *const names[N_STARTS] = {"round_robin", "fixed_priority", "most_pending", "random"};

    return names[start];
}

/* Warps that wait for one unit, the longest-waiting first. */
struct queue {
    uint16_t *warps; /* a ring of `room` */
    uint64_t *turns; /* when each was put there */
    size_t first, n, room;
};

static void enqueue(struct queue *queue, uint16_t warp, uint64_t turn)
{
    size_t at = (queue->first + queue->n++) % queue->room;

    queue->warps[at] = warp;
    queue->turns[at] = turn;
}

/*
 * One cycle of Fig. 8: visits the pending warps from the head of the list, and executes each warp
 * that finds room on its unit. The list is stored as one queue per unit; turns give the order
 * between queues. Returns how many executed, in executed[].
 */
static size_t run_cycle(const struct problem *problem, struct queue queues[N_UNITS], uint16_t executed[])
{
    unsigned left[N_UNITS];
    size_t most = problem->issue ? problem->issue : SIZE_MAX;
    size_t n = 0;

    for (size_t u = 0; u < N_UNITS; u++)
        left[u] = problem->capacity[u];
    while (n < most) {
        struct queue *head = NULL;
        size_t unit = 0;

        for (size_t u = 0; u < N_UNITS; u++) {
            struct queue *queue = &queues[u];

            if (queue->n && left[u] && (!head || queue->turns[queue->first] < head->turns[head->first])) {
                head = queue;
                unit = u;
            }
        }
        if (!head)
            break;
        executed[n++] = head->warps[head->first];
        head->first = (head->first + 1) % head->room;
        head->n--;
        left[unit]--;
    }
    return n;
}

static int most_pending(const struct problem *problem, uint16_t ret_order[])
{
    size_t room = problem->warps;
    uint16_t *warps = calloc((N_UNITS + 1) * room, sizeof warps[0]);
    uint64_t *turns = calloc(N_UNITS * room, sizeof turns[0]);
    uint32_t *next = calloc(room, sizeof next[0]);
    struct queue queues[N_UNITS];
    uint64_t turn = 0;
    int result = warps && turns && next ? 0 : -ENOMEM;

    for (size_t u = 0; u < N_UNITS; u++)
        queues[u] = (struct queue){.warps = warps + u * room, .turns = turns + u * room, .room = room};
    for (uint16_t w = 0; result == 0 && w < room; w++)
        enqueue(&queues[problem->units[0]], w, turn++);
    for (size_t done = 0; result == 0 && done < problem->n * room;) {
        uint16_t *executed = warps + N_UNITS * room;
        size_t n = run_cycle(problem, queues, executed);

        for (size_t i = 0; i < n; i++) {
            uint16_t warp = executed[i];

            ret_order[done++] = warp;
            if (++next[warp] < problem->n)
                enqueue(&queues[problem->units[next[warp]]], warp, turn++);
        }
    }
    free(warps);
    free(turns);
    free(next);
    return result;
}

int start_make(const struct problem *problem, enum start start, struct random_state *random,
               uint16_t ret_order[])
{
    size_t length = problem->n * problem->warps;

    switch (start) {
    case START_MOST_PENDING:
        return most_pending(problem, ret_order);
    case START_ROUND_ROBIN:
        for (size_t i = 0; i < length; i++)
            ret_order[i] = (uint16_t)(i % problem->warps);
        return 0;
    default:
        for (size_t i = 0; i < length; i++)
            ret_order[i] = (uint16_t)(i / problem->n);
        break;
    }
    for (size_t i = length; start == START_RANDOM && i > 1; i--) {
        size_t j = random_below(random, i);
        uint16_t warp = ret_order[i - 1];

        ret_order[i - 1] = ret_order[j];
        ret_order[j] = warp;
    }
    return 0;
}
