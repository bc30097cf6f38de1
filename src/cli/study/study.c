#include "cli/study/study.h"

#include <errno.h>

int study_fail(const struct cli_args *args, int result, const char *path, const struct store *store)
{
    const char *message = store_message(store);

    if (result == STORE_OTHER)
        return cli_fail_usage(args, "%s: %s", path, message);
    if (result == -ENOENT || result == -ENOTDIR || result == -EISDIR)
        return cli_fail_usage(args, "%s: %s", path, message[0] ? message : "no such file");
    if (message[0])
        return cli_fail_environment(args, result, "%s: %s", path, message);
    return cli_fail_environment(args, result, "%s", path);
}

int study_open(const struct cli_args *args, struct store **ret_store)
{
    const char *path = cli_value(args, "db", NULL);
    struct store *store = NULL;
    int result;

    if (!path)
        return cli_fail_usage(args, "expected --db FILE");
    result = store_open_read(path, &store);
    if (result) {
        result = study_fail(args, result, path, store);
        store_close(store);
        return result;
    }
    *ret_store = store;
    return 0;
}
