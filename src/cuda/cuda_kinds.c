#include "cuda/cuda_kinds.h"

const struct cuda_kind cuda_kinds[COMMAND_KINDS] = {
    [COMMAND_LAUNCH] = {.launch = true},
    [COMMAND_COPY] = {.copy = true},
    [COMMAND_FENCE] = {.fence = true},
};
