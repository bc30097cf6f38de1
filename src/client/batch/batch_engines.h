/*
 * The engines of a batch. A batch takes all of them in one group (client/lease.h) before it begins,
 * and holds them until it ends. In between it schedules its own commands.
 */
#ifndef CLIENT_BATCH_ENGINES_H
#define CLIENT_BATCH_ENGINES_H

#include <stddef.h>

struct baton_batch;
struct baton_batcher;
struct join_hooks;

/* How this process's session takes groups; NULL: batches take nothing. Before the first batch. */
void batcher_use(struct baton_batcher *batcher, const struct join_hooks *hooks);

/* On the runner: blocks until all are held. 0, or -errno: nothing is held. */
int batch_take_engines(struct baton_batch *batch);
void batch_end_engines(struct baton_batch *batch);

/* How many batches the daemon has granted their engines and buses, in one group request each. */
size_t batcher_granted(const struct baton_batcher *batcher);

#endif
