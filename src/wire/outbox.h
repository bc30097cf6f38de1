/*
 * Bytes on their way: what was encoded and not yet sent, or received and not yet decoded. A fixed ring-less buffer, so a peer
 * that does not read (or sends endless halves of frames) costs this much memory and no more.
 */
#ifndef WIRE_OUTBOX_H
#define WIRE_OUTBOX_H

#include <stddef.h>
#include <stdint.h>

#include "wire/frame.h"

#define OUTBOX_SIZE (16u * 1024u)

struct outbox {
    uint8_t bytes[OUTBOX_SIZE];
    size_t begin, end; /* bytes[begin..end) wait */
};

void outbox_init(struct outbox *outbox);

/* Appends one frame: 0, or -ENOBUFS when it does not fit (nothing is appended). */
int outbox_put(struct outbox *outbox, const struct frame *frame);

/* Appends up to n raw bytes; answers how many fitted. */
size_t outbox_append(struct outbox *outbox, const uint8_t *bytes, size_t n);

/* How many bytes wait, and where. */
size_t outbox_pending(const struct outbox *outbox, const uint8_t **ret_bytes);

/* The first n of them are done with. */
void outbox_drop(struct outbox *outbox, size_t n);

#endif
