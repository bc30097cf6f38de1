/* baton study rank: configurations from best to worst, as GPUSync's Table IV. */
#include <jansson.h>
#include <stdio.h>

#include "cli/study/study.h"
#include "study/study_rank.h"

static void print_table(const struct ranking *ranking, const struct rank_table *table)
{
    printf("Rankings under %s: %zu parameter combination%s", table->overheads, table->combinations,
           table->combinations == 1 ? "" : "s");
    if (table->unfinished)
        printf(" (%zu more are not finished)", table->unfinished);
    printf("\n%4s %7s %7s %7s %7s  %-16s", "rank", "median", "avg", "std", "area", "(CPU,GPU,rho)");
    for (size_t t = 0; t < ranking->n_tables; t++)
        if (&ranking->tables[t] != table)
            printf(" %6s", ranking->tables[t].overheads);
    putchar('\n');
    for (size_t i = 0; i < ranking->n_configurations; i++) {
        size_t c = table->order[i];
        const struct rank_row *row = &table->rows[c];

        printf("%4zu %7.2f %7.2f %7.2f %7.3f  %-16s", row->rank, row->median, row->average, row->deviation,
               row->area, row->configuration);
        for (size_t t = 0; t < ranking->n_tables; t++) {
            const struct rank_table *other = &ranking->tables[t];

            if (other != table && other->combinations)
                printf(" %6zu", other->rows[c].rank);
            else if (other != table)
                printf(" %6s", "-");
        }
        putchar('\n');
    }
}

static json_t *to_json(const struct ranking *ranking, const struct rank_table *table)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < ranking->n_configurations; i++) {
        size_t c = table->order[i];
        const struct rank_row *row = &table->rows[c];
        json_t *others = json_object();

        for (size_t t = 0; t < ranking->n_tables; t++)
            if (ranking->tables[t].combinations)
                json_object_set_new(others, ranking->tables[t].overheads,
                                    json_integer((json_int_t)ranking->tables[t].rows[c].rank));
        json_array_append_new(rows, json_pack("{s:I, s:f, s:f, s:f, s:f, s:s, s:o}", "rank",
                                              (json_int_t)row->rank, "median", row->median, "average",
                                              row->average, "deviation", row->deviation, "area", row->area,
                                              "configuration", row->configuration, "ranks", others));
    }
    return json_pack("{s:s, s:I, s:I, s:o}", "overheads", table->overheads, "combinations",
                     (json_int_t)table->combinations, "unfinished", (json_int_t)table->unfinished, "rows",
                     rows);
}

static int show(const struct cli_args *args, const struct ranking *ranking)
{
    const char *wanted = cli_value(args, "overheads", NULL);
    const struct rank_table *table = ranking_table(ranking, wanted ? wanted : "WC/L");

    if (wanted && !table) {
        (void)fprintf(stderr, "baton study rank: --overheads: expected one of the study's sets (");
        for (size_t t = 0; t < ranking->n_tables; t++)
            (void)fprintf(stderr, "%s%s", t ? ", " : "", ranking->tables[t].overheads);
        (void)fprintf(stderr, "), found '%s'\n", wanted);
        return CLI_USAGE;
    }
    if (!table && ranking->n_tables)
        table = &ranking->tables[0];
    if (!table)
        return cli_fail_usage(args, "%s: no experiments", cli_value(args, "db", ""));
    if (table->combinations == 0) {
        (void)fprintf(stderr, "baton study rank: no parameter combination is finished under %s yet\n",
                      table->overheads);
        return CLI_NO;
    }
    if (cli_has(args, "json")) {
        json_t *answer = to_json(ranking, table);

        json_dumpf(answer, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
        putchar('\n');
        json_decref(answer);
    } else {
        print_table(ranking, table);
    }
    return CLI_YES;
}

static int run(const struct cli_args *args)
{
    struct ranking ranking;
    struct store *store;
    int result = study_open(args, &store);

    if (result)
        return result;
    result = ranking_make(store, &ranking);
    if (result) {
        result = study_fail(args, result, cli_value(args, "db", ""), store);
    } else {
        result = show(args, &ranking);
        ranking_done(&ranking);
    }
    store_close(store);
    return result;
}

const struct cli_command command_study_rank = {
    .name = "study rank",
    .summary = "configurations from best to worst",
    .arguments = "",
    .options = (const struct cli_option[]){STUDY_DB_OPTION,
                                           {"overheads", 0, "NAME", "by this overhead set (default WC/L)"},
                                           {"json", 0, NULL, "print one JSON object"},
                                           {0}},
    .example = "baton study rank --db quick.db --overheads AC/L",
    .run = run,
};
