#include "cuda/cuda_kinds.h"

#include "cuda/cut.h"
#include "cuda/graph_order.h"
#include "cuda/issue.h"
#include "cuda/validate.h"

/* clang-format off */
const struct cuda_kind cuda_kinds[CUDA_KINDS] = {
    [COMMAND_CALL] = {.validate = validate_told},

    /* --- what may be cut --- */
    [COMMAND_LAUNCH] = {
        .launch = true, .validate = validate_cuda_launch,
        .wants_cut = cut_wants_launch, .issue = cut_launch, .range = cut_launch_range,
        .adopt = issue_adopt_launch, .keep = issue_keep_launch, .drop = issue_drop_launch},
    [COMMAND_COPY] = {
        .copy = true, .validate = validate_cuda_copy,
        .wants_cut = cut_wants_copy, .issue = cut_copy, .range = cut_copy_range},
    [COMMAND_ROWS] = {
        .validate = validate_told,
        .wants_cut = cut_wants_rows, .issue = cut_rows, .range = cut_rows_range},

    /* --- events: always held back --- */
    [COMMAND_RECORD] = {
        .issue = issue_record, .keep = issue_keep_recording, .drop = issue_drop_recording},
    [COMMAND_WAIT_EVENT] = {
        .issue = issue_wait_event, .keep = issue_keep_recording, .drop = issue_drop_recording,
        .add_waits = issue_wait_for_recording},

    /* --- calls that something of ours goes with --- */
    [COMMAND_CALLBACK] = {.validate = validate_told, .issue = issue_callback},
    [COMMAND_FREE] = {.validate = validate_told, .give = issue_free},
    [COMMAND_DESTROY] = {.validate = validate_told, .give = issue_destroy},
    [COMMAND_GRAPH] = {
        .validate = validate_told, .issue = issue_graph, .keep = issue_keep_graph,
        .add_waits = graphs_launch_held},

    [COMMAND_FENCE] = {.fence = true, .issue = issue_nothing},
};
/* clang-format on */
