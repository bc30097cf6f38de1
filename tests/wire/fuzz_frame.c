/*
 * Any bytes through frame_decode(): no byte past the end is read, and what decodes encodes to the
 * same bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "wire/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t at = 0;

    while (at < size) {
        uint8_t again[FRAME_MAX_SIZE];
        struct frame frame;
        size_t used = 0;

        if (frame_decode(data + at, size - at, &frame, &used) != 0)
            return 0;
        if (frame_encode(&frame, again) != used || memcmp(again, data + at, used) != 0 ||
            !frame_name(frame.type))
            abort();
        at += used;
    }
    return 0;
}
