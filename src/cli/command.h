/*
 * What a sub-command is: one table entry that feeds the parser, --help, bash completion and the manual. Each lives
 * in its own file and is listed in cli/commands.def.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/input_error.h"

/* How every command ends: CLI_YES, CLI_NO, CLI_USAGE, CLI_ENVIRONMENT, CLI_TARDY. */
enum cli_exit {
#define EXIT(identifier, code, meaning) CLI_##identifier = (code),
#include "cli/exits.def"
#undef EXIT
};

/*
 * `baton run` and `baton profile` end with the status of the command that they start. What keeps them from
 * starting it has a status of its own, as with env and timeout.
 */
#define CLI_OWN_FAILURE 125 /* Baton's: bad words, no layer, a task that is refused */
#define CLI_CANNOT_RUN  126 /* the command is there and cannot be run */
#define CLI_NOT_THERE   127 /* the command is not there */

struct cli_option {
    const char *name; /* "analysis" for --analysis */
    char letter;      /* 'o' for -o, or 0 */
    /* Placeholder in the help ("FILE", "single|multi"; bars list the choices), NULL: a flag. */
    const char *value;
    const char *help; /* one line */
};

#define CLI_MAX_GIVEN 64 /* options on one command line */

struct cli_args;

struct cli_command {
    const char *name;      /* "doctor", or "batch predict" for a word below "batch" */
    const char *summary;   /* one line */
    const char *arguments; /* positional part of the usage line, "FILE"; "" if none */
    size_t min_arguments, max_arguments;
    bool takes_command; /* all after `--` (or the first positional) belongs to a command to run */
    const struct cli_option *options; /* ends with a nameless entry; --help is implied */
    const char *example;              /* a command line that works, with what it shows */
    int (*run)(const struct cli_args *args);
};

/* The parsed command line; borrowed from argv, valid as long as main runs. */
struct cli_args {
    const struct cli_command *command;
    struct {
        const struct cli_option *option;
        const char *value;  /* "" for a flag */
    } given[CLI_MAX_GIVEN]; /* in order */
    size_t n_given;
    char *const *positional; /* NULL-terminated */
    size_t n_positional;
};

/* Was --name given? */
bool cli_has(const struct cli_args *args, const char *name);

/* The value of --name (the last, if given several times), or otherwise. */
const char *cli_value(const struct cli_args *args, const char *name, const char *otherwise);

/* The index-th value of an option that may be given several times, in order; NULL past the last. */
const char *cli_nth_value(const struct cli_args *args, const char *name, size_t index);

/*
 * Numbers: 0, or CLI_USAGE after telling the user what was expected. *ret_value is untouched when the option is not
 * given.
 */
int cli_int(const struct cli_args *args, const char *name, long long low, long long high,
            long long *ret_value);
int cli_double(const struct cli_args *args, const char *name, double low, double high, double *ret_value);

/* Index of value among the bar-separated choices of the option's placeholder; CLI_USAGE as for numbers. */
int cli_choice(const struct cli_args *args, const char *name, size_t *ret_index);

/* Tells the user on standard error, `baton NAME: ...`; each returns the exit status that fits. */
int cli_fail_usage(const struct cli_args *args, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int cli_fail_environment(const struct cli_args *args, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int cli_fail_input(const struct input_error *error);

/* The result of a reader: 0 -> 0; INPUT_REJECTED -> tells and CLI_USAGE; -errno -> tells and CLI_ENVIRONMENT. */
int cli_input_result(const struct cli_args *args, int result, const char *path,
                     const struct input_error *error);

/* The table, in the order of cli/commands.def. */
extern const struct cli_command *const cli_commands[];
extern const size_t cli_n_commands;

#endif
