/*
 * baton batch calibrate: measure every route alone and in combination, and write a topology whose links reproduce them as far as a
 * graph can, with a look-up table for where it cannot (Batch, sec. 4.1 and 4.4).
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "baton/batch.h"
#include "cli/batch_measure.h"
#include "cli/batch_report.h"
#include "model/document.h"
#include "transfer/throughput.h"

#define MAX_DEVICES      16
#define MAX_ROUTES       (2 * MAX_DEVICES)
#define MAX_COMBINATIONS 1024
#define ALL_SUBSETS      4 /* up to so many routes every combination is measured */
#define SETUP_RUNS       101
#define NV_ASYNC_ENGINES 0x4007 /* CL_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT_NV */

struct combination {
    uint64_t routes;           /* bits: 2 * device + (1: out) */
    double median[MAX_ROUTES]; /* GB/s, by ascending bit */
    double lowest[MAX_ROUTES];
    size_t n;
    double graph; /* what the graph says of the sum */
};

struct calibration {
    const struct cli_args *args;
    struct batch_machine machine;
    size_t n_devices, n_routes;
    struct measured_route routes[MAX_ROUTES];
    struct combination *combinations; /* owned */
    size_t n_combinations;
    size_t repeat;
    baton_nsec window;
    int64_t bytes;
    struct topology topology; /* the result, read back */
    double change;            /* percent against the file that was there; NAN: none */
    char changed[64];
};

/* Bits of all routes in one direction. */
static uint64_t direction(size_t n_routes, bool out)
{
    uint64_t mask = 0;

    for (size_t r = out; r < n_routes; r += 2)
        mask |= UINT64_C(1) << r;
    return mask;
}

static void add_combination(struct calibration *it, uint64_t routes)
{
    for (size_t c = 0; c < it->n_combinations; c++) {
        if (it->combinations[c].routes == routes)
            return;
    }
    if (it->n_combinations == MAX_COMBINATIONS)
        return;
    it->combinations[it->n_combinations].routes = routes;
    it->combinations[it->n_combinations++].n = (size_t)__builtin_popcountll(routes);
}

/* All subsets of few routes; of many, each alone, each pair, each direction, and all. */
static void choose_combinations(struct calibration *it)
{
    uint64_t all = (UINT64_C(1) << it->n_routes) - 1;

    for (size_t a = 0; a < it->n_routes; a++)
        add_combination(it, UINT64_C(1) << a);
    for (size_t a = 0; a < it->n_routes; a++) {
        for (size_t b = a + 1; b < it->n_routes; b++)
            add_combination(it, UINT64_C(1) << a | UINT64_C(1) << b);
    }
    add_combination(it, direction(it->n_routes, false));
    add_combination(it, direction(it->n_routes, true));
    add_combination(it, all);
    for (uint64_t mask = 1; it->n_routes <= ALL_SUBSETS && mask <= all; mask++)
        add_combination(it, mask);
}

static int compare_double(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

static void show_progress(const struct calibration *it, size_t done, size_t all)
{
    static size_t shown;
    size_t percent = 100 * done / all;

    if (isatty(STDERR_FILENO))
        (void)fprintf(stderr, "\rcalibrating: %3zu %% of %zu combinations x %zu%s", percent,
                      it->n_combinations, it->repeat, done == all ? "\n" : "");
    else if (percent / 25 > shown / 25)
        (void)fprintf(stderr, "calibrating: %zu %%\n", percent);
    shown = percent;
}

/* Every combination `repeat` times, in turns, so that a disturbance does not hit all repetitions of one. */
static int measure_all(struct calibration *it)
{
    size_t all = it->n_combinations * it->repeat;
    double *samples = calloc(all, MAX_ROUTES * sizeof *samples);

    if (!samples)
        return cli_fail_environment(it->args, -ENOMEM, "memory");
    for (size_t k = 0; k < all; k++) {
        size_t c = k % it->n_combinations;
        size_t r = k / it->n_combinations;
        struct measured_route *together[MAX_ROUTES];
        size_t n = 0;
        cl_int error;

        for (size_t route = 0; route < it->n_routes; route++) {
            if (it->combinations[c].routes & (UINT64_C(1) << route))
                together[n++] = &it->routes[route];
        }
        error = measure_together(&it->machine, together, n, it->window,
                                 &samples[(c * it->repeat + r) * MAX_ROUTES]);
        if (error) {
            free(samples);
            return cli_fail_environment(it->args, -EIO, "a copy failed: %s", opencl_error_name(error));
        }
        show_progress(it, k + 1, all);
    }
    for (size_t c = 0; c < it->n_combinations; c++) {
        for (size_t i = 0; i < it->combinations[c].n; i++) {
            double sorted[1000];

            for (size_t r = 0; r < it->repeat; r++)
                sorted[r] = samples[(c * it->repeat + r) * MAX_ROUTES + i];
            qsort(sorted, it->repeat, sizeof *sorted, compare_double);
            it->combinations[c].median[i] = sorted[it->repeat / 2];
            it->combinations[c].lowest[i] = sorted[0];
        }
    }
    free(samples);
    return 0;
}

static double sum(const double values[], size_t n)
{
    double total = 0;

    for (size_t i = 0; i < n; i++)
        total += values[i];
    return total;
}

/* The most that was measured in one direction: what the host's side of the interconnect carries. */
static double shared_capacity(const struct calibration *it, bool out, bool lowest)
{
    double most = 0;

    for (size_t c = 0; c < it->n_combinations; c++) {
        const struct combination *combination = &it->combinations[c];

        if ((combination->routes & direction(it->n_routes, !out)) == 0)
            most = fmax(most, sum(lowest ? combination->lowest : combination->median, combination->n));
    }
    return most;
}

static unsigned count_engines(const struct calibration *it, size_t device)
{
    cl_uint engines = 2;

    if (it->machine.cl->clGetDeviceInfo(it->machine.devices[device].device, NV_ASYNC_ENGINES, sizeof engines,
                                        &engines, NULL) != CL_SUCCESS)
        return 2;
    return engines < 2 ? 1 : 2;
}

static void print_link(FILE *out, const char *from, const char *to, double gbps, double lowest)
{
    (void)fprintf(out, "  - {from: %s, to: %s, gbps: %.6g, lowest_gbps: %.6g}\n", from, to, gbps,
                  fmin(gbps, lowest));
}

static void print_rates(FILE *out, const char *key, const double rates[], size_t n)
{
    (void)fprintf(out, ", %s: ", key);
    for (size_t i = 0; i < n; i++)
        (void)fprintf(out, "%s%.6g", i ? ", " : "[", rates[i]);
    (void)fputc(']', out);
}

static void print_result(const struct calibration *it, baton_nsec setup, FILE *out)
{
    (void)fprintf(
        out,
        "# Written by baton batch calibrate: median and lowest of %zu measurements with %lld bytes each.\n",
        it->repeat, (long long)it->bytes);
    for (size_t d = 0; d < it->n_devices; d++)
        (void)fprintf(out, "# device %zu: %s\n", d, it->machine.devices[d].name);
    (void)fprintf(out, "setup_ms: %.4f\ngpus:\n", nsec_to_ms(setup));
    for (size_t d = 0; d < it->n_devices; d++)
        (void)fprintf(out, "  - {node: GPU%zu, engines: %u, device: %zu}\n", d, count_engines(it, d), d);
    (void)fputs("links: # GB/s\n", out);
    print_link(out, "MEM0", "HOST", shared_capacity(it, false, false), shared_capacity(it, false, true));
    print_link(out, "HOST", "MEM0", shared_capacity(it, true, false), shared_capacity(it, true, true));
    for (size_t r = 0; r < it->n_routes; r++) {
        const struct combination *alone = &it->combinations[r];
        char gpu[32];

        (void)snprintf(gpu, sizeof gpu, "GPU%zu", r / 2);
        print_link(out, r % 2 ? gpu : "HOST", r % 2 ? "HOST" : gpu, alone->median[0], alone->lowest[0]);
    }
    (void)fputs("measured: # exactly these transfers at once\n", out);
    for (size_t c = 0; c < it->n_combinations; c++) {
        const struct combination *combination = &it->combinations[c];
        const char *before = "[";

        if (combination->n < 2)
            continue;
        (void)fputs("  - {transfers: ", out);
        for (size_t r = 0; r < it->n_routes; r++) {
            if (!(combination->routes & (UINT64_C(1) << r)))
                continue;
            (void)fprintf(out, r % 2 ? "%s[GPU%zu, MEM0]" : "%s[MEM0, GPU%zu]", before, r / 2);
            before = ", ";
        }
        (void)fputc(']', out);
        print_rates(out, "gbps", combination->median, combination->n);
        print_rates(out, "lowest_gbps", combination->lowest, combination->n);
        (void)fputs("}\n", out);
    }
}

/* The result as text, and read back, which also checks it. */
static int make_result(struct calibration *it, baton_nsec setup, char **ret_text, size_t *ret_size)
{
    FILE *out = open_memstream(ret_text, ret_size);
    struct input_error error;
    int result;

    if (!out)
        return cli_fail_environment(it->args, -errno, "memory");
    print_result(it, setup, out);
    if (fclose(out) != 0)
        return cli_fail_environment(it->args, -ENOMEM, "memory");
    topology_done(&it->topology);
    result = topology_read("the result", *ret_text, *ret_size, &it->topology, &error);
    return cli_input_result(it->args, result, "the result", &error);
}

/* What the graph alone says of every combination. */
static int compute_graph(struct calibration *it)
{
    for (size_t c = 0; c < it->n_combinations; c++) {
        struct combination *combination = &it->combinations[c];
        struct batch_stream streams[MAX_ROUTES];
        size_t active[MAX_ROUTES];
        double rates[MAX_ROUTES];
        struct batch batch;
        size_t culprit;
        size_t n = 0;

        for (size_t r = 0; r < it->n_routes; r++) {
            char gpu[32];
            int memory = topology_node(&it->topology, "MEM0");
            int node;

            (void)snprintf(gpu, sizeof gpu, "GPU%zu", r / 2);
            node = topology_node(&it->topology, gpu);
            if (combination->routes & (UINT64_C(1) << r))
                streams[n++] = (struct batch_stream){.name = "",
                                                     .from = r % 2 ? node : memory,
                                                     .to = r % 2 ? memory : node,
                                                     .bytes = 1,
                                                     .gpu = -1};
        }
        if (batch_resolve(&it->topology, streams, n, NULL, &batch, &culprit))
            return cli_fail_environment(it->args, -EIO, "the graph of the result");
        for (size_t i = 0; i < n; i++)
            active[i] = i;
        throughput_graph(&batch, active, n, rates);
        combination->graph = sum(rates, n);
    }
    return 0;
}

/* How long a batch takes in which there is next to nothing to do: a page up and an empty kernel on every device. */
static int measure_setup(struct calibration *it, const char *text, size_t size, baton_nsec *ret_setup)
{
    const struct opencl *cl = it->machine.cl;
    char path[] = "/tmp/baton-calibrate-XXXXXX";
    int fd = mkstemp(path);
    struct baton_gpu gpus[MAX_DEVICES];
    struct baton_stream streams[MAX_DEVICES] = {{0}};
    char names[MAX_DEVICES][32];
    struct baton_batcher_config config = {.topology = path, .gpus = gpus, .n_gpus = it->n_devices};
    struct baton_batcher *batcher = NULL;
    double lengths[SETUP_RUNS];
    char message[600] = "";
    int result;

    if (fd < 0)
        return cli_fail_environment(it->args, -errno, "%s", path);
    close(fd);
    result = file_write_atomic(path, text, size);
    for (size_t d = 0; d < it->n_devices; d++) {
        (void)snprintf(names[d], sizeof names[d], "GPU%zu", d);
        gpus[d] = (struct baton_gpu){names[d], it->machine.devices[d].context, it->machine.devices[d].device};
        streams[d] = (struct baton_stream){
            .name = names[d],
            .from = {.node = "MEM0", .host = it->routes[2 * d].host},
            .to = {.node = names[d], .buffer = it->routes[2 * d].buffer},
            .bytes = 4096,
            .kernel = {.kernel = machine_kernel(&it->machine, d, 0),
                       .dimensions = 1,
                       .global = {1, 1, 1},
                       .predicted_ms = 1e-6},
        };
    }
    if (!result)
        result = baton_batcher_new(&config, &batcher, message, sizeof message);
    for (size_t r = 0; r < SETUP_RUNS && !result; r++) {
        struct baton_batch *batch;
        int64_t length = 0;

        result = baton_batch_start(batcher, streams, it->n_devices, &batch);
        if (result)
            break;
        result = baton_batch_wait(batch);
        (void)snprintf(message, sizeof message, "%s", baton_batch_message(batch));
        baton_batch_length(batch, NULL, &length);
        lengths[r] = (double)length;
        baton_batch_free(batch);
    }
    baton_batcher_free(batcher);
    unlink(path);
    for (size_t d = 0; d < it->n_devices; d++) {
        if (streams[d].kernel.kernel)
            cl->clReleaseKernel(streams[d].kernel.kernel);
    }
    if (result)
        return cli_fail_environment(it->args, result, "an empty batch: %s", message);
    qsort(lengths, SETUP_RUNS, sizeof lengths[0], compare_double);
    *ret_setup = (baton_nsec)lengths[SETUP_RUNS / 2];
    return 0;
}

static void note_change(struct calibration *it, double before, double now, const char *from, const char *to)
{
    double percent = 100 * fabs(now - before) / before;

    if (!(percent <= it->change)) {
        it->change = percent;
        (void)snprintf(it->changed, sizeof it->changed, "%.24s to %.24s", from, to);
    }
}

/* The largest change of any link against the file that is about to be replaced. */
static void compare_with(struct calibration *it, const char *path)
{
    struct topology old;
    struct input_error error;

    it->change = NAN;
    if (strcmp(path, "-") == 0 || topology_read_file(path, &old, &error) != 0)
        return;
    for (size_t i = 0; i < it->topology.n_links; i++) {
        const struct topology_link *link = &it->topology.links[i];
        const char *from = it->topology.nodes[link->from].name;
        const char *to = it->topology.nodes[link->to].name;

        for (size_t k = 0; k < old.n_links; k++) {
            if (strcmp(old.nodes[old.links[k].from].name, from) == 0 &&
                strcmp(old.nodes[old.links[k].to].name, to) == 0)
                note_change(it, old.links[k].gbps, link->gbps, from, to);
        }
    }
    topology_done(&old);
}

enum group { GROUP_IN, GROUP_OUT, GROUP_BOTH };
static const char *const group_names[] = {"in", "out", "both"};

static enum group group_of(const struct calibration *it, const struct combination *combination)
{
    if ((combination->routes & direction(it->n_routes, true)) == 0)
        return GROUP_IN;
    return (combination->routes & direction(it->n_routes, false)) == 0 ? GROUP_OUT : GROUP_BOTH;
}

static double graph_error(const struct combination *combination)
{
    double measured = sum(combination->median, combination->n);

    return 100 * (combination->graph - measured) / measured;
}

/* The largest error of the graph in a group, with its sign. */
static double worst_error(const struct calibration *it, enum group group)
{
    double worst = 0;

    for (size_t c = 0; c < it->n_combinations; c++) {
        double error = graph_error(&it->combinations[c]);

        if (group_of(it, &it->combinations[c]) == group && fabs(error) > fabs(worst))
            worst = error;
    }
    return worst;
}

static void describe(const struct calibration *it, const struct combination *combination, char *ret_text,
                     size_t size)
{
    size_t at = 0;

    ret_text[0] = 0;
    for (size_t r = 0; r < it->n_routes && at < size; r++) {
        if (combination->routes & (UINT64_C(1) << r))
            at += (size_t)snprintf(ret_text + at, size - at, "%s%s GPU%zu", at ? ", " : "",
                                   r % 2 ? "out" : "in", r / 2);
    }
}

static void print_report(const struct calibration *it, const char *path)
{
    FILE *to = strcmp(path, "-") == 0 ? stderr : stdout;

    (void)fprintf(to, "%-48s %10s %10s %10s %8s\n", "transfers at once", "graph", "measured", "lowest",
                  "error");
    for (size_t c = 0; c < it->n_combinations; c++) {
        const struct combination *combination = &it->combinations[c];
        char text[256];

        describe(it, combination, text, sizeof text);
        (void)fprintf(to, "%-48.48s %10.3f %10.3f %10.3f %+7.1f%%\n", text, combination->graph,
                      sum(combination->median, combination->n), sum(combination->lowest, combination->n),
                      graph_error(combination));
    }
    (void)fprintf(
        to, "\ngraph against measured, at most: %+.1f%% in, %+.1f%% out, %+.1f%% both ways; set-up %.3f ms\n",
        worst_error(it, GROUP_IN), worst_error(it, GROUP_OUT), worst_error(it, GROUP_BOTH),
        nsec_to_ms(it->topology.setup));
    if (isnan(it->change))
        (void)fprintf(to, "%s: written\n", path);
    else
        (void)fprintf(to, "%s: written anew; largest change of a link %.1f%% (%s)\n", path, it->change,
                      it->changed);
}

static void print_json(const struct calibration *it, const char *path)
{
    json_t *list = json_array();
    json_t *answer;

    for (size_t c = 0; c < it->n_combinations; c++) {
        const struct combination *combination = &it->combinations[c];
        char text[256];

        describe(it, combination, text, sizeof text);
        json_array_append_new(list, json_pack("{s:s, s:s, s:f, s:f, s:f, s:f}", "transfers", text,
                                              "direction", group_names[group_of(it, combination)],
                                              "graph_gbps", combination->graph, "measured_gbps",
                                              sum(combination->median, combination->n), "lowest_gbps",
                                              sum(combination->lowest, combination->n), "error_percent",
                                              graph_error(combination)));
    }
    answer =
        json_pack("{s:s, s:f, s:{s:f, s:f, s:f}, s:o, s:o}", "file", path, "setup_ms",
                  nsec_to_ms(it->topology.setup), "graph_error_percent", "in", worst_error(it, GROUP_IN),
                  "out", worst_error(it, GROUP_OUT), "both", worst_error(it, GROUP_BOTH), "change_percent",
                  isnan(it->change) ? json_null() : json_real(it->change), "combinations", list);
    json_dumpf(answer, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(answer);
}

static int open_routes(struct calibration *it)
{
    for (size_t d = 0; d < it->n_devices; d++) {
        int result = machine_open_device(it->args, &it->machine, d);

        if (result)
            return result;
        for (int out = 0; out < 2; out++) {
            cl_int error =
                measured_route_init(&it->routes[it->n_routes++], &it->machine, d, out, (size_t)it->bytes);

            if (error)
                return cli_fail_environment(it->args, -ENOMEM, "%lld bytes for device %zu: %s",
                                            (long long)it->bytes, d, opencl_error_name(error));
        }
    }
    return 0;
}

static int calibrate(struct calibration *it, const char *path)
{
    baton_nsec setup = 0;
    char *text = NULL;
    size_t size = 0;
    int result = open_routes(it);

    if (result)
        return result;
    choose_combinations(it);
    result = measure_all(it);
    if (!result)
        result = make_result(it, 0, &text, &size);
    if (!result)
        result = measure_setup(it, text, size, &setup);
    free(text);
    text = NULL;
    if (!result)
        result = make_result(it, setup, &text, &size);
    if (!result)
        result = compute_graph(it);
    if (!result) {
        compare_with(it, path);
        result = file_write_atomic(path, text, size);
        if (result)
            result = cli_fail_environment(it->args, result, "%s", path);
    }
    free(text);
    if (!result && cli_has(it->args, "json"))
        print_json(it, path);
    else if (!result)
        print_report(it, path);
    return result;
}

static int read_options(struct calibration *it)
{
    long long repeat = 7;
    long long devices = 0;
    long long window = 60;
    int result;

    if ((result = cli_int(it->args, "repeat", 1, 1000, &repeat)) ||
        (result = cli_int(it->args, "devices", 1, MAX_DEVICES, &devices)) ||
        (result = cli_int(it->args, "window", 1, 10000, &window)))
        return result;
    it->bytes = (int64_t)64 << 20;
    if (cli_has(it->args, "bytes") && (parse_bytes(cli_value(it->args, "bytes", ""), &it->bytes) ||
                                       it->bytes < 4096 || it->bytes > (int64_t)1 << 40))
        return cli_fail_usage(it->args, "--bytes: expected a size of at least 4096, found %s",
                              cli_value(it->args, "bytes", ""));
    if (cli_has(it->args, "json") && strcmp(cli_value(it->args, "output", ""), "-") == 0)
        return cli_fail_usage(it->args, "--json and -o - exclude each other");
    it->repeat = (size_t)repeat;
    it->window = window * NSEC_PER_MS;
    result = machine_list(it->args, &it->machine);
    if (result)
        return result;
    it->n_devices = it->machine.n < MAX_DEVICES ? it->machine.n : MAX_DEVICES;
    if (devices > (long long)it->n_devices)
        return cli_fail_environment(it->args, -ENODEV, "%lld OpenCL devices of %zu", devices, it->n_devices);
    if (devices)
        it->n_devices = (size_t)devices;
    return 0;
}

static int run(const struct cli_args *args)
{
    const char *path = cli_value(args, "output", NULL);
    struct calibration *it;
    int result;

    if (!path)
        return cli_fail_usage(args, "-o FILE says where the topology goes");
    it = calloc(1, sizeof *it);
    if (!it)
        return cli_fail_environment(args, -ENOMEM, "memory");
    it->args = args;
    it->combinations = calloc(MAX_COMBINATIONS, sizeof *it->combinations);
    result = it->combinations ? read_options(it) : cli_fail_environment(args, -ENOMEM, "memory");
    if (!result)
        result = calibrate(it, path);
    for (size_t r = 0; r < it->n_routes; r++)
        measured_route_done(&it->routes[r], &it->machine);
    if (it->machine.cl)
        machine_done(&it->machine);
    topology_done(&it->topology);
    free(it->combinations);
    free(it);
    return result;
}

const struct cli_command command_batch_calibrate = {
    .name = "batch calibrate",
    .summary = "measure this machine's interconnect and write its topology",
    .arguments = "",
    .options =
        (const struct cli_option[]){{"output", 'o', "FILE", "where the topology goes; - for standard output"},
                                    {"bytes", 0, "SIZE", "memory per route (default 64 MiB)"},
                                    {"repeat", 0, "N", "measurements per combination (default 7)"},
                                    {"window", 0, "MS", "length of one measurement (default 60)"},
                                    {"devices", 0, "N", "only the first N devices"},
                                    {"json", 0, NULL, "print one JSON object"},
                                    {0}},
    .example = "POCL_DEVICES=\"basic basic\" baton batch calibrate -o topology.yaml",
    .run = run,
};
