/*
 * Sets of this machine's cores, as the kernel lists them ("0-1,4"), and what batond knows about
 * them. Pure.
 */
#ifndef DAEMON_CORES_H
#define DAEMON_CORES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CORES_MAX 1024

struct core_set {
    uint64_t bits[CORES_MAX / 64];
};

/* The machine's cores at one instant. */
struct machine {
    struct core_set online;  /* cores that are online */
    struct core_set allowed; /* batond itself may run there: its affinity and its cpuset */
    /* cores that run only threads which name them (isolcpus, isolated cpusets) */
    struct core_set isolated;
};

static inline bool core_set_has(const struct core_set *set, unsigned core)
{
    return core < CORES_MAX && (set->bits[core / 64] >> core % 64 & 1);
}

static inline void core_set_add(struct core_set *set, unsigned core)
{
    set->bits[core / 64] |= UINT64_C(1) << core % 64;
}

unsigned core_set_count(const struct core_set *set);
struct core_set core_set_both(const struct core_set *a, const struct core_set *b);
struct core_set core_set_without(const struct core_set *a, const struct core_set *b);

/*
 * Reads "0-1,4" up to the end of the line; an empty list is an empty set. 0, or -EINVAL: not a list
 * of cores.
 */
int core_set_parse(const char *text, struct core_set *ret_set);

/* Writes the set as such a list, cut off at size; "none" when it is empty. */
void core_set_print(const struct core_set *set, char *ret_text, size_t size);

#endif
