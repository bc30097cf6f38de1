#include "wire/page.h"

#include <assert.h>

const char *const page_counter_names[PAGE_COUNTER_N] = {
#define COUNTER(identifier, text) text,
#include "wire/counters.def"
#undef COUNTER
};

_Static_assert(sizeof(struct page_run) == 24, "the layout is shared between programs");
_Static_assert(offsetof(struct page, leases) == 64, "the layout is shared between programs");
_Static_assert(sizeof(struct page_lease) == 64, "one cache line per lease");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "page_futex() waits on the low half of a word");

void page_init(struct page *page, uint32_t generation, uint32_t client)
{
    page->magic = PAGE_MAGIC;
    page->version = PAGE_VERSION;
    page->generation = generation;
    page->client = client;
    for (unsigned i = 0; i < PAGE_LEASES; i++)
        atomic_store(&page->leases[i].word, lease_word_make(LEASE_STATE_NONE, 0, generation, 0));
}

void page_ran(struct page *page, unsigned lease, uint32_t job, baton_nsec begin_at, baton_nsec end_at)
{
    uint64_t slot = atomic_fetch_add_explicit(&page->runs_written, 1, memory_order_relaxed);
    struct page_run *run = &page->runs[slot % PAGE_RUNS];

    assert(lease < PAGE_LEASES || lease == PAGE_RUN_JOB || lease == PAGE_RUN_MISS);
    atomic_store_explicit(&run->begin_at, begin_at, memory_order_relaxed);
    atomic_store_explicit(&run->lease, lease, memory_order_relaxed);
    atomic_store_explicit(&run->job, job, memory_order_relaxed);
    atomic_store_explicit(&run->end_at, end_at, memory_order_release);
}
