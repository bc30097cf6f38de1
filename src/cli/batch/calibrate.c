/*
 * baton batch calibrate: measures every route alone and in combination, and writes a topology. The
 * links reproduce the measurements as far as a graph can; a look-up table covers the rest (Batch,
 * sec. 4.1 and 4.4).
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/draft.h"
#include "baton/batch.h"
#include "cli/batch/calibration.h"
#include "cli/batch/batch_report.h"
#include "model/document.h"
#include "transfer/throughput.h"

#define SETUP_RUNS 101

int calibration_compare_double(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

/* Writes the result and reads it back, which also checks it. */
static int make_result(struct calibration *it, baton_nsec setup, struct draft *draft)
{
    struct input_error error;
    int result = draft_begin(draft);

    if (result)
        return cli_fail_environment(it->args, result, "memory");
    calibration_write(it, setup, draft->out);
    if (fflush(draft->out) != 0)
        return cli_fail_environment(it->args, -ENOMEM, "memory");
    topology_done(&it->topology);
    result = topology_read("the result", draft->text, draft->size, &it->topology, &error);
    return cli_input_result(it->args, result, "the result", &error);
}

/* The prediction of the graph alone for every combination. */
static int compute_graph(struct calibration *it)
{
    for (size_t c = 0; c < it->n_combinations; c++) {
        struct combination *combination = &it->combinations[c];
        struct batch_stream streams[MAX_ROUTES];
        size_t active[MAX_ROUTES];
        double rates[MAX_ROUTES];
        struct batch batch;
        size_t unresolved;
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
        if (batch_resolve(&it->topology, streams, n, NULL, &batch, &unresolved))
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

/* A batch with almost no work: one page up and an empty kernel on every device. */
static void fill_nearly_nothing(struct calibration *it, char names[][32], struct baton_gpu gpus[],
                                struct baton_stream streams[])
{
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
}

static int run_setups(struct calibration *it, struct baton_batcher *batcher,
                      const struct baton_stream streams[], char *ret_message, size_t size,
                      baton_nsec *ret_setup)
{
    double lengths[SETUP_RUNS];

    for (size_t r = 0; r < SETUP_RUNS; r++) {
        struct baton_batch *batch;
        int64_t length = 0;
        int result = baton_batch_start(batcher, streams, it->n_devices, &batch);

        if (result)
            return result;
        result = baton_batch_wait(batch);
        (void)snprintf(ret_message, size, "%s", baton_batch_message(batch));
        baton_batch_length(batch, NULL, &length);
        lengths[r] = (double)length;
        baton_batch_free(batch);
        if (result)
            return result;
    }
    qsort(lengths, SETUP_RUNS, sizeof lengths[0], calibration_compare_double);
    *ret_setup = (baton_nsec)lengths[SETUP_RUNS / 2];
    return 0;
}

/* How long such a batch takes on the topology known so far. */
static int measure_setup(struct calibration *it, baton_nsec *ret_setup)
{
    char path[] = "/tmp/baton-calibrate-XXXXXX";
    struct baton_gpu gpus[MAX_DEVICES];
    struct baton_stream streams[MAX_DEVICES] = {{0}};
    char names[MAX_DEVICES][32];
    struct baton_batcher_config config = {
        .size = sizeof config, .topology = path, .gpus = gpus, .n_gpus = it->n_devices};
    struct baton_batcher *batcher = NULL;
    char message[600] = "";
    struct draft draft = {0};
    int fd = mkstemp(path);
    int result;

    if (fd < 0)
        return cli_fail_environment(it->args, -errno, "%s", path);
    close(fd);
    result = make_result(it, 0, &draft);
    if (draft_finish(&draft, path, result ? -EINVAL : 0) && !result)
        result = cli_fail_environment(it->args, -EIO, "%s", path);
    if (result) {
        unlink(path);
        return result;
    }
    fill_nearly_nothing(it, names, gpus, streams);
    result = baton_batcher_new(&config, &batcher, message, sizeof message);
    if (!result)
        result = run_setups(it, batcher, streams, message, sizeof message, ret_setup);
    baton_batcher_free(batcher);
    unlink(path);
    for (size_t d = 0; d < it->n_devices; d++) {
        if (streams[d].kernel.kernel)
            it->machine.cl->clReleaseKernel(streams[d].kernel.kernel);
    }
    return result ? cli_fail_environment(it->args, result, "an empty batch: %s", message) : 0;
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

/* Writes the topology, and prints how it compares with the old file and with its own graph. */
static int finish(struct calibration *it, baton_nsec setup, const char *path)
{
    struct draft draft = {0};
    int result = make_result(it, setup, &draft);

    if (!result)
        result = compute_graph(it);
    if (!result)
        calibration_compare(it, path);
    if (result) {
        (void)draft_finish(&draft, path, -ECANCELED);
        return result;
    }
    result = draft_finish(&draft, path, 0);
    if (result)
        return cli_fail_environment(it->args, result, "%s", path);
    if (cli_has(it->args, "json"))
        calibration_report_json(it, path);
    else
        calibration_report(it, path);
    return 0;
}

static int calibrate(struct calibration *it, const char *path)
{
    baton_nsec setup = 0;
    int result = open_routes(it);

    if (!result)
        result = calibration_measure_combinations(it);
    if (!result)
        result = calibration_measure_sizes(it);
    if (!result)
        result = measure_setup(it, &setup);
    return result ? result : finish(it, setup, path);
}

/* A block size that no cache of the host holds: 64 MiB, or twice the largest cache. */
static int64_t default_bytes(void)
{
    const int64_t least = (int64_t)64 << 20;
    int64_t cache = sysconf(_SC_LEVEL3_CACHE_SIZE);

    return 2 * cache > least ? 2 * cache : least;
}

static int read_options(struct calibration *it)
{
    long long repeat = 21;
    long long devices = 0;
    long long window = 30;
    int result;

    if ((result = cli_int(it->args, "repeat", 1, MAX_REPEAT, &repeat)) ||
        (result = cli_int(it->args, "devices", 1, MAX_DEVICES, &devices)) ||
        (result = cli_int(it->args, "window", 1, 10000, &window)))
        return result;
    it->bytes = default_bytes();
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
        return cli_fail_usage(args, "expected -o FILE for the topology");
    result = cli_check_output(args, path);
    if (result)
        return result;
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
        (const struct cli_option[]){
            {"output", 'o', "FILE", "where the topology goes; - for standard output"},
            {"bytes", 0, "SIZE", "memory per route (default: 64 MiB, or twice the largest cache)"},
            {"repeat", 0, "N", "measurements per combination (default 21)"},
            {"window", 0, "MS", "length of one measurement (default 30)"},
            {"devices", 0, "N", "only the first N devices"},
            {"json", 0, NULL, "print one JSON object"},
            {0}},
    .example = "POCL_DEVICES=\"basic basic\" baton batch calibrate -o topology.yaml",
    .run = run,
};
