#include "cli/file_kind.h"

#include <stdbool.h>
#include <string.h>

#include "model/defaults.h"
#include "model/document.h"

const char *const file_kind_names[FILE_KINDS] = {"task-set", "plan", "overheads", "configuration"};

/* A configuration of batond has batond's keys; its `tasks` and `plan` name files. */
static bool is_config(const struct node *root)
{
    static const char *const keys[] = {
#define CONFIG(key, value, otherwise, help) key,
#include "model/daemon_config.def"
#undef CONFIG
    };
    const struct node *tasks = node_get(root, "tasks");

    if (node_get(root, "platform") || node_get(root, "sets") || (tasks && tasks->kind != NODE_SCALAR))
        return false;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (node_get(root, keys[i]))
            return true;
    }
    return false;
}

static enum file_kind kind_of(const struct node *root)
{
    if (root->kind != NODE_MAPPING)
        return FILE_OVERHEADS;
    if (is_config(root))
        return FILE_CONFIG;
    if (node_get(root, "platform"))
        return FILE_TASK_SET;
    if (node_get(root, "tasks"))
        return node_get(root, "analysis") || node_get(root, "profile") ? FILE_PLAN : FILE_TASK_SET;
    return FILE_OVERHEADS;
}

int file_kind_guess(const char *path, const char *text, size_t size, enum file_kind *ret_kind,
                    struct input_error *ret_error)
{
    struct document document;
    int result = document_parse(path, text, size, &document, ret_error);

    if (result)
        return result;
    *ret_kind = kind_of(document.root);
    document_done(&document);
    return 0;
}
