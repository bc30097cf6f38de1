#include "cuda/cuda_kinds.h"

#include "cuda/cut.h"
#include "cuda/validate.h"

/* clang-format off */
const struct cuda_kind cuda_kinds[COMMAND_KINDS] = {
    [COMMAND_CALL] = {.validate = validate_told},

    /* --- what may be cut --- */
    [COMMAND_LAUNCH] = {
        .launch = true, .validate = validate_cuda_launch, .wants_cut = cut_wants_launch,
        .range = cut_launch_range},
    [COMMAND_COPY] = {
        .copy = true, .validate = validate_cuda_copy, .wants_cut = cut_wants_copy, .range = cut_copy_range},
    [COMMAND_ROWS] = {
        .validate = validate_told, .wants_cut = cut_wants_rows, .range = cut_rows_range},

    /* --- events --- */
    [COMMAND_RECORD] = {0},
    [COMMAND_WAIT_EVENT] = {0},

    /* --- calls with something of ours before or behind them --- */
    [COMMAND_CALLBACK] = {.validate = validate_told},
    [COMMAND_FREE] = {.validate = validate_told},
    [COMMAND_DESTROY] = {.validate = validate_told},
    [COMMAND_GRAPH] = {.validate = validate_told},

    [COMMAND_FENCE] = {.fence = true},
};
/* clang-format on */
