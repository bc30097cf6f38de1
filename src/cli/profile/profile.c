/*
 * baton profile: runs an unmodified program by itself, finds its jobs, and writes its needs as a
 * task of a task set. The program runs under the layer and a daemon of its own (profile_run.c). The
 * layer records its jobs in a log; profile_log.c, align.c and task.c turn the log into the task.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/demangle.h"
#include "base/file.h"
#include "cli/subcommand.h"
#include "cli/profile/profile_run.h"
#include "cli/profile/task.h"
#include "client/program_name.h"
#include "wire/notice.h"

#define MAX_MERGED 64
#define MAX_GPUS   16
#define FEW_JOBS   30
#define MAX_RUNS   3 /* of a program that Linux throttles */
/* a kernel that runs whole for longer is reported, because other programs wait for it */
#define LONG_WHOLE NSEC_PER_MS

struct wishes {
    struct profile_run run;
    struct profile_wish task;
    unsigned gpus;
    const char *output;
    char default_name[65], default_output[256];
};

static int read_ms(const struct cli_args *args, const char *name, baton_nsec *ret_time)
{
    double ms = 0;
    int result = cli_double(args, name, 1e-3, 1e9, &ms);

    if (!result && ms > 0)
        *ret_time = (baton_nsec)(ms * 1e6 + 0.5);
    return result;
}

static int read_deadline(const struct cli_args *args, struct profile_wish *wish)
{
    wish->no_deadline = strcmp(cli_value(args, "deadline", ""), "none") == 0;
    return wish->no_deadline ? 0 : read_ms(args, "deadline", &wish->deadline);
}

static int read_wishes(const struct cli_args *args, struct wishes *wishes)
{
    long long jobs = 0;
    long long warm = 2;
    long long gpus = 1;
    size_t worst = 0;
    int result;

    *wishes = (struct wishes){.run.command = args->positional};
    if ((result = cli_int(args, "jobs", 1, 1000000, &jobs)) ||
        (result = cli_int(args, "warm", 0, 1000000, &warm)) ||
        (result = cli_int(args, "gpus", 1, MAX_GPUS, &gpus)) ||
        (result = cli_choice(args, "worst", &worst)) ||
        (result = read_ms(args, "period", &wishes->task.period)) ||
        (result = read_deadline(args, &wishes->task)))
        return result;
    if (args->n_positional == 0 && !cli_has(args, "merge"))
        return cli_fail_usage(args, "expected a command to run, or --merge");
    if (args->n_positional)
        program_name(args->positional, wishes->default_name, sizeof wishes->default_name);
    wishes->task.name = cli_value(args, "name", wishes->default_name);
    wishes->task.of_worst_job = worst == 1;
    wishes->run.name = wishes->task.name;
    wishes->run.device = cli_value(args, "device", NULL);
    wishes->run.jobs = (size_t)jobs;
    wishes->run.warm = (size_t)warm;
    wishes->gpus = (unsigned)gpus;
    (void)snprintf(wishes->default_output, sizeof wishes->default_output, "%s.yaml", wishes->task.name);
    wishes->output = cli_value(args, "output", args->n_positional ? wishes->default_output : NULL);
    if (!wishes->output)
        return cli_fail_usage(args, "expected -o FILE for the merged set");
    return cli_check_output(args, wishes->output);
}

/* --- what to say --- */

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static void say_doubts(const struct profile_task *task, const struct profile_outcome *outcome)
{
    if (task->other_shapes)
        (void)fprintf(
            stderr,
            "  %zu of %zu jobs had other commands and are not in the numbers; the longest took %.3f ms\n",
            task->other_shapes, task->jobs + task->other_shapes, nsec_to_ms(task->other_longest));
    if (outcome->log.incomplete)
        (void)fprintf(stderr, "  %zu jobs were not recorded whole\n", outcome->log.incomplete);
    if (outcome->programs > 1)
        (void)fprintf(stderr, "  %zu processes used GPUs; this is the one with most jobs\n",
                      outcome->programs);
    if (task->waits > 1)
        (void)fprintf(
            stderr,
            "  the program waits %zu times per job; baton_job_begin() and baton_job_end() would say "
            "where jobs begin and end\n",
            task->waits);
    if (task->overlaps)
        (void)fprintf(
            stderr,
            "  commands overlapped %zu times; a task is a chain, so it is longer than its jobs were\n",
            task->overlaps);
    if (task->jobs < FEW_JOBS)
        (void)fprintf(stderr, "  only %zu job%s: the worst case may be far longer\n", task->jobs,
                      plural(task->jobs));
    for (size_t i = 0; i < task->n_steps; i++) {
        const struct profile_step *step = &task->steps[i];

        if (step->kind == SEGMENT_KERNEL && !step->cut && step->worst > LONG_WHOLE) {
            const struct notice_words *words = notice_find(step->unsliced);
            char readable[DEMANGLE_SIZE];

            demangle_kernel(step->kernel, readable, sizeof readable);
            (void)fprintf(stderr, "  kernel %s runs whole (%s): others wait up to %.3f ms for it; %s\n",
                          readable, words ? words->sentence : "no reason seen", nsec_to_ms(step->worst),
                          words ? words->advice : "profile it again");
        }
    }
}

static double mean_ms(const struct profile_task *task)
{
    return nsec_to_ms(task->sum) / (double)task->jobs;
}

/* Both ways to count the worst case, if they differ. */
static void say_worst(const struct wishes *wishes, const struct profile_task *task)
{
    baton_nsec sum = 0;

    for (size_t i = 0; i < task->n_steps; i++)
        sum += task->steps[i].worst;
    if (sum > task->worst)
        (void)fprintf(stderr, "  the worst of each segment sum up to %.3f ms; lengths are %s\n",
                      nsec_to_ms(sum),
                      wishes->task.of_worst_job ? "those of the worst job (--worst job)"
                                                : "these (--worst job takes those of the worst job)");
}

/* tasks[k] and outcomes[k]: on k + 1 GPUs. */
static void say(const struct wishes *wishes, const struct profile_task tasks[],
                const struct profile_outcome outcomes[])
{
    const struct profile_task *task = &tasks[0];

    (void)fprintf(
        stderr, "%s: %zu job%s (%s; the first %zu left out), response best %.3f mean %.3f worst %.3f ms\n",
        wishes->task.name, task->jobs, plural(task->jobs), task->explicit_jobs ? "explicit" : "inferred",
        task->warm, nsec_to_ms(task->best), mean_ms(task), nsec_to_ms(task->worst));
    say_worst(wishes, task);
    (void)fprintf(stderr, "  the first job took %.3f ms, with all that happens once\n",
                  nsec_to_ms(task->first));
    if (!wishes->task.period && task->jobs > 1)
        (void)fprintf(stderr,
                      "  period inferred: %.3f ms, the median; two releases came as close as %.3f ms. Say "
                      "--period if you know it\n",
                      nsec_to_ms(task->period), nsec_to_ms(task->shortest));
    say_doubts(task, &outcomes[0]);
    for (unsigned k = 1; k < wishes->gpus; k++)
        (void)fprintf(stderr, "  on %u GPUs: %zu jobs, response best %.3f mean %.3f worst %.3f ms\n", k + 1,
                      tasks[k].jobs, nsec_to_ms(tasks[k].best), mean_ms(&tasks[k]),
                      nsec_to_ms(tasks[k].worst));
}

/* --- the set --- */

static int own_platform(unsigned gpus, struct task_set *set)
{
    struct document document;
    struct input_error error;
    cpu_set_t cpus;
    char text[64];
    int result;

    CPU_ZERO(&cpus);
    (void)sched_getaffinity(0, sizeof cpus, &cpus);
    (void)snprintf(text, sizeof text, "{cpus: %d, gpus: %u}", CPU_COUNT(&cpus) > 0 ? CPU_COUNT(&cpus) : 1,
                   gpus);
    result = document_parse("platform", text, strlen(text), &document, &error);
    if (result)
        return -EINVAL;
    result = platform_read(&document, document.root, &set->arena, &set->platform, &error);
    document_done(&document);
    return result ? -EINVAL : 0;
}

/* Reads every --merge file; the first one's platform is the set's. */
static int read_merged(const struct cli_args *args, struct task_set merged[MAX_MERGED], size_t *ret_n,
                       struct task_set *set)
{
    const char *name = NULL;
    const char *path;

    while ((path = cli_nth_value(args, "merge", *ret_n))) {
        struct input_error error;
        int result;

        if (*ret_n == MAX_MERGED)
            return cli_fail_usage(args, "--merge: expected at most %d files", MAX_MERGED);
        result = cli_input_result(args, task_set_read_file(path, &merged[*ret_n], &error), path, &error);
        if (result)
            return result;
        (*ret_n)++;
        result = profile_set_add(set, merged[*ret_n - 1].tasks, merged[*ret_n - 1].n_tasks, false, &name);
        if (result == -EEXIST)
            return cli_fail_usage(args, "%s: expected each task once, found '%s' again", path, name);
        if (result)
            return cli_fail_environment(args, result, "%s", path);
    }
    if (*ret_n)
        set->platform = merged[0].platform;
    return 0;
}

static int write_set(const struct cli_args *args, const struct wishes *wishes, const struct task_set *set)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    int result;

    if (!out)
        return cli_fail_environment(args, ENOMEM, "%s", wishes->output);
    task_set_print(set, out);
    (void)fclose(out);
    result = file_write_atomic(wishes->output, text, size);
    free(text);
    if (result)
        return cli_fail_environment(args, result, "%s", wishes->output);
    if (strcmp(wishes->output, "-") != 0) {
        (void)fprintf(stderr, "%s: %zu task%s; next: baton plan ", wishes->output, set->n_tasks,
                      set->n_tasks == 1 ? "" : "s");
        cli_print_word(wishes->output);
        (void)fputs(" -o plan.yaml\n", stderr);
    }
    return 0;
}

/* --- the runs --- */

/* Repeats a run that real-time throttling falsified, and reports what remains. 0 or -errno. */
static int run_unthrottled(const struct profile_place *place, struct wishes *wishes,
                           struct profile_outcome *ret_outcome)
{
    int result = 0;

    for (wishes->run.repeated = 0; wishes->run.repeated < MAX_RUNS; wishes->run.repeated++) {
        bool last = wishes->run.repeated + 1 == MAX_RUNS;

        result = profile_run(place, &wishes->run, ret_outcome);
        if (result || ret_outcome->throttled == 0 || ret_outcome->status)
            break;
        (void)fprintf(stderr,
                      "baton profile: Linux stopped the program's real-time threads for %.1f ms in all "
                      "(kernel.sched_rt_runtime_us); %s\n",
                      nsec_to_ms(ret_outcome->throttled),
                      last ? "the numbers include that: measure without SCHED_FIFO, or set it to -1 meanwhile"
                           : "measuring again");
        if (last)
            break;
        profile_log_done(&ret_outcome->log);
    }
    return result;
}

/*
 * Fewer GPUs than that would give lengths that were not measured on so many. batond knows every GPU
 * that the program named.
 */
static int check_gpus(const struct cli_args *args, const struct profile_place *place, unsigned gpus)
{
    unsigned there;
    int result = profile_place_gpus(place, &there);

    if (result)
        return cli_fail_environment(args, result, "batond");
    if (there >= gpus)
        return 0;
    return cli_fail_environment(args, 0, "--gpus: expected at most %u, the GPUs that are there, found %u",
                                there, gpus);
}

/* One run per number of GPUs. *ret_status is the program's status in the first run that fails. */
static int measure(const struct cli_args *args, struct wishes *wishes, struct profile_outcome outcomes[],
                   struct profile_task tasks[], int *ret_status)
{
    struct profile_place place;
    int result = profile_place_open(&place);

    if (result)
        return cli_fail_environment(args, result, "no batond of its own");
    for (unsigned k = 0; k < wishes->gpus && !result && *ret_status == 0; k++) {
        wishes->run.gpus = k + 1;
        result = run_unthrottled(&place, wishes, &outcomes[k]);
        *ret_status = outcomes[k].status;
        if (!result && *ret_status == 0 && k && (result = check_gpus(args, &place, k + 1)))
            break;
        if (result == 0)
            result = profile_align(&outcomes[k].log, wishes->run.warm, &tasks[k]);
        if (result == -ENODATA && *ret_status) {
            result = 0; /* it has no jobs because it failed; run() reports that */
        } else if (result == -ENODATA) {
            (void)fprintf(
                stderr,
                "baton profile: expected more than %zu jobs with OpenCL or CUDA (--warm leaves the first %zu "
                "out), found %zu; nothing written\n",
                wishes->run.warm, wishes->run.warm, outcomes[k].log.n_jobs);
            result = CLI_NO;
        } else if (result) {
            result = cli_fail_environment(args, result, "the log of %s", wishes->task.name);
        }
    }
    profile_place_done(&place);
    return result;
}

static int add_measured(const struct cli_args *args, const struct wishes *wishes,
                        const struct profile_task tasks[], struct task_set *set)
{
    const char *unused = NULL;
    struct task task;
    int result;

    if (set->platform.gpus < wishes->gpus)
        return cli_fail_usage(args,
                              "--gpus: expected at most %u, the GPUs of the merged set's platform, found %u",
                              set->platform.gpus, wishes->gpus);
    result = profile_task_make(tasks, wishes->gpus, &wishes->task, &set->arena, &task);
    if (result == -ENODATA)
        return cli_fail_usage(args, "one job alone has no period: say --period");
    if (result == -EXDEV)
        return cli_fail_usage(
            args, "on several GPUs the jobs have other commands than on one: multi_ms is not written");
    if (!result)
        result = profile_set_add(set, &task, 1, true, &unused);
    return result ? cli_fail_environment(args, result, "the task") : 0;
}

static int run(const struct cli_args *args)
{
    struct profile_outcome outcomes[MAX_GPUS] = {0};
    struct profile_task tasks[MAX_GPUS] = {0};
    struct task_set merged[MAX_MERGED];
    struct task_set set = {0};
    struct wishes wishes;
    size_t n_merged = 0;
    int status = 0;
    int result = read_wishes(args, &wishes);

    if (result)
        return args->n_positional ? CLI_OWN_FAILURE : result;
    arena_init(&set.arena, 0);
    if (own_platform(wishes.gpus, &set) < 0)
        result = cli_fail_environment(args, EINVAL, "the platform");
    if (!result)
        result = read_merged(args, merged, &n_merged, &set);
    if (!result && args->n_positional)
        result = measure(args, &wishes, outcomes, tasks, &status);
    if (!result && args->n_positional && status == 0) {
        wishes.task.incomplete = outcomes[0].log.incomplete;
        say(&wishes, tasks, outcomes);
        result = add_measured(args, &wishes, tasks, &set);
    }
    if (!result && status)
        (void)fprintf(stderr, "baton profile: the program failed (exit %d); nothing written\n", status);
    else if (!result)
        result = write_set(args, &wishes, &set);
    for (unsigned k = 0; k < MAX_GPUS; k++) {
        profile_task_done(&tasks[k]);
        profile_log_done(&outcomes[k].log);
    }
    while (n_merged)
        task_set_done(&merged[--n_merged]);
    arena_done(&set.arena);
    if (result)
        return args->n_positional ? CLI_OWN_FAILURE : result;
    return status;
}

static const struct cli_option options[] = {
    {"jobs", 0, "N", "end the program after so many jobs; otherwise it ends by itself"},
    {"warm", 0, "N", "leave out the first N jobs, which build kernels and touch memory; default 2"},
    {"name", 0, "S", "the task's name; otherwise the file name of the program or script"},
    {"period", 0, "MS", "the task's period; otherwise inferred from the releases, and marked so"},
    {"deadline", 0, "MS|none",
     "the task's deadline, or none: its jobs may end at any time; otherwise its period"},
    {"worst", 0, "segments|job",
     "lengths are the worst of each segment (default), or those of the worst job together; the file has "
     "both"},
    {"gpus", 0, "N", "run the program again on 2, ..., N GPUs and write the lengths (multi_ms)"},
    {"device", 0, "cpu", "as with `baton run`: a CUDA program on CPU cores"},
    {"merge", 0, "FILE", "add this task set's tasks; may be given several times, and without a command"},
    {"output", 'o', "FILE", "where the task set goes; default NAME.yaml"},
    {0},
};

const struct cli_command command_profile = {
    .name = "profile",
    .summary = "measure a program's jobs and write them as a task",
    .arguments = "[-- COMMAND...]",
    .min_arguments = 0,
    .max_arguments = (size_t)-1,
    .takes_command = true,
    .options = options,
    .example = "baton profile --jobs 200 --period 33 -o tasks.yaml -- ./detector",
    .run = run,
};
