/*
 * A sub-command is one table entry that feeds the parser, --help, completion and the manual. Each
 * has its own file and is listed in cli/commands.def.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/input_error.h"

/* The exit status of every command: CLI_YES, CLI_NO, CLI_USAGE, CLI_ENVIRONMENT, CLI_TARDY. */
enum cli_exit {
#define EXIT(identifier, code, meaning) CLI_##identifier = (code),
#include "cli/exits.def"
#undef EXIT
};

/*
 * `baton run` and `baton profile` end with the status of the command that they start. Failures to
 * start it have their own status, as with env and timeout.
 */
#define CLI_OWN_FAILURE 125 /* Baton's own: bad usage, no layer, a refused task */
#define CLI_CANNOT_RUN  126 /* the command exists but cannot be run */
#define CLI_NOT_THERE   127 /* the command does not exist */

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
    /* all words after `--` (or the first positional) belong to a command to run */
    bool takes_command;
    const struct cli_option *options; /* ends with a nameless entry; --help is implied */
    const char *example;              /* a working command line, with what it shows */
    int (*run)(const struct cli_args *args);
};

/* The parsed command line; borrowed from argv, valid until main returns. */
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

/* The value of --name (the last one if repeated), or `otherwise`. */
const char *cli_value(const struct cli_args *args, const char *name, const char *otherwise);

/* The index-th value of a repeatable option, in order; NULL past the last. */
const char *cli_nth_value(const struct cli_args *args, const char *name, size_t index);

/*
 * Numbers: 0, or CLI_USAGE after a message that says what is expected. *ret_value is untouched if
 * the option is absent.
 */
int cli_int(const struct cli_args *args, const char *name, long long low, long long high,
            long long *ret_value);
int cli_double(const struct cli_args *args, const char *name, double low, double high, double *ret_value);

/*
 * Index of the value among the bar-separated choices of the option's placeholder; CLI_USAGE as for
 * numbers.
 */
int cli_choice(const struct cli_args *args, const char *name, size_t *ret_index);

/* Print `baton NAME: ...` on standard error; each returns the fitting exit status. */
int cli_fail_usage(const struct cli_args *args, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int cli_fail_environment(const struct cli_args *args, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int cli_fail_input(const struct input_error *error);

/*
 * Maps the result of a reader: 0 -> 0; INPUT_REJECTED -> message and CLI_USAGE; -errno -> message
 * and CLI_ENVIRONMENT.
 */
int cli_input_result(const struct cli_args *args, int result, const char *path,
                     const struct input_error *error);

/* Prints the text on standard error, as one word of a command line for the shell. */
void cli_print_word(const char *text);

/*
 * Before long work: can its answer be written to path (NULL: there is none)? 0, or CLI_ENVIRONMENT
 * after a message.
 */
int cli_check_output(const struct cli_args *args, const char *path);

/* The table, in the order of cli/commands.def. */
extern const struct cli_command *const cli_commands[];
extern const size_t cli_n_commands;

#endif
