/*
 * How many references a record has. The record embeds it, and is freed by the thread to which
 * refs_drop() answers true.
 */
#ifndef BASE_REFS_H
#define BASE_REFS_H

#include <stdatomic.h>
#include <stdbool.h>

struct refs {
    atomic_uint n;
};

/* One reference, of the thread that makes the record, or that takes it from a pool. */
static inline void refs_init(struct refs *refs)
{
    atomic_store_explicit(&refs->n, 1, memory_order_relaxed);
}

/* By a thread that has a reference, or a lock under which the last one is not dropped. */
static inline void refs_keep(struct refs *refs)
{
    atomic_fetch_add_explicit(&refs->n, 1, memory_order_relaxed);
}

/* True: that was the last one. What other threads did to the record is visible then. */
static inline bool refs_drop(struct refs *refs)
{
    return atomic_fetch_sub_explicit(&refs->n, 1, memory_order_acq_rel) == 1;
}

/*
 * Drops one that is not the last. False: it is, and stays; the caller drops it under the lock under
 * which other threads look for the record.
 */
static inline bool refs_drop_but_last(struct refs *refs)
{
    unsigned n = atomic_load_explicit(&refs->n, memory_order_acquire);

    while (n > 1)
        if (atomic_compare_exchange_weak_explicit(&refs->n, &n, n - 1, memory_order_acq_rel,
                                                  memory_order_acquire))
            return true;
    return false;
}

/* Other threads may change it at once. */
static inline unsigned refs_count(const struct refs *refs)
{
    return atomic_load_explicit(&refs->n, memory_order_acquire);
}

#endif
