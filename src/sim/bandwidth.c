/*
 * Copies that share links. With a topology, the links decide how long a copy of known size takes:
 * its rate is max-min fair (transfer/throughput.h). Whenever a copy begins or ends, all running
 * copies are credited with the bytes that they moved, and get new rates.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "sim/sim_internal.h"
#include "transfer/throughput.h"

struct bandwidth {
    struct batch batch; /* flow 2 q: memory to GPU q; 2 q + 1: back */
    struct active {
        size_t task, flow;
        unsigned lane;
        double left, rate; /* bytes, bytes per ns */
    } running[BATCH_MAX_STREAMS];
    size_t n;
    baton_nsec rated_at;
};

static int gpu_node(const struct topology *topology, unsigned gpu)
{
    for (size_t i = 0; i < topology->n_nodes; i++) {
        if (topology->nodes[i].role == ROLE_GPU && topology->nodes[i].device == (int)gpu)
            return (int)i;
    }
    return -1;
}

/* The memory with the fewest links to the GPU, or -1. */
static int nearest_memory(const struct topology *topology, int gpu)
{
    struct found_route route;
    size_t fewest = SIZE_MAX;
    int best = -1;

    for (size_t i = 0; i < topology->n_nodes; i++) {
        if (topology->nodes[i].role != ROLE_MEMORY ||
            topology_find_route(topology, (unsigned)i, (unsigned)gpu, &route) != 0 || route.n_links >= fewest)
            continue;
        fewest = route.n_links;
        best = (int)i;
    }
    return best;
}

int bandwidth_new(struct sim *sim, const char **ret_reason)
{
    const struct topology *topology = sim->options.topology;
    struct batch_stream streams[BATCH_MAX_STREAMS] = {0};
    struct bandwidth *bandwidth;
    size_t unresolved;
    int result;

    *ret_reason = "the topology has no route between host memory and each GPU";
    if (sim->config.gpus * 2 > BATCH_MAX_STREAMS || sim->config.gpus == 0)
        return SIM_UNSUPPORTED;
    for (unsigned q = 0; q < sim->config.gpus; q++) {
        int gpu = gpu_node(topology, q);
        int memory = gpu >= 0 ? nearest_memory(topology, gpu) : -1;

        if (memory < 0)
            return SIM_UNSUPPORTED;
        streams[2 * q] =
            (struct batch_stream){.name = "in", .from = memory, .to = gpu, .bytes = 1, .gpu = -1};
        streams[2 * q + 1] =
            (struct batch_stream){.name = "out", .from = gpu, .to = memory, .bytes = 1, .gpu = -1};
    }
    bandwidth = calloc(1, sizeof *bandwidth);
    if (!bandwidth)
        return -ENOMEM;
    result =
        batch_resolve(topology, streams, (size_t)sim->config.gpus * 2, NULL, &bandwidth->batch, &unresolved);
    if (result) {
        free(bandwidth);
        return result > 0 ? SIM_UNSUPPORTED : result;
    }
    sim->bandwidth = bandwidth;
    return 0;
}

void bandwidth_reset(struct sim *sim)
{
    if (sim->bandwidth)
        sim->bandwidth->n = 0;
}

/* Computes new rates for all running copies, from now on. */
static void rate_again(struct sim *sim)
{
    struct bandwidth *bandwidth = sim->bandwidth;
    size_t flows[BATCH_MAX_STREAMS];
    double rates[BATCH_MAX_STREAMS];

    for (size_t i = 0; i < bandwidth->n; i++)
        flows[i] = bandwidth->running[i].flow;
    if (bandwidth->n)
        throughput_rates(&bandwidth->batch, flows, bandwidth->n, rates);
    for (size_t i = 0; i < bandwidth->n; i++) {
        struct active *copy = &bandwidth->running[i];

        copy->rate = rates[i];
        timer_arm(&sim->timers, timer_lane(sim, copy->task, copy->lane),
                  sim->now + (baton_nsec)ceil(copy->left / copy->rate - 1e-9));
    }
    bandwidth->rated_at = sim->now;
}

static void credit(struct sim *sim)
{
    struct bandwidth *bandwidth = sim->bandwidth;

    for (size_t i = 0; i < bandwidth->n; i++) {
        struct active *copy = &bandwidth->running[i];

        copy->left -= copy->rate * (double)(sim->now - bandwidth->rated_at);
        if (copy->left < 0)
            copy->left = 0;
    }
}

void bandwidth_begin(struct sim *sim, size_t task, unsigned lane, unsigned gpu, double bytes)
{
    struct bandwidth *bandwidth = sim->bandwidth;
    const struct sim_task *t = &sim->tasks[task];

    credit(sim);
    bandwidth->running[bandwidth->n++] =
        (struct active){.task = task,
                        .lane = lane,
                        .flow = 2 * (size_t)gpu + (t->program.steps[t->step].copy == DIRECTION_OUT),
                        .left = bytes};
    rate_again(sim);
}

void bandwidth_end(struct sim *sim, size_t task, unsigned lane)
{
    struct bandwidth *bandwidth = sim->bandwidth;

    for (size_t i = 0; i < bandwidth->n; i++) {
        if (bandwidth->running[i].task != task || bandwidth->running[i].lane != lane)
            continue;
        credit(sim);
        bandwidth->running[i] = bandwidth->running[--bandwidth->n];
        rate_again(sim);
        return;
    }
}

void bandwidth_free(struct sim *sim)
{
    free(sim->bandwidth);
}
