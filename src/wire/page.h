/*
 * The page that the daemon shares with one client: lease words, counters, and a ring of what ran. The daemon makes it as a
 * memfd, seals its size, and passes it with the welcome; both sides map it writable, nobody else sees it. All fields are
 * atomic because the other side may write at any time, and only the lease words carry meaning for scheduling.
 */
#ifndef WIRE_PAGE_H
#define WIRE_PAGE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/nsec.h"
#include "wire/lease_word.h"

#define PAGE_LEASES   32 /* leases of one client: ten devices with three engines */
#define PAGE_COUNTERS 64
#define PAGE_RUNS     1024 /* a power of two */

/* In place of a lease's index in struct page_run: not a run but a whole job, or how far it passed its deadline. */
#define PAGE_RUN_JOB  0x10000u
#define PAGE_RUN_MISS 0x10001u

/* What the client asks to be told by frame, besides the word itself. */
#define PAGE_TELL_YIELD 2u

struct page_lease {
    _Alignas(64) lease_word word; /* a cache line each: engines do not disturb one another */
    _Atomic uint32_t tell;        /* PAGE_TELL_*, written by the client */
};

/* One piece or command that ran on an engine. */
struct page_run {
    _Atomic int64_t begin_at, end_at; /* CLOCK_MONOTONIC, nanoseconds */
    _Atomic uint32_t lease;           /* index of the lease, or PAGE_RUN_* */
    _Atomic uint32_t job;             /* the job's number, low half */
};

struct page {
    uint32_t magic, version;
    uint32_t generation, client;
    uint32_t reserved[12]; /* to a cache line */
    struct page_lease leases[PAGE_LEASES];
    _Atomic uint64_t counters[PAGE_COUNTERS]; /* wire/counters.def */
    _Atomic uint64_t runs_written;            /* total; the newest is runs[(runs_written - 1) % PAGE_RUNS] */
    uint64_t unused[7];
    struct page_run runs[PAGE_RUNS];
};

#define PAGE_MAGIC   UINT32_C(0x4e544142) /* "BATN" */
#define PAGE_VERSION 2u

/* Bytes of the file and of the mapping: a whole number of 4 KiB pages. */
#define PAGE_SIZE_BYTES ((sizeof(struct page) + 4095) / 4096 * 4096)

enum page_counter {
#define COUNTER(identifier, text) PAGE_COUNTER_##identifier,
#include "wire/counters.def"
#undef COUNTER
    PAGE_COUNTER_N
};
_Static_assert(PAGE_COUNTER_N <= PAGE_COUNTERS, "more counters than the page has room for");

/* The names of wire/counters.def, in order. */
extern const char *const page_counter_names[PAGE_COUNTER_N];

/* The low half of a word, which a futex can wait on (little-endian machines only, as all of Debian's with OpenCL). */
static inline uint32_t *page_futex(lease_word *word)
{
    return (uint32_t *)(void *)word;
}

/* Fills a fresh, zeroed page. */
void page_init(struct page *page, uint32_t generation, uint32_t client);

/* Writes one entry; any thread may at any time: slots are claimed by fetch-add. lease: an index, or PAGE_RUN_*. */
void page_ran(struct page *page, unsigned lease, uint32_t job, baton_nsec begin_at, baton_nsec end_at);

#endif
