#include "study/study_rank.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study/store/store_internal.h"

#define SAME_AREA 1e-9

void rank_sub_ranks(const double areas[], size_t n, double ret_ranks[])
{
    for (size_t i = 0; i < n; i++) {
        size_t better = 0;
        size_t equal = 0;

        for (size_t k = 0; k < n; k++) {
            better += areas[k] > areas[i] + SAME_AREA;
            equal += fabs(areas[k] - areas[i]) <= SAME_AREA;
        }
        ret_ranks[i] = (double)better + ((double)equal + 1) / 2;
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

void rank_summarise(double values[], size_t n, struct rank_row *ret_row)
{
    double sum = 0;
    double squares = 0;

    if (n == 0 || !values)
        return;
    qsort(values, n, sizeof values[0], ascending);
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    ret_row->average = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (values[i] - ret_row->average) * (values[i] - ret_row->average);
    ret_row->deviation = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
    ret_row->median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* The data to summarise. */
struct gathering {
    struct ranking *ranking;
    size_t capacity;                        /* combinations per overhead set */
    double *ranks[STUDY_MAX_OVERHEADS];     /* [configuration][capacity] */
    const char **names;                     /* of the configurations */
    double areas[STUDY_MAX_CONFIGURATIONS]; /* of the combination being read */
    bool seen[STUDY_MAX_CONFIGURATIONS];
    bool finished;
};

static int list_names(struct store *store, struct gathering *gathering)
{
    struct ranking *ranking = gathering->ranking;
    sqlite3_stmt *statement;
    int step;
    int result = store_prepare(
        store, "SELECT configuration FROM dp_ptested GROUP BY configuration ORDER BY min(id)", &statement);

    if (result)
        return result;
    gathering->names = arena_calloc(&ranking->arena, STUDY_MAX_CONFIGURATIONS, sizeof *gathering->names);
    result = gathering->names ? 0 : -ENOMEM;
    while (!result && (step = sqlite3_step(statement)) != SQLITE_DONE) {
        const char *text = step == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;

        result = store_result(store, step);
        if (!result && ranking->n_configurations == STUDY_MAX_CONFIGURATIONS)
            result = STORE_OTHER;
        if (!result && text)
            gathering->names[ranking->n_configurations++] =
                arena_strndup(&ranking->arena, text, strlen(text));
    }
    sqlite3_finalize(statement);
    return result;
}

static int add_table(struct gathering *gathering, const char *overheads)
{
    struct ranking *ranking = gathering->ranking;
    struct rank_table *table;

    if (ranking->n_tables == STUDY_MAX_OVERHEADS)
        return STORE_OTHER;
    table = &ranking->tables[ranking->n_tables];
    table->overheads = arena_strndup(&ranking->arena, overheads, strlen(overheads));
    table->rows = arena_calloc(&ranking->arena, ranking->n_configurations, sizeof *table->rows);
    table->order = arena_calloc(&ranking->arena, ranking->n_configurations, sizeof *table->order);
    gathering->ranks[ranking->n_tables] = arena_calloc(
        &ranking->arena, ranking->n_configurations * gathering->capacity, sizeof *gathering->ranks[0]);
    if (!table->overheads || !table->rows || !table->order || !gathering->ranks[ranking->n_tables])
        return -ENOMEM;
    for (size_t c = 0; c < ranking->n_configurations; c++)
        table->rows[c].configuration = gathering->names[c];
    ranking->n_tables++;
    return 0;
}

/* Completes the combination just read: its sub-ranks join the table. */
static void close_combination(struct gathering *gathering)
{
    struct ranking *ranking = gathering->ranking;
    struct rank_table *table = &ranking->tables[ranking->n_tables - 1];
    double sub_ranks[STUDY_MAX_CONFIGURATIONS];
    bool all = gathering->finished;

    for (size_t c = 0; c < ranking->n_configurations; c++)
        all = all && gathering->seen[c];
    if (!all) {
        table->unfinished++;
        return;
    }
    rank_sub_ranks(gathering->areas, ranking->n_configurations, sub_ranks);
    for (size_t c = 0; c < ranking->n_configurations; c++) {
        gathering->ranks[ranking->n_tables - 1][c * gathering->capacity + table->combinations] = sub_ranks[c];
        table->rows[c].area += gathering->areas[c];
    }
    table->combinations++;
}

static int read_areas(struct store *store, struct gathering *gathering, double step_width)
{
    static const char sql[] = "SELECT overheads, printf('%d %d %d %d %d %.9g', util_dist, period_dist, "
                              "kernel_dist, data_dist, state_dist,"
                              " gpu_population), configuration, finished, coalesce((SELECT sum(sched) FROM "
                              "sched_results WHERE dp = id), 0)"
                              " FROM dp_ptested ORDER BY overheads, util_dist, period_dist, kernel_dist, "
                              "data_dist, state_dist, gpu_population";
    struct ranking *ranking = gathering->ranking;
    char combination[128] = "";
    sqlite3_stmt *statement;
    int step;
    int result = store_prepare(store, sql, &statement);

    while (!result && (step = sqlite3_step(statement)) != SQLITE_DONE) {
        const char *overheads = (const char *)sqlite3_column_text(statement, 0);
        const char *key = (const char *)sqlite3_column_text(statement, 1);
        const char *configuration = (const char *)sqlite3_column_text(statement, 2);
        bool other_set;
        size_t c = 0;

        result = store_result(store, step);
        if (result || !overheads || !key || !configuration)
            break;
        other_set = ranking->n_tables == 0 ||
                    strcmp(ranking->tables[ranking->n_tables - 1].overheads, overheads) != 0;
        if (other_set || strcmp(combination, key) != 0) {
            if (combination[0])
                close_combination(gathering);
            if (other_set)
                result = add_table(gathering, overheads);
            (void)snprintf(combination, sizeof combination, "%s", key);
            memset(gathering->seen, 0, sizeof gathering->seen);
            gathering->finished = true;
        }
        while (c < ranking->n_configurations && strcmp(gathering->names[c], configuration) != 0)
            c++;
        if (c < ranking->n_configurations) {
            gathering->seen[c] = true;
            gathering->areas[c] = sqlite3_column_double(statement, 4) * step_width;
            gathering->finished = gathering->finished && sqlite3_column_int(statement, 3);
        }
    }
    if (!result && combination[0])
        close_combination(gathering);
    sqlite3_finalize(statement);
    return result;
}

static void put_in_order(struct rank_table *table, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t k = i;

        for (; k > 0; k--) {
            const struct rank_row *above = &table->rows[table->order[k - 1]];
            const struct rank_row *row = &table->rows[i];

            if (above->median < row->median ||
                (above->median == row->median && above->average <= row->average))
                break;
            table->order[k] = table->order[k - 1];
        }
        table->order[k] = i;
    }
    for (size_t i = 0; i < n; i++)
        table->rows[table->order[i]].rank = i + 1;
}

int ranking_make(struct store *store, struct ranking *ret_ranking)
{
    struct ranking ranking = {0};
    struct gathering gathering = {.ranking = &ranking};
    struct store_totals totals;
    char step[32] = "";
    int result = store_totals(store, &totals);

    arena_init(&ranking.arena, 0);
    if (!result && totals.kind != STUDY_GPUSYNC) {
        (void)snprintf(store->message, sizeof store->message, "a gema study has no configurations to rank");
        result = STORE_OTHER;
    }
    if (!result)
        result = store_fact(store, "step", step, sizeof step);
    gathering.capacity = result ? 0 : totals.experiments;
    if (!result)
        result = list_names(store, &gathering);
    if (!result)
        gathering.capacity =
            totals.experiments / (ranking.n_configurations ? ranking.n_configurations : 1) + 1;
    if (!result)
        result = read_areas(store, &gathering, strtod(step, NULL));
    if (result) {
        arena_done(&ranking.arena);
        return result;
    }
    for (size_t t = 0; t < ranking.n_tables; t++) {
        struct rank_table *table = &ranking.tables[t];

        for (size_t c = 0; c < ranking.n_configurations; c++) {
            rank_summarise(&gathering.ranks[t][c * gathering.capacity], table->combinations, &table->rows[c]);
            if (table->combinations)
                table->rows[c].area /= (double)table->combinations;
        }
        put_in_order(table, ranking.n_configurations);
    }
    *ret_ranking = ranking;
    return 0;
}

void ranking_done(struct ranking *ranking)
{
    arena_done(&ranking->arena);
}

const struct rank_table *ranking_table(const struct ranking *ranking, const char *overheads)
{
    for (size_t t = 0; t < ranking->n_tables; t++)
        if (strcmp(ranking->tables[t].overheads, overheads) == 0)
            return &ranking->tables[t];
    return NULL;
}
