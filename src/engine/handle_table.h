/*
 * Maps handles to records, for handles that the driver made and the program holds. Sharded, one
 * small lock per shard: two threads rarely contend, and a look-up costs a few tens of nanoseconds.
 */
#ifndef ENGINE_HANDLE_TABLE_H
#define ENGINE_HANDLE_TABLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum { HANDLE_SHARDS = 64 };

struct handle_entry {
    struct handle_entry *next;
    const void *handle;
    void *record;
};

struct handle_shard {
    pthread_mutex_t lock;
    struct handle_entry **buckets; /* owned; a power of two of them */
    size_t n_buckets, n;
};

struct handle_table {
    struct handle_shard shards[HANDLE_SHARDS];
    /* called under the shard's lock before find() returns; may be NULL */
    void (*keep)(void *record);
};

void handle_table_init(struct handle_table *table, void (*keep)(void *record));

/*
 * False: no memory. If the handle is present, it gets the new record: the driver has reused the
 * address.
 */
bool handle_table_put(struct handle_table *table, const void *handle, void *record);

/* The record, kept; NULL: the handle is not in the table. */
void *handle_table_find(struct handle_table *table, const void *handle);

/* Takes the record out and returns it; NULL: none. */
void *handle_table_remove(struct handle_table *table, const void *handle);

/*
 * All records, each with a reference as handle_table_find() adds it: an array of *ret_n that the
 * caller frees. Without memory for all of them, those that were found so far. NULL: none.
 */
void **handle_table_all(struct handle_table *table, size_t *ret_n);

#endif
