/* baton check: read a file, say what is wrong with it, or print it back. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/command.h"
#include "cli/task_lengths.h"
#include "model/overheads.h"
#include "model/plan.h"
#include "model/print.h"
#include "model/task_set.h"
#include "study/spec/spec.h"

enum file_kind { FILE_TASK_SET, FILE_PLAN, FILE_OVERHEADS };
static const char *const kind_names[] = {"task-set", "plan", "overheads"};

/* What a file is can be seen from its first keys. */
static int guess_kind(const char *path, const char *text, size_t size, enum file_kind *ret_kind,
                      struct input_error *ret_error)
{
    struct document document;
    int result = document_parse(path, text, size, &document, ret_error);

    if (result)
        return result;
    *ret_kind = FILE_OVERHEADS;
    if (document.root->kind == NODE_MAPPING && node_get(document.root, "platform"))
        *ret_kind = FILE_TASK_SET;
    else if (document.root->kind == NODE_MAPPING && node_get(document.root, "tasks"))
        *ret_kind = node_get(document.root, "analysis") || node_get(document.root, "profile") ? FILE_PLAN
                                                                                              : FILE_TASK_SET;
    document_done(&document);
    return 0;
}

static int check_task_set(const char *path, const char *text, size_t size, bool print, json_t *answer,
                          struct input_error *ret_error)
{
    struct task_set set;
    int result = task_set_read(path, text, size, &set, ret_error);

    if (result)
        return result;
    result = task_lengths_compute(&set, true, ret_error);
    if (result) {
        task_set_done(&set);
        return result;
    }
    json_object_set_new(answer, "tasks", json_integer((json_int_t)set.n_tasks));
    if (print)
        task_set_print(&set, stdout);
    task_set_done(&set);
    return 0;
}

static int check_plan(const char *path, const char *text, size_t size, bool print, json_t *answer,
                      struct input_error *ret_error)
{
    struct plan plan;
    int result = plan_read(path, text, size, &plan, ret_error);

    if (result)
        return result;
    json_object_set_new(answer, "tasks", json_integer((json_int_t)plan.n_tasks));
    if (print)
        plan_print(&plan, stdout);
    plan_done(&plan);
    return 0;
}

/* All the sets that `baton measure` writes. */
static int check_sets(const struct document *document, struct arena *arena, bool print,
                      struct input_error *ret_error)
{
    static const char *const keys[] = {"sets", NULL};
    static struct study_overheads sets[STUDY_MAX_OVERHEADS];
    size_t n = 0;
    int result = node_expect_mapping(document, document->root, keys, ret_error);

    if (!result)
        result = study_overheads_read(document, node_get(document->root, "sets"), arena, sets, &n, ret_error);
    if (result || !print)
        return result;
    printf("sets:\n");
    for (size_t i = 0; i < n; i++) {
        printf("  - name: ");
        print_quoted(sets[i].name, stdout);
        printf("\n    worst_case: %s\n    loaded: %s\n", sets[i].worst_case ? "true" : "false",
               sets[i].loaded ? "true" : "false");
        for (size_t o = 0; o < STUDY_ORGANISATIONS; o++) {
            printf("    %s:\n", study_organisation_names[o]);
            overheads_print(&sets[i].sets[o], "      ", stdout);
        }
    }
    return 0;
}

static int check_overheads(const char *path, const char *text, size_t size, bool print,
                           struct input_error *ret_error)
{
    struct overheads overheads;
    struct document document;
    struct arena arena;
    int result = document_parse(path, text, size, &document, ret_error);

    if (result)
        return result;
    arena_init(&arena, 0);
    if (document.root->kind == NODE_MAPPING && node_get(document.root, "sets")) {
        result = check_sets(&document, &arena, print, ret_error);
        print = false;
    } else {
        result = overheads_read(&document, document.root, &arena, &overheads, ret_error);
    }
    document_done(&document);
    if (!result && print)
        overheads_print(&overheads, "", stdout);
    arena_done(&arena);
    return result;
}

static int run(const struct cli_args *args)
{
    const char *path = args->positional[0];
    bool print = cli_has(args, "print");
    struct input_error error;
    enum file_kind kind = FILE_TASK_SET;
    json_t *answer;
    char *text = NULL;
    size_t size = 0;
    int result;

    if (print && cli_has(args, "json"))
        return cli_fail_usage(args, "--print and --json exclude each other");
    result = file_read(path, TASK_SET_FILE_LIMIT, &text, &size);
    if (result == -EFBIG)
        result = input_reject(&error, path, 0, 0, "a larger one", "a file of at most 64 MiB");
    if (!result)
        result = guess_kind(path, text, size, &kind, &error);
    answer = json_pack("{s:s, s:s}", "file", path, "kind", kind_names[kind]);
    if (!result && !answer)
        result = -ENOMEM;
    if (!result && kind == FILE_TASK_SET)
        result = check_task_set(path, text, size, print, answer, &error);
    else if (!result && kind == FILE_PLAN)
        result = check_plan(path, text, size, print, answer, &error);
    else if (!result)
        result = check_overheads(path, text, size, print, &error);
    free(text);
    result = cli_input_result(args, result, path, &error);
    if (!result && cli_has(args, "json")) {
        json_dumpf(answer, stdout, JSON_COMPACT);
        putchar('\n');
    } else if (!result && !print) {
        printf("%s: a valid %s\n", path, kind_names[kind]);
    }
    json_decref(answer);
    return result;
}

static const struct cli_option options[] = {
    {"print", 'p', NULL, "print it back as Baton understood it, defaults filled in"},
    {"json", 0, NULL, "print one JSON object"},
    {0},
};

const struct cli_command command_check = {
    .name = "check",
    .summary = "read a task set, plan or overhead set and say what is wrong with it",
    .arguments = "FILE",
    .min_arguments = 1,
    .max_arguments = 1,
    .options = options,
    .example = "baton check --print examples/robot.yaml",
    .run = run,
};
