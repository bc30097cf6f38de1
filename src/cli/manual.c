/*
 * baton manual: the manual pages, generated from the tables that the parsers use. These have the
 * commands and their options, batond's own help, and the keys of its configuration file. The build
 * installs them.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/draft.h"
#include "cli/subcommand.h"
#include "client/settings.h"
#include "model/defaults.h"
#include "version.h"

/*
 * Escapes text for troff: backslashes and dashes stay literal, and no line begins with a control
 * character.
 */
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

/* Paragraphs, separated by empty lines. */
static void put_paragraphs(const char *text, FILE *out)
{
    const char *end;

    for (; (end = strstr(text, "\n\n")); text = end + 2) {
        char paragraph[4096];

        (void)snprintf(paragraph, sizeof paragraph, "%.*s", (int)(end - text), text);
        put(paragraph, out);
        (void)fputs("\n.PP\n", out);
    }
    put(text, out);
    (void)fputc('\n', out);
}

static void put_footer(bool starts_program, FILE *out)
{
    (void)fputs(".SH EXIT STATUS\n", out);
    if (starts_program)
        (void)fputs("Once the command has started, its own status (128 + signal). Otherwise:\n"
                    ".TP\n.B 125\nBaton failed: bad usage, no layer, a task that is refused\n"
                    ".TP\n.B 126\nthe command cannot be run\n.TP\n.B 127\nthe command is not there\n",
                    out);
    else
        (void)fputs(""
#define EXIT(identifier, code, meaning) ".TP\n.B " #code "\n" meaning "\n"
#include "cli/exits.def"
#undef EXIT
                    ,
                    out);
}

/* ---- what a page says beyond the help ---- */

enum page_section {
    ON_DAEMON = 1, /* talks to batond: socket and configuration */
    ON_INPUT = 2,  /* reads a user's files */
    ON_RUN = 4,    /* every variable that a program under Baton reads */
};

struct manual_page {
    const char *name;
    unsigned sections;
    const char *description, *examples;
};

static const struct manual_page pages[] = {
#define PAGE(name, sections, description, examples) {name, sections, description, examples},
#include "cli/manual_text.def"
#undef PAGE
};

static const struct manual_page *find_page(const char *name)
{
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        if (strcmp(pages[i].name, name) == 0)
            return &pages[i];
    }
    return NULL;
}

static void put_files(unsigned sections, FILE *out)
{
    if (sections & (ON_DAEMON | ON_INPUT))
        (void)fputs(".SH FILES\n", out);
    if (sections & ON_INPUT)
        (void)fputs(
            "Input files are YAML or JSON. Times are in ms; sizes in bytes or with kB, MB, GB (powers of "
            "1000) or KiB, MiB, GiB; bandwidths in GB/s. Nothing is half-written on failure.\n",
            out);
    if (sections & ON_DAEMON)
        (void)fputs(".TP\n.I $XDG_RUNTIME_DIR/baton/baton.sock\nthe user's own daemon; "
                    "/tmp/baton\\-UID/baton.sock without that variable\n"
                    ".TP\n.I /run/baton/baton.sock\nthe machine's\n"
                    ".TP\n.I /etc/baton/baton.yaml\nits configuration, see\n.BR baton.yaml (5)\n",
                    out);
}

static void put_variables(FILE *out)
{
    for (size_t i = 0; i < setting_n_entries; i++) {
        (void)fprintf(out, ".TP\n.B %s\n", setting_entries[i].variable);
        put(setting_entries[i].help, out);
        (void)fprintf(out, "; set by baton run \\-\\-");
        put(setting_entries[i].option, out);
        (void)fputc('\n', out);
    }
}

static void put_environment(unsigned sections, FILE *out)
{
    if (sections)
        (void)fputs(".SH ENVIRONMENT\n", out);
    if (sections & ON_RUN) {
        put_variables(out);
        (void)fputs(".TP\n.B BATON_LAYER\nanother libbaton\\-layer.so than the installed one\n"
                    ".TP\n.B BATON_TRANSLATE\nanother baton\\-translate\n",
                    out);
    } else if (sections & ON_DAEMON) {
        (void)fputs(".TP\n.B BATON_SOCKET\nthe daemon's socket, instead of the usual places; no daemon is "
                    "started there unless you do\n",
                    out);
    }
    if (sections && !(sections & (ON_RUN | ON_DAEMON)))
        (void)fputs("None: what is computed depends on the files and options only.\n", out);
}

static void put_options(const struct cli_command *command, FILE *out)
{
    (void)fputs(".SH OPTIONS\n", out);
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
}

static void put_command(const struct cli_command *command, FILE *out)
{
    const struct manual_page *page = find_page(command->name);
    char name[128];

    (void)snprintf(name, sizeof name, "baton %s", command->name);
    put_header(name, 1, command->summary, out);
    (void)fputs(".SH SYNOPSIS\n.B ", out);
    put(name, out);
    (void)fputs(command->options ? "\n[OPTION...] " : "\n", out);
    put(command->arguments, out);
    (void)fputs("\n.SH DESCRIPTION\n", out);
    put_paragraphs(page ? page->description : command->summary, out);
    put_options(command, out);
    (void)fputs(".SH EXAMPLES\n.nf\n", out);
    put(page ? page->examples : command->example, out);
    (void)fputs("\n.fi\n", out);
    put_footer(command->takes_command, out);
    put_files(page ? page->sections : 0, out);
    put_environment(page ? page->sections : 0, out);
    (void)fputs(".SH SEE ALSO\n.BR baton (1)", out);
    (void)fputs(page && page->sections & ON_DAEMON ? ",\n.BR batond (8)\n" : "\n", out);
}

static int put_overview(FILE *out)
{
    put_header("baton", 1, "let several OpenCL and CUDA programs share GPUs and still meet their deadlines",
               out);
    (void)fputs(".SH SYNOPSIS\n.B baton\nCOMMAND ...\n.SH COMMANDS\n", out);
    for (size_t i = 0; i < cli_n_commands; i++) {
        (void)fputs(".TP\n.B ", out);
        put(cli_commands[i]->name, out);
        (void)fputc('\n', out);
        put(cli_commands[i]->summary, out);
        (void)fputc('\n', out);
    }
    put_footer(false, out);
    (void)fputs(".SH FILES\n"
                "Input files are YAML or JSON. Times are in ms; sizes in bytes or with kB, MB, GB (powers of "
                "1000) or KiB, MiB, "
                "GiB; bandwidths in GB/s.\n"
                ".SH ENVIRONMENT\n",
                out);
    put_variables(out);
    (void)fputs(".SH SEE ALSO\n.BR batond (8),\n.BR baton.yaml (5),\n.BR libbaton (3)", out);
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
    put_header("batond", 8, "grants the engines of this machine's GPUs to programs by priority", out);
    (void)fputs(".SH SYNOPSIS\n.B batond\n[OPTION...]\n.SH DESCRIPTION\n", out);
    while (fgets(line, sizeof line, help)) {
        bool usage = strncmp(line, "usage:", 6) == 0 || strncmp(line, "       ", 7) == 0;

        if (usage && !any)
            continue; /* the synopsis, which may take several lines */
        any = any || (line[0] != '\n' && !usage);
        put_help_line(line, out);
    }
    (void)fputs(
        ".SH EXAMPLES\n.nf\nbatond \\-\\-check \\-\\-config /etc/baton/baton.yaml\nbatond "
        "\\-\\-foreground \\-\\-plan robot.plan\nsystemctl enable \\-\\-now batond.socket\n.fi\n"
        ".SH EXIT STATUS\n.TP\n.B 0\nended as asked, or (\\-\\-check) nothing is wrong\n.TP\n.B 2\nbad "
        "usage, configuration, plan or tasks\n.TP\n.B 3\nthe environment failed: the socket, memory, "
        "another batond\n"
        ".SH ENVIRONMENT\n.TP\n.B BATON_SOCKET\nwhere to listen, unless \\-\\-socket says so\n"
        ".TP\n.B XDG_RUNTIME_DIR, XDG_CONFIG_HOME, HOME\nwhere the user's own socket and configuration are\n"
        ".SH FILES\n.TP\n.I /etc/baton/baton.yaml\nthe machine's configuration\n"
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

/* ---- libbaton(3) ---- */

static int put_library(FILE *out)
{
    put_header("libbaton", 3, "jobs, tasks and batches for programs that share GPUs under Baton", out);
    (void)fputs(
        ".SH SYNOPSIS\n.nf\n.B #include <baton/job.h>\n.B #include <baton/task.h>\n.B #include "
        "<baton/batch.h>\n"
        ".PP\n.B cc program.c $(pkg\\-config \\-\\-cflags \\-\\-libs libbaton)\n.fi\n"
        ".SH DESCRIPTION\nA program needs none of this to run under Baton. It tells Baton what Baton cannot "
        "infer. Results "
        "are 0 or \\-errno, times are nanoseconds of CLOCK_MONOTONIC. A struct that may grow begins with "
        "its\n"
        ".IR size ,\nwhich the caller sets. Without layer and daemon the calls still keep statistics.\n"
        ".SS Jobs of the process\n.TP\n.BI \"int baton_job_begin(void);  int baton_job_end(void);\"\n"
        "where a job begins and ends; from the first call on, only these jobs count\n"
        ".TP\n.BI \"int baton_job_begin_at(int64_t \" release_ns );\nthe same for a job that was released "
        "earlier: responses, deadlines and bounds count from there. \\-EINVAL for the future, and for a "
        "release "
        "before the previous job's\n"
        ".TP\n.BI \"int baton_job_report(struct baton_job_report *\" report );\njobs, misses, percentiles "
        "and parts "
        "of the responses so far\n"
        ".SS Several tasks in one process\n.TP\n.BI \"int baton_task_open(const struct baton_task_options "
        "*\" options "
        "\", struct baton_task **\" task );\na handle with a name, period, deadline and statistics of its "
        "own; "
        "handles share the process's priority and plan\n"
        ".TP\n.B baton_task_begin(), baton_task_begin_at(), baton_task_end(), baton_task_report(), "
        "baton_task_close()\n"
        "as above, for this task\n"
        ".SS Batches\n.TP\n.B baton_batcher_new(), baton_batch_start(), baton_batch_wait(), "
        "baton_batch_run(), "
        "baton_predict()\nseveral copies and kernels over a shared interconnect as one operation whose "
        "length is "
        "known beforehand\n"
        ".SH EXAMPLES\n.nf\n#include <baton/job.h>\n\nfor (;;) {\n    wait_for_frame();\n    "
        "baton_job_begin();\n"
        "    detect(frame);\n    baton_job_end();\n}\n.fi\n"
        ".SH ENVIRONMENT\n.TP\n.B BATON_PERIOD, BATON_DEADLINE, BATON_WARM\nof the process's own jobs; baton "
        "run "
        "sets them\n"
        ".SH FILES\n.TP\n.I /usr/include/baton/\nthe headers: units, ownership, answers\n"
        ".SH NOTES\nPython programs use the module baton (python3\\-baton).\n"
        ".SH SEE ALSO\n.BR baton (1),\n.BR baton\\-run (1),\n.BR baton\\-batch\\-calibrate (1)\n",
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
                "what is known of its kernels on its standard output. "
                "BATON_TRANSLATE names another one.\n"
                ".SH SEE ALSO\n.BR baton (1),\n.BR baton\\-run (1)\n",
                out);
    return 0;
}

/* Writes one page to FOLDER/NAME, completely or not at all. */
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
        result = write_page(folder, "libbaton.3", NULL, put_library);
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
