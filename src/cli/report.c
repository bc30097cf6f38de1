/* baton report: results of other commands as one HTML page. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/command.h"
#include "report/story.h"

static int run(const struct cli_args *args)
{
    const char *output = cli_value(args, "output", "report.html");
    struct story story = {0};
    struct input_error error;
    char *text = NULL;
    size_t size = 0;
    FILE *out;
    int result = 0;

    for (size_t i = 0; i < args->n_positional && !result; i++)
        result = cli_input_result(args, story_add(&story, args->positional[i], &error), args->positional[i],
                                  &error);
    if (!result && !(out = open_memstream(&text, &size)))
        result = cli_fail_environment(args, ENOMEM, "cannot write the page");
    if (!result) {
        story_write(&story, cli_value(args, "title", "Baton report"), out);
        (void)fclose(out);
        result = file_write_atomic(output, text, size);
        if (result)
            result = cli_fail_environment(args, result, "%s", output);
        else if (strcmp(output, "-") != 0)
            printf("%s: %zu kB, open it in a browser\n", output, size / 1000);
    }
    free(text);
    story_done(&story);
    return result;
}

static const struct cli_option options[] = {
    {"output", 'o', "FILE.html", "where the page goes; default report.html"},
    {"title", 0, "TEXT", "its title"},
    {0},
};

const struct cli_command command_report = {
    .name = "report",
    .summary = "Make one self-contained HTML page from traces and the --json answers of other commands.",
    .arguments = "FILE...",
    .min_arguments = 1,
    .max_arguments = STORY_MAX_INPUTS,
    .options = options,
    .example = "baton report trace.json bounds.json -o report.html",
    .run = run,
};
