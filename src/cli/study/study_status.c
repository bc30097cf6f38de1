/* baton study status: how far a study is. */
#include <jansson.h>
#include <stdio.h>

#include "cli/study/study.h"

static void print(const struct store_totals *totals, const char *path)
{
    printf("%s: %llu of %llu %s finished, %llu points, %llu task sets tested\n", path,
           (unsigned long long)totals->finished, (unsigned long long)totals->experiments,
           totals->kind == STUDY_GEMA ? "points" : "experiments", (unsigned long long)totals->points,
           (unsigned long long)totals->tests);
}

static void print_json(const struct store_totals *totals, const char *version, const char *seed)
{
    json_t *answer = json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:s, s:s}", "kind", totals->kind == STUDY_GEMA ? "gema" : "gpusync",
        "experiments", (json_int_t)totals->experiments, "finished", (json_int_t)totals->finished, "points",
        (json_int_t)totals->points, "tests", (json_int_t)totals->tests, "analysis", version, "seed", seed);

    json_dumpf(answer, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(answer);
}

static int run(const struct cli_args *args)
{
    struct store_totals totals;
    struct store *store;
    char analysis[64] = "";
    char seed[64] = "";
    int result = study_open(args, &store);

    if (result)
        return result;
    result = store_totals(store, &totals);
    if (!result)
        result = store_fact(store, "analysis", analysis, sizeof analysis);
    if (!result)
        result = store_fact(store, "seed", seed, sizeof seed);
    if (result)
        result = study_fail(args, result, cli_value(args, "db", ""), store);
    else if (cli_has(args, "json"))
        print_json(&totals, analysis, seed);
    else
        print(&totals, cli_value(args, "db", ""));
    store_close(store);
    if (result)
        return result;
    return totals.finished == totals.experiments ? CLI_YES : CLI_NO;
}

const struct cli_command command_study_status = {
    .name = "study status",
    .summary = "how far a study is; exits with 1 while it is not finished",
    .arguments = "",
    .options = (const struct cli_option[]){STUDY_DB_OPTION, {"json", 0, NULL, "print one JSON object"}, {0}},
    .example = "baton study status --db quick.db",
    .run = run,
};
