/* baton study plot: curves and rank tables as SVG files and one self-contained page. */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/draft.h"
#include "base/file.h"
#include "cli/study/study.h"
#include "cli/study/pictures.h"
#include "report/html_page.h"

#define MOST_SCENES 512

/* The page and the folder that the pictures go to. */
struct album {
    const char *folder;
    struct html_page page;
    size_t pictures;
};

/* Ends the drawing. If result is 0, adds it to the page and writes it to a file of its own. */
static int add_picture(struct album *album, const char *name, struct draft *drawing, int result)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s.svg", album->folder, name);
    char *text = NULL;
    size_t size;

    if (!result && (length < 0 || (size_t)length >= sizeof path))
        result = -ENAMETOOLONG;
    result = draft_take(drawing, result, &text, &size);
    if (result)
        return result;
    for (char *c = path + strlen(album->folder) + 1; *c; c++)
        if (*c == '/')
            *c = '-';
    page_picture_begin(&album->page);
    (void)fwrite(text, 1, size, album->page.out);
    page_picture_end(&album->page);
    album->pictures++;
    result = file_write_atomic(path, text, size);
    free(text);
    return result;
}

static void add_rank_table(struct html_page *page, const struct ranking *ranking,
                           const struct rank_table *table)
{
    const char *head[6 + STUDY_MAX_OVERHEADS] = {"rank", "median", "average", "std", "area", "configuration"};
    bool is_number[6 + STUDY_MAX_OVERHEADS];
    size_t n = 6;

    for (size_t t = 0; t < ranking->n_tables; t++)
        if (&ranking->tables[t] != table)
            head[n++] = ranking->tables[t].overheads;
    for (size_t i = 0; i < n; i++)
        is_number[i] = i != 5; /* the configuration */
    page_table_begin_aligned(page, head, is_number, n);
    for (size_t i = 0; i < ranking->n_configurations; i++) {
        size_t c = table->order[i];
        const struct rank_row *row = &table->rows[c];
        const double numbers[] = {row->median, row->average, row->deviation, row->area};
        char text[32];

        page_row_begin(page);
        (void)snprintf(text, sizeof text, "%zu", row->rank);
        page_cell(page, text, PAGE_PLAIN);
        for (size_t k = 0; k < 4; k++) {
            (void)snprintf(text, sizeof text, "%.2f", numbers[k]);
            page_cell(page, text, PAGE_PLAIN);
        }
        page_cell(page, row->configuration, PAGE_PLAIN);
        for (size_t t = 0; t < ranking->n_tables; t++) {
            if (&ranking->tables[t] == table)
                continue;
            (void)snprintf(text, sizeof text, "%zu", ranking->tables[t].rows[c].rank);
            page_cell(page, ranking->tables[t].combinations ? text : "-", PAGE_PLAIN);
        }
        page_row_end(page);
    }
    page_table_end(page);
}

static int add_ranks(struct album *album, const struct ranking *ranking)
{
    int result = 0;

    for (size_t t = 0; t < ranking->n_tables && !result; t++) {
        const struct rank_table *table = &ranking->tables[t];
        struct draft drawing;
        char name[128];

        if (table->combinations == 0)
            continue;
        result = draft_begin(&drawing);
        if (!result)
            study_draw_ranks(ranking, table, drawing.out);
        (void)snprintf(name, sizeof name, "Rankings under %s", table->overheads);
        page_section(&album->page, name,
                     "Best first: by the median of the sub-ranks, then by their average.");
        (void)snprintf(name, sizeof name, "rank-%s", table->overheads);
        result = add_picture(album, name, &drawing, result);
        add_rank_table(&album->page, ranking, table);
    }
    return result;
}

/* Whether the scene agrees with --where: "period=long,overheads=AC/L". */
static bool wanted(const struct study_scene *scene, const char *where)
{
    char text[512];
    char *rest = text;
    char *term;

    (void)snprintf(text, sizeof text, "%s", where);
    while ((term = strsep(&rest, ","))) {
        char *value = strchr(term, '=');
        bool agrees = false;

        if (!value)
            continue;
        *value++ = 0;
        if (strcmp(term, "overheads") == 0)
            agrees = strcmp(scene->overheads, value) == 0;
        for (size_t p = 0; p < STUDY_PARAMETERS; p++)
            if (strcmp(term, study_parameter_names[p]) == 0)
                agrees = strcmp(scene->names[p], value) == 0;
        if (!agrees)
            return false;
    }
    return true;
}

/* Checks that every term of --where has a known key. */
static int check_where(const struct cli_args *args, const char *where)
{
    char text[512];
    char *rest = text;
    char *term;

    if (strlen(where) >= sizeof text)
        return cli_fail_usage(args, "--where: too long");
    (void)snprintf(text, sizeof text, "%s", where);
    while (where[0] && (term = strsep(&rest, ","))) {
        char *value = strchr(term, '=');
        bool known = false;

        if (value) {
            *value = 0;
            known = strcmp(term, "overheads") == 0;
            for (size_t p = 0; p < STUDY_PARAMETERS; p++)
                known = known || strcmp(term, study_parameter_names[p]) == 0;
        }
        if (!known)
            return cli_fail_usage(
                args,
                "--where: expected KEY=NAME with overheads, utilisation, period, kernel, data, "
                "state or gpu_share, found %s",
                term);
    }
    return 0;
}

static void read_scene(sqlite3_stmt *statement, struct study_scene *ret_scene)
{
    (void)snprintf(ret_scene->overheads, sizeof ret_scene->overheads, "%s",
                   (const char *)sqlite3_column_text(statement, 0));
    for (int p = 0; p < PARAMETER_SHARE; p++) {
        ret_scene->distributions[p] = sqlite3_column_int64(statement, 1 + 2 * p);
        (void)snprintf(ret_scene->names[p], sizeof ret_scene->names[p], "%s",
                       (const char *)sqlite3_column_text(statement, 2 + 2 * p));
    }
    ret_scene->gpu_share = sqlite3_column_double(statement, 11);
    (void)snprintf(ret_scene->names[PARAMETER_SHARE], sizeof ret_scene->names[0], "%.9g",
                   ret_scene->gpu_share);
}

static int add_scene(struct album *album, struct store *store, const struct ranking *ranking,
                     const struct study_scene *scene, size_t number)
{
    char name[64];
    struct draft drawing;
    int result = draft_begin(&drawing);

    if (!result)
        result = study_draw_curves(store, ranking, scene, drawing.out);
    (void)snprintf(name, sizeof name, "curves-%03zu", number);
    return add_picture(album, name, &drawing, result);
}

static int add_scenes(struct album *album, struct store *store, const struct ranking *ranking,
                      const char *where, size_t limit, size_t *ret_left)
{
    static const char sql[] =
        "SELECT DISTINCT overheads, util_dist, u.name, period_dist, p.name, kernel_dist, k.name, data_dist, "
        "d.name,"
        " state_dist, s.name, gpu_population FROM dp_ptested JOIN distrs u ON u.id = util_dist JOIN distrs p "
        "ON"
        " p.id = period_dist JOIN distrs k ON k.id = kernel_dist JOIN distrs d ON d.id = data_dist JOIN "
        "distrs s ON"
        " s.id = state_dist WHERE EXISTS (SELECT 1 FROM sched_results WHERE dp = dp_ptested.id)"
        " ORDER BY util_dist, period_dist, kernel_dist, data_dist, state_dist, gpu_population, overheads";
    sqlite3_stmt *statement;
    size_t drawn = 0;
    size_t left = 0;
    int result = 0;
    int step;

    if (sqlite3_prepare_v2(store_database(store), sql, -1, &statement, NULL) != SQLITE_OK)
        return -EIO;
    page_section(&album->page, "Schedulability curves",
                 "The fraction of task sets with bounded response times. Of configurations that differ in "
                 "rho only, the "
                 "one that ranks best is drawn.");
    while (!result && (step = sqlite3_step(statement)) != SQLITE_DONE) {
        struct study_scene scene;

        if (step != SQLITE_ROW) {
            result = -EIO;
            break;
        }
        read_scene(statement, &scene);
        if (!wanted(&scene, where))
            continue;
        if (drawn == limit)
            left++;
        else
            result = add_scene(album, store, ranking, &scene, ++drawn);
    }
    sqlite3_finalize(statement);
    *ret_left = left;
    return result;
}

static int add_gema(struct album *album, struct store *store)
{
    static const char *const curves[] = {"printed", "sound", "sound-placed"};
    int result = 0;

    page_section(&album->page, "Policies", "The fraction of task sets that each policy makes schedulable.");
    for (size_t i = 0; i < sizeof curves / sizeof curves[0] && !result; i++) {
        struct draft drawing;

        result = draft_begin(&drawing);
        if (!result)
            result = study_draw_gema(store, curves[i], drawing.out);
        result = add_picture(album, curves[i], &drawing, result);
    }
    return result;
}

static void add_figures(struct html_page *page, const struct store_totals *totals)
{
    const struct {
        uint64_t value;
        const char *label;
    } figures[] = {{totals->experiments, totals->kind == STUDY_GEMA ? "points" : "experiments"},
                   {totals->finished, "finished"},
                   {totals->points, "results"},
                   {totals->tests, "task sets tested"}};

    page_figures_begin(page);
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        char text[32];

        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)figures[i].value);
        page_figure(page, text, figures[i].label, PAGE_PLAIN);
    }
    page_figures_end(page);
}

static int fill(struct album *album, struct store *store, const char *where, size_t limit, size_t *ret_left)
{
    struct store_totals totals;
    struct ranking ranking;
    int result = store_totals(store, &totals);

    if (result)
        return result;
    add_figures(&album->page, &totals);
    if (totals.kind == STUDY_GEMA)
        return add_gema(album, store);
    result = ranking_make(store, &ranking);
    if (result)
        return result;
    result = add_ranks(album, &ranking);
    if (!result)
        result = add_scenes(album, store, &ranking, where, limit, ret_left);
    ranking_done(&ranking);
    return result;
}

static int write_album(const char *folder, const char *database, struct store *store, const char *where,
                       size_t limit, size_t *ret_pictures, size_t *ret_left)
{
    struct album album = {.folder = folder};
    struct draft draft;
    char path[4096];
    int result;

    if (mkdir(folder, 0777) && errno != EEXIST)
        return -errno;
    if (snprintf(path, sizeof path, "%s/index.html", folder) >= (int)sizeof path)
        return -ENAMETOOLONG;
    result = draft_begin(&draft);
    if (result)
        return result;
    page_begin(&album.page, draft.out, "Baton study", database);
    result = fill(&album, store, where, limit, ret_left);
    page_end(&album.page);
    result = draft_finish(&draft, path, result);
    *ret_pictures = album.pictures;
    return result;
}

static int run(const struct cli_args *args)
{
    const char *folder = cli_value(args, "output", NULL);
    const char *where = cli_value(args, "where", "");
    long long limit = 16;
    size_t pictures = 0;
    size_t left = 0;
    struct store *store;
    int result = cli_int(args, "limit", 0, MOST_SCENES, &limit);

    if (result)
        return result;
    if (!folder)
        return cli_fail_usage(args, "expected -o FOLDER");
    result = check_where(args, where);
    if (!result)
        result = study_open(args, &store);
    if (result)
        return result;
    result = write_album(folder, cli_value(args, "db", ""), store, where, (size_t)limit, &pictures, &left);
    if (result == STORE_OTHER)
        result = study_fail(args, result, cli_value(args, "db", ""), store);
    else if (result)
        result = cli_fail_environment(args, result, "%s", folder);
    else
        printf("%s: index.html and %zu pictures\n", folder, pictures);
    if (!result && left)
        printf("%zu more combinations are not drawn: choose with --where, or raise --limit\n", left);
    store_close(store);
    return result;
}

const struct cli_command command_study_plot = {
    .name = "study plot",
    .summary = "curves and rank tables as SVG and one HTML page",
    .arguments = "",
    .options =
        (const struct cli_option[]){
            STUDY_DB_OPTION,
            {"output", 'o', "FOLDER", "write index.html and the pictures there (required)"},
            {"where", 0, "K=V,...", "only such curves: overheads=AC/L,period=long,..."},
            {"limit", 0, "N", "at most so many charts of curves (default 16)"},
            {0}},
    .example = "baton study plot --db quick.db -o pictures --where overheads=AC/L",
    .run = run,
};
