/*
 * baton completion: completion scripts for bash, zsh and fish, from the tables of commands and of
 * batond's options. A placeholder says what follows an option: words between bars are choices;
 * FILE, PATH and FOLDER mean a file; others mean any word.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "analysis/analysis.h"
#include "cli/subcommand.h"

static const struct cli_option daemon_options[] = {
#define DAEMON_OPTION(name, code, value, started, help) {name, 0, value, help},
#include "model/daemon_options.def"
#undef DAEMON_OPTION
    {"version", 0, NULL, "print the version"},
    {0},
};

/* ---- what a placeholder means ---- */

/* A word in capitals, or a range, is a placeholder; any other word is a choice. */
static bool is_choice(const char *word, size_t length)
{
    return length > 0 && islower((unsigned char)word[0]);
}

static bool is_file(const struct cli_option *option)
{
    const char *value = option->value;

    return value &&
           (strncmp(value, "FILE", 4) == 0 || strncmp(value, "OUT", 3) == 0 || strcmp(value, "PATH") == 0 ||
            strcmp(value, "PLAN") == 0 || strcmp(value, "FOLDER") == 0);
}

/* Prints the choices with the separator between them. Answers their number. */
static size_t print_choices(const struct cli_option *option)
{
    size_t n = 0;

    if (option->value && strcmp(option->name, "analysis") == 0) {
        for (; analyses[n]; n++)
            printf("%s%s", n ? " " : "", analyses[n]->name);
        return n;
    }
    for (const char *at = option->value; at && strchr(option->value, '|');) {
        size_t length = strcspn(at, "|");

        if (is_choice(at, length))
            printf("%s%.*s", n++ ? " " : "", (int)length, at);
        at = at[length] ? at + length + 1 : NULL;
    }
    return n;
}

static bool has_choices(const struct cli_option *option)
{
    bool any = option->value && strcmp(option->name, "analysis") == 0;

    for (const char *at = option->value; at && strchr(option->value, '|') && !any;) {
        size_t length = strcspn(at, "|");

        any = is_choice(at, length);
        at = at[length] ? at + length + 1 : NULL;
    }
    return any;
}

static size_t first_length(const char *name)
{
    return strcspn(name, " ");
}

/* Is this command the first of its group, or in no group? */
static bool begins_group(size_t i)
{
    size_t length = first_length(cli_commands[i]->name);

    return i == 0 || strncmp(cli_commands[i - 1]->name, cli_commands[i]->name, length) != 0 ||
           cli_commands[i - 1]->name[length] != ' ' || cli_commands[i]->name[length] != ' ';
}

static bool is_group(size_t i)
{
    return cli_commands[i]->name[first_length(cli_commands[i]->name)] == ' ';
}

static bool in_group(const struct cli_command *command, const char *group, size_t length)
{
    return strncmp(command->name, group, length) == 0 && command->name[length] == ' ';
}

/* Text inside single quotes, without characters that the shell would misread. */
static void put_quoted(const char *text, const char *quote, const char *escaped)
{
    for (; *text; text++) {
        if (*text == '\'')
            (void)fputs(quote, stdout);
        else if (strchr(escaped, *text))
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

/* ---- bash ---- */

/*
 * `'analyze --mode') words="single multi";;` for each option with choices, and files for options
 * that take one.
 */
static void bash_values(const char *name, const struct cli_option *options)
{
    for (const struct cli_option *option = options; option && option->name; option++) {
        if (!has_choices(option) && !is_file(option))
            continue;
        printf("            '%s --%s'", name, option->name);
        if (option->letter)
            printf("|'%s -%c'", name, option->letter);
        printf(") ");
        if (has_choices(option)) {
            printf("words=\"");
            (void)print_choices(option);
            printf("\";;\n");
        } else {
            printf("files=1;;\n");
        }
    }
}

static void bash_options(const char *name, const struct cli_option *options)
{
    printf("                '%s') [[ $cur == -* ]] && words=\"", name);
    for (const struct cli_option *option = options; option && option->name; option++)
        printf("--%s ", option->name);
    printf("--help\";;\n");
}

static void bash_words(void)
{
    for (size_t i = 0; i < cli_n_commands; i++) {
        if (begins_group(i))
            printf("%s%.*s", i ? " " : "", (int)first_length(cli_commands[i]->name), cli_commands[i]->name);
    }
}

static void bash_groups(void)
{
    for (size_t i = 0; i < cli_n_commands; i++) {
        const char *name = cli_commands[i]->name;
        size_t length = first_length(name);

        if (!is_group(i) || !begins_group(i))
            continue;
        printf("            %.*s) if [ \"$COMP_CWORD\" -eq 2 ]; then words=\"", (int)length, name);
        for (size_t k = 0; k < cli_n_commands; k++) {
            if (in_group(cli_commands[k], name, length))
                printf("%s ", cli_commands[k]->name + length + 1);
        }
        printf("\"; else command=\"$command ${COMP_WORDS[2]}\"; fi;;\n");
    }
}

static void print_bash(void)
{
    printf("# bash completion for baton and batond; made by `baton completion bash`.\n"
           "_baton() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words= files= "
           "command=${COMP_WORDS[1]}\n"
           "    if [ \"${COMP_WORDS[0]##*/}\" = batond ]; then command=batond; fi\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ] && [ \"$command\" != batond ]; then\n"
           "        words=\"");
    bash_words();
    printf("\"\n    else\n        case $command in\n");
    bash_groups();
    printf("        esac\n        case \"$command $prev\" in\n");
    for (size_t i = 0; i < cli_n_commands; i++)
        bash_values(cli_commands[i]->name, cli_commands[i]->options);
    bash_values("batond", daemon_options);
    printf("            *) case $command in\n");
    for (size_t i = 0; i < cli_n_commands; i++)
        bash_options(cli_commands[i]->name, cli_commands[i]->options);
    bash_options("batond", daemon_options);
    printf("            esac;;\n        esac\n    fi\n"
           "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
           "    [ ${#COMPREPLY[@]} -gt 0 ] && [ -z \"$files\" ] || mapfile -t COMPREPLY < <(compgen -f -- "
           "\"$cur\")\n"
           "}\n"
           "complete -o filenames -F _baton baton batond\n");
}

/* ---- zsh ---- */

static void zsh_option(const struct cli_option *option)
{
    printf(" \\\n            '--%s[", option->name);
    put_quoted(option->help, "'\\''", "[]:\\");
    putchar(']');
    if (option->value) {
        printf(":");
        put_quoted(option->value, "'\\''", "[]:\\ ");
        printf(":");
        if (has_choices(option)) {
            putchar('(');
            (void)print_choices(option);
            putchar(')');
        } else if (is_file(option)) {
            printf("_files");
        }
    }
    putchar('\'');
}

static void zsh_arguments(const struct cli_command *command, const struct cli_option *options)
{
    printf("_arguments '--help[this page]'");
    for (const struct cli_option *option = options; option && option->name; option++)
        zsh_option(option);
    if (command && command->takes_command)
        printf(" \\\n            '*::command:_normal'");
    else if (command && command->max_arguments)
        printf(" \\\n            '*:file:_files'");
    printf(" ;;\n");
}

static void zsh_described(const char *name, const char *summary)
{
    printf("            '%s:", name);
    put_quoted(summary, "'\\''", ":\\");
    printf("'\n");
}

static void zsh_group(const char *group, size_t length)
{
    printf("    (%.*s)\n        if (( CURRENT == 2 )); then\n            words_of=(\n", (int)length, group);
    for (size_t i = 0; i < cli_n_commands; i++) {
        if (in_group(cli_commands[i], group, length))
            zsh_described(cli_commands[i]->name + length + 1, cli_commands[i]->summary);
    }
    printf("            )\n            _describe command words_of\n            return\n        fi\n"
           "        shift words; (( CURRENT-- ))\n        case $words[1] in\n");
    for (size_t i = 0; i < cli_n_commands; i++) {
        if (!in_group(cli_commands[i], group, length))
            continue;
        printf("        (%s) ", cli_commands[i]->name + length + 1);
        zsh_arguments(cli_commands[i], cli_commands[i]->options);
    }
    printf("        esac ;;\n");
}

static void print_zsh(void)
{
    printf("#compdef baton batond\n# zsh completion for baton and batond; made by `baton completion zsh`.\n"
           "local -a words_of\n"
           "if [[ $service == batond ]]; then\n    case batond in\n    (batond) ");
    zsh_arguments(NULL, daemon_options);
    printf("    esac\n    return\nfi\nif (( CURRENT == 2 )); then\n    words_of=(\n");
    for (size_t i = 0; i < cli_n_commands; i++) {
        char name[64];

        if (!begins_group(i))
            continue;
        (void)snprintf(name, sizeof name, "%.*s", (int)first_length(cli_commands[i]->name),
                       cli_commands[i]->name);
        zsh_described(name, is_group(i) ? "several commands" : cli_commands[i]->summary);
    }
    printf("    )\n    _describe command words_of\n    return\nfi\n"
           "shift words; (( CURRENT-- ))\ncase $words[1] in\n");
    for (size_t i = 0; i < cli_n_commands; i++) {
        if (is_group(i) && begins_group(i)) {
            zsh_group(cli_commands[i]->name, first_length(cli_commands[i]->name));
        } else if (!is_group(i)) {
            printf("    (%s) ", cli_commands[i]->name);
            zsh_arguments(cli_commands[i], cli_commands[i]->options);
        }
    }
    printf("esac\n");
}

/* ---- fish ---- */

static void fish_option(const char *program, const char *condition, const struct cli_option *option)
{
    printf("complete -c %s%s -l %s", program, condition, option->name);
    if (option->letter)
        printf(" -s %c", option->letter);
    if (has_choices(option)) {
        printf(" -xa '");
        (void)print_choices(option);
        putchar('\'');
    } else if (option->value) {
        printf(is_file(option) ? " -rF" : " -x");
    }
    printf(" -d '");
    put_quoted(option->help, "\\'", "\\");
    printf("'\n");
}

static void fish_command(const struct cli_command *command)
{
    size_t length = first_length(command->name);
    char condition[256];

    if (command->name[length])
        (void)snprintf(condition, sizeof condition,
                       " -n '__fish_seen_subcommand_from %.*s; and __fish_seen_subcommand_from %s'",
                       (int)length, command->name, command->name + length + 1);
    else
        (void)snprintf(condition, sizeof condition, " -n '__fish_seen_subcommand_from %s'", command->name);
    for (const struct cli_option *option = command->options; option && option->name; option++)
        fish_option("baton", condition, option);
}

static void fish_word(size_t i)
{
    const struct cli_command *command = cli_commands[i];
    size_t length = first_length(command->name);

    if (begins_group(i)) {
        printf("complete -c baton -n __fish_use_subcommand -fa %.*s -d '", (int)length, command->name);
        put_quoted(is_group(i) ? "several commands" : command->summary, "\\'", "\\");
        printf("'\n");
    }
    if (is_group(i)) {
        printf("complete -c baton -n '__fish_seen_subcommand_from %.*s; and test (count (commandline -opc)) "
               "-eq 2' -fa "
               "%s -d '",
               (int)length, command->name, command->name + length + 1);
        put_quoted(command->summary, "\\'", "\\");
        printf("'\n");
    }
}

static void print_fish(void)
{
    printf("# fish completion for baton and batond; made by `baton completion fish`.\n");
    for (size_t i = 0; i < cli_n_commands; i++) {
        fish_word(i);
        fish_command(cli_commands[i]);
    }
    for (const struct cli_option *option = daemon_options; option->name; option++)
        fish_option("batond", "", option);
}

static int run(const struct cli_args *args)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    const char *shell = args->n_positional ? args->positional[0] : "bash";

    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        if (strcmp(shells[i].name, shell) == 0) {
            shells[i].print();
            return CLI_YES;
        }
    }
    return cli_fail_usage(args, "expected bash, zsh or fish, found '%s'", shell);
}

const struct cli_command command_completion = {
    .name = "completion",
    .summary = "print a completion script for bash, zsh or fish",
    .arguments = "[bash|zsh|fish]",
    .max_arguments = 1,
    .example = "source <(baton completion bash)",
    .run = run,
};
