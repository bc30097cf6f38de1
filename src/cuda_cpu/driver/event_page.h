/*
 * An event that processes share (cuIpcGetEventHandle): a page of a memory file counts how often the
 * event was recorded, and which record is complete. A record is complete, too, when the process
 * that made it has died, since its work will never run.
 */
#ifndef CUDA_CPU_DRIVER_EVENT_PAGE_H
#define CUDA_CPU_DRIVER_EVENT_PAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct event_page {
    _Atomic uint64_t submitted; /* records so far */
    _Atomic uint64_t done;      /* the latest that is complete */
    _Atomic uint64_t born;      /* of the process that recorded it last */
    _Atomic uint32_t process;
};

enum { EVENT_PAGE_BYTES = 4096 };

/* Maps it. NULL: it cannot be mapped. */
struct event_page *event_page_map(int file);
void event_page_unmap(struct event_page *page);

/* Notes a new record of this process: its number. */
uint64_t event_page_submit(struct event_page *page);
void event_page_complete(struct event_page *page, uint64_t record);
/* Is this record, or a later one, complete? look_for_death: also when its process has died. */
bool event_page_is_complete(struct event_page *page, uint64_t record, bool look_for_death);

#endif
