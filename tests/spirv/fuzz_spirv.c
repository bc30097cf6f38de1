/*
 * Any bytes as a SPIR-V module: rewritten, or refused with a reason. What is rewritten can be read
 * again.
 */
#include "base/arena.h"
#include "fuzz.h"
#include "spirv/spirv_cut.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct spirv_refusal refusal;
    struct spirv_module again;
    struct spirv_cut cut;
    struct arena arena;
    int result;

    arena_init(&arena, (size_t)256 << 20);
    result = spirv_cut(&arena, data, size, &cut, &refusal);
    if (result == 1 && !refusal.reason[0])
        abort();
    if (result == 0 && spirv_read(&arena, cut.words, cut.n_words * sizeof *cut.words, &again, &refusal) == 1)
        abort();
    arena_done(&arena);
    return 0;
}
