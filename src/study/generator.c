#include "study/generator.h"

#include <math.h>
#include <string.h>

#define CRITICAL_PART 0.05 /* of the CPU time of a GPU task */
#define LEAST         1e-9 /* a remainder of the target below this is rounding */

uint64_t generator_hash(uint64_t hash, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    hash = (hash ^ bits) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

uint64_t generator_stream(const struct study_combination *combination, double utilisation)
{
    uint64_t hash = UINT64_C(0xba70);

    for (size_t p = 0; p < STUDY_PARAMETERS; p++) {
        hash = generator_hash(hash, combination->values[p]->low);
        hash = generator_hash(hash, combination->values[p]->high);
    }
    return generator_hash(hash, utilisation);
}

static double draw(const struct study_distribution *distribution, struct random_state *random)
{
    return distribution->low + (distribution->high - distribution->low) * random_unit(random);
}

static void draw_gpu_part(const struct study_combination *combination, struct random_state *random,
                          struct gpusync_job *job)
{
    double all = job->cpu;
    double data = floor(draw(combination->values[PARAMETER_DATA], random));
    double state = floor(draw(combination->values[PARAMETER_STATE], random) * data);

    job->kernel = round(draw(combination->values[PARAMETER_KERNEL], random) * all);
    job->cpu = all - job->kernel;
    job->critical = round(CRITICAL_PART * job->cpu);
    job->kernels = 1;
    job->bytes_in = (int64_t)data - (int64_t)data / 2;
    job->bytes_out = (int64_t)data / 2;
    job->state = (int64_t)state;
}

size_t generator_draw(const struct study_combination *combination, double utilisation,
                      struct random_state *random, struct gpusync_job ret_jobs[])
{
    double left = utilisation;
    size_t n = 0;
    size_t with_gpu;

    while (left > LEAST && n < STUDY_MAX_TASKS) {
        double u = draw(combination->values[PARAMETER_UTILISATION], random);
        double period = round(draw(combination->values[PARAMETER_PERIOD], random));
        double all;

        u = u < left ? u : left;
        left -= u;
        all = round(u * period);
        ret_jobs[n++] = (struct gpusync_job){.period = period, .deadline = period, .cpu = all < 1 ? 1 : all};
    }
    /* A random subset of the right size: each task in turn with the remaining odds. */
    with_gpu = (size_t)lround(combination->values[PARAMETER_SHARE]->low * (double)n);
    for (size_t i = 0; i < n; i++)
        if (random_below(random, n - i) < with_gpu) {
            draw_gpu_part(combination, random, &ret_jobs[i]);
            with_gpu--;
        }
    return n;
}
