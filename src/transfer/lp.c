#include "transfer/lp.h"

#include <errno.h>
#include <glpk.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "transfer/throughput.h"

/*
 * Inside the program sizes are MB and times ms, so that rates in GB/s need no conversion and all
 * numbers are near 1.
 */
#define MEGA 1e6

#define MAX_ROW_LENGTH (BATCH_MAX_STREAMS * 2 + 2)

struct builder {
    const struct batch *batch;
    glp_prob *lp;
    /* distinct ones, descending, ms: interval k ends at T - tail[k] */
    double tail[BATCH_MAX_STREAMS];
    size_t n_intervals;
    size_t last[BATCH_MAX_STREAMS];                   /* last interval of stream i */
    int column[BATCH_MAX_STREAMS][BATCH_MAX_STREAMS]; /* [interval][stream], 0: none */
    int index[MAX_ROW_LENGTH];
    double value[MAX_ROW_LENGTH];
    int length;
};

static void cut_intervals(struct builder *builder, const double tail[])
{
    const struct batch *batch = builder->batch;

    for (size_t i = 0; i < batch->n; i++) {
        double ms = tail[i] / MEGA;
        size_t at = 0;

        while (at < builder->n_intervals && builder->tail[at] > ms)
            at++;
        if (at < builder->n_intervals && builder->tail[at] == ms)
            continue;
        for (size_t k = builder->n_intervals++; k > at; k--)
            builder->tail[k] = builder->tail[k - 1];
        builder->tail[at] = ms;
    }
    for (size_t i = 0; i < batch->n; i++) {
        builder->last[i] = 0;
        while (builder->tail[builder->last[i]] != tail[i] / MEGA)
            builder->last[i]++;
    }
}

static void add_columns(struct builder *builder)
{
    int n = 1; /* column 1 is T */

    for (size_t k = 0; k < builder->n_intervals; k++) {
        for (size_t i = 0; i < builder->batch->n; i++) {
            if (builder->batch->flows[i].bytes > 0 && k <= builder->last[i])
                builder->column[k][i] = ++n;
        }
    }
    glp_add_cols(builder->lp, n);
    glp_set_col_bnds(builder->lp, 1, GLP_LO, builder->tail[0], 0);
    glp_set_obj_coef(builder->lp, 1, 1);
    for (int c = 2; c <= n; c++)
        glp_set_col_bnds(builder->lp, c, GLP_LO, 0, 0);
}

static void add_term(struct builder *builder, int column, double value)
{
    for (int t = 1; t <= builder->length; t++) {
        if (builder->index[t] == column) {
            builder->value[t] += value;
            return;
        }
    }
    builder->index[++builder->length] = column;
    builder->value[builder->length] = value;
}

static void add_row(struct builder *builder, int kind, double bound)
{
    int row = glp_add_rows(builder->lp, 1);

    glp_set_row_bnds(builder->lp, row, kind, bound, bound);
    glp_set_mat_row(builder->lp, row, builder->length, builder->index, builder->value);
    builder->length = 0;
}

/*
 * Limits the terms so far to capacity x the interval's length. The first interval is T - tail[0]
 * long.
 */
static void limit_row(struct builder *builder, size_t interval, double capacity)
{
    if (interval == 0) {
        add_term(builder, 1, -capacity);
        add_row(builder, GLP_UP, -capacity * builder->tail[0]);
    } else {
        add_row(builder, GLP_UP, capacity * (builder->tail[interval - 1] - builder->tail[interval]));
    }
}

/* The larger of the graph's capacity of a link and the most that the table measured over it. */
static double optimistic_capacity(const struct batch *batch, unsigned link)
{
    double capacity = batch->capacity[link];
    const struct topology *topology = batch->topology;

    for (size_t e = 0; e < topology->n_table; e++) {
        const double *rates = throughput_entry_rates(batch, &topology->table[e]);
        double sum = 0;

        for (size_t bit = 0; bit < topology->n_pairs; bit++) {
            struct found_route route;

            if (!(topology->table[e].mask & (UINT64_C(1) << bit)))
                continue;
            if (topology_find_route(topology, topology->pairs[bit].from, topology->pairs[bit].to, &route) ==
                0) {
                for (size_t l = 0; l < route.n_links; l++)
                    sum += route.links[l] == link ? *rates : 0;
            }
            rates++;
        }
        capacity = fmax(capacity, sum / batch->derate);
    }
    return capacity;
}

static void add_link_rows(struct builder *builder, unsigned link, bool promise)
{
    const struct batch *batch = builder->batch;
    double capacity =
        promise || batch->topology->n_table == 0 ? batch->capacity[link] : optimistic_capacity(batch, link);

    for (size_t k = 0; k < builder->n_intervals; k++) {
        for (size_t i = 0; i < batch->n; i++) {
            for (size_t l = 0; l < batch->flows[i].n_links; l++) {
                if (batch->flows[i].links[l] == link && builder->column[k][i])
                    add_term(builder, builder->column[k][i], 1);
            }
        }
        if (builder->length)
            limit_row(builder, k, capacity);
    }
}

/* The highest rate of this flow, measured or by the graph. */
static double optimistic_rate(const struct batch *batch, size_t flow)
{
    const struct topology *topology = batch->topology;
    int pair = batch->flows[flow].pair;
    double rate;

    throughput_graph(batch, &flow, 1, &rate);
    for (size_t e = 0; e < topology->n_table && pair >= 0; e++) {
        uint64_t mask = topology->table[e].mask;
        uint64_t bit = UINT64_C(1) << pair;

        if (mask & bit)
            rate = fmax(rate, throughput_entry_rates(
                                  batch, &topology->table[e])[__builtin_popcountll(mask & (bit - 1))] /
                                  batch->derate);
    }
    return rate;
}

/*
 * An engine serves one copy at a time, so the times that its copies need alone add up to at most
 * the interval.
 */
static void add_engine_rows(struct builder *builder, unsigned engine, bool promise)
{
    const struct batch *batch = builder->batch;
    double needs[BATCH_MAX_STREAMS] = {0}; /* ms per MB */

    for (size_t i = 0; i < batch->n; i++) {
        for (size_t e = 0; e < batch->flows[i].n_engines; e++) {
            if (batch->flows[i].engines[e] == engine)
                needs[i] = 1 / (promise ? batch->flows[i].alone : optimistic_rate(batch, i));
        }
    }
    for (size_t k = 0; k < builder->n_intervals; k++) {
        for (size_t i = 0; i < batch->n; i++) {
            if (needs[i] > 0 && builder->column[k][i])
                add_term(builder, builder->column[k][i], needs[i]);
        }
        if (builder->length)
            limit_row(builder, k, 1);
    }
}

/* A sum measured below the graph's prediction limits its transfers in every interval. */
static void add_table_rows(struct builder *builder, const struct table_entry *entry)
{
    const struct batch *batch = builder->batch;
    const double *rates = throughput_entry_rates(batch, entry);
    uint64_t present = 0;
    double sum = 0;

    for (size_t i = 0; i < batch->n; i++) {
        if (batch->flows[i].pair >= 0)
            present |= UINT64_C(1) << batch->flows[i].pair;
    }
    if (entry->mask & ~present)
        return;
    for (int bit = 0; bit < __builtin_popcountll(entry->mask); bit++)
        sum += rates[bit] / batch->derate;
    for (size_t k = 0; k < builder->n_intervals; k++) {
        for (size_t i = 0; i < batch->n; i++) {
            int pair = batch->flows[i].pair;

            if (pair >= 0 && (entry->mask & (UINT64_C(1) << pair)) && builder->column[k][i])
                add_term(builder, builder->column[k][i], 1);
        }
        if (builder->length)
            limit_row(builder, k, sum);
    }
}

/*
 * A link with a single flow limits it no more than the flow's engine, which is slower than each of
 * its links. Omitting such links removes half of all rows and saves simplex time accordingly. With
 * a look-up table the limit may be different.
 */
static bool is_implied(const struct batch *batch, unsigned link)
{
    size_t engines = 1;
    size_t limiting = 0;

    for (size_t i = 0; i < batch->n; i++) {
        for (size_t l = 0; l < batch->flows[i].n_links; l++) {
            if (batch->flows[i].links[l] == link) {
                limiting++;
                engines = batch->flows[i].n_engines;
            }
        }
    }
    return limiting == 1 && engines > 0 && batch->topology->n_table == 0;
}

static void add_rows(struct builder *builder, bool promise)
{
    const struct batch *batch = builder->batch;
    bool link_done[TOPOLOGY_MAX_LINKS] = {false};
    bool engine_done[2 * TOPOLOGY_MAX_NODES] = {false};

    for (size_t i = 0; i < batch->n; i++) {
        const struct batch_flow *flow = &batch->flows[i];

        for (size_t l = 0; l < flow->n_links; l++) {
            if (!link_done[flow->links[l]] && !is_implied(batch, flow->links[l]))
                add_link_rows(builder, flow->links[l], promise);
            link_done[flow->links[l]] = true;
        }
        for (size_t e = 0; e < flow->n_engines; e++) {
            if (!engine_done[flow->engines[e]])
                add_engine_rows(builder, flow->engines[e], promise);
            engine_done[flow->engines[e]] = true;
        }
        for (size_t k = 0; k < builder->n_intervals; k++) {
            if (builder->column[k][i])
                add_term(builder, builder->column[k][i], 1);
        }
        if (builder->length)
            add_row(builder, GLP_FX, flow->bytes / MEGA);
    }
    for (size_t e = 0; promise && e < batch->topology->n_table; e++)
        add_table_rows(builder, &batch->topology->table[e]);
}

static void read_solution(const struct builder *builder, bool promise, struct lp_solution *ret_solution)
{
    double total = glp_get_col_prim(builder->lp, 1);

    ret_solution->total = total * MEGA;
    ret_solution->n_intervals = builder->n_intervals;
    for (size_t k = 0; k < builder->n_intervals; k++) {
        ret_solution->end[k] = (total - builder->tail[k]) * MEGA;
        for (size_t i = 0; promise && i < builder->batch->n; i++) {
            int column = builder->column[k][i];

            ret_solution->bytes[k][i] = column ? fmax(0, glp_get_col_prim(builder->lp, column)) * MEGA : 0;
        }
    }
}

int lp_solve(const struct batch *batch, const double tail[], bool promise, struct lp_solution *ret_solution)
{
    struct builder *builder = calloc(1, sizeof *builder);
    glp_smcp settings;
    int result = 0;

    if (!builder)
        return -ENOMEM;
    builder->batch = batch;
    builder->lp = glp_create_prob();
    glp_set_obj_dir(builder->lp, GLP_MIN);
    cut_intervals(builder, tail);
    add_columns(builder);
    add_rows(builder, promise);
    glp_init_smcp(&settings);
    settings.msg_lev = GLP_MSG_OFF;
    /* The program always has a solution: T may grow without limit. */
    if (glp_simplex(builder->lp, &settings) != 0 || glp_get_status(builder->lp) != GLP_OPT)
        result = -EIO;
    else
        read_solution(builder, promise, ret_solution);
    glp_delete_prob(builder->lp);
    free(builder);
    return result;
}
