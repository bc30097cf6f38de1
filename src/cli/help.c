#include "cli/help.h"

#include <string.h>

static int belongs(const struct cli_command *command, const char *group)
{
    size_t length = group ? strlen(group) : 0;

    return !group || (strncmp(command->name, group, length) == 0 && command->name[length] == ' ');
}

void help_list(FILE *out, const char *group)
{
    (void)fprintf(out, "usage: baton %s%sCOMMAND ...\n\n", group ? group : "", group ? " " : "");
    if (!group)
        (void)fprintf(
            out,
            "Baton lets several OpenCL and CUDA programs share GPUs and still meet their deadlines.\n\n");
    for (size_t i = 0; i < cli_n_commands; i++) {
        if (belongs(cli_commands[i], group))
            (void)fprintf(out, "  %-18s %s\n", cli_commands[i]->name, cli_commands[i]->summary);
    }
    if (!group)
        (void)fprintf(out, "\nexit status:\n"
#define EXIT(identifier, code, meaning) "  " #code "  " meaning "\n"
#include "cli/exits.def"
#undef EXIT
        );
    (void)fprintf(
        out,
        "\n`baton COMMAND --help` explains one, with an example. `baton --version` prints the version.\n");
}

void help_command(FILE *out, const struct cli_command *command)
{
    (void)fprintf(out, "usage: baton %s%s%s%s\n\n%s\n", command->name, command->options ? " [OPTION...]" : "",
                  *command->arguments ? " " : "", command->arguments, command->summary);
    (void)fprintf(out, "\noptions:\n");
    for (size_t i = 0; command->options && command->options[i].name; i++) {
        const struct cli_option *option = &command->options[i];
        char left[128];

        (void)snprintf(left, sizeof left, "%s%c%s--%s%s%s", option->letter ? "-" : "",
                       option->letter ? option->letter : ' ', option->letter ? ", " : "   ", option->name,
                       option->value ? " " : "", option->value ? option->value : "");
        if (strlen(left) > 30)
            (void)fprintf(out, "  %s\n  %-30s %s\n", left, "", option->help);
        else
            (void)fprintf(out, "  %-30s %s\n", left, option->help);
    }
    (void)fprintf(out, "  %-30s %s\n", "    --help", "this page");
    if (command->takes_command)
        (void)fprintf(out,
                      "\nexit status: the command's own (128 + signal) once it has started; else %d where "
                      "Baton failed,\n"
                      "%d where the command cannot be run, %d where it is not there\n",
                      CLI_OWN_FAILURE, CLI_CANNOT_RUN, CLI_NOT_THERE);
    if (command->example)
        (void)fprintf(out, "\nexample:\n  %s\n", command->example);
}
