#include "engine/handle_table.h"

#include <stdint.h>
#include <stdlib.h>

static size_t mix(const void *handle)
{
    uint64_t x = (uint64_t)(uintptr_t)handle;

    x ^= x >> 32;
    x *= UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(x >> 20);
}

static struct handle_shard *shard_of(struct handle_table *table, const void *handle)
{
    return &table->shards[mix(handle) % HANDLE_SHARDS];
}

static struct handle_entry **place(struct handle_shard *shard, const void *handle)
{
    struct handle_entry **at = &shard->buckets[mix(handle) / HANDLE_SHARDS & (shard->n_buckets - 1)];

    while (*at && (*at)->handle != handle)
        at = &(*at)->next;
    return at;
}

void handle_table_init(struct handle_table *table, void (*keep)(void *record))
{
    for (size_t i = 0; i < HANDLE_SHARDS; i++) {
        pthread_mutex_init(&table->shards[i].lock, NULL);
        table->shards[i].buckets = NULL;
        table->shards[i].n_buckets = table->shards[i].n = 0;
    }
    table->keep = keep;
}

static bool grow(struct handle_shard *shard)
{
    size_t n = shard->n_buckets ? shard->n_buckets * 2 : 16, old_n = shard->n_buckets;
    struct handle_entry **old = shard->buckets, **fresh = calloc(n, sizeof(struct handle_entry *));

    if (!fresh)
        return shard->n_buckets > 0; /* without memory, longer chains will do */
    shard->buckets = fresh;
    shard->n_buckets = n;
    for (size_t i = 0; i < old_n; i++)
        for (struct handle_entry *entry = old[i], *next; entry; entry = next) {
            struct handle_entry **at = place(shard, entry->handle);
            next = entry->next;
            entry->next = NULL;
            *at = entry;
        }
    free(old);
    return true;
}

bool handle_table_put(struct handle_table *table, const void *handle, void *record)
{
    struct handle_shard *shard = shard_of(table, handle);
    struct handle_entry **at, *entry = malloc(sizeof *entry);
    bool fits;

    if (!entry)
        return false;
    pthread_mutex_lock(&shard->lock);
    fits = shard->n < shard->n_buckets * 2 || grow(shard);
    if (fits) {
        at = place(shard, handle);
        if (*at) {
            (*at)->record = record;
            free(entry);
        } else {
            *entry = (struct handle_entry){NULL, handle, record};
            *at = entry;
            shard->n++;
        }
    } else {
        free(entry);
    }
    pthread_mutex_unlock(&shard->lock);
    return fits;
}

void *handle_table_find(struct handle_table *table, const void *handle)
{
    struct handle_shard *shard = shard_of(table, handle);
    struct handle_entry *entry;
    void *record;

    if (!handle)
        return NULL;
    pthread_mutex_lock(&shard->lock);
    entry = shard->n_buckets ? *place(shard, handle) : NULL;
    record = entry ? entry->record : NULL;
    if (record && table->keep)
        table->keep(record);
    pthread_mutex_unlock(&shard->lock);
    return record;
}

void *handle_table_remove(struct handle_table *table, const void *handle)
{
    struct handle_shard *shard = shard_of(table, handle);
    struct handle_entry **at, *entry = NULL;
    void *record = NULL;

    pthread_mutex_lock(&shard->lock);
    if (shard->n_buckets) {
        at = place(shard, handle);
        entry = *at;
        if (entry) {
            *at = entry->next;
            record = entry->record;
            shard->n--;
        }
    }
    pthread_mutex_unlock(&shard->lock);
    free(entry);
    return record;
}

/* Under the shard's lock. */
static bool take_all(struct handle_table *table, const struct handle_shard *shard, void ***records, size_t *n)
{
    void **grown = shard->n ? realloc(*records, (*n + shard->n) * sizeof *grown) : *records;

    if (shard->n && !grown)
        return false;
    *records = grown;
    for (size_t i = 0; i < shard->n_buckets; i++)
        for (const struct handle_entry *entry = shard->buckets[i]; entry; entry = entry->next) {
            if (table->keep)
                table->keep(entry->record);
            (*records)[(*n)++] = entry->record;
        }
    return true;
}

void **handle_table_all(struct handle_table *table, size_t *ret_n)
{
    void **records = NULL;

    *ret_n = 0;
    for (size_t i = 0; i < HANDLE_SHARDS; i++) {
        struct handle_shard *shard = &table->shards[i];
        bool taken;

        pthread_mutex_lock(&shard->lock);
        taken = take_all(table, shard, &records, ret_n);
        pthread_mutex_unlock(&shard->lock);
        if (!taken)
            break;
    }
    return records;
}
