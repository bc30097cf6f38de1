/* baton check: reads a file, and reports its first error or prints it back. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/subcommand.h"
#include "cli/file_kind.h"
#include "cli/installed.h"
#include "cli/task_lengths.h"
#include "model/overheads.h"
#include "model/plan.h"
#include "model/print.h"
#include "model/task_set.h"
#include "study/spec/spec.h"

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

static void print_sets(const struct study_overheads sets[], size_t n)
{
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
}

/* Checks all overhead sets of a file that `baton measure` wrote. */
static int check_sets(const struct document *document, struct arena *arena, bool print,
                      struct input_error *ret_error)
{
    static const char *const keys[] = {"sets", NULL};
    struct study_overheads *sets;
    size_t n = 0;
    int result = node_expect_mapping(document, document->root, keys, ret_error);

    if (result)
        return result;
    sets = calloc(STUDY_MAX_OVERHEADS, sizeof *sets);
    if (!sets)
        return -ENOMEM;
    result = study_overheads_read(document, node_get(document->root, "sets"), arena, sets, &n, ret_error);
    if (!result && print)
        print_sets(sets, n);
    free(sets);
    return result;
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

/* Prints the line without batond's prefix. */
static void pass_on(FILE *from)
{
    char line[2048];

    while (fgets(line, sizeof line, from)) {
        const char *text = strncmp(line, "batond: ", 8) == 0 ? line + 8 : line;

        (void)fputs(text, stderr);
    }
}

/*
 * batond's own reader knows its configuration, and the plan and tasks that it names (`batond
 * --check`). The exit status, after errors have been printed.
 */
static int check_config(const struct cli_args *args, const char *path)
{
    char *words[] = {(char[]){"batond"}, (char[]){"--check"}, (char[]){"--config"}, (char *)(uintptr_t)path,
                     NULL};
    int ends[2];
    int status = 0;
    FILE *from;
    pid_t pid;

    if (strcmp(path, "-") == 0)
        return cli_fail_usage(args, "a configuration cannot be read from standard input");
    if (pipe2(ends, O_CLOEXEC) < 0)
        return cli_fail_environment(args, errno, "batond");
    pid = fork();
    if (pid == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)dup2(ends[1], STDERR_FILENO);
        installed_exec("batond", words);
    }
    (void)close(ends[1]);
    from = pid > 0 ? fdopen(ends[0], "re") : NULL;
    if (!from) {
        (void)close(ends[0]);
        return cli_fail_environment(args, errno, "batond");
    }
    if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status)) /* the pipe holds the few lines */
        status = CLI_ENVIRONMENT << 8;
    if (WEXITSTATUS(status) == 127)
        (void)cli_fail_environment(args, ENOENT, "batond");
    else if (WEXITSTATUS(status))
        pass_on(from);
    (void)fclose(from);
    return WEXITSTATUS(status) == 127 ? CLI_ENVIRONMENT : WEXITSTATUS(status);
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
        result = file_kind_guess(path, text, size, &kind, &error);
    answer = json_pack("{s:s, s:s}", "file", path, "kind", file_kind_names[kind]);
    if (!result && !answer)
        result = -ENOMEM;
    if (!result && kind == FILE_CONFIG && print)
        result = input_reject(&error, path, 0, 0, "a configuration", "a file that can be printed back");
    if (!result && kind == FILE_TASK_SET)
        result = check_task_set(path, text, size, print, answer, &error);
    else if (!result && kind == FILE_PLAN)
        result = check_plan(path, text, size, print, answer, &error);
    else if (!result && kind == FILE_OVERHEADS)
        result = check_overheads(path, text, size, print, &error);
    free(text);
    result = cli_input_result(args, result, path, &error);
    if (!result && kind == FILE_CONFIG)
        result = check_config(args, path);
    if (!result && cli_has(args, "json")) {
        json_dumpf(answer, stdout, JSON_COMPACT);
        putchar('\n');
    } else if (!result && !print) {
        printf("%s: a valid %s\n", path, file_kind_names[kind]);
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
    .summary = "read a task set, plan, overhead set or baton.yaml and say what is wrong with it",
    .arguments = "FILE",
    .min_arguments = 1,
    .max_arguments = 1,
    .options = options,
    .example = "baton check --print examples/robot.yaml",
    .run = run,
};
