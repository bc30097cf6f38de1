#include "cuda/cuda_kinds.h"

#include "cuda/cut.h"
#include "cuda/event_recording.h"
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
        .issue = issue_record, .keep = issue_keep_recording, .drop = issue_drop_recording,
        .enter = event_enter_record},
    [COMMAND_WAIT_EVENT] = {
        .issue = issue_wait_event, .keep = issue_keep_recording, .drop = issue_drop_recording,
        .enter = event_enter_wait},

    /* --- calls that something of ours goes with --- */
    [COMMAND_CALLBACK] = {.validate = validate_told, .issue = issue_callback},
    [COMMAND_FREE] = {.validate = validate_told, .give = issue_free},
    [COMMAND_DESTROY] = {.validate = validate_told, .give = issue_destroy},
    [COMMAND_GRAPH] = {
        .validate = validate_told, .give = graph_launch_give, .issue = graph_launch_issue,
        .adopt = graph_launch_adopt, .keep = graph_launch_keep, .drop = graph_launch_drop,
        .enter = graph_launch_enter},
    [COMMAND_LAUNCH_EX] = {.give = launch_ex_give},

    [COMMAND_FENCE] = {.fence = true, .issue = issue_nothing},
};
/* clang-format on */
