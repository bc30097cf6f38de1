#include "cli/run_table.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/demangle.h"
#include "base/file.h"
#include "cli/cli_signals.h"
#include "cli/subcommand.h"

/* ---- the table ---- */

static struct table_row *find_row(struct table *table, const char *name)
{
    struct table_row *more;

    for (size_t i = 0; i < table->n; i++) {
        if (strcmp(table->rows[i].name, name) == 0)
            return &table->rows[i];
    }
    more = reallocarray(table->rows, table->n + 1, sizeof *more);
    if (!more)
        return NULL;
    table->rows = more;
    more[table->n] = (struct table_row){0};
    (void)snprintf(more[table->n].name, sizeof more[table->n].name, "%s", name);
    return &more[table->n++];
}

int table_add(struct table *table, const struct profile_log *log)
{
    static const char *const copies[ENGINE_N] = {
        [ENGINE_COPY_IN] = "copies in", [ENGINE_COPY_OUT] = "copies out"};

    for (size_t i = 0; i < log->n_commands; i++) {
        const struct job_record_command *command = &log->commands[i];
        struct table_row *row =
            find_row(table, copies[command->engine] ? copies[command->engine] : command->name);
        baton_nsec length = command->end - command->start;

        if (!row)
            return -ENOMEM;
        row->launches++;
        row->pieces += command->pieces;
        row->sum += length;
        row->longest = length > row->longest ? length : row->longest;
        row->whole += command->pieces <= 1;
        if (command->pieces <= 1 && command->why[0])
            (void)snprintf(row->why, sizeof row->why, "%s", command->why);
    }
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct table_row *x = a;
    const struct table_row *y = b;

    if (x->sum != y->sum)
        return x->sum > y->sum ? -1 : 1;
    return strcmp(x->name, y->name);
}

void table_print(struct table *table, FILE *out)
{
    if (table->n)
        qsort(table->rows, table->n, sizeof *table->rows, by_time);
    (void)fprintf(out, "%-28s %9s %9s %11s %10s %10s  %s\n", "kernel", "launches", "pieces", "total ms",
                  "mean ms", "longest ms", "whole");
    for (size_t i = 0; i < table->n; i++) {
        const struct table_row *row = &table->rows[i];
        char readable[DEMANGLE_SIZE];

        demangle_kernel(row->name, readable, sizeof readable);
        (void)fprintf(out, "%-28.28s %9zu %9zu %11.3f %10.3f %10.3f  %zu%s%s%s\n", readable, row->launches,
                      row->pieces, nsec_to_ms(row->sum), nsec_to_ms(row->sum) / (double)row->launches,
                      nsec_to_ms(row->longest), row->whole, row->why[0] ? " (" : "", row->why,
                      row->why[0] ? ")" : "");
    }
    if (table->n == 0)
        (void)fprintf(out, "(no OpenCL or CUDA command was seen)\n");
}

void table_done(struct table *table)
{
    free(table->rows);
    *table = (struct table){0};
}

/* ---- the program ---- */

static void pass_on(int number)
{
    if (cli_signals.program > 0)
        (void)kill((pid_t)cli_signals.program, number);
}

/*
 * The program receives the terminal's signals directly. Signals sent to this process are passed on
 * to it.
 */
static void stay_beside(void)
{
    static const int ignored[] = {SIGINT, SIGQUIT};
    static const int passed[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    struct sigaction action = {.sa_handler = SIG_IGN};

    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        (void)sigaction(ignored[i], &action, NULL);
    action.sa_handler = pass_on;
    action.sa_flags = SA_RESTART;
    for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++)
        (void)sigaction(passed[i], &action, NULL);
}

/* Reads and removes the logs of the program's processes. */
static int read_folder(const char *folder, struct table *table)
{
    DIR *listing = opendir(folder);
    struct dirent *entry;
    int result = listing ? 0 : -errno;

    while (listing && (entry = readdir(listing))) {
        struct profile_log log;
        char path[512];
        char *text;
        size_t size;

        if (entry->d_name[0] == '.' ||
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path)
            continue;
        if (file_read(path, PROFILE_LOG_LIMIT, &text, &size) == 0) {
            if (profile_log_read(text, size, &log) == 0) {
                result = table_add(table, &log);
                profile_log_done(&log);
            }
            free(text);
        }
        (void)unlink(path);
    }
    if (listing)
        (void)closedir(listing);
    (void)rmdir(folder);
    return result;
}

static _Noreturn void become(char *const command[], const char *folder)
{
    int result;

    if (setenv("BATON_PROFILE", folder, 1) < 0)
        _exit(CLI_OWN_FAILURE);
    (void)execvp(command[0], command);
    result = errno == ENOENT ? CLI_NOT_THERE : CLI_CANNOT_RUN;
    (void)fprintf(stderr, "baton run: %s: %s\n", command[0], strerror(errno));
    _exit(result);
}

int table_run(char *const command[])
{
    char folder[] = "/tmp/baton-table-XXXXXX";
    struct table table = {0};
    int status = 0;
    pid_t pid;

    if (!mkdtemp(folder)) {
        perror("baton run: --table");
        return CLI_OWN_FAILURE;
    }
    pid = fork();
    if (pid == 0)
        become(command, folder);
    if (pid < 0) {
        perror("baton run");
        (void)rmdir(folder);
        return CLI_OWN_FAILURE;
    }
    cli_signals.program = pid;
    stay_beside();
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    cli_signals.program = 0;
    if (read_folder(folder, &table) == 0)
        table_print(&table, stderr);
    table_done(&table);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
