/*
 * baton batch predict: when each stream of a batch begins and ends, and the earliest end that any
 * method allows.
 */
#include <stdio.h>

#include "cli/batch/batch_report.h"

/* Two columns; a stream need not have both a copy and a kernel. */
static void print_span(bool there, baton_nsec begin, baton_nsec end)
{
    if (there)
        printf(" %12.3f %12.3f", nsec_to_ms(begin), nsec_to_ms(end));
    else
        printf(" %12s %12s", "-", "-");
}

static void print_table(const struct batch_input *input, const struct batch_timeline *timeline,
                        baton_nsec bound)
{
    printf("%-16s %12s %12s %12s %12s   ms\n", "stream", "copy begin", "copy end", "kernel begin",
           "kernel end");
    for (size_t i = 0; i < timeline->n; i++) {
        const struct stream_times *times = &timeline->streams[i];
        const struct batch_flow *flow = &input->batch.flows[i];

        printf("%-16s", flow->name);
        print_span(flow->bytes > 0, times->copy_begin, times->copy_end);
        print_span(flow->kernel > 0, times->kernel_begin, times->kernel_end);
        putchar('\n');
    }
    printf("\n%s: %.3f ms in all; no method ends before %.3f ms\n", input->method->name,
           nsec_to_ms(timeline->total), nsec_to_ms(bound));
    if (input->topology.origin)
        printf("link rates: %s\n", input->topology.origin);
}

static int print_json(const struct batch_input *input, const struct batch_timeline *timeline,
                      baton_nsec bound)
{
    json_t *streams = json_array();
    json_t *answer;

    for (size_t i = 0; i < timeline->n; i++) {
        json_t *times = batch_times_json(&timeline->streams[i]);

        json_object_set_new(times, "name", json_string(input->batch.flows[i].name));
        json_array_append_new(streams, times);
    }
    answer = json_pack("{s:s, s:f, s:f, s:o}", "method", input->method->name, "total_ms",
                       nsec_to_ms(timeline->total), "bound_ms", nsec_to_ms(bound), "streams", streams);
    if (input->topology.origin)
        json_object_set_new(answer, "origin", json_string(input->topology.origin));
    json_dumpf(answer, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(answer);
    return 0;
}

static int run(const struct cli_args *args)
{
    const char *picture = cli_value(args, "svg", NULL);
    struct batch_timeline timeline;
    struct batch_input input;
    baton_nsec bound = 0;
    int result = batch_input_read(args, &input);

    if (result)
        return result;
    result = batch_predict(&input.batch, input.method, &timeline, NULL);
    if (!result)
        result = batch_bound(&input.batch, &bound);
    if (result)
        result = cli_fail_environment(args, result, "the prediction failed");
    if (!result && picture) {
        char title[160];

        (void)snprintf(title, sizeof title, "%s: predicted, %.2f ms", input.method->name,
                       nsec_to_ms(timeline.total));
        result = batch_picture_write(picture, title, &input.batch, &timeline);
        if (result)
            result = cli_fail_environment(args, result, "%s", picture);
    }
    if (!result && cli_has(args, "json"))
        result = print_json(&input, &timeline, bound);
    else if (!result)
        print_table(&input, &timeline, bound);
    batch_input_done(&input);
    return result;
}

const struct cli_command command_batch_predict = {
    .name = "batch predict",
    .summary = "predict when a batch of copies and kernels ends",
    .arguments = "TOPOLOGY BATCH",
    .min_arguments = 2,
    .max_arguments = 2,
    .options = (const struct cli_option[]){BATCH_INPUT_OPTIONS,
                                           {"svg", 0, "FILE", "write the timeline as a picture"},
                                           {"json", 0, NULL, "print one JSON object"},
                                           {0}},
    .example = "baton batch predict examples/topologies/sandy-bridge.yaml examples/wafer/upload.yaml",
    .run = run,
};
