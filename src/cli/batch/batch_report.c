#include "cli/batch/batch_report.h"

#include "base/draft.h"
#include "report/svg.h"

int batch_input_read(const struct cli_args *args, struct batch_input *ret_input)
{
    struct batch_input *input = ret_input;
    struct batch_options options = {.worst_case = cli_has(args, "worst-case")};
    struct input_error error;
    double percent = 0;
    size_t method = 0;
    size_t unresolved;
    int result;

    *input = (struct batch_input){0};
    if ((result = cli_choice(args, "method", &method)) ||
        (result = cli_double(args, "margin", 0, 1000, &percent)))
        return result;
    if (cli_has(args, "margin") && !options.worst_case)
        return cli_fail_usage(args, "--margin needs --worst-case");
    options.margin = percent / 100;
    input->method = batch_methods[method];
    result = cli_input_result(args, topology_read_file(args->positional[0], &input->topology, &error),
                              args->positional[0], &error);
    if (result)
        return result;
    result =
        cli_input_result(args, batch_read_file(args->positional[1], &input->topology, &input->file, &error),
                         args->positional[1], &error);
    if (!result && batch_resolve(&input->topology, input->file.streams, input->file.n_streams, &options,
                                 &input->batch, &unresolved))
        result = cli_fail_usage(args, "%s: stream %zu cannot be resolved", args->positional[1], unresolved);
    if (result)
        batch_input_done(input);
    return result;
}

void batch_input_done(struct batch_input *input)
{
    batch_file_done(&input->file);
    topology_done(&input->topology);
}

json_t *batch_times_json(const struct stream_times *times)
{
    return json_pack("{s:f, s:f, s:f, s:f}", "copy_begin_ms", nsec_to_ms(times->copy_begin), "copy_end_ms",
                     nsec_to_ms(times->copy_end), "kernel_begin_ms", nsec_to_ms(times->kernel_begin),
                     "kernel_end_ms", nsec_to_ms(times->kernel_end));
}

/* Colours: one for all copies, one for all kernels. */
enum { COLOUR_COPY = 0, COLOUR_KERNEL = 1 };

static size_t add_bars(const struct batch *batch, const struct batch_timeline *timeline, struct svg_bar *bars)
{
    size_t n = 0;

    for (size_t i = 0; i < timeline->n; i++) {
        const struct stream_times *times = &timeline->streams[i];

        if (batch->flows[i].bytes > 0)
            bars[n++] = (struct svg_bar){.row = i,
                                         .begin = nsec_to_ms(times->copy_begin),
                                         .end = nsec_to_ms(times->copy_end),
                                         .colour = COLOUR_COPY,
                                         .label = "copy"};
        if (batch->flows[i].kernel > 0)
            bars[n++] = (struct svg_bar){.row = i,
                                         .begin = nsec_to_ms(times->kernel_begin),
                                         .end = nsec_to_ms(times->kernel_end),
                                         .colour = COLOUR_KERNEL,
                                         .label = "kernel"};
    }
    return n;
}

static const char *node_name(const struct batch *batch, int node)
{
    return node >= 0 ? batch->topology->nodes[node].name : "";
}

int batch_picture_write(const char *path, const char *title, const struct batch *batch,
                        const struct batch_timeline *timeline)
{
    struct svg_bar bars[2 * BATCH_MAX_STREAMS];
    char names[BATCH_MAX_STREAMS][160];
    const char *rows[BATCH_MAX_STREAMS];
    struct svg_rows picture = {.title = title, .x_label = "ms", .row_names = rows, .bars = bars};
    struct draft draft;
    int result = draft_begin(&draft);

    for (size_t i = 0; i < timeline->n; i++) {
        const struct batch_flow *flow = &batch->flows[i];

        if (flow->bytes > 0)
            (void)snprintf(names[i], sizeof names[i], "%.40s: %.40s to %.40s", flow->name,
                           node_name(batch, flow->from), node_name(batch, flow->to));
        else
            (void)snprintf(names[i], sizeof names[i], "%.40s: on %.40s", flow->name,
                           node_name(batch, flow->gpu));
        rows[i] = names[i];
    }
    picture.n_rows = timeline->n;
    picture.n_bars = add_bars(batch, timeline, bars);
    if (!result)
        svg_rows(&picture, draft.out);
    return draft_finish(&draft, path, result);
}
