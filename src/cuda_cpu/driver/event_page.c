#include "cuda_cpu/driver/event_page.h"

#include <stddef.h>
#include <sys/mman.h>

#include "cuda_cpu/driver/process.h"

struct event_page *event_page_map(int file)
{
    void *page = mmap(NULL, EVENT_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

    return page == MAP_FAILED ? NULL : page;
}

void event_page_unmap(struct event_page *page)
{
    if (page)
        (void)munmap(page, EVENT_PAGE_BYTES);
}

uint64_t event_page_submit(struct event_page *page)
{
    uint32_t process;
    uint64_t born;

    process_self(&process, &born);
    atomic_store(&page->process, process);
    atomic_store(&page->born, born);
    return atomic_fetch_add(&page->submitted, 1) + 1;
}

void event_page_complete(struct event_page *page, uint64_t record)
{
    uint64_t done = atomic_load(&page->done);

    while (done < record && !atomic_compare_exchange_weak(&page->done, &done, record))
        ;
}

bool event_page_is_complete(struct event_page *page, uint64_t record, bool look_for_death)
{
    if (atomic_load(&page->done) >= record)
        return true;
    if (!look_for_death || process_lives(atomic_load(&page->process), atomic_load(&page->born)))
        return false;
    event_page_complete(page, record);
    return true;
}
