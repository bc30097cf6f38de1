#include "cli/study/pictures.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "report/axis.h"
#include "report/palette.h"
#include "report/svg.h"

struct curve {
    char name[64];
    double x[STUDY_MAX_POINTS], y[STUDY_MAX_POINTS];
    size_t n;
};

/* About a megabyte. */
struct curves {
    struct curve curves[STUDY_MAX_CURVES];
    size_t n;
};

/* Rows of (x, y) become the next curve; the statement is finalised. */
static int read_curve(struct curves *curves, const char *name, sqlite3_stmt *statement)
{
    struct curve *curve = &curves->curves[curves->n++];
    int step;

    curve->n = 0;
    (void)snprintf(curve->name, sizeof curve->name, "%s", name);
    while ((step = sqlite3_step(statement)) == SQLITE_ROW && curve->n < STUDY_MAX_POINTS) {
        curve->x[curve->n] = sqlite3_column_double(statement, 0);
        curve->y[curve->n++] = sqlite3_column_double(statement, 1);
    }
    sqlite3_finalize(statement);
    return step == SQLITE_DONE ? 0 : -EIO;
}

/*
 * What a curve of task sets counts: gpusync accepts bounded response times, GPU-SPARC's policies
 * check deadlines.
 */
#define BOUNDED_SETS "fraction with every response bounded"
#define MET_SETS     "fraction that meets every deadline"

static void draw_chart(const struct curves *curves, const char *title, const char *x_label,
                       const char *y_label, FILE *out)
{
    struct svg_series series[STUDY_MAX_CURVES];
    struct svg_chart chart = {.title = title,
                              .x_label = x_label,
                              .y_label = y_label,
                              .has_y_range = true,
                              .y_high = 1,
                              .series = series,
                              .n_series = curves->n};

    for (size_t i = 0; i < curves->n; i++)
        series[i] = (struct svg_series){.name = curves->curves[i].name,
                                        .x = curves->curves[i].x,
                                        .y = curves->curves[i].y,
                                        .n = curves->curves[i].n,
                                        .dashed = i >= palette_size()};
    svg_chart(&chart, out);
}

void study_scene_title(const struct study_scene *scene, char ret_title[], size_t size)
{
    (void)snprintf(ret_title, size, "%s: u %s, p %s, kernel %s, data %s, state %s, GPU %.0f %%",
                   scene->overheads, scene->names[PARAMETER_UTILISATION], scene->names[PARAMETER_PERIOD],
                   scene->names[PARAMETER_KERNEL], scene->names[PARAMETER_DATA],
                   scene->names[PARAMETER_STATE], 100 * scene->gpu_share);
}

/* Marks the best of each group that differs only in rho; all of them if there are few. */
static int choose(struct store *store, const struct ranking *ranking, const struct rank_table *table,
                  bool ret_chosen[STUDY_MAX_CONFIGURATIONS])
{
    long long groups[STUDY_MAX_CONFIGURATIONS];
    size_t n = ranking->n_configurations;
    sqlite3_stmt *statement;

    for (size_t c = 0; c < n; c++)
        ret_chosen[c] = true;
    if (n <= 12)
        return 0;
    for (size_t c = 0; c < n; c++) {
        if (sqlite3_prepare_v2(
                store_database(store),
                "SELECT (cpu_cluster_size * 1000 + gpu_cluster_size) * 2 + is_p2p FROM dp_ptested"
                " WHERE configuration = ? LIMIT 1",
                -1, &statement, NULL) != SQLITE_OK)
            return -EIO;
        (void)sqlite3_bind_text(statement, 1, table->rows[c].configuration, -1, SQLITE_STATIC);
        groups[c] = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : -1;
        sqlite3_finalize(statement);
    }
    for (size_t c = 0; c < n; c++)
        for (size_t other = 0; other < n; other++)
            if (groups[other] == groups[c] && table->rows[other].rank < table->rows[c].rank)
                ret_chosen[c] = false;
    return 0;
}

static int read_scene(struct store *store, const struct study_scene *scene, const char *configuration,
                      struct curves *curves)
{
    sqlite3_stmt *statement;

    if (sqlite3_prepare_v2(
            store_database(store),
            "SELECT ts_util, sched FROM sched_results WHERE dp IN (SELECT id FROM dp_ptested WHERE"
            " util_dist = ? AND period_dist = ? AND kernel_dist = ? AND data_dist = ? AND state_dist = ?"
            " AND gpu_population = ? AND overheads = ? AND configuration = ?) ORDER BY ts_util",
            -1, &statement, NULL) != SQLITE_OK)
        return -EIO;
    for (int p = 0; p < PARAMETER_SHARE; p++)
        (void)sqlite3_bind_int64(statement, p + 1, scene->distributions[p]);
    (void)sqlite3_bind_double(statement, 6, scene->gpu_share);
    (void)sqlite3_bind_text(statement, 7, scene->overheads, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(statement, 8, configuration, -1, SQLITE_STATIC);
    return read_curve(curves, configuration, statement);
}

int study_draw_curves(struct store *store, const struct ranking *ranking, const struct study_scene *scene,
                      FILE *out)
{
    const struct rank_table *table = ranking_table(ranking, scene->overheads);
    bool chosen[STUDY_MAX_CONFIGURATIONS] = {false};
    struct curves *drawn = calloc(1, sizeof *drawn);
    int result = drawn ? 0 : -ENOMEM;
    char title[600];

    if (!result)
        result = table ? choose(store, ranking, table, chosen) : -EIO;
    for (size_t i = 0; i < ranking->n_configurations && !result; i++) {
        size_t c = table->order[i];

        if (chosen[c] && drawn->n < STUDY_MAX_CURVES)
            result = read_scene(store, scene, table->rows[c].configuration, drawn);
    }
    if (!result) {
        study_scene_title(scene, title, sizeof title);
        draw_chart(drawn, title, "utilisation of the task set", BOUNDED_SETS, out);
    }
    free(drawn);
    return result;
}

void study_draw_ranks(const struct ranking *ranking, const struct rank_table *table, FILE *out)
{
    size_t n = ranking->n_configurations;
    double bottom = 56 + 17 * (double)n;
    char title[128];
    struct axis x;

    (void)snprintf(title, sizeof title, "Ranking under %s, %zu parameter combination%s", table->overheads,
                   table->combinations, table->combinations == 1 ? "" : "s");
    axis_layout(&x, 0, (double)n, false, 200, 740, 8);
    svg_begin(760, bottom + 44, title, out);
    svg_x_axis(&x, "sub-rank: bar average, tick median", 44, bottom, out);
    for (size_t i = 0; i < n; i++) {
        const struct rank_row *row = &table->rows[table->order[i]];
        double y = 50 + 17 * (double)i;

        (void)fprintf(
            out,
            "<text class=\"soft\" x=\"40\" y=\"%.1f\" text-anchor=\"end\">%zu</text><text class=\"ink\" "
            "x=\"52\" y=\"%.1f\">",
            y + 11, row->rank, y + 11);
        svg_text(row->configuration, out);
        (void)fprintf(
            out,
            "</text><rect x=\"200\" y=\"%.1f\" width=\"%.1f\" height=\"12\" fill=\"%s\" "
            "fill-opacity=\"0.75\"/><line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
            y, axis_place(&x, row->average) - 200, palette_colour(0), axis_place(&x, row->median),
            axis_place(&x, row->median), y - 1, y + 13);
    }
    (void)fputs("</svg>\n", out);
}

/* Fig. 7 varies utilisation, Fig. 8 the share of dependent kernels. The one that varies is x. */
static int gema_varies(struct store *store, bool *ret_utilisation)
{
    sqlite3_stmt *statement;
    int step;

    if (sqlite3_prepare_v2(store_database(store), "SELECT count(DISTINCT ts_util) > 1 FROM gema_results", -1,
                           &statement, NULL) != SQLITE_OK)
        return -EIO;
    step = sqlite3_step(statement);
    if (step == SQLITE_ROW)
        *ret_utilisation = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    return step == SQLITE_ROW ? 0 : -EIO;
}

int study_draw_gema(struct store *store, const char *analysis, FILE *out)
{
    static const char *const policies[] = {"gema", "local", "global", "single"};
    bool utilisation = true;
    struct curves *drawn = calloc(1, sizeof *drawn);
    int result = drawn ? gema_varies(store, &utilisation) : -ENOMEM;
    char title[128];

    for (size_t i = 0; i < sizeof policies / sizeof policies[0] && !result; i++) {
        sqlite3_stmt *statement;

        if (sqlite3_prepare_v2(
                store_database(store),
                utilisation ? "SELECT ts_util, avg(sched) FROM gema_results WHERE analysis = ? AND policy = ?"
                              " GROUP BY ts_util ORDER BY 1"
                            : "SELECT dependent, avg(sched) FROM gema_results WHERE analysis = ? AND"
                              " policy = ? GROUP BY dependent ORDER BY 1",
                -1, &statement, NULL) != SQLITE_OK) {
            result = -EIO;
            break;
        }
        (void)sqlite3_bind_text(statement, 1, analysis, -1, SQLITE_STATIC);
        (void)sqlite3_bind_text(statement, 2, policies[i], -1, SQLITE_STATIC);
        result = read_curve(drawn, policies[i], statement);
    }
    if (!result) {
        (void)snprintf(title, sizeof title, "Schedulable sets by policy, analysis %s", analysis);
        draw_chart(drawn, title, utilisation ? "GPU utilisation U_G" : "share of dependent kernels P_D",
                   MET_SETS, out);
    }
    free(drawn);
    return result;
}
