/*
 * A buffer of bytes that are encoded but not yet sent, or received but not yet decoded. Its size is
 * fixed, so a peer that does not read, or that sends endless parts of frames, costs no more memory
 * than this.
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

/* How many bytes wait, and where they are. */
size_t outbox_pending(const struct outbox *outbox, const uint8_t **ret_bytes);

/* Removes the first n bytes. */
void outbox_drop(struct outbox *outbox, size_t n);

#endif
