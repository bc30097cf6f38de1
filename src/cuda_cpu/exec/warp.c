/*
 * Operations among the lanes of a warp. The last lane of the mask to arrive computes the results of
 * all.
 */
#include "cuda_cpu/exec/exec.h"

static uint32_t reduce(uint32_t variant, uint32_t a, uint32_t b)
{
    switch (variant) {
    case 0:
        return a + b;
    case 1:
        return a < b ? a : b;
    case 2:
        return a > b ? a : b;
    case 3:
        return a & b;
    case 4:
        return a | b;
    case 5:
        return a ^ b;
    case 6:
        return (int32_t)a < (int32_t)b ? a : b;
    default:
        return (int32_t)a > (int32_t)b ? a : b;
    }
}

static struct device_collective *of_lane(const struct exec_block *block, uint32_t warp, uint32_t lane)
{
    return block->fibres[warp * LAUNCH_WARP + lane].collective;
}

static void shuffle(const struct exec_block *block, uint32_t warp, uint32_t lanes, uint32_t lane)
{
    struct device_collective *c = of_lane(block, warp, lane);
    uint32_t segment = c->c >> 8 & 31;
    uint32_t last = (lane & segment) | (c->c & 31 & ~segment);
    int32_t distance = (int32_t)(c->b & 31);
    int32_t from;

    switch (c->variant) {
    case 0:
        from = (int32_t)lane - distance;
        c->flag = from >= (int32_t)last;
        break;
    case 1:
        from = (int32_t)lane + distance;
        c->flag = from <= (int32_t)last;
        break;
    case 2:
        from = (int32_t)(lane ^ (uint32_t)distance);
        c->flag = from <= (int32_t)last;
        break;
    default:
        from = (int32_t)((lane & segment) | ((uint32_t)distance & ~segment));
        c->flag = from <= (int32_t)last;
        break;
    }
    if (!c->flag || !(lanes >> from & 1))
        from = (int32_t)lane;
    c->result = of_lane(block, warp, (uint32_t)from)->a;
}

static void match(const struct exec_block *block, uint32_t warp, uint32_t lanes, uint32_t lane)
{
    struct device_collective *c = of_lane(block, warp, lane);

    c->result = 0;
    for (uint32_t i = 0; i < LAUNCH_WARP; i++)
        if (lanes >> i & 1 && of_lane(block, warp, i)->a == c->a)
            c->result |= UINT64_C(1) << i;
    c->flag = c->result == lanes;
}

/* One value for all lanes: of a vote, a reduction or an election. */
static uint64_t common_result(const struct exec_block *block, uint32_t warp, uint32_t lanes)
{
    uint32_t first = (uint32_t)__builtin_ctz(lanes);
    const struct device_collective *c = of_lane(block, warp, first);
    uint64_t result = c->operation == DEVICE_REDUX ? c->a : c->operation == DEVICE_ELECT ? first : 0;

    for (uint32_t i = 0; i < LAUNCH_WARP; i++) {
        if (!(lanes >> i & 1))
            continue;
        if (c->operation == DEVICE_VOTE)
            result |= (uint64_t)(of_lane(block, warp, i)->a != 0) << i;
        else if (c->operation == DEVICE_REDUX && i != first)
            result = reduce(c->variant, (uint32_t)result, (uint32_t)of_lane(block, warp, i)->a);
    }
    return result;
}

static void compute(const struct exec_block *block, uint32_t warp, uint32_t lanes, uint32_t operation)
{
    uint64_t common = 0;

    if (operation == DEVICE_VOTE || operation == DEVICE_REDUX || operation == DEVICE_ELECT)
        common = common_result(block, warp, lanes);
    for (uint32_t i = 0; i < LAUNCH_WARP; i++) {
        struct device_collective *c;

        if (!(lanes >> i & 1))
            continue;
        c = of_lane(block, warp, i);
        if (operation == DEVICE_SHUFFLE) {
            shuffle(block, warp, lanes, i);
        } else if (operation == DEVICE_MATCH) {
            match(block, warp, lanes, i);
        } else {
            c->result = common;
            c->flag = operation == DEVICE_ELECT && common == i;
        }
    }
    for (uint32_t i = 0; i < LAUNCH_WARP; i++)
        if (lanes >> i & 1)
            of_lane(block, warp, i)->mask = lanes;
}

/* Completes the group if all of its lanes that have not ended have arrived. */
static bool complete_group(struct worker *worker, struct exec_block *block, uint32_t w, uint32_t index)
{
    struct exec_warp *warp = &block->warps[w];
    struct exec_group group = warp->groups[index];
    uint32_t needed = group.mask & warp->live;

    if (needed == 0 || (group.arrived & needed) != needed)
        return false;
    warp->groups[index] = warp->groups[--warp->n_groups];
    compute(block, w, group.arrived, group.operation);
    for (uint32_t i = 0; i < LAUNCH_WARP; i++)
        if (group.arrived >> i & 1 && block->fibres[w * LAUNCH_WARP + i].state == FIBRE_COLLECTIVE)
            exec_ready(worker, &block->fibres[w * LAUNCH_WARP + i]);
    return true;
}

void exec_settle_warp(struct worker *worker, struct exec_block *block, uint32_t warp)
{
    for (uint32_t i = 0; i < block->warps[warp].n_groups;)
        if (!complete_group(worker, block, warp, i))
            i++;
}

/*
 * activemask: the lanes that are at the same instruction when no lane of the warp can go on. A lane
 * that lets others run in a loop counts as one that cannot go on.
 */
void exec_settle_active(struct worker *worker, struct exec_block *block, uint32_t w)
{
    struct exec_warp *warp = &block->warps[w];
    struct fibre *lanes = &block->fibres[w * LAUNCH_WARP];
    uint32_t mask = 0;
    uint32_t site = 0;

    for (uint32_t i = 0; i < LAUNCH_WARP; i++) {
        if (!(warp->live >> i & 1))
            continue;
        if (lanes[i].state == FIBRE_NEW || lanes[i].state == FIBRE_RUNNING)
            return;
        if (lanes[i].state != FIBRE_ACTIVE)
            continue;
        if (!mask)
            site = lanes[i].collective->b;
        if (lanes[i].collective->b == site)
            mask |= UINT32_C(1) << i;
    }
    for (uint32_t i = 0; i < LAUNCH_WARP; i++)
        if (mask >> i & 1) {
            lanes[i].collective->result = mask;
            warp->n_active--;
            exec_ready(worker, &lanes[i]);
        }
}

EXEC_PLAIN static void join_group(struct worker *worker, struct fibre *fibre, struct device_collective *c)
{
    struct exec_warp *warp = &fibre->block->warps[fibre->t.warp];
    uint32_t own = UINT32_C(1) << fibre->t.lane;
    uint32_t i = 0;

    while (i < warp->n_groups &&
           (warp->groups[i].mask != c->mask || warp->groups[i].operation != c->operation))
        i++;
    if (i == warp->n_groups)
        warp->groups[warp->n_groups++] = (struct exec_group){c->mask, c->operation, 0};
    warp->groups[i].arrived |= own;
    fibre->state = FIBRE_RUNNING;
    if (complete_group(worker, fibre->block, fibre->t.warp, i))
        return; /* the last one goes on without a wait */
    exec_wait(worker, fibre, FIBRE_COLLECTIVE);
}

EXEC_PLAIN void exec_collective(struct device_thread *t, struct device_collective *c)
{
    struct worker *worker = exec_worker(t);
    struct fibre *fibre = worker->current;

    exec_enter_library(t);
    fibre->collective = c;
    if (c->operation == DEVICE_ACTIVE) {
        fibre->block->warps[t->warp].n_active++;
        exec_wait(worker, fibre, FIBRE_ACTIVE);
    } else {
        c->mask |= UINT32_C(1) << t->lane;
        join_group(worker, fibre, c);
    }
    exec_leave_library(t);
}
