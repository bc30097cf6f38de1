/* How `baton batch` presents a timeline: as JSON, as a table, as a picture. */
#ifndef CLI_BATCH_REPORT_H
#define CLI_BATCH_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "cli/subcommand.h"
#include "transfer/batch.h"

/* The topology and the batch that a command names, read and resolved. */
struct batch_input {
    struct topology topology;
    struct batch_file file;
    struct batch batch;
    const struct batch_method *method;
};

/*
 * Reads TOPOLOGY and BATCH, the two positional arguments, with --method, --worst-case and --margin.
 * 0, or an exit status after a message to the user.
 */
int batch_input_read(const struct cli_args *args, struct batch_input *ret_input);
void batch_input_done(struct batch_input *input);

/* {"copy_begin_ms", "copy_end_ms", "kernel_begin_ms", "kernel_end_ms"}; the caller owns it. */
json_t *batch_times_json(const struct stream_times *times);

/* Fig. 3 and 4: a row per stream, copies and kernels as bars, the total as a mark. 0 or -errno. */
int batch_picture_write(const char *path, const char *title, const struct batch *batch,
                        const struct batch_timeline *timeline);

#define BATCH_INPUT_OPTIONS                                                                                  \
    {"method", 0, "aligned|paced|bandwidth|time-division",                                                   \
     "how the interconnect is shared (default aligned)"},                                                    \
        {"worst-case", 0, NULL, "with the lowest measured bandwidths"},                                      \
    {                                                                                                        \
        "margin", 0, "PERCENT", "with --worst-case: bandwidths this much lower, set-up longer"               \
    }

#endif
