#include "cli/report_sources.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/monitor.h"

#define CHARTS      "6" /* curves of a study; `baton study plot` draws them all */
#define FOLDER_SIZE 64
#define PATH_SIZE   (FOLDER_SIZE + 300)

bool report_is_database(const char *path)
{
    static const char magic[] = "SQLite format 3"; /* including its final 0 */
    char begin[sizeof magic] = "";
    FILE *file = fopen(path, "rbe");
    bool database = false;

    if (file) {
        database =
            fread(begin, 1, sizeof begin, file) == sizeof begin && memcmp(begin, magic, sizeof magic) == 0;
        (void)fclose(file);
    }
    return database;
}

static int open_folder(const struct cli_args *args, char ret_folder[FOLDER_SIZE])
{
    (void)snprintf(ret_folder, FOLDER_SIZE, "/tmp/baton-report-XXXXXX");
    return mkdtemp(ret_folder) ? 0 : cli_fail_environment(args, errno, "a folder below /tmp");
}

static void close_folder(const char *folder)
{
    file_remove_folder(folder);
}

/*
 * Runs this program with other words and its output in a file. Answers its exit status; the user
 * sees its messages.
 */
static int ask(const char *const words[], const char *output)
{
    pid_t pid;
    int status = 0;

    (void)fflush(NULL);
    pid = fork();
    if (pid == 0) {
        int file = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        if (file >= 0 && dup2(file, STDOUT_FILENO) >= 0)
            (void)execv("/proc/self/exe", (char *const *)(uintptr_t)words);
        _exit(CLI_ENVIRONMENT);
    }
    if (pid < 0)
        return CLI_ENVIRONMENT;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : CLI_ENVIRONMENT;
}

static int add(const struct cli_args *args, struct story *story, const char *path, const char *shown)
{
    struct input_error error;

    return cli_input_result(args, story_add(story, path, shown, &error), shown, &error);
}

static int add_picture(const struct cli_args *args, struct story *story, const char *path, const char *shown)
{
    struct input_error error;

    return cli_input_result(args, story_add_picture(story, path, shown, &error), shown, &error);
}

/* The charts that `baton study plot` wrote, in order of name. */
static int add_charts(const struct cli_args *args, const char *folder, const char *shown, struct story *story)
{
    struct dirent **entries = NULL;
    int n = scandir(folder, &entries, NULL, alphasort);
    int result = 0;

    for (int i = 0; i < n; i++) {
        size_t length = strlen(entries[i]->d_name);
        char path[PATH_SIZE];

        if (!result && length > 4 && strcmp(entries[i]->d_name + length - 4, ".svg") == 0 &&
            snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name) < PATH_SIZE &&
            story->n_inputs < STORY_MAX_INPUTS)
            result = add_picture(args, story, path, shown);
        free(entries[i]);
    }
    free(entries);
    return result;
}

int report_add_study(const struct cli_args *args, const char *path, struct story *story)
{
    char folder[FOLDER_SIZE];
    char ranks[PATH_SIZE];
    char charts[PATH_SIZE];
    char said[PATH_SIZE];
    int result = open_folder(args, folder);

    if (result)
        return result;
    (void)snprintf(ranks, sizeof ranks, "%s/ranks.json", folder);
    (void)snprintf(charts, sizeof charts, "%s/charts", folder);
    (void)snprintf(said, sizeof said, "%s/said", folder);
    result = ask(
        (const char *const[]){"baton", "study", "plot", "--db", path, "-o", charts, "--limit", CHARTS, NULL},
        said);
    /* A study of planning policies has curves but no ranking: then only the curves are added. */
    if (!result &&
        ask((const char *const[]){"baton", "study", "rank", "--db", path, "--json", NULL}, ranks) == 0)
        result = add(args, story, ranks, path);
    if (!result)
        result = add_charts(args, charts, path, story);
    close_folder(folder);
    return result;
}

int report_add_daemon(const struct cli_args *args, const char *socket, struct story *story)
{
    static const char *const what[] = {"trace", "status"};
    char folder[FOLDER_SIZE];
    char found[SOCKET_PATH_SIZE];
    int result = monitor_find(socket, found); /* here, so that the message names this command */

    result = result ? monitor_fail_absent(args, socket, result) : open_folder(args, folder);
    if (result)
        return result;
    for (size_t i = 0; i < 2 && !result; i++) {
        char path[PATH_SIZE];
        char said[PATH_SIZE];
        const char *words[8] = {"baton", what[i]};
        size_t n = 2;

        (void)snprintf(path, sizeof path, "%s/%s.json", folder, what[i]);
        (void)snprintf(said, sizeof said, "%s/said", folder);
        if (i == 0) {
            words[n++] = "-o";
            words[n++] = path;
        } else {
            words[n++] = "--json";
        }
        if (socket) {
            words[n++] = "--socket";
            words[n++] = socket;
        }
        result = ask(words, i == 0 ? said : path);
        if (!result)
            result = add(args, story, path, i == 0 ? "the daemon's recent past" : "the daemon's state");
    }
    close_folder(folder);
    return result;
}
