/*
 * baton manual: the manual pages, made from the tables that parse: the commands and their options, batond's own help, and the keys of
 * its configuration file. The build installs them.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/draft.h"
#include "cli/command.h"
#include "client/settings.h"
#include "model/defaults.h"
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

static void put_header(const char *name, unsigned section, const char *summary, FILE *out)
{
    (void)fprintf(out, ".TH \"");
    for (const char *c = name; *c; c++)
        (void)fputc(*c == ' ' ? '-' : toupper((unsigned char)*c), out);
    (void)fprintf(out, "\" \"%u\" \"\" \"Baton %s\" \"Baton\"\n.SH NAME\n", section, BATON_VERSION);
    for (const char *c = name; *c; c++)
        (void)fputs((const char[]){*c == ' ' ? '-' : *c, 0}, out);
    (void)fputs(" \\- ", out);
    put(summary, out);
    (void)fputc('\n', out);
}

static void put_footer(FILE *out)
{
    (void)fputs(".SH EXIT STATUS\n"
#define EXIT(identifier, code, meaning) ".TP\n.B " #code "\n" meaning "\n"
#include "cli/exits.def"
#undef EXIT
                ,
                out);
}

static void put_command(const struct cli_command *command, FILE *out)
{
    char name[128];

    (void)snprintf(name, sizeof name, "baton %s", command->name);
    put_header(name, 1, command->summary, out);
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

static int put_overview(FILE *out)
{
    put_header("baton", 1, "let several OpenCL programs share GPUs and still meet their deadlines", out);
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
                ".SH ENVIRONMENT\n",
                out);
    for (size_t i = 0; i < setting_n_entries; i++) {
        (void)fprintf(out, ".TP\n.B %s\n", setting_entries[i].variable);
        put(setting_entries[i].help, out);
        (void)fprintf(out, "; set by baton run \\-\\-");
        put(setting_entries[i].option, out);
        (void)fputc('\n', out);
    }
    (void)fputs(".SH SEE ALSO\n.BR batond (8),\n.BR baton.yaml (5)", out);
    for (size_t i = 0; i < cli_n_commands; i++) {
        (void)fputs(",\n.BR baton\\-", out);
        for (const char *c = cli_commands[i]->name; *c; c++)
            (void)fputs(*c == ' ' ? "\\-" : (const char[]){*c, 0}, out);
        (void)fputs(" (1)", out);
    }
    (void)fputc('\n', out);
    return 0;
}

/* ---- batond(8): what `batond --help` says ---- */

/* `  --option VALUE   help` begins a paragraph; deeper lines are a list below it. */
static void put_help_line(char *line, FILE *out)
{
    char *gap = strstr(line, "  --") == line ? strstr(line + 4, "  ") : NULL;

    line[strcspn(line, "\n")] = 0;
    if (strstr(line, "  --") == line) {
        if (gap)
            *gap = 0;
        (void)fputs(".TP\n.B ", out);
        put(line + 2, out);
        (void)fputc('\n', out);
        if (gap)
            put(gap + 1 + strspn(gap + 1, " "), out);
    } else if (line[0] == ' ') {
        (void)fputs(".br\n", out);
        put(line + strspn(line, " "), out);
    } else if (line[0]) {
        (void)fputs(".PP\n", out);
        put(line, out);
    } else {
        return;
    }
    (void)fputc('\n', out);
}

/* The daemon beside this program, or on the PATH. */
static FILE *ask_daemon(void)
{
    char command[4096 + 64] = "batond --help";
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    char *slash;

    path[n > 0 ? n : 0] = 0;
    slash = strrchr(path, '/');
    if (slash && (size_t)(slash - path) + sizeof "/batond" < sizeof path) {
        (void)strcpy(slash, "/batond");
        if (access(path, X_OK) == 0 && !strchr(path, '\''))
            (void)snprintf(command, sizeof command, "'%s' --help", path);
    }
    return popen(command, "re"); /* NOLINT(cert-env33-c): the words are ours */
}

static int put_daemon(FILE *out)
{
    FILE *help = ask_daemon();
    char line[1024];
    bool any = false;

    if (!help)
        return -errno;
    put_header("batond", 8, "hands the engines of this machine's GPUs to programs by priority", out);
    (void)fputs(".SH SYNOPSIS\n.B batond\n[OPTION...]\n.SH DESCRIPTION\n", out);
    while (fgets(line, sizeof line, help)) {
        bool usage = strncmp(line, "usage:", 6) == 0 || strncmp(line, "       ", 7) == 0;

        if (usage && !any)
            continue; /* the synopsis, which may take several lines */
        any = any || (line[0] != '\n' && !usage);
        put_help_line(line, out);
    }
    (void)fputs(".SH FILES\n.TP\n.I /etc/baton/baton.yaml\nthe machine's configuration\n"
                ".TP\n.I ~/.config/baton/baton.yaml\na user's own; not read for root\n"
                ".TP\n.I /run/baton/baton.sock\nthe machine's socket\n"
                ".SH SEE ALSO\n.BR baton (1),\n.BR baton.yaml (5)\n",
                out);
    return pclose(help) == 0 && any ? 0 : -ENOENT;
}

/* ---- baton.yaml(5): the table that batond reads by ---- */

static int put_config(FILE *out)
{
    static const struct {
        const char *key, *value, *otherwise, *help;
    } keys[] = {
#define CONFIG(key, value, otherwise, help) {key, value, otherwise, help},
#include "model/daemon_config.def"
#undef CONFIG
    };

    put_header("baton.yaml", 5, "configuration of batond", out);
    (void)fputs(".SH DESCRIPTION\nYAML or JSON: one mapping, in which every key may be left out. A key that "
                "is not known, or a bad value, "
                "is told as file:line:column, and nothing is taken over.\n.SH KEYS\n",
                out);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        (void)fputs(".TP\n.BI ", out);
        put(keys[i].key, out);
        (void)fputs(": \" ", out);
        put(keys[i].value, out);
        (void)fputs("\"\n", out);
        put(keys[i].help, out);
        (void)fputs("; default ", out);
        put(keys[i].otherwise, out);
        (void)fputc('\n', out);
    }
    (void)fputs(".SH FILES\n.I /etc/baton/baton.yaml\n.br\n.I ~/.config/baton/baton.yaml\n"
                ".SH SEE ALSO\n.BR batond (8),\n.BR baton\\-plan (1)\n",
                out);
    return 0;
}

/* ---- programs without options ---- */

static int put_demo(FILE *out)
{
    put_header("baton-demo", 1, "shows the loop from profile to report on this machine", out);
    (void)fputs(".SH SYNOPSIS\n.B baton\\-demo\n[FOLDER]\n.SH DESCRIPTION\nMeasures three OpenCL programs, "
                "plans, runs them "
                "together and prints what was observed beside what the analysis says; then the same without "
                "Baton. Takes about a "
                "minute. FOLDER (default\n.IR demo )\ngets task set, plan, trace and report.\n"
                ".SH ENVIRONMENT\n.TP\n.B BATON_DEMO_SECONDS\nlength of one measurement; default 4\n"
                ".TP\n.B POCL_DEVICES\nPoCL's devices; default basic\n"
                ".SH SEE ALSO\n.BR baton (1),\n.BR baton\\-report (1)\n",
                out);
    return 0;
}

static int put_translate(FILE *out)
{
    put_header("baton-translate", 1, "rewrites OpenCL kernels so that they run in pieces", out);
    (void)fputs(".SH DESCRIPTION\nStarted by Baton's OpenCL layer, one program text on its standard input, "
                "the rewritten text and "
                "what is known of its kernels on its standard output. Nobody needs to call it. "
                "BATON_TRANSLATE names another one.\n"
                ".SH SEE ALSO\n.BR baton (1),\n.BR baton\\-run (1)\n",
                out);
    return 0;
}

/* One page into FOLDER/NAME, whole or not at all. */
static int write_page(const char *folder, const char *name, const struct cli_command *command,
                      int (*special)(FILE *))
{
    char path[4096];
    struct draft draft;
    int result = draft_begin(&draft);

    if (!result && command)
        put_command(command, draft.out);
    else if (!result)
        result = special(draft.out);
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return draft_finish(&draft, path, result);
}

static int run(const struct cli_args *args)
{
    const char *folder = args->positional[0];
    int result = write_page(folder, "baton.1", NULL, put_overview);

    for (size_t i = 0; i < cli_n_commands && !result; i++) {
        char name[128];

        (void)snprintf(name, sizeof name, "baton-%s.1", cli_commands[i]->name);
        for (char *c = name; *c; c++)
            *c = *c == ' ' ? '-' : *c;
        result = write_page(folder, name, cli_commands[i], NULL);
    }
    if (!result)
        result = write_page(folder, "batond.8", NULL, put_daemon);
    if (!result)
        result = write_page(folder, "baton.yaml.5", NULL, put_config);
    if (!result)
        result = write_page(folder, "baton-demo.1", NULL, put_demo);
    if (!result)
        result = write_page(folder, "baton-translate.1", NULL, put_translate);
    return result ? cli_fail_environment(args, result, "%s", folder) : CLI_YES;
}

const struct cli_command command_manual = {
    .name = "manual",
    .summary = "write the manual pages into a folder",
    .arguments = "FOLDER",
    .min_arguments = 1,
    .max_arguments = 1,
    .example = "baton manual /tmp && man /tmp/baton-check.1",
    .run = run,
};
