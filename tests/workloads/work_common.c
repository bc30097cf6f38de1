/* What works have in common, whatever runs their kernels: arrays, jobs, hashes. */
#include "backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

void work_open(struct work *work, const struct workload *workload, size_t size, size_t rounds, uint64_t seed,
               unsigned device)
{
    memset(work, 0, sizeof *work);
    work->workload = workload;
    work->size = size;
    work->rounds = rounds;
    random_init(&work->random, seed, 0);
    backend_open(work, device);
    workload->prepare(work);
}

void work_close(struct work *work)
{
    for (size_t i = 0; i < work->n_arrays; i++)
        free(work->arrays[i]);
    backend_close(work);
}

void *check_array(size_t bytes)
{
    void *array = calloc(1, bytes ? bytes : 1);

    if (!array) {
        fprintf(stderr, "workloads: no memory for %zu bytes\n", bytes);
        exit(3);
    }
    return array;
}

void *work_array(struct work *work, size_t bytes)
{
    void *array = aligned_alloc(4096, work_rounded(bytes, 4096));

    if (!array || work->n_arrays == WORK_ARRAYS) {
        fprintf(stderr, "workloads: no memory for %zu bytes\n", bytes);
        exit(3);
    }
    memset(array, 0, bytes);
    work->arrays[work->n_arrays++] = array;
    return array;
}

float *work_floats(struct work *work, size_t n, double low, double high)
{
    float *array = work_array(work, n * sizeof *array);

    for (size_t i = 0; i < n; i++)
        array[i] = (float)(low + (high - low) * random_unit(&work->random));
    return array;
}

uint32_t *work_words(struct work *work, size_t n, uint32_t below)
{
    uint32_t *array = work_array(work, n * sizeof *array);

    for (size_t i = 0; i < n; i++)
        array[i] = (uint32_t)random_below(&work->random, below);
    return array;
}

size_t work_rounded(size_t size, size_t multiple)
{
    return size < multiple ? multiple : (size + multiple - 1) / multiple * multiple;
}

size_t work_power_of_two(size_t size, size_t least)
{
    size_t power = least;

    while (power < size)
        power *= 2;
    return power;
}

/* With stages: waits, and adds the time since *at to the stage. */
static void stage_ends(struct work *work, double *stage_ms, baton_nsec *at)
{
    baton_nsec now;

    if (!work->staged)
        return;
    backend_finish(work);
    now = clock_now();
    *stage_ms += nsec_to_ms(now - *at);
    *at = now;
}

void work_job(struct work *work)
{
    baton_nsec at = clock_now();

    work->write_ms = work->kernel_ms = work->read_ms = 0;
    work->launches = work->bytes_in = work->bytes_out = 0;
    for (size_t i = 0; i < WORK_BUFFERS; i++)
        if (work->buffers[i].in)
            backend_write(work, &work->buffers[i]);
    stage_ends(work, &work->write_ms, &at);
    work->workload->run(work);
    stage_ends(work, &work->kernel_ms, &at);
    for (size_t i = 0; i < WORK_BUFFERS; i++)
        if (work->buffers[i].out)
            backend_read(work, &work->buffers[i]);
    backend_finish(work);
    stage_ends(work, &work->read_ms, &at);
}

uint64_t work_hash(const struct work *work)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */

    for (size_t i = 0; i < WORK_BUFFERS; i++) {
        const unsigned char *bytes = work->buffers[i].out;
        for (size_t j = 0; bytes && j < work->buffers[i].bytes; j++)
            hash = (hash ^ bytes[j]) * UINT64_C(1099511628211);
    }
    return hash;
}
