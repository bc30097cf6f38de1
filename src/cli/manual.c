/* baton manual: the manual pages of section 1, made from the command table; the build installs them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/command.h"
#include "version.h"

/* Text for troff: backslashes and dashes are themselves, and no line begins with a control character. */
static void put(const char *text, FILE *out)
{
    bool line_start = true;

    for (; *text; text++) {
        if (line_start && (*text == '.' || *text == '\''))
            (void)fputs("\\&", out);
        line_start = *text == '\n';
        if (*text == '\\')
            (void)fputs("\\e", out);
        else if (*text == '-')
            (void)fputs("\\-", out);
        else
            (void)fputc(*text, out);
    }
}

static void put_header(const char *name, const char *summary, FILE *out)
{
    (void)fprintf(out, ".TH \"");
    for (const char *c = name; *c; c++)
        (void)fputc(*c == ' ' ? '-' : *c >= 'a' && *c <= 'z' ? *c - 32 : *c, out);
    (void)fprintf(out, "\" \"1\" \"\" \"Baton %s\" \"Baton\"\n.SH NAME\n", BATON_VERSION);
    for (const char *c = name; *c; c++)
        (void)fputs((const char[]){*c == ' ' ? '-' : *c, 0}, out);
    (void)fputs(" \\- ", out);
    put(summary, out);
    (void)fputc('\n', out);
}

static void put_footer(FILE *out)
{
    (void)fputs(".SH EXIT STATUS\n"
                ".TP\n.B 0\ndone, or a positive answer\n"
                ".TP\n.B 1\na negative answer: not schedulable, a bound exceeded\n"
                ".TP\n.B 2\nbad usage or input, told as file:line:column\n"
                ".TP\n.B 3\nthe environment failed\n",
                out);
}

static void put_command(const struct cli_command *command, FILE *out)
{
    char name[128];

    (void)snprintf(name, sizeof name, "baton %s", command->name);
    put_header(name, command->summary, out);
    (void)fputs(".SH SYNOPSIS\n.B ", out);
    put(name, out);
    (void)fputs(command->options ? "\n[OPTION...] " : "\n", out);
    put(command->arguments, out);
    (void)fputs("\n.SH DESCRIPTION\n", out);
    put(command->summary, out);
    (void)fputs("\n.SH OPTIONS\n", out);
    for (const struct cli_option *option = command->options; option && option->name; option++) {
        (void)fputs(".TP\n.B ", out);
        if (option->letter)
            (void)fprintf(out, "\\-%c, ", option->letter);
        (void)fputs("\\-\\-", out);
        put(option->name, out);
        if (option->value) {
            (void)fputs(" \\fI", out);
            put(option->value, out);
            (void)fputs("\\fR", out);
        }
        (void)fputc('\n', out);
        put(option->help, out);
        (void)fputc('\n', out);
    }
    (void)fputs(".TP\n.B \\-\\-help\nthe help page\n", out);
    if (command->example) {
        (void)fputs(".SH EXAMPLE\n.nf\n", out);
        put(command->example, out);
        (void)fputs("\n.fi\n", out);
    }
    put_footer(out);
    (void)fputs(".SH SEE ALSO\n.BR baton (1)\n", out);
}

static void put_overview(FILE *out)
{
    put_header("baton", "let several OpenCL programs share GPUs and still meet their deadlines", out);
    (void)fputs(".SH SYNOPSIS\n.B baton\nCOMMAND ...\n.SH COMMANDS\n", out);
    for (size_t i = 0; i < cli_n_commands; i++) {
        (void)fputs(".TP\n.B ", out);
        put(cli_commands[i]->name, out);
        (void)fputc('\n', out);
        put(cli_commands[i]->summary, out);
        (void)fputc('\n', out);
    }
    put_footer(out);
    (void)fputs(".SH FILES\n"
                "Input files are YAML or JSON. Times are in ms; sizes in bytes or with kB, MB, GB (powers of "
                "1000) or KiB, MiB, "
                "GiB; bandwidths in GB/s.\n"
                ".SH SEE ALSO\n.BR batond (8)\n",
                out);
}

/* One page into DIR/NAME.1; command NULL: the overview. */
static int write_page(const char *folder, const struct cli_command *command)
{
    char path[4096];
    char name[128];
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    int result;

    if (!out)
        return -ENOMEM;
    (void)snprintf(name, sizeof name, "baton%s%s", command ? "-" : "", command ? command->name : "");
    for (char *c = name; *c; c++)
        *c = *c == ' ' ? '-' : *c;
    if (command)
        put_command(command, out);
    else
        put_overview(out);
    (void)fclose(out);
    (void)snprintf(path, sizeof path, "%s/%s.1", folder, name);
    result = file_write_atomic(path, text, size);
    free(text);
    return result;
}

static int run(const struct cli_args *args)
{
    const char *folder = args->positional[0];
    int result = write_page(folder, NULL);

    for (size_t i = 0; i < cli_n_commands && !result; i++)
        result = write_page(folder, cli_commands[i]);
    return result ? cli_fail_environment(args, result, "%s", folder) : CLI_YES;
}

const struct cli_command command_manual = {
    .name = "manual",
    .summary = "Write the manual pages of all commands into a folder.",
    .arguments = "FOLDER",
    .min_arguments = 1,
    .max_arguments = 1,
    .example = "baton manual /tmp && man /tmp/baton-check.1",
    .run = run,
};
