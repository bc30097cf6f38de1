/* baton study merge: joins shards into one database. */
#include <stdio.h>

#include "cli/study/study.h"

static int run(const struct cli_args *args)
{
    const char *path = cli_value(args, "db", NULL);
    struct store *store = NULL;
    size_t new_rows = 0;
    int result;

    if (!path)
        return cli_fail_usage(args, "expected --db FILE");
    result = store_merge(path, (const char *const *)args->positional, args->n_positional, &new_rows, &store);
    if (result)
        result = study_fail(args, result, path, store);
    else
        printf("%s: %zu new points\n", path, new_rows);
    store_close(store);
    return result;
}

const struct cli_command command_study_merge = {
    .name = "study merge",
    .summary = "add the results of shards to a database",
    .arguments = "SHARD...",
    .min_arguments = 1,
    .max_arguments = 100000,
    .options = (const struct cli_option[]){STUDY_DB_OPTION, {0}},
    .example = "baton study merge --db all.db shard-*.db",
    .run = run,
};
