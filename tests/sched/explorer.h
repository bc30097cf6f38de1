/* A walk over the states of a world. */
#ifndef TESTS_SCHED_EXPLORER_H
#define TESTS_SCHED_EXPLORER_H

#include "world.h"

#define SNAPSHOT_LIMIT 16384

struct snapshot_list {
    unsigned char *bytes;
    size_t used, room, n;
};

struct seen {
    uint64_t *slots;
    size_t room, n;
};

struct explorer {
    const struct world *world;
    struct sched_core *core;
    struct mirror mirror;
    struct world_report *report;
    struct seen seen;
    struct snapshot_list next;
    size_t snapshot_size;
};

void make_canonical(struct explorer *explorer);
size_t save(struct explorer *explorer, unsigned char *bytes);
void load(struct explorer *explorer, const unsigned char *bytes);
uint64_t hash_bytes(const unsigned char *bytes, size_t size);
/* True if the hash is new. */
bool seen_add(struct seen *seen, uint64_t hash);
void list_add(struct snapshot_list *list, const unsigned char *bytes, size_t size);

#endif
