/*
 * baton batch run: executes a batch on the OpenCL devices and prints predicted beside measured
 * times.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "baton/batch.h"
#include "cli/batch/batch_machine.h"
#include "cli/batch/batch_report.h"
#include "client/batch/batch_engines.h"

#define MAX_REPEAT 10000
#define MAX_SETS   64 /* sets of memory that runs alternate between */

/* What one batch works on. */
struct memory_set {
    struct baton_stream streams[BATCH_MAX_STREAMS];
    void *plain[2 * BATCH_MAX_STREAMS]; /* owned: host memory of copies without a GPU */
    size_t n_plain;
};

struct runner {
    const struct cli_args *args;
    struct batch_input input;
    struct batch_machine machine;
    struct baton_batcher *batcher;
    struct memory_set *sets; /* owned; runs alternate between them */
    size_t n_sets, next_set;
    double ratio;
    bool emulates;
    size_t repeat;
    struct batch_timeline *runs; /* owned; measured, one per repetition */
    struct batch_timeline predicted;
    baton_nsec bound;
    size_t granted; /* batches that got a grant of the daemon, the warm-up included */
};

static int open_devices(struct runner *runner)
{
    const struct topology *topology = &runner->input.topology;
    bool used[TOPOLOGY_MAX_NODES] = {false};
    struct baton_gpu gpus[TOPOLOGY_MAX_NODES];
    struct baton_batcher_config config = {
        .size = sizeof config, .gpus = gpus, .topology = runner->args->positional[0]};
    char message[600];
    int result = machine_list(runner->args, &runner->machine);

    for (size_t i = 0; i < runner->input.batch.n; i++) {
        const struct batch_flow *flow = &runner->input.batch.flows[i];
        const int nodes[] = {flow->from, flow->to, flow->gpu};

        for (size_t k = 0; k < 3; k++)
            used[nodes[k] < 0 ? 0 : nodes[k]] |= nodes[k] >= 0 && topology->nodes[nodes[k]].role == ROLE_GPU;
    }
    for (size_t node = 0; node < topology->n_nodes && !result; node++) {
        const struct topology_node *gpu = &topology->nodes[node];

        if (!used[node])
            continue;
        if ((size_t)gpu->device >= runner->machine.n)
            return cli_fail_environment(runner->args, -ENODEV, "%s needs OpenCL device %d of %zu", gpu->name,
                                        gpu->device, runner->machine.n);
        result = machine_open_device(runner->args, &runner->machine, (size_t)gpu->device);
        if (!result)
            gpus[config.n_gpus++] =
                (struct baton_gpu){gpu->name, runner->machine.devices[gpu->device].context,
                                   runner->machine.devices[gpu->device].device};
    }
    if (result)
        return result;
    while (batch_methods[config.method] != runner->input.method)
        config.method++;
    config.emulate = cli_value(runner->args, "emulate", NULL);
    config.emulate_ratio = runner->ratio;
    result = baton_batcher_new(&config, &runner->batcher, message, sizeof message);
    if (result == -EINVAL) {
        (void)fprintf(stderr, "%s\n", message);
        return CLI_USAGE;
    }
    return result ? cli_fail_environment(runner->args, result, "%s", message) : 0;
}

/* Writes the whole buffer. Unwritten pages all map to one page of zeros and are read too fast. */
static cl_int touch_buffer(struct runner *runner, const struct machine_device *device, cl_mem buffer,
                           size_t bytes)
{
    const struct opencl *cl = runner->machine.cl;
    const size_t piece = (size_t)4 << 20;
    unsigned char *pattern = malloc(piece);
    cl_int error = pattern ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    cl_command_queue queue =
        error ? NULL : cl->clCreateCommandQueueWithProperties(device->context, device->device, NULL, &error);

    if (!error)
        memset(pattern, 0x5a, piece);
    for (size_t at = 0; at < bytes && !error; at += piece)
        error = cl->clEnqueueWriteBuffer(queue, buffer, CL_TRUE, at, bytes - at < piece ? bytes - at : piece,
                                         pattern, 0, NULL, NULL);
    if (queue)
        cl->clReleaseCommandQueue(queue);
    free(pattern);
    return error;
}

/*
 * Memory at one end of a copy. It is written once, so that no measured run touches a page for the
 * first time.
 */
static cl_int make_place(struct runner *runner, struct memory_set *set, int node, int peer, size_t bytes,
                         struct baton_place *ret_place)
{
    const struct topology_node *nodes = runner->input.topology.nodes;
    const struct opencl *cl = runner->machine.cl;
    cl_int error = CL_SUCCESS;

    ret_place->node = nodes[node].name;
    if (nodes[node].role == ROLE_GPU) {
        const struct machine_device *device = &runner->machine.devices[nodes[node].device];

        ret_place->buffer = cl->clCreateBuffer(device->context, CL_MEM_READ_WRITE, bytes, NULL, &error);
        return error ? error : touch_buffer(runner, device, ret_place->buffer, bytes);
    }
    if (nodes[peer].role == ROLE_GPU)
        ret_place->host = baton_host_alloc(runner->batcher, nodes[peer].name, bytes);
    else
        ret_place->host = set->plain[set->n_plain++] = malloc(bytes);
    if (!ret_place->host)
        return CL_OUT_OF_HOST_MEMORY;
    memset(ret_place->host, 0x5a, bytes);
    return CL_SUCCESS;
}

static int make_streams(struct runner *runner, struct memory_set *set)
{
    for (size_t i = 0; i < runner->input.batch.n; i++) {
        const struct batch_flow *flow = &runner->input.batch.flows[i];
        const struct batch_stream *model = &runner->input.file.streams[i];
        const struct topology_node *nodes = runner->input.topology.nodes;
        struct baton_stream *stream = &set->streams[i];
        cl_int error = CL_SUCCESS;

        *stream = (struct baton_stream){.name = flow->name};
        if (model->bytes > 0) {
            stream->bytes = (size_t)fmax(1, (double)model->bytes / runner->ratio);
            error = make_place(runner, set, flow->from, flow->to, stream->bytes, &stream->from);
            if (!error)
                error = make_place(runner, set, flow->to, flow->from, stream->bytes, &stream->to);
        }
        if (!error && flow->kernel > 0) {
            int device = nodes[flow->gpu].device;
            /*
             * Emulated GPUs have no core of their own, so the batcher waits for the rest of the
             * time.
             */
            baton_nsec length = runner->emulates ? 0 : (baton_nsec)flow->kernel;

            stream->to.node = nodes[flow->gpu].name;
            stream->kernel =
                (struct baton_kernel){.kernel = machine_kernel(&runner->machine, (size_t)device, length),
                                      .dimensions = 1,
                                      .global = {1, 1, 1},
                                      .local = {1, 1, 1},
                                      .predicted_ms = flow->kernel / (double)NSEC_PER_MS};
            error = stream->kernel.kernel ? CL_SUCCESS : CL_OUT_OF_RESOURCES;
        }
        if (error)
            return cli_fail_environment(runner->args, -ENOMEM, "stream '%s': %s", flow->name,
                                        opencl_error_name(error));
    }
    return 0;
}

/*
 * When the host's cores copy, a small block that is still in a cache is copied twice as fast.
 * Neither a real batch nor calibration finds its data in a cache. Runs therefore alternate between
 * more sets of memory than the caches can hold. This holds for a small number of runs too, because
 * making the sets leaves the last ones in the caches.
 */
static size_t count_sets(const struct runner *runner)
{
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    double bytes = 1;

    if (runner->emulates || runner->input.topology.cores == 0 || cache <= 0)
        return 1;
    for (size_t i = 0; i < runner->input.batch.n; i++)
        /* large copies bypass the caches when they write */
        bytes += (double)runner->input.file.streams[i].bytes;
    return (size_t)fmin(MAX_SETS, ceil(2 * (double)cache / bytes));
}

static int make_sets(struct runner *runner)
{
    size_t n = count_sets(runner);
    int result = 0;

    runner->sets = calloc(n, sizeof *runner->sets);
    if (!runner->sets)
        return cli_fail_environment(runner->args, -ENOMEM, "memory");
    while (runner->n_sets < n && !result)
        result = make_streams(runner, &runner->sets[runner->n_sets++]);
    return result;
}

static struct stream_times times_of(const struct baton_times *times)
{
    return (struct stream_times){times->copy_begin, times->copy_end, times->kernel_begin, times->kernel_end};
}

/* Runs one batch and answers its measured timeline. The first run also stores the prediction. */
static int run_once(struct runner *runner, struct batch_timeline *ret_measured)
{
    size_t n = runner->input.batch.n;
    const struct memory_set *set = &runner->sets[runner->next_set++ % runner->n_sets];
    struct baton_batch *batch;
    int result = baton_batch_start(runner->batcher, set->streams, n, &batch);

    if (result)
        return cli_fail_environment(runner->args, result, "the batch");
    result = baton_batch_wait(batch);
    if (result)
        result = cli_fail_environment(runner->args, result, "%s", baton_batch_message(batch));
    ret_measured->n = runner->predicted.n = n;
    baton_batch_length(batch, &runner->predicted.total, &ret_measured->total);
    for (size_t i = 0; i < n; i++) {
        struct baton_times predicted;
        struct baton_times measured;

        baton_batch_stream(batch, i, &predicted, &measured);
        runner->predicted.streams[i] = times_of(&predicted);
        ret_measured->streams[i] = times_of(&measured);
    }
    baton_batch_free(batch);
    return result;
}

static int compare_total(const void *a, const void *b)
{
    baton_nsec left = ((const struct batch_timeline *)a)->total;
    baton_nsec right = ((const struct batch_timeline *)b)->total;

    return (left > right) - (left < right);
}

static double error_percent(baton_nsec predicted, baton_nsec measured)
{
    return 100.0 * fabs((double)(measured - predicted)) / (double)measured;
}

static int compare_double(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

/* Median and largest error of the total over all runs. */
static void total_errors(const struct runner *runner, double *ret_median, double *ret_worst)
{
    double *errors = calloc(runner->repeat + 1, sizeof *errors);

    *ret_median = *ret_worst = NAN;
    if (!errors)
        return;
    for (size_t r = 0; r < runner->repeat; r++)
        errors[r] = error_percent(runner->predicted.total, runner->runs[r].total);
    qsort(errors, runner->repeat, sizeof *errors, compare_double);
    *ret_median = errors[runner->repeat / 2];
    *ret_worst = errors[runner->repeat - 1];
    free(errors);
}

/* How long a stream takes from begin to end, as in Table 2 of the paper. */
static baton_nsec stream_length(const struct stream_times *times)
{
    return times->kernel_end - times->copy_begin;
}

static void print_table(const struct runner *runner)
{
    const struct batch_timeline *median = &runner->runs[runner->repeat / 2];
    double median_error;
    double worst_error;

    total_errors(runner, &median_error, &worst_error);
    printf("%-16s %14s %14s %8s\n", "stream", "predicted ms", "measured ms", "error");
    for (size_t i = 0; i < median->n; i++) {
        baton_nsec predicted = stream_length(&runner->predicted.streams[i]);
        baton_nsec measured = stream_length(&median->streams[i]);

        printf("%-16s %14.3f %14.3f %7.1f%%\n", runner->input.batch.flows[i].name, nsec_to_ms(predicted),
               nsec_to_ms(measured), error_percent(predicted, measured));
    }
    printf("%-16s %14.3f %14.3f %7.1f%%\n\n", "all", nsec_to_ms(runner->predicted.total),
           nsec_to_ms(median->total), median_error);
    printf("%s, %zu runs: median %.3f ms, worst %.3f ms; error median %.1f%%, worst %.1f%%; no method ends "
           "before %.3f ms\n",
           runner->input.method->name, runner->repeat, nsec_to_ms(median->total),
           nsec_to_ms(runner->runs[runner->repeat - 1].total), median_error, worst_error,
           nsec_to_ms(runner->bound));
    if (runner->granted)
        printf("the daemon granted each of %zu batches all its engines and buses in one group request\n",
               runner->granted);
    if (runner->emulates)
        printf("links emulated at 1/%g size: this shows pacing and timing, not a bus\n", runner->ratio);
    if (runner->input.topology.origin)
        printf("link rates: %s\n", runner->input.topology.origin);
}

static void print_json(const struct runner *runner)
{
    const struct batch_timeline *median = &runner->runs[runner->repeat / 2];
    json_t *streams = json_array();
    json_t *runs = json_array();
    json_t *answer;
    double median_error;
    double worst_error;

    total_errors(runner, &median_error, &worst_error);
    for (size_t r = 0; r < runner->repeat; r++)
        json_array_append_new(runs, json_real(nsec_to_ms(runner->runs[r].total)));
    for (size_t i = 0; i < median->n; i++) {
        const struct stream_times *predicted = &runner->predicted.streams[i];
        const struct stream_times *measured = &median->streams[i];

        json_array_append_new(streams,
                              json_pack("{s:s, s:o, s:o, s:f}", "name", runner->input.batch.flows[i].name,
                                        "predicted", batch_times_json(predicted), "measured",
                                        batch_times_json(measured), "error_percent",
                                        error_percent(stream_length(predicted), stream_length(measured))));
    }
    answer =
        json_pack("{s:s, s:b, s:i, s:i, s:f, s:f, s:{s:f, s:f}, s:{s:f, s:f}, s:o, s:o}", "method",
                  runner->input.method->name, "emulated", runner->emulates, "repeat", (int)runner->repeat,
                  "granted", (int)runner->granted, "predicted_ms", nsec_to_ms(runner->predicted.total),
                  "bound_ms", nsec_to_ms(runner->bound), "measured_ms", "median", nsec_to_ms(median->total),
                  "worst", nsec_to_ms(runner->runs[runner->repeat - 1].total), "error_percent", "median",
                  median_error, "worst", worst_error, "runs_ms", runs, "streams", streams);
    if (runner->input.topology.origin)
        json_object_set_new(answer, "origin", json_string(runner->input.topology.origin));
    json_dumpf(answer, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(answer);
}

static void memory_set_done(const struct runner *runner, struct memory_set *set)
{
    const struct opencl *cl = runner->machine.cl;

    for (size_t i = 0; i < runner->input.batch.n; i++) {
        struct baton_stream *stream = &set->streams[i];

        if (stream->from.buffer)
            cl->clReleaseMemObject(stream->from.buffer);
        if (stream->to.buffer)
            cl->clReleaseMemObject(stream->to.buffer);
        if (stream->kernel.kernel)
            cl->clReleaseKernel(stream->kernel.kernel);
    }
    for (size_t i = 0; i < set->n_plain; i++)
        free(set->plain[i]);
}

static void runner_done(struct runner *runner)
{
    for (size_t s = 0; s < runner->n_sets; s++)
        memory_set_done(runner, &runner->sets[s]);
    baton_batcher_free(runner->batcher);
    free(runner->sets);
    machine_done(&runner->machine);
    free(runner->runs);
    batch_input_done(&runner->input);
}

static int run_all(struct runner *runner)
{
    const char *picture = cli_value(runner->args, "svg", NULL);
    int result = open_devices(runner);

    if (!result)
        result = make_sets(runner);
    if (!result && batch_bound(&runner->input.batch, &runner->bound))
        result = cli_fail_environment(runner->args, -ENOMEM, "the bound");
    if (!result)
        result = run_once(runner, &runner->runs[0]); /* the warm-up run is discarded */
    for (size_t r = 0; r < runner->repeat && !result; r++)
        result = run_once(runner, &runner->runs[r]);
    if (result)
        return result;
    runner->granted = batcher_granted(runner->batcher);
    qsort(runner->runs, runner->repeat, sizeof *runner->runs, compare_total);
    if (picture) {
        char title[160];

        (void)snprintf(title, sizeof title, "%s: measured, %.2f ms (predicted %.2f)",
                       runner->input.method->name, nsec_to_ms(runner->runs[runner->repeat / 2].total),
                       nsec_to_ms(runner->predicted.total));
        result = batch_picture_write(picture, title, &runner->input.batch, &runner->runs[runner->repeat / 2]);
        if (result)
            return cli_fail_environment(runner->args, result, "%s", picture);
    }
    if (cli_has(runner->args, "json"))
        print_json(runner);
    else
        print_table(runner);
    return CLI_YES;
}

static int run(const struct cli_args *args)
{
    struct runner *runner = calloc(1, sizeof *runner);
    long long repeat = 1;
    int result;

    if (!runner)
        return cli_fail_environment(args, -ENOMEM, "memory");
    runner->args = args;
    runner->ratio = 1;
    runner->emulates = cli_has(args, "emulate");
    if ((result = cli_int(args, "repeat", 1, MAX_REPEAT, &repeat)) ||
        (result = cli_double(args, "reduce", 1, 1e6, &runner->ratio)))
        goto out;
    if (cli_has(args, "reduce") && !runner->emulates) {
        result = cli_fail_usage(args, "--reduce needs --emulate");
        goto out;
    }
    runner->repeat = (size_t)repeat;
    result = batch_input_read(args, &runner->input);
    if (result)
        goto out;
    runner->runs = calloc(runner->repeat, sizeof *runner->runs);
    result = runner->runs ? run_all(runner) : cli_fail_environment(args, -ENOMEM, "memory");
    runner_done(runner);
out:
    free(runner);
    return result;
}

const struct cli_command command_batch_run = {
    .name = "batch run",
    .summary = "run a batch on the OpenCL devices, predicted beside measured",
    .arguments = "TOPOLOGY BATCH",
    .min_arguments = 2,
    .max_arguments = 2,
    .options =
        (const struct cli_option[]){
            {"method", 0, "aligned|paced|bandwidth|time-division",
             "how the interconnect is shared (default aligned)"},
            {"repeat", 0, "N", "how often, after one run that warms up (default 1)"},
            {"emulate", 0, "TOPOLOGY",
             "slow copies down to these links, where devices share the host's memory"},
            {"reduce", 0, "N", "with --emulate: one byte copied stands for N, so that times stay the same"},
            {"svg", 0, "FILE", "write the measured timeline (of the median run) as a picture"},
            {"json", 0, NULL, "print one JSON object"},
            {0}},
    .example =
        "POCL_DEVICES=\"basic basic\" baton batch run --emulate examples/topologies/nehalem.yaml --reduce 8 "
        "examples/topologies/nehalem.yaml examples/batches/nehalem-h2d.yaml",
    .run = run,
};
