/*
 * Job-level bounds (docs/analysis.md, "the whole job"). The windows of a job's stages are disjoint
 * parts of one window of y ticks from its release. Work of other tasks in y ticks is therefore
 * bounded once, not once per stage. Less urgent work still blocks once per stage.
 */
#include "analysis/holistic/holistic_internal.h"

/*
 * Extends the prefix by one stage with a known stage-level delay; h->bus_once and gpu_once belong
 * to this stage.
 */
void job_add_stage(struct holistic *h, struct victim *v, const struct stage *stage, baton_nsec delay)
{
    v->executed += stage->length;
    v->delay[stage->unit] = least(v->delay[stage->unit] + delay - stage->length, MODE_UNBOUNDED);
    if (stage->unit == UNIT_BUS) {
        v->bus_blocking += v->below->bus;
        for (size_t k = 0; k < v->task; k++)
            h->bus_part[k] = least(h->bus_part[k] + h->bus_once[k], MODE_UNBOUNDED);
    } else if (stage->unit == UNIT_GPU && stage->any) {
        baton_nsec slots = top_lanes(v->below, h->gpus) + (stage->lanes - 1) * stage->length;

        v->kernels++;
        v->all_pinned = false;
        v->all_any_whole = v->all_any_whole && !stage->sliced;
        v->any_sliced = v->any_sliced || stage->sliced;
        v->any_slots += slots;
        v->gpu_blocking += ceil_div(slots, h->gpus);
        v->relevant |= stage->eligible;
    } else if (stage->unit == UNIT_GPU) {
        baton_nsec blocking = 0;

        for (unsigned q = 0; q < h->gpus; q++) {
            if (stage->eligible >> q & 1)
                blocking = most(blocking, v->below->gpu[q]);
        }
        v->kernels++;
        v->all_any_whole = false;
        v->gpu_blocking += blocking;
        v->relevant |= stage->eligible;
        for (size_t k = 0; k < v->task; k++)
            h->gpu_part[k] = least(h->gpu_part[k] + h->gpu_once[k], MODE_UNBOUNDED);
    }
}

/*
 * Task k on the bus: the lesser of its work in y ticks and what can arrive in the windows of the
 * prefix's copies.
 */
baton_nsec job_bus_of(const struct holistic *h, size_t k, baton_nsec y)
{
    baton_nsec work = 0;
    baton_nsec extra = 0;

    for (size_t p = h->first[UNIT_BUS][k]; p < h->first[UNIT_BUS][k + 1]; p++) {
        const struct load *load = &h->loads[UNIT_BUS][p];
        baton_nsec arriving = load_arriving(load, load->length, y);

        work += arriving;
        extra = most(extra, load_extra(load, load->length, y, arriving));
    }
    return least(work + extra, h->bus_part[k]);
}

/*
 * The longest length of the load on a GPU that the analysed task may wait for; 0: it never runs on
 * one.
 */
static baton_nsec relevant_length(const struct holistic *h, const struct victim *v, const struct load *load)
{
    baton_nsec longest = 0;

    if (!(load->eligible & v->relevant))
        return 0;
    if (!load->per_gpu)
        return load->length;
    for (unsigned q = 0; q < h->gpus; q++) {
        if (load->eligible & v->relevant & (uint64_t)1 << q)
            longest = most(longest, load->per_gpu[q].length);
    }
    return longest;
}

/*
 * Task k on the GPUs, when some stage is pinned or sliced. Sub-kernels on several GPUs can delay
 * two stages through two GPUs only if the instance is active across the gap between those stages.
 * At most one instance of k is active in each gap, which adds (G - 1) g_k. The term is absent when
 * all kernels of the analysed task use the same single GPU.
 */
baton_nsec job_gpu_of(const struct holistic *h, const struct victim *v, size_t k, baton_nsec y)
{
    bool one_gpu = (v->relevant & (v->relevant - 1)) == 0;
    baton_nsec work = 0;
    baton_nsec extra = 0;
    baton_nsec gap = 0;

    for (size_t p = h->first[UNIT_GPU][k]; p < h->first[UNIT_GPU][k + 1]; p++) {
        const struct load *load = &h->loads[UNIT_GPU][p];
        baton_nsec length = relevant_length(h, v, load);
        baton_nsec factor = load->any ? load->lanes : load->lanes > 1 && v->any_sliced ? 2 : 1;
        baton_nsec arriving;

        if (length == 0)
            continue;
        arriving = load_arriving(load, length, y);
        work = least(work + factor * arriving, MODE_UNBOUNDED);
        extra = most(extra, factor * load_extra(load, length, y, arriving));
        if (!load->any && load->lanes > 1 && !one_gpu)
            gap = most(gap, length);
    }
    work += extra + (baton_nsec)(v->kernels - 1) * gap;
    return v->all_pinned ? least(work, h->gpu_part[k]) : work;
}

static baton_nsec job_any_whole(struct holistic *h, const struct victim *v, baton_nsec y)
{
    stage_gpu_items(h, v->task, y);
    for (size_t i = 0; i < h->items.n; i++) {
        h->items.base[i] += h->items.extra[i];
        h->items.extra[i] = 0;
    }
    return share(&h->items, h->gpus, 0, v->any_slots);
}

/* Delay of the prefix on one unit in y ticks from the release. */
baton_nsec job_level(struct holistic *h, const struct victim *v, enum pipeline_unit unit, baton_nsec y)
{
    baton_nsec sum;

    if (unit == UNIT_CPU) {
        stage_cpu_items(h, v->task, y);
        return share(&h->items, h->cpus, SHARE_ALL, 0);
    }
    if (unit == UNIT_GPU && v->all_any_whole)
        return job_any_whole(h, v, y);
    sum = unit == UNIT_BUS ? v->bus_blocking : v->gpu_blocking;
    for (size_t k = 0; k < v->task && sum < MODE_UNBOUNDED; k++)
        sum += unit == UNIT_BUS ? job_bus_of(h, k, y) : job_gpu_of(h, v, k, y);
    return least(sum, MODE_UNBOUNDED);
}
