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
#include "cli/batch/calibration.h"
#include "cli/batch/report.h"
#include "model/document.h"
#include "transfer/throughput.h"

#define ALL_SUBSETS 4 /* up to so many routes every combination is measured */
#define MAX_REPEAT  1000
#define SETUP_RUNS  101

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
    add_combination(it, calibration_direction(it->n_routes, false));
    add_combination(it, calibration_direction(it->n_routes, true));
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
            double sorted[MAX_REPEAT] = {0};

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

/* How much slower copies are when they are cut into chunks, as the methods that pace cut them: the median over the routes alone. */
static int measure_chunks(struct calibration *it)
{
    double ratios[MAX_REPEAT] = {0};

    for (size_t r = 0; r < it->repeat && it->n_routes > 0; r++) {
        struct measured_route *route = &it->routes[r % it->n_routes];
        double gbps[2] = {1, 1};
        cl_int error = CL_SUCCESS;

        for (int chunks = 0; chunks < 2 && !error; chunks++) {
            route->piece = chunks && route->bytes > BATCH_CHUNK_BYTES ? BATCH_CHUNK_BYTES : route->bytes;
            error = measure_together(&it->machine, &route, 1, it->window, &gbps[chunks]);
        }
        route->piece = route->bytes;
        if (error)
            return cli_fail_environment(it->args, -EIO, "a copy in chunks failed: %s",
                                        opencl_error_name(error));
        ratios[r] = gbps[1] / gbps[0];
    }
    qsort(ratios, it->repeat, sizeof ratios[0], compare_double);
    it->chunk_ratio = fmax(0.01, fmin(1, ratios[it->repeat / 2]));
    return 0;
}

/* The result as text, and read back, which also checks it. */
static int make_result(struct calibration *it, baton_nsec setup, char **ret_text, size_t *ret_size)
{
    FILE *out = open_memstream(ret_text, ret_size);
    struct input_error error;
    int result;

    if (!out)
        return cli_fail_environment(it->args, -errno, "memory");
    calibration_write(it, setup, out);
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
        combination->graph = 0;
        for (size_t i = 0; i < n; i++)
            combination->graph += rates[i];
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
        result = measure_chunks(it);
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
        calibration_compare(it, path);
        result = file_write_atomic(path, text, size);
        if (result)
            result = cli_fail_environment(it->args, result, "%s", path);
    }
    free(text);
    if (!result && cli_has(it->args, "json"))
        calibration_report_json(it, path);
    else if (!result)
        calibration_report(it, path);
    return result;
}

static int read_options(struct calibration *it)
{
    long long repeat = 7;
    long long devices = 0;
    long long window = 60;
    int result;

    if ((result = cli_int(it->args, "repeat", 1, MAX_REPEAT, &repeat)) ||
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
    result = read_options(it);
    if (!result)
        result = calibrate(it, path);
    for (size_t r = 0; r < it->n_routes; r++)
        measured_route_done(&it->routes[r], &it->machine);
    if (it->machine.cl)
        machine_done(&it->machine);
    topology_done(&it->topology);
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
