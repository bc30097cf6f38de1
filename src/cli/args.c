#include "cli/args.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

static const struct cli_option *find_option(const struct cli_command *command, const char *name,
                                            size_t length, size_t *ret_index)
{
    for (size_t i = 0; command->options && command->options[i].name; i++) {
        const struct cli_option *option = &command->options[i];

        if (strlen(option->name) == length && memcmp(option->name, name, length) == 0) {
            *ret_index = i;
            return option;
        }
    }
    return NULL;
}

static const struct cli_option *find_letter(const struct cli_command *command, char letter, size_t *ret_index)
{
    for (size_t i = 0; command->options && command->options[i].name; i++) {
        if (command->options[i].letter == letter && letter) {
            *ret_index = i;
            return &command->options[i];
        }
    }
    return NULL;
}

/* Lists every option of the command, because the user is looking for one of them. */
static int unknown_option(const struct cli_args *args, const char *word)
{
    char known[1024] = "";
    size_t used = 0;

    for (const struct cli_option *option = args->command->options;
         option && option->name && used < sizeof known; option++)
        used += (size_t)snprintf(known + used, sizeof known - used, "--%s, ", option->name);
    return cli_fail_usage(args, "unknown option '%s'; expected %s%s--help", word, known, used ? "or " : "");
}

/* One option and its value, from the same or the next word. Advances *at past the words used. */
static int parse_option(struct cli_args *args, int argc, char *const argv[], int *at)
{
    const char *word = argv[*at];
    bool is_long = word[1] == '-';
    const char *name = word + (is_long ? 2 : 1);
    const char *equals = is_long ? strchr(name, '=') : NULL;
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const struct cli_option *option;
    const char *value = equals ? equals + 1 : NULL;
    size_t index = 0;

    option = is_long ? find_option(args->command, name, length, &index)
                     : find_letter(args->command, *name, &index);
    if (!option)
        return unknown_option(args, word);
    if (!is_long && name[1])
        value = name + 1;
    if (!option->value && value)
        return cli_fail_usage(args, "option --%s takes no value", option->name);
    if (option->value && !value && *at + 1 < argc)
        value = argv[++*at];
    /*
     * `baton run --stats -- ./program` lacks the file: `--` ends the options and is never a value.
     */
    if (option->value && (!value || strcmp(value, "--") == 0))
        return cli_fail_usage(args, "option --%s needs a value: %s", option->name, option->value);
    if (args->n_given >= CLI_MAX_GIVEN)
        return cli_fail_usage(args, "more than %d options", CLI_MAX_GIVEN);
    args->given[args->n_given].option = option;
    args->given[args->n_given++].value = value ? value : "";
    ++*at;
    return 0;
}

int cli_args_parse(const struct cli_command *command, int argc, char *argv[], struct cli_args *ret_args)
{
    int at = 0;
    int kept = 0;

    *ret_args = (struct cli_args){.command = command};
    while (at < argc) {
        char *word = argv[at];
        int result;

        if (strcmp(word, "--") == 0) {
            at++;
            break;
        }
        if (word[0] != '-' || !word[1]) {
            if (command->takes_command)
                break;
            argv[kept++] = word;
            at++;
            continue;
        }
        result = parse_option(ret_args, argc, argv, &at);
        if (result)
            return result;
    }
    while (at < argc)
        argv[kept++] = argv[at++];
    argv[kept] = NULL;
    ret_args->positional = argv;
    ret_args->n_positional = (size_t)kept;
    if (ret_args->n_positional < command->min_arguments)
        return cli_fail_usage(ret_args, "expected %s; see --help", command->arguments);
    if (ret_args->n_positional > command->max_arguments)
        return cli_fail_usage(ret_args, "unexpected argument '%s'; see --help", argv[command->max_arguments]);
    return 0;
}

const char *cli_nth_value(const struct cli_args *args, const char *name, size_t index)
{
    for (size_t i = 0; i < args->n_given; i++) {
        if (strcmp(args->given[i].option->name, name) == 0 && index-- == 0)
            return args->given[i].value;
    }
    return NULL;
}

const char *cli_value(const struct cli_args *args, const char *name, const char *otherwise)
{
    const char *last = otherwise;
    const char *value;

    for (size_t i = 0; (value = cli_nth_value(args, name, i)) != NULL; i++)
        last = value;
    return last;
}

bool cli_has(const struct cli_args *args, const char *name)
{
    return cli_nth_value(args, name, 0) != NULL;
}

/* "MS|none" takes a word, too: " or none", for a message about a number; "" if there is no word. */
static void other_words(const struct cli_args *args, const char *name, char ret_text[64])
{
    size_t unused;
    const struct cli_option *option = find_option(args->command, name, strlen(name), &unused);
    const char *bar = option && option->value ? strchr(option->value, '|') : NULL;

    (void)snprintf(ret_text, 64, "%s%s", bar ? " or " : "", bar ? bar + 1 : "");
}

int cli_int(const struct cli_args *args, const char *name, long long low, long long high,
            long long *ret_value)
{
    const char *text = cli_value(args, name, NULL);
    char words[64];
    char *end;
    long long value;

    if (!text)
        return 0;
    errno = 0;
    value = strtoll(text, &end, 10);
    if (end == text || *end || errno || value < low || value > high) {
        other_words(args, name, words);
        return cli_fail_usage(args, "--%s: expected a whole number from %lld to %lld%s, found '%s'", name,
                              low, high, words, text);
    }
    *ret_value = value;
    return 0;
}

int cli_double(const struct cli_args *args, const char *name, double low, double high, double *ret_value)
{
    const char *text = cli_value(args, name, NULL);
    char words[64];
    char *end;
    double value;

    if (!text)
        return 0;
    value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value < low || value > high) {
        other_words(args, name, words);
        return cli_fail_usage(args, "--%s: expected a number from %g to %g%s, found '%s'", name, low, high,
                              words, text);
    }
    *ret_value = value;
    return 0;
}

int cli_choice(const struct cli_args *args, const char *name, size_t *ret_index)
{
    const char *text = cli_value(args, name, NULL);
    const struct cli_option *option;
    size_t unused;
    size_t index = 0;

    if (!text)
        return 0;
    option = find_option(args->command, name, strlen(name), &unused);
    for (const char *choice = option->value; choice; index++) {
        size_t length = strcspn(choice, "|");

        if (strlen(text) == length && memcmp(text, choice, length) == 0) {
            *ret_index = index;
            return 0;
        }
        choice = choice[length] ? choice + length + 1 : NULL;
    }
    return cli_fail_usage(args, "--%s: expected %s, found '%s'", name, option->value, text);
}

int cli_fail_usage(const struct cli_args *args, const char *format, ...)
{
    va_list arguments;

    (void)fprintf(stderr, "baton %s: ", args->command->name);
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fputc('\n', stderr);
    return CLI_USAGE;
}

int cli_fail_environment(const struct cli_args *args, int error, const char *format, ...)
{
    va_list arguments;

    (void)fprintf(stderr, "baton %s: ", args->command->name);
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    if (error)
        (void)fprintf(stderr, ": %s", strerror(error < 0 ? -error : error));
    (void)fputc('\n', stderr);
    return CLI_ENVIRONMENT;
}

void cli_print_word(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";

    if (text[0] && !text[strspn(text, plain)]) {
        (void)fputs(text, stderr);
        return;
    }
    (void)fputc('\'', stderr);
    for (; *text; text++)
        (void)fputs(*text == '\'' ? "'\\''" : (char[]){*text, 0}, stderr);
    (void)fputc('\'', stderr);
}

int cli_check_output(const struct cli_args *args, const char *path)
{
    int result = path ? file_check_output(path) : 0;

    return result ? cli_fail_environment(args, result, "%s", path) : 0;
}

int cli_fail_input(const struct input_error *error)
{
    char text[1024];

    (void)input_error_format(error, text, sizeof text);
    (void)fprintf(stderr, "%s\n", text);
    return CLI_USAGE;
}

int cli_input_result(const struct cli_args *args, int result, const char *path,
                     const struct input_error *error)
{
    if (result == 0)
        return 0;
    if (result == INPUT_REJECTED)
        return cli_fail_input(error);
    /*
     * A missing or unreadable file that the user named is bad usage. Short memory or a failing disk
     * is not.
     */
    if (result == -ENOENT || result == -EISDIR || result == -EACCES || result == -ENOTDIR)
        return cli_fail_usage(args, "%s: %s", path, strerror(-result));
    return cli_fail_environment(args, result, "%s", path);
}
