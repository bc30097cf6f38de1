/*
 * Containers of device code that are malformed in any way: an answer, and no byte outside of them
 * is read.
 */
#include <stdlib.h>
#include <string.h>

#include "cuda_abi/fatbin.h"
#include "fuzz.h"

enum { HEADER = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t rest = size - HEADER;
    uint8_t *bytes;
    char *text = NULL;
    size_t length;

    if (size < HEADER)
        return 0;
    bytes = malloc(size);
    if (!bytes)
        return 0;
    memcpy(bytes, data, size);
    /* The container is trusted to be as long as it says, so here it says the truth. */
    bytes[6] = HEADER;
    bytes[7] = 0;
    memcpy(bytes + 8, &rest, sizeof rest);
    memcpy(bytes, "\x50\xed\x55\xba", 4);
    if (fatbin_ptx(bytes, 80, &text, &length) == 0)
        free(text);
    if (fatbin_ptx_run(bytes, (const unsigned[]){80, 90}, 2, &text, &length) == 0)
        free(text);
    free(bytes);
    return 0;
}
