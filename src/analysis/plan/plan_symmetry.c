#include "analysis/plan/plan_symmetry.h"

#include <string.h>

static bool same_on(const struct stage *stage, unsigned a, unsigned b)
{
    if (stage->unit != UNIT_GPU)
        return true;
    if (!stage->assigned && (stage->eligible >> a & 1) != (stage->eligible >> b & 1))
        return false;
    return !stage->per_gpu || (stage->per_gpu[a].length == stage->per_gpu[b].length &&
                               stage->per_gpu[a].piece == stage->per_gpu[b].piece &&
                               stage->per_gpu[a].last == stage->per_gpu[b].last);
}

static bool interchangeable(const struct pipeline *pipeline, unsigned a, unsigned b)
{
    for (size_t i = 0; i < pipeline->n_tasks; i++) {
        const struct pipeline_task *task = &pipeline->tasks[i];

        for (size_t s = 0; s < task->n_options * task->n_stages; s++) {
            if (!same_on(&task->options[s / task->n_stages].stages[s % task->n_stages], a, b))
                return false;
        }
    }
    return true;
}

void plan_symmetry_begin(const struct pipeline *pipeline, struct gpu_cells *ret_cells)
{
    *ret_cells = (struct gpu_cells){.gpus = pipeline->gpus};
    for (unsigned q = 0; q < pipeline->gpus; q++) {
        unsigned first = 0;

        while (first < q && (ret_cells->cell[first] != first || !interchangeable(pipeline, first, q)))
            first++;
        ret_cells->cell[q] = (unsigned char)first;
    }
}

void plan_symmetry_assign(struct gpu_cells *cells, uint64_t set)
{
    unsigned char before[PIPELINE_MAX_GPUS];

    memcpy(before, cells->cell, sizeof before);
    for (unsigned q = 0; q < cells->gpus; q++) {
        unsigned first = 0;

        /* The first GPU of a cell gives the cell its number. */
        while (before[first] != before[q] || (set >> first & 1) != (set >> q & 1))
            first++;
        cells->cell[q] = (unsigned char)first;
    }
}

/* Do both sets have the same number of GPUs in each cell? */
static bool same_counts(const struct gpu_cells *cells, uint64_t a, uint64_t b)
{
    int more[PIPELINE_MAX_GPUS] = {0};

    for (unsigned q = 0; q < cells->gpus; q++)
        more[cells->cell[q]] += (int)(a >> q & 1) - (int)(b >> q & 1);
    for (unsigned q = 0; q < cells->gpus; q++) {
        if (more[q] != 0)
            return false;
    }
    return true;
}

static bool same_lengths(const struct pipeline_task *task, const struct pipeline_option *a,
                         const struct pipeline_option *b)
{
    for (size_t p = 0; p < task->n_stages; p++) {
        if (a->stages[p].length != b->stages[p].length || a->stages[p].lanes != b->stages[p].lanes ||
            a->stages[p].piece != b->stages[p].piece || a->stages[p].assigned != b->stages[p].assigned)
            return false;
    }
    return true;
}

bool plan_symmetry_repeats(const struct gpu_cells *cells, const struct pipeline_task *task, size_t option)
{
    const struct pipeline_option *its = &task->options[option];

    for (size_t o = 0; o < option && its->assigned; o++) {
        const struct pipeline_option *other = &task->options[o];

        if (other->assigned && other->gpus == its->gpus && other->total == its->total &&
            same_counts(cells, other->placement.gpus, its->placement.gpus) && same_lengths(task, other, its))
            return true;
    }
    return false;
}
