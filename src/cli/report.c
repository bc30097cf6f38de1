/* baton report: the results of other commands as one HTML page. */
#include <stdio.h>
#include <string.h>

#include "base/draft.h"
#include "cli/subcommand.h"
#include "cli/report_sources.h"
#include "report/story.h"

/* Collects every source that the user named, each by its kind. */
static int collect(const struct cli_args *args, struct story *story)
{
    struct input_error error;
    int result = 0;

    if (args->n_positional == 0 && !cli_has(args, "live"))
        return cli_fail_usage(args, "expected FILE..., or --live");
    for (size_t i = 0; i < args->n_positional && !result; i++) {
        const char *path = args->positional[i];

        result = report_is_database(path)
                     ? report_add_study(args, path, story)
                     : cli_input_result(args, story_add(story, path, path, &error), path, &error);
    }
    if (!result && cli_has(args, "live"))
        result = report_add_daemon(args, cli_value(args, "socket", NULL), story);
    return result;
}

static int run(const struct cli_args *args)
{
    const char *output = cli_value(args, "output", "report.html");
    struct story story = {0};
    struct draft draft;
    int result = collect(args, &story);

    if (!result) {
        result = draft_begin(&draft);
        if (!result)
            story_write(&story, cli_value(args, "title", "Baton report"), draft.out);
        result = draft_finish(&draft, output, result);
        if (result)
            result = cli_fail_environment(args, result, "%s", output);
        else if (strcmp(output, "-") != 0)
            printf("%s: %zu kB, open it in a browser\n", output, draft.size / 1000);
    }
    story_done(&story);
    return result;
}

static const struct cli_option options[] = {
    {"output", 'o', "FILE.html", "where the page goes; default report.html"},
    {"live", 0, NULL, "add the recent trace and the state of a running daemon to the files"},
    {"socket", 0, "PATH", "of that daemon; otherwise as for `baton run`"},
    {"title", 0, "TEXT", "its title"},
    {0},
};

const struct cli_command command_report = {
    .name = "report",
    .summary = "make one self-contained HTML page from traces, studies, a daemon or answers",
    .arguments = "[FILE...]",
    .min_arguments = 0,
    .max_arguments = STORY_MAX_INPUTS,
    .options = options,
    .example = "baton report trace.json bounds.json -o report.html",
    .run = run,
};
