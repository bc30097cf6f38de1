#include "wire/page.h"

#include <assert.h>
#include <linux/futex.h>
#include <string.h>

const char *const page_counter_names[PAGE_COUNTER_N] = {
#define COUNTER(identifier, text) text,
#include "wire/counters.def"
#undef COUNTER
};

const char *page_why_whole(enum page_counter counter)
{
    static const char kind[] = "unsliced:";
    const char *name = page_counter_names[counter];

    return strncmp(name, kind, sizeof kind - 1) == 0 ? name + sizeof kind - 1 : "";
}

_Static_assert(sizeof(struct page_run) == 40, "the layout is shared between programs");
_Static_assert(offsetof(struct page, leases) == 64, "the layout is shared between programs");
_Static_assert(sizeof(pthread_mutex_t) <= 48, "the mutex lies before the leases");
_Static_assert(sizeof(struct page_lease) == 64, "one cache line per lease");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "page_futex() waits on the low half of a word");

void page_init(struct page *page, uint32_t generation, uint32_t client)
{
    page->magic = PAGE_MAGIC;
    page->version = PAGE_VERSION;
    page->generation = generation;
    page->client = client;
    atomic_store(&page->apart, NSEC_MAX);
    for (unsigned i = 0; i < PAGE_LEASES; i++)
        atomic_store(&page->leases[i].word, lease_word_make(LEASE_STATE_NONE, 0, generation, 0));
}

void page_own(struct page *page)
{
    pthread_mutexattr_t attributes;

    (void)pthread_mutexattr_init(&attributes);
    (void)pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    (void)pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    /* no thread has it: a mutex that is held for ever is part of no lock order */
    if (pthread_mutex_init(&page->owner, &attributes) == 0)
        (void)pthread_mutex_trylock(&page->owner);
    (void)pthread_mutexattr_destroy(&attributes);
}

void page_disown(struct page *page)
{
    (void)pthread_mutex_unlock(&page->owner);
}

bool page_orphaned(const struct page *page)
{
    /* the mutex begins with its futex, which is the kernel's interface */
    const uint32_t *futex = (const uint32_t *)(const void *)&page->owner;

    return (__atomic_load_n(futex, __ATOMIC_ACQUIRE) & FUTEX_OWNER_DIED) != 0;
}

const int64_t page_class_limits[PAGE_CLASSES - 1] = {
    100000,   200000,    500000,    1000000,   2000000,    5000000,    10000000,   20000000,
    50000000, 100000000, 200000000, 500000000, 1000000000, 2000000000, 5000000000, 10000000000,
};

void page_times_add(struct page_times *times, baton_nsec time)
{
    unsigned class = 0;

    while (class < PAGE_CLASSES - 1 && time > page_class_limits[class])
        class ++;
    (void)atomic_fetch_add_explicit(&times->classes[class], 1, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&times->sum_ns, (uint64_t)(time > 0 ? time : 0), memory_order_relaxed);
}

void page_ran(struct page *page, const struct page_entry *entry)
{
    uint64_t slot = atomic_fetch_add_explicit(&page->runs_written, 1, memory_order_relaxed);
    struct page_run *run = &page->runs[slot % PAGE_RUNS];

    assert(entry->lease < PAGE_LEASES || entry->lease == PAGE_RUN_JOB || entry->lease == PAGE_RUN_MISS);
    atomic_store_explicit(&run->begin_at, entry->begin_at, memory_order_relaxed);
    atomic_store_explicit(&run->lease, entry->lease, memory_order_relaxed);
    atomic_store_explicit(&run->job, entry->job, memory_order_relaxed);
    atomic_store_explicit(&run->size, entry->size, memory_order_relaxed);
    atomic_store_explicit(&run->kernel, entry->kernel, memory_order_relaxed);
    atomic_store_explicit(&run->pieces, entry->pieces, memory_order_relaxed);
    atomic_store_explicit(&run->end_at, entry->end_at, memory_order_release);
    if (entry->lease < PAGE_LEASES && entry->end_at > entry->begin_at)
        (void)atomic_fetch_add_explicit(&page->leases[entry->lease].busy_ns,
                                        (uint64_t)(entry->end_at - entry->begin_at), memory_order_relaxed);
}

/*
 * Stores also what is not new. If the daemon takes the old value between the load and the store, it
 * finds the note at its next look. If it takes the value after the store, it sees the job_mark that
 * was written before.
 */
void page_note_apart(struct page *page, baton_nsec apart)
{
    baton_nsec least = atomic_load_explicit(&page->apart, memory_order_relaxed);

    atomic_store_explicit(&page->apart, apart < least ? apart : least, memory_order_release);
}

baton_nsec page_take_apart(struct page *page)
{
    if (atomic_load_explicit(&page->apart, memory_order_relaxed) == NSEC_MAX)
        return NSEC_MAX;
    return atomic_exchange_explicit(&page->apart, NSEC_MAX, memory_order_acquire);
}

uint32_t page_kernel(struct page *page, const char *name)
{
    uint32_t n = atomic_load_explicit(&page->n_kernels, memory_order_relaxed);

    if (n > PAGE_KERNELS || !*name)
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        if (strncmp(page->kernels[i], name, PAGE_KERNEL - 1) == 0)
            return i + 1;
    }
    if (n == PAGE_KERNELS)
        return 0;
    (void)strncpy(page->kernels[n], name, PAGE_KERNEL - 1);
    page->kernels[n][PAGE_KERNEL - 1] = 0;
    atomic_store_explicit(&page->n_kernels, n + 1, memory_order_release);
    return n + 1;
}

bool page_kernel_name(const struct page *page, uint32_t kernel, char ret_name[PAGE_KERNEL])
{
    uint32_t n = atomic_load_explicit(&page->n_kernels, memory_order_acquire);

    if (kernel == 0 || kernel > n || kernel > PAGE_KERNELS)
        return false;
    memcpy(ret_name, page->kernels[kernel - 1], PAGE_KERNEL);
    ret_name[PAGE_KERNEL - 1] = 0;
    return true;
}
