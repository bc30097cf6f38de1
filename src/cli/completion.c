/* baton completion: a bash completion script from the command table. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

/* The first words of all command names, each once (names of one group stand together in the table). */
static void print_first_words(void)
{
    const char *last = "";
    size_t last_length = 0;

    for (size_t i = 0; i < cli_n_commands; i++) {
        const char *name = cli_commands[i]->name;
        size_t length = strcspn(name, " ");

        if (length == last_length && strncmp(name, last, length) == 0)
            continue;
        printf("%s%.*s", i ? " " : "", (int)length, name);
        last = name;
        last_length = length;
    }
}

static void print_second_words(const char *group, size_t length)
{
    for (size_t i = 0; i < cli_n_commands; i++) {
        const char *name = cli_commands[i]->name;

        if (strncmp(name, group, length) == 0 && name[length] == ' ')
            printf("%s ", name + length + 1);
    }
}

static void print_options(const struct cli_command *command)
{
    for (const struct cli_option *option = command->options; option && option->name; option++)
        printf("--%s ", option->name);
    printf("--help");
}

/* `--mode) words="single multi";;` for options whose placeholder lists choices. */
static void print_choices(const struct cli_command *command)
{
    for (const struct cli_option *option = command->options; option && option->name; option++) {
        if (!option->value || !strchr(option->value, '|'))
            continue;
        printf("            '%s --%s') words=\"", command->name, option->name);
        for (const char *c = option->value; *c; c++)
            putchar(*c == '|' ? ' ' : *c);
        printf("\";;\n");
    }
}

static int run(const struct cli_args *args)
{
    const char *last = "";

    (void)args;
    printf("# bash completion for baton; made by `baton completion`.\n"
           "_baton() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words= "
           "command=${COMP_WORDS[1]}\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "        words=\"");
    print_first_words();
    printf("\"\n    else\n        case $command in\n");
    for (size_t i = 0; i < cli_n_commands; i++) {
        const char *name = cli_commands[i]->name;
        size_t length = strcspn(name, " ");

        if (!name[length] || (strncmp(name, last, length) == 0 && last[length] == ' '))
            continue;
        last = name;
        printf("            %.*s) if [ \"$COMP_CWORD\" -eq 2 ]; then words=\"", (int)length, name);
        print_second_words(name, length);
        printf("\"; else command=\"$command ${COMP_WORDS[2]}\"; fi;;\n");
    }
    printf("        esac\n        case \"$command $prev\" in\n");
    for (size_t i = 0; i < cli_n_commands; i++)
        print_choices(cli_commands[i]);
    printf("            *) case $command in\n");
    for (size_t i = 0; i < cli_n_commands; i++) {
        printf("                '%s') [[ $cur == -* ]] && words=\"", cli_commands[i]->name);
        print_options(cli_commands[i]);
        printf("\";;\n");
    }
    printf("            esac;;\n        esac\n    fi\n"
           "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
           "    [ ${#COMPREPLY[@]} -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
           "}\n"
           "complete -F _baton baton\n");
    return CLI_YES;
}

const struct cli_command command_completion = {
    .name = "completion",
    .summary = "print a completion script for bash",
    .arguments = "",
    .example = "source <(baton completion)",
    .run = run,
};
