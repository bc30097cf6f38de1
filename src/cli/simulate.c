/*
 * baton simulate: runs a task set in virtual time by the rules that batond enforces, and reports
 * the outcome.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/subcommand.h"
#include "cli/simulate_pictures.h"
#include "cli/task_lengths.h"
#include "model/plan.h"
#include "model/task_set.h"
#include "sim/search.h"
#include "sim/sim.h"
#include "sim/times.h"

#define DEFAULT_PERIODS  20  /* horizon: this many of the longest period */
#define DEFAULT_SEARCHES 200 /* runs of an adversarial search */
#define MAX_HORIZON_MS   1e9

enum release { RELEASE_PERIODIC, RELEASE_SPORADIC, RELEASE_ADVERSARIAL };

/* Everything a run needs; freed together. */
struct simulation {
    struct task_set set;
    struct plan plan;
    struct sim_times times;
    struct topology topology;
    bool has_set, has_plan, has_times, has_topology;
    struct sim *sim;
    struct pictures *pictures;
    struct sim_options options;
    struct sim_run run;
    enum release release;
    uint64_t seed;
    size_t searches;
    baton_nsec *offsets;
    struct sim_search search;
    struct sim_result result;
};

static void simulation_done(struct simulation *simulation)
{
    pictures_free(simulation->pictures);
    sim_search_done(&simulation->search);
    sim_free(simulation->sim);
    free(simulation->offsets);
    if (simulation->has_topology)
        topology_done(&simulation->topology);
    if (simulation->has_times)
        sim_times_done(&simulation->times);
    if (simulation->has_plan)
        plan_done(&simulation->plan);
    if (simulation->has_set)
        task_set_done(&simulation->set);
}

static int read_files(const struct cli_args *args, struct simulation *simulation)
{
    const char *path = args->positional[0];
    const char *plan = cli_value(args, "plan", NULL);
    const char *times = cli_value(args, "times", NULL);
    const char *topology = cli_value(args, "topology", NULL);
    struct input_error error;
    const char *profile;
    int result;

    if (plan) {
        result = plan_read_file(plan, &simulation->plan, &error);
        if (result)
            return cli_input_result(args, result, plan, &error);
        simulation->has_plan = true;
    }
    profile = cli_value(args, "profile", plan ? simulation->plan.profile : "priority");
    result = task_lengths_read(args, path, strcmp(profile, "gpusync") == 0, &simulation->set);
    if (result)
        return result;
    simulation->has_set = true;
    if (times) {
        result = sim_times_read_file(times, &simulation->set, &simulation->times, &error);
        if (result)
            return cli_input_result(args, result, times, &error);
        simulation->has_times = true;
    }
    if (topology) {
        result = topology_read_file(topology, &simulation->topology, &error);
        if (result)
            return cli_input_result(args, result, topology, &error);
        simulation->has_topology = true;
    }
    return 0;
}

/* --offset NAME=MS, any number of times. */
static int read_offsets(const struct cli_args *args, struct simulation *simulation)
{
    const char *text;

    simulation->offsets = calloc(simulation->set.n_tasks, sizeof *simulation->offsets);
    if (!simulation->offsets)
        return cli_fail_environment(args, ENOMEM, "offsets");
    for (size_t i = 0; (text = cli_nth_value(args, "offset", i)) != NULL; i++) {
        const char *equals = strrchr(text, '=');
        size_t t = 0;

        if (!equals || parse_duration(equals + 1, NSEC_PER_MS, &simulation->run.horizon))
            return cli_fail_usage(args, "--offset: expected NAME=MS, found '%s'", text);
        while (t < simulation->set.n_tasks &&
               (strlen(simulation->set.tasks[t].name) != (size_t)(equals - text) ||
                memcmp(simulation->set.tasks[t].name, text, (size_t)(equals - text)) != 0))
            t++;
        if (t == simulation->set.n_tasks)
            return cli_fail_usage(args, "--offset: expected the name of a task, found '%s'", text);
        if (simulation->run.horizon < 0)
            return cli_fail_usage(args, "--offset: expected a time that is not negative, found '%s'", text);
        simulation->offsets[t] = simulation->run.horizon;
    }
    simulation->run.offsets = simulation->offsets;
    return 0;
}

static int read_numbers(const struct cli_args *args, struct simulation *simulation)
{
    double horizon_ms = 0;
    long long seed = 1;
    long long searches = DEFAULT_SEARCHES;
    baton_nsec longest = 0;
    int result = cli_double(args, "horizon", 1e-6, MAX_HORIZON_MS, &horizon_ms);

    if (!result)
        result = cli_int(args, "seed", 0, INT64_MAX, &seed);
    if (!result)
        result = cli_int(args, "searches", 1, 1000000, &searches);
    if (result)
        return result;
    for (size_t i = 0; i < simulation->set.n_tasks; i++) {
        if (simulation->set.tasks[i].period > longest)
            longest = simulation->set.tasks[i].period;
    }
    simulation->run.horizon =
        horizon_ms > 0 ? (baton_nsec)(horizon_ms * (double)NSEC_PER_MS) : DEFAULT_PERIODS * longest;
    simulation->run.seed = simulation->seed = (uint64_t)seed;
    simulation->searches = (size_t)searches;
    return 0;
}

/*
 * Names from the tables of sched/profile.h. Rules that are not given follow from the plan, then
 * from the profile.
 */
static int read_rules(const struct cli_args *args, struct simulation *simulation)
{
    const char *profile =
        cli_value(args, "profile", simulation->has_plan ? simulation->plan.profile : "priority");
    struct sim_options *options = &simulation->options;
    int index = sched_profile_find(profile);
    const char *policy;
    const char *lock = cli_value(args, "lock", "auto");

    if (index < 0)
        return cli_fail_usage(args, "--profile: expected " SCHED_PROFILE_NAMES ", found '%s'", profile);
    options->profile = (enum sched_profile_id)index;
    policy = cli_value(args, "policy", sched_profiles[index].tokens ? "fair-lateness" : "fixed");
    index = sched_policy_find(policy);
    if (index < 0)
        return cli_fail_usage(args, "--policy: expected " SCHED_POLICY_NAMES ", found '%s'", policy);
    options->policy = (enum sched_policy_id)index;
    index = strcmp(lock, "auto") == 0 ? SCHED_LOCKS : sched_lock_find(lock);
    if (index < 0)
        return cli_fail_usage(args, "--lock: expected auto|" SCHED_LOCK_NAMES ", found '%s'", lock);
    options->lock = (enum sched_lock_id)index;
    return 0;
}

static int read_options(const struct cli_args *args, struct simulation *simulation)
{
    size_t release = RELEASE_PERIODIC;
    size_t execution = 0;
    size_t mode = 0;
    int result = read_offsets(args, simulation);

    if (!result)
        result = read_numbers(args, simulation);
    if (!result)
        result = read_rules(args, simulation);
    if (!result)
        result = cli_choice(args, "release", &release);
    if (!result)
        result = cli_choice(args, "execution", &execution);
    if (!result)
        result = cli_choice(args, "mode", &mode);
    if (result)
        return result;
    if (simulation->has_plan && cli_has(args, "mode"))
        return cli_fail_usage(args, "--plan says the mode of each task; leave out --mode");
    simulation->release = (enum release)release;
    simulation->run.sporadic = release == RELEASE_SPORADIC;
    simulation->run.random_execution = execution == 1;
    simulation->options.multi = mode == 1;
    simulation->options.overheads = cli_has(args, "overheads");
    if (simulation->options.overheads && !simulation->set.platform.has_overheads)
        return cli_fail_usage(args, "--overheads: %s gives no overhead set", args->positional[0]);
    simulation->options.set = &simulation->set;
    simulation->options.plan = simulation->has_plan ? &simulation->plan : NULL;
    simulation->options.topology = simulation->has_topology ? &simulation->topology : NULL;
    simulation->options.times = simulation->has_times ? &simulation->times : NULL;
    return 0;
}

static int make_sim(const struct cli_args *args, struct simulation *simulation)
{
    const char *reason = NULL;
    size_t task = 0;
    int result = sim_new(&simulation->options, &simulation->sim, &reason, &task);

    if (result == SIM_UNSUPPORTED)
        return cli_fail_usage(args, "%s: task '%s': %s", args->positional[0],
                              simulation->set.tasks[task].name, reason);
    if (result == -EINVAL)
        return cli_fail_usage(args, "%s: more engines than %d", args->positional[0], SCHED_MAX_ENGINES);
    if (result)
        return cli_fail_environment(args, result, "%s", args->positional[0]);
    return 0;
}

/* Runs. An adversarial search ends with its worst run, which is the one drawn. */
static int run_it(const struct cli_args *args, struct simulation *simulation)
{
    const char *trace = cli_value(args, "trace", NULL);
    const char *gantt = cli_value(args, "gantt", NULL);
    struct sim_result *result = &simulation->result;
    int failed = 0;

    if (simulation->release == RELEASE_ADVERSARIAL) {
        failed = sim_search(simulation->sim, simulation->searches, simulation->run.horizon,
                            simulation->run.seed, &simulation->search);
        if (failed)
            return cli_fail_environment(args, failed, "search");
        simulation->run = simulation->search.worst;
    }
    if (trace || gantt)
        failed = pictures_new(&simulation->set, sim_core(simulation->sim), trace != NULL, gantt != NULL,
                              &simulation->pictures);
    if (failed)
        return cli_fail_environment(args, failed, "trace");
    if (simulation->release != RELEASE_ADVERSARIAL || simulation->pictures)
        sim_run(simulation->sim, &simulation->run,
                simulation->pictures ? pictures_observer(simulation->pictures) : NULL, result);
    if (simulation->release == RELEASE_ADVERSARIAL)
        *result = (struct sim_result){.tasks = simulation->search.tasks,
                                      .n_tasks = simulation->set.n_tasks,
                                      .events = simulation->search.events,
                                      .yields = simulation->search.yields,
                                      .inheritances = simulation->search.inheritances,
                                      .preemptions = simulation->search.preemptions,
                                      .end = simulation->run.horizon};
    return 0;
}

static int write_pictures(const struct cli_args *args, struct simulation *simulation)
{
    const char *trace = cli_value(args, "trace", NULL);
    const char *gantt = cli_value(args, "gantt", NULL);
    baton_nsec cut_at = -1;
    int result = 0;

    if (trace)
        result = pictures_write_trace(simulation->pictures, trace);
    if (result)
        return cli_fail_environment(args, result, "%s", trace);
    if (gantt)
        result = pictures_write_gantt(simulation->pictures, gantt, simulation->run.horizon, &cut_at);
    if (result)
        return cli_fail_environment(args, result, "%s", gantt);
    if (cut_at >= 0)
        (void)fprintf(stderr,
                      "baton simulate: %s ends at %.3f ms, where the picture is full; see --horizon\n", gantt,
                      nsec_to_ms(cut_at));
    return 0;
}

static baton_nsec bound_of(const struct simulation *simulation, size_t task)
{
    const struct plan_task *planned =
        simulation->has_plan ? plan_find(&simulation->plan, simulation->set.tasks[task].name) : NULL;

    return planned ? planned->bound : -1;
}

static size_t count_exceeded(const struct simulation *simulation)
{
    size_t n = 0;

    for (size_t i = 0; i < simulation->set.n_tasks; i++) {
        baton_nsec bound = bound_of(simulation, i);

        n += bound >= 0 && simulation->result.tasks[i].max_response > bound;
    }
    return n;
}

static json_t *spread(const struct quantiles *quantiles)
{
    return json_pack("{s:f, s:f, s:f}", "mean", quantiles_mean(quantiles) / 1e6, "p99",
                     nsec_to_ms(quantiles_at(quantiles, 0.99)), "max", nsec_to_ms(quantiles->max));
}

static json_t *task_json(const struct simulation *simulation, size_t i)
{
    const struct sim_task_result *result = &simulation->result.tasks[i];
    const struct task *task = &simulation->set.tasks[i];
    baton_nsec bound = bound_of(simulation, i);
    json_t *object =
        json_pack("{s:s, s:I, s:f, s:f, s:f, s:I, s:I, s:f, s:o?, s:o, s:o}", "name", task->name, "jobs",
                  (json_int_t)result->jobs, "max_response_ms", nsec_to_ms(result->max_response),
                  "p99_response_ms", nsec_to_ms(quantiles_at(&result->response, 0.99)), "mean_response_ms",
                  quantiles_mean(&result->response) / 1e6, "misses", (json_int_t)result->misses, "unfinished",
                  (json_int_t)result->unfinished, "deadline_ms", nsec_to_ms(task->deadline), "bound_ms",
                  bound >= 0 ? json_real(nsec_to_ms(bound)) : json_null(), "pending_ms",
                  spread(&result->pending), "occupying_ms", spread(&result->occupying));
    double jobs = result->jobs ? (double)result->jobs : 1;

    if (object) {
        json_object_set_new(object, "compute_occupying_ms", json_real(nsec_to_ms(result->compute) / jobs));
        json_object_set_new(object, "copy_occupying_ms", json_real(nsec_to_ms(result->copy) / jobs));
        if (simulation->options.profile == PROFILE_GPUSYNC)
            json_object_set_new(object, "max_ahead", json_integer(result->max_ahead));
    }
    return object;
}

static int print_json(const struct cli_args *args, const struct simulation *simulation)
{
    const struct sim_result *result = &simulation->result;
    const struct sched_config *config = sched_core_config(sim_core(simulation->sim));
    json_t *tasks = json_array();
    json_t *answer;

    for (size_t i = 0; i < simulation->set.n_tasks; i++)
        json_array_append_new(tasks, task_json(simulation, i));
    answer = json_pack(
        "{s:s, s:s, s:o, s:f, s:I, s:I, s:I, s:I, s:I, s:I}", "profile", sched_profiles[config->profile].name,
        "policy", sched_policies[config->policy].name, "tasks", tasks, "horizon_ms", nsec_to_ms(result->end),
        "events", (json_int_t)result->events, "yields", (json_int_t)result->yields, "inheritances",
        (json_int_t)result->inheritances, "preemptions", (json_int_t)result->preemptions, "bounds_exceeded",
        (json_int_t)count_exceeded(simulation), "seed", (json_int_t)simulation->seed);
    if (answer && config->profile == PROFILE_GPUSYNC)
        json_object_set_new(answer, "lock", json_string(sched_locks[config->lock].name));
    if (answer && simulation->release == RELEASE_ADVERSARIAL) {
        json_object_set_new(answer, "searches", json_integer((json_int_t)simulation->searches));
        json_object_set_new(answer, "worst_task",
                            json_string(simulation->set.tasks[simulation->search.worst_task].name));
    }
    if (!answer)
        return cli_fail_environment(args, ENOMEM, "JSON");
    json_dumpf(answer, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(answer);
    return 0;
}

static void print_text(const struct simulation *simulation)
{
    const struct sim_result *result = &simulation->result;
    const struct sched_config *config = sched_core_config(sim_core(simulation->sim));

    printf("profile %s, policy %s", sched_profiles[config->profile].name,
           sched_policies[config->policy].name);
    if (config->profile == PROFILE_GPUSYNC)
        printf(", lock %s", sched_locks[config->lock].name);
    if (simulation->release == RELEASE_ADVERSARIAL)
        printf(", %zu runs", simulation->searches);
    printf(", %.3f ms\n\n%-20s %8s %7s %10s %10s %10s %10s %10s %10s\n", nsec_to_ms(result->end), "task",
           "jobs", "misses", "max ms", "p99 ms", "mean ms", "pending", "occupying", "bound");
    for (size_t i = 0; i < simulation->set.n_tasks; i++) {
        const struct sim_task_result *task = &result->tasks[i];
        baton_nsec bound = bound_of(simulation, i);
        char text[32] = "-";

        if (bound >= 0)
            (void)snprintf(text, sizeof text, "%.3f", nsec_to_ms(bound));
        printf("%-20s %8llu %7llu %10.3f %10.3f %10.3f %10.3f %10.3f %10s%s\n", simulation->set.tasks[i].name,
               (unsigned long long)task->jobs, (unsigned long long)task->misses,
               nsec_to_ms(task->max_response), nsec_to_ms(quantiles_at(&task->response, 0.99)),
               quantiles_mean(&task->response) / 1e6, quantiles_mean(&task->pending) / 1e6,
               quantiles_mean(&task->occupying) / 1e6, text,
               bound >= 0 && task->max_response > bound ? "  EXCEEDED" : "");
    }
    printf("\n%llu events, %llu yields, %llu inheritances, %llu preemptions\n",
           (unsigned long long)result->events, (unsigned long long)result->yields,
           (unsigned long long)result->inheritances, (unsigned long long)result->preemptions);
    if (simulation->release == RELEASE_ADVERSARIAL) {
        printf("worst run, by response / deadline (%s: %.3f):",
               simulation->set.tasks[simulation->search.worst_task].name, simulation->search.worst_ratio);
        for (size_t i = 0; i < simulation->set.n_tasks; i++)
            printf(" --offset %s=%.6f", simulation->set.tasks[i].name,
                   nsec_to_ms(simulation->search.worst_offsets[i]));
        putchar('\n');
    }
}

static int run(const struct cli_args *args)
{
    struct simulation simulation = {0};
    int result = read_files(args, &simulation);

    if (!result)
        result = read_options(args, &simulation);
    if (!result)
        result = cli_check_output(args, cli_value(args, "trace", NULL));
    if (!result)
        result = cli_check_output(args, cli_value(args, "gantt", NULL));
    if (!result)
        result = make_sim(args, &simulation);
    if (!result)
        result = run_it(args, &simulation);
    if (!result)
        result = write_pictures(args, &simulation);
    if (!result && cli_has(args, "json"))
        result = print_json(args, &simulation);
    else if (!result)
        print_text(&simulation);
    if (!result && count_exceeded(&simulation))
        result = CLI_NO;
    simulation_done(&simulation);
    return result;
}

static const struct cli_option options[] = {
    {"plan", 0, "PLAN", "priorities, modes, clusters and bounds; a bound exceeded is exit 1"},
    {"horizon", 0, "MS", "how long to simulate (default: 20 of the longest period)"},
    {"seed", 0, "N", "of everything random (default 1)"},
    {"release", 0, "periodic|sporadic|adversarial", "when jobs come; adversarial: search for bad offsets"},
    {"searches", 0, "N", "runs of an adversarial search (default 200)"},
    {"offset", 0, "NAME=MS", "first release of a task; any number of times"},
    {"execution", 0, "worst|random", "how long jobs take"},
    {"times", 0, "FILE", "execution times of a trace, task by task and job by job"},
    {"topology", 0, "FILE", "copies with `bytes` share these links instead of taking their ms"},
    {"mode", 0, "single|multi", "without a plan: kernels on one GPU, or on all where lengths are given"},
    {"profile", 0, SCHED_PROFILE_NAMES, "which rules run (default: the plan's, else priority)"},
    {"policy", 0, SCHED_POLICY_NAMES, "how jobs are ranked (default: fixed; gpusync: fair-lateness)"},
    {"lock", 0, "auto|" SCHED_LOCK_NAMES, "token lock of the profile gpusync"},
    {"overheads", 0, NULL, "charge the platform's overhead set"},
    {"trace", 0, "OUT.json", "write a trace for Perfetto or chrome://tracing"},
    {"gantt", 0, "FILE.svg", "draw the schedule"},
    {"json", 0, NULL, "print one JSON object"},
    {0},
};

const struct cli_command command_simulate = {
    .name = "simulate",
    .summary = "run a task set in virtual time, by the rules that batond enforces",
    .arguments = "FILE",
    .min_arguments = 1,
    .max_arguments = 1,
    .options = options,
    .example = "baton simulate examples/robot.yaml --release adversarial --gantt robot.svg",
    .run = run,
};
