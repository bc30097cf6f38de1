/* baton study run: runs a study alone, as a shard, or under mpirun. */
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_signals.h"
#include "cli/study/study.h"
#include "study/run/run_study.h"

#define MAX_JOBS 1024

static void on_signal(int signal)
{
    (void)signal;
    atomic_store(&cli_signals.stop, true);
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};

    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    /* at a file-size limit the write must fail as on a full disk, not kill the process */
    (void)signal(SIGXFSZ, SIG_IGN);
}

/* "i/n", i from 0. */
static int read_shard(const struct cli_args *args, struct study_run_options *options)
{
    const char *text = cli_value(args, "shard", "0/1");
    char *end;
    unsigned long shard;
    unsigned long shards;

    errno = 0;
    shard = strtoul(text, &end, 10);
    if (end == text || *end != '/')
        return cli_fail_usage(args, "--shard: expected i/n with 0 <= i < n, found %s", text);
    shards = strtoul(end + 1, &end, 10);
    if (*end || errno || shards == 0 || shards > 1000000 || shard >= shards || text[0] == '-')
        return cli_fail_usage(args, "--shard: expected i/n with 0 <= i < n, found %s", text);
    options->shard = (unsigned)shard;
    options->shards = (unsigned)shards;
    return 0;
}

static void show_duration(double seconds, char ret_text[], size_t size)
{
    if (seconds < 90)
        (void)snprintf(ret_text, size, "%.0f s", seconds);
    else if (seconds < 5400)
        (void)snprintf(ret_text, size, "%.0f min", seconds / 60);
    else
        (void)snprintf(ret_text, size, "%.1f h", seconds / 3600);
}

static void show_progress(void *context, const struct study_run_state *state)
{
    double seconds = (double)state->elapsed / NSEC_PER_SEC;
    double gained = state->fraction - state->before;
    char left[32] = "?";

    (void)context;
    if (gained > 0)
        show_duration(seconds * (1 - state->fraction) / gained, left, sizeof left);
    (void)fprintf(stderr, "\r%5.1f %%  %llu points, %.0f sets/s, %s left \033[K", 100 * state->fraction,
                  (unsigned long long)state->points, seconds > 0 ? (double)state->tests / seconds : 0, left);
}

static int tell(const struct cli_args *args, const struct study_run_state *state, const char *path,
                int result)
{
    double seconds = (double)state->elapsed / NSEC_PER_SEC;
    double each = state->tests ? seconds * 1e6 / (double)state->tests : 0;

    if (cli_has(args, "json")) {
        json_t *answer = json_pack("{s:s, s:b, s:I, s:I, s:f, s:f, s:f}", "db", path, "finished", result == 0,
                                   "points", (json_int_t)state->points, "tests", (json_int_t)state->tests,
                                   "seconds", seconds, "us_per_test", each, "fraction", state->fraction);

        json_dumpf(answer, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
        putchar('\n');
        json_decref(answer);
    } else {
        printf("%s: %llu new points, %llu task sets tested in %.1f s (%.1f us each), %.1f %% done\n", path,
               (unsigned long long)state->points, (unsigned long long)state->tests, seconds, each,
               100 * state->fraction);
    }
    return result == 0 ? CLI_YES : CLI_ENVIRONMENT;
}

static int run_here(const struct cli_args *args, const struct study_spec *spec,
                    struct study_run_options *options)
{
    const char *path = cli_value(args, "db", NULL);
    struct study_run_state state = {0};
    struct store *store = NULL;
    bool terminal = isatty(STDERR_FILENO) && !cli_has(args, "json");
    int result = store_open_run(path, spec, &store);

    options->stop = &cli_signals.stop;
    options->progress = terminal ? show_progress : NULL;
    if (!result)
        result = study_run(spec, store, options, &state);
    if (terminal)
        (void)fputs("\r\033[K", stderr);
    if (result == -EINTR)
        (void)fprintf(stderr, "baton study run: stopped; the same command continues from here\n");
    else if (result) {
        result = study_fail(args, result, path, store);
        store_close(store);
        return result;
    }
    store_close(store);
    return tell(args, &state, path, result);
}

static int run_among_others(const struct cli_args *args, const struct study_spec *spec,
                            struct study_run_options *options)
{
    const struct study_transport *transport;
    char reason[512] = "";
    int status;

    if (transport_open(&transport, reason, sizeof reason))
        return cli_fail_environment(args, 0, "started by mpirun, but its library does not load: %s", reason);
    options->transport = transport;
    options->jobs = 1;
    if (transport->rank == 0)
        status = run_here(args, spec, options);
    else
        status = study_serve(spec, transport, &cli_signals.stop) ? CLI_ENVIRONMENT : CLI_YES;
    if (status != CLI_YES && !atomic_load(&cli_signals.stop)) {
        (void)fflush(stdout);
        transport->abort(status);
    }
    transport->done();
    return status;
}

static int run(const struct cli_args *args)
{
    struct study_run_options options = {0};
    struct input_error error;
    struct study_spec *spec;
    long long jobs = sysconf(_SC_NPROCESSORS_ONLN);
    int status = read_shard(args, &options);

    jobs = jobs < 1 ? 1 : jobs > MAX_JOBS ? MAX_JOBS : jobs;
    if (!status)
        status = cli_int(args, "jobs", 1, MAX_JOBS, &jobs);
    if (!status && !cli_has(args, "db"))
        status = cli_fail_usage(args, "expected --db FILE");
    if (!status && transport_wanted() && (cli_has(args, "jobs") || cli_has(args, "shard")))
        status = cli_fail_usage(args, "under mpirun its -n says how many work: no --jobs, no --shard");
    if (status)
        return status;
    spec = calloc(1, sizeof *spec);
    if (!spec)
        return cli_fail_environment(args, -ENOMEM, "study");
    status = cli_input_result(args, study_spec_read(args->positional[0], spec, &error), args->positional[0],
                              &error);
    if (!status) {
        options.jobs = (unsigned)jobs;
        catch_signals();
        status = transport_wanted() ? run_among_others(args, spec, &options) : run_here(args, spec, &options);
        study_spec_done(spec);
    }
    free(spec);
    return status;
}

const struct cli_command command_study_run = {
    .name = "study run",
    .summary = "compare configurations over thousands of random task sets",
    .arguments = "SPEC",
    .min_arguments = 1,
    .max_arguments = 1,
    .options = (const struct cli_option[]){STUDY_DB_OPTION,
                                           {"jobs", 'j', "N", "worker threads (default: one per CPU)"},
                                           {"shard", 0, "I/N",
                                            "only part I of N, counted from 0; see `study merge`"},
                                           {"json", 0, NULL, "print one JSON object"},
                                           {0}},
    .example = "baton study run examples/studies/quick.yaml --db quick.db",
    .run = run,
};
