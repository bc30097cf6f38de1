/* What protocol.c (the conversation, single leases) and protocol_group.c share. */
#ifndef CLIENT_PROTOCOL_PRIVATE_H
#define CLIENT_PROTOCOL_PRIVATE_H

#include "client/protocol.h"

/* Does a daemon manage the lease? */
static inline bool protocol_managed(const struct protocol *protocol, const struct protocol_lease *lease)
{
    return protocol->state == PROTOCOL_ONLINE && !lease->refused;
}

/* Queues a frame. An outbox that overflows breaks the connection. */
void protocol_put(struct protocol *protocol, const struct frame *frame);

/*
 * Ends a hold on a word without a daemon: the word is idle again, and the lost daemon's word is
 * given up too.
 */
void protocol_end_private(struct protocol_lease *lease);

#endif
