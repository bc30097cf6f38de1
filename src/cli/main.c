/* baton: the command-line tool. Finds the sub-command in the table and runs it. */
#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "cli/help.h"
#include "version.h"

#define COMMAND(identifier) extern const struct cli_command command_##identifier;
#include "cli/commands.def"
#undef COMMAND

const struct cli_command *const cli_commands[] = {
#define COMMAND(identifier) &command_##identifier,
#include "cli/commands.def"
#undef COMMAND
};
const size_t cli_n_commands = sizeof cli_commands / sizeof cli_commands[0];

/*
 * The command at the start of argv; longer names take precedence. *ret_words is the number of words
 * in its name.
 */
static const struct cli_command *find_command(int argc, char *argv[], int *ret_words)
{
    char two[128] = "";

    if (argc > 2)
        (void)snprintf(two, sizeof two, "%s %s", argv[1], argv[2]);
    for (size_t i = 0; i < cli_n_commands; i++) {
        if (argc > 2 && strcmp(cli_commands[i]->name, two) == 0) {
            *ret_words = 2;
            return cli_commands[i];
        }
    }
    for (size_t i = 0; i < cli_n_commands; i++) {
        if (strcmp(cli_commands[i]->name, argv[1]) == 0) {
            *ret_words = 1;
            return cli_commands[i];
        }
    }
    return NULL;
}

static int is_group(const char *word)
{
    size_t length = strlen(word);

    for (size_t i = 0; i < cli_n_commands; i++) {
        if (strncmp(cli_commands[i]->name, word, length) == 0 && cli_commands[i]->name[length] == ' ')
            return 1;
    }
    return 0;
}

/* `baton study rnak`: the words that may follow the first one. */
static void say_unknown_member(const char *group, const char *word)
{
    const char *separator = "";

    (void)fprintf(stderr, "baton %s: unknown command '%s'; expected ", group, word);
    for (size_t i = 0; i < cli_n_commands; i++) {
        const char *name = cli_commands[i]->name;
        size_t length = strlen(group);

        if (strncmp(name, group, length) == 0 && name[length] == ' ') {
            (void)fprintf(stderr, "%s%s", separator, name + length + 1);
            separator = ", ";
        }
    }
    (void)fprintf(stderr, " (`baton %s --help` explains them)\n", group);
}

static void say_unknown(const char *word)
{
    const char *last = "";
    size_t length = 0;

    (void)fprintf(stderr, "baton: unknown command '%s'; expected ", word);
    for (size_t i = 0; i < cli_n_commands; i++) {
        const char *name = cli_commands[i]->name;

        if (length && strncmp(name, last, length) == 0 && name[length] == ' ')
            continue; /* another command of the same group */
        (void)fprintf(stderr, "%s%.*s", i ? ", " : "", (int)strcspn(name, " "), name);
        last = name;
        length = name[strcspn(name, " ")] ? strcspn(name, " ") : 0;
    }
    (void)fprintf(stderr, " (`baton --help` explains them)\n");
}

/* --help anywhere before `--` (or before the words of a command to run). */
static int wants_help(const struct cli_command *command, int argc, char *argv[])
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return 1;
        if (command->takes_command && argv[i][0] != '-')
            return 0;
    }
    return 0;
}

/* Writing to a full disk fails late: only now is it certain that the answer was written. */
static int finish(int status)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        perror("baton: standard output");
        return CLI_ENVIRONMENT;
    }
    return status;
}

int main(int argc, char *argv[])
{
    const struct cli_command *command;
    struct cli_args args;
    int words = 0;
    int result;

    if (argc < 2) {
        help_list(stderr, NULL);
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("baton %s\n", BATON_VERSION);
        return finish(CLI_YES);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        help_list(stdout, NULL);
        return finish(CLI_YES);
    }
    command = find_command(argc, argv, &words);
    if (!command) {
        if (is_group(argv[1])) {
            int asked = argc > 2 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0);

            if (argc > 2 && !asked) {
                say_unknown_member(argv[1], argv[2]);
                return CLI_USAGE;
            }
            help_list(asked ? stdout : stderr, argv[1]);
            return finish(asked ? CLI_YES : CLI_USAGE);
        }
        say_unknown(argv[1]);
        return CLI_USAGE;
    }
    if (wants_help(command, argc - 1 - words, argv + 1 + words)) {
        help_command(stdout, command);
        return finish(CLI_YES);
    }
    result = cli_args_parse(command, argc - 1 - words, argv + 1 + words, &args);
    if (result)
        return command->takes_command ? CLI_OWN_FAILURE : result;
    return finish(command->run(&args));
}
