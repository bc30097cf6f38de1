/* baton study export: every point as a line of CSV. */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/draft.h"
#include "cli/study/study.h"

static const char gpusync_query[] =
    "SELECT overheads, configuration, u.name AS utilisation, p.name AS period, k.name AS kernel, d.name AS "
    "data,"
    " s.name AS state, gpu_population, ts_util, sched, avg_tard, avg_bandwidth, tested, schedulable"
    " FROM sched_results JOIN dp_ptested ON dp = dp_ptested.id JOIN distrs u ON u.id = util_dist"
    " JOIN distrs p ON p.id = period_dist JOIN distrs k ON k.id = kernel_dist JOIN distrs d ON d.id = "
    "data_dist"
    " JOIN distrs s ON s.id = state_dist ORDER BY dp, ts_util";
static const char gema_query[] =
    "SELECT ts_util, dependent, analysis, policy, sched, tested, schedulable FROM gema_results"
    " ORDER BY dependent, ts_util, analysis, policy";

/* RFC 4180: quotes a field that holds a comma, a quote or a line end. */
static void put_field(const char *text, FILE *out)
{
    if (!strpbrk(text, ",\"\r\n")) {
        (void)fputs(text, out);
        return;
    }
    (void)fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            (void)fputc('"', out);
        (void)fputc(*text, out);
    }
    (void)fputc('"', out);
}

static int write_rows(struct store *store, enum study_kind kind, FILE *out)
{
    sqlite3_stmt *statement;
    int result = sqlite3_prepare_v2(store_database(store), kind == STUDY_GEMA ? gema_query : gpusync_query,
                                    -1, &statement, NULL);

    if (result != SQLITE_OK)
        return -EIO;
    for (int i = 0; i < sqlite3_column_count(statement); i++)
        (void)fprintf(out, "%s%s", i ? "," : "", sqlite3_column_name(statement, i));
    (void)fputc('\n', out);
    while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            const char *text = (const char *)sqlite3_column_text(statement, i);

            (void)fputs(i ? "," : "", out);
            put_field(text ? text : "", out);
        }
        (void)fputc('\n', out);
    }
    sqlite3_finalize(statement);
    return result == SQLITE_DONE ? 0 : -EIO;
}

static int write_file(struct store *store, enum study_kind kind, const char *path)
{
    struct draft draft;
    int result;

    if (strcmp(path, "-") == 0)
        return write_rows(store, kind, stdout);
    result = draft_begin(&draft);
    if (!result)
        result = write_rows(store, kind, draft.out);
    return draft_finish(&draft, path, result);
}

static int run(const struct cli_args *args)
{
    const char *path = cli_value(args, "output", "-");
    struct store_totals totals;
    struct store *store;
    int result = study_open(args, &store);

    if (result)
        return result;
    result = store_totals(store, &totals);
    if (result)
        result = study_fail(args, result, cli_value(args, "db", ""), store);
    else if ((result = write_file(store, totals.kind, path)))
        result = cli_fail_environment(args, result, "%s", path);
    store_close(store);
    return result;
}

const struct cli_command command_study_export = {
    .name = "study export",
    .summary = "every point as a line of CSV",
    .arguments = "",
    .options = (const struct cli_option[]){STUDY_DB_OPTION,
                                           {"output", 'o', "FILE", "write there (default: standard output)"},
                                           {0}},
    .example = "baton study export --db quick.db -o quick.csv",
    .run = run,
};
