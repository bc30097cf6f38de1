#include "wire/outbox.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

void outbox_init(struct outbox *outbox)
{
    outbox->begin = outbox->end = 0;
}

static void compact(struct outbox *outbox)
{
    memmove(outbox->bytes, outbox->bytes + outbox->begin, outbox->end - outbox->begin);
    outbox->end -= outbox->begin;
    outbox->begin = 0;
}

int outbox_put(struct outbox *outbox, const struct frame *frame)
{
    uint8_t bytes[FRAME_MAX_SIZE];
    size_t n = frame_encode(frame, bytes);

    if (OUTBOX_SIZE - (outbox->end - outbox->begin) < n)
        return -ENOBUFS;
    (void)outbox_append(outbox, bytes, n);
    return 0;
}

size_t outbox_append(struct outbox *outbox, const uint8_t *bytes, size_t n)
{
    if (OUTBOX_SIZE - outbox->end < n)
        compact(outbox);
    if (n > OUTBOX_SIZE - outbox->end)
        n = OUTBOX_SIZE - outbox->end;
    memcpy(outbox->bytes + outbox->end, bytes, n);
    outbox->end += n;
    return n;
}

size_t outbox_pending(const struct outbox *outbox, const uint8_t **ret_bytes)
{
    *ret_bytes = outbox->bytes + outbox->begin;
    return outbox->end - outbox->begin;
}

void outbox_drop(struct outbox *outbox, size_t n)
{
    assert(n <= outbox->end - outbox->begin);
    outbox->begin += n;
    if (outbox->begin == outbox->end)
        outbox->begin = outbox->end = 0;
}
