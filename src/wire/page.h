/*
 * The page that the daemon shares with one client. It has lease words, counters, distributions of
 * job times, and a ring of runs with the names of their kernels. The daemon makes it as a memfd,
 * seals its size, and passes it with the welcome. Both sides map it writable; no other process sees
 * it. Fields are atomic because the other side may write at any time. Only the lease words matter
 * for scheduling.
 */
#ifndef WIRE_PAGE_H
#define WIRE_PAGE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/nsec.h"
#include "wire/lease_word.h"

#define PAGE_LEASES   32 /* leases of one client: ten devices with three engines */
#define PAGE_COUNTERS 64
#define PAGE_RUNS     1024 /* a power of two */
#define PAGE_KERNELS  64   /* names of kernels; a run of any further kernel has no name */
#define PAGE_KERNEL   48   /* bytes of a name with its 0; longer names are cut */

/*
 * Instead of a lease's index in struct page_run: the entry is a whole job, or how far it passed its
 * deadline.
 */
#define PAGE_RUN_JOB  0x10000u
#define PAGE_RUN_MISS 0x10001u

/* Events for which the client requests a frame, besides the flag in the word. */
#define PAGE_TELL_YIELD 2u

struct page_lease {
    _Alignas(64) lease_word word; /* a cache line each, so that engines do not share one */
    _Atomic uint32_t tell;        /* PAGE_TELL_*, written by the client */
    _Atomic uint64_t busy_ns;     /* length of all runs under this lease */
};

/* One command, or those of its pieces that ran in one hold. */
struct page_run {
    _Atomic int64_t begin_at, end_at; /* CLOCK_MONOTONIC, nanoseconds */
    _Atomic uint32_t lease;           /* index of the lease, or PAGE_RUN_* */
    _Atomic uint32_t job;             /* the job's number, low half */
    _Atomic uint64_t size;            /* work-items of the launch, or bytes of the copy; 0: unknown */
    _Atomic uint32_t kernel;          /* 1 + index of its name in the page; 0: no kernel, or no name */
    _Atomic uint32_t pieces;          /* number of pieces in this run; 0: unknown */
};

/*
 * Upper limits, in nanoseconds, of the classes in which response and pending times are counted.
 * They are 1, 2, 5 per decade, from 100 us to 10 s. The last class has none.
 */
#define PAGE_CLASSES 17
extern const int64_t page_class_limits[PAGE_CLASSES - 1];

/* A distribution of times. */
struct page_times {
    _Atomic uint64_t classes[PAGE_CLASSES]; /* how many in each */
    _Atomic uint64_t sum_ns;
};

/* Counts a time in the first class whose limit is not below it. */
void page_times_add(struct page_times *times, baton_nsec time);

struct page {
    uint32_t magic, version;
    uint32_t generation, client;
    union {
        pthread_mutex_t owner; /* page_own() */
        uint32_t reserved[12]; /* to a cache line */
    };
    struct page_lease leases[PAGE_LEASES];
    _Atomic uint64_t counters[PAGE_COUNTERS]; /* wire/counters.def */
    _Atomic uint64_t runs_written;            /* total; the newest is runs[(runs_written - 1) % PAGE_RUNS] */
    _Atomic uint32_t n_kernels;               /* names that are complete; they never change */
    uint32_t unused_half;
    /*
     * Odd: a job has begun and not ended. Even: it has ended; 0: none has begun. Grows with every
     * begin and end. released_at, the release of that job, is written before.
     */
    _Atomic uint64_t job_mark;
    _Atomic int64_t released_at;
    _Atomic int64_t apart; /* page_note_apart() */
    /*
     * Engine time of the commands in the present job, as its budget counts it: 0 at its begin, and
     * in warm-up jobs. Written by clients with HELLO_USED.
     */
    _Atomic uint64_t used_ns;
    uint64_t unused[2];
    struct page_run runs[PAGE_RUNS];
    struct page_times responses, pendings; /* of the jobs that ended while this page was in use */
    char kernels[PAGE_KERNELS][PAGE_KERNEL];
};

#define PAGE_MAGIC   UINT32_C(0x4e544142) /* "BATN" */
#define PAGE_VERSION 4u

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

/* The reason for which this counter counts whole launches; "" for every other counter. */
const char *page_why_whole(enum page_counter counter);

/*
 * The low half of a word, which a futex can wait on (little-endian machines only, as all of
 * Debian's with OpenCL).
 */
static inline uint32_t *page_futex(lease_word *word)
{
    return (uint32_t *)(void *)word;
}

/* Fills a fresh, zeroed page. */
void page_init(struct page *page, uint32_t generation, uint32_t client);

/*
 * The client's session thread owns the page: it holds a robust mutex in it. The kernel marks the
 * mutex if the thread ends without page_disown(): the process died, or became another program by
 * exec(). The daemon then knows that the process has no GPU work left, even if a process of that
 * number lives. Call both on the owning thread.
 */
void page_own(struct page *page);
void page_disown(struct page *page);
/* On the daemon's side: did the page have an owner that is gone? */
bool page_orphaned(const struct page *page);

/* One entry of the ring. */
struct page_entry {
    unsigned lease; /* an index, or PAGE_RUN_* */
    uint32_t job;
    baton_nsec begin_at, end_at;
    uint64_t size;           /* as in struct page_run */
    uint32_t kernel, pieces; /* the same */
};

/* Writes one entry. Any thread may call it at any time: fetch-add claims the slots. */
void page_ran(struct page *page, const struct page_entry *entry);

/*
 * The client has begun a job so many nanoseconds after the release of the one before. PAGE_NO_JOB:
 * it has submitted commands while no job ran, or has begun a warm-up job. PAGE_BEGAN_LATE: it has
 * begun a job whose bound had passed. Call it after job_mark was written. One thread at a time.
 */
#define PAGE_NO_JOB     (-1)
#define PAGE_BEGAN_LATE (-2)
void page_note_apart(struct page *page, baton_nsec apart);
/* On the daemon's side: the least that was noted since the last call; NSEC_MAX: nothing was. */
baton_nsec page_take_apart(struct page *page);

/*
 * The number of that name for page_run.kernel; adds the name if it is new. One thread at a time. 0:
 * no room.
 */
uint32_t page_kernel(struct page *page, const char *name);

/*
 * Copies the name of that number; false: there is none. The client may have written any bytes, so
 * the text is terminated here.
 */
bool page_kernel_name(const struct page *page, uint32_t kernel, char ret_name[PAGE_KERNEL]);

#endif
