/*
 * An event that processes share (cuIpcGetEventHandle). A page of a memory file counts the records
 * of the event, and says which record is complete. When the process that made a record dies, the
 * record counts as complete, since its work will never run.
 */
#ifndef CUDA_CPU_DRIVER_EVENT_PAGE_H
#define CUDA_CPU_DRIVER_EVENT_PAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct event_page {
    _Atomic uint64_t submitted; /* records so far */
    _Atomic uint64_t done;      /* the latest complete record */
    _Atomic uint64_t born;      /* when the process that recorded it last was started */
    _Atomic uint32_t process;
};

enum { EVENT_PAGE_BYTES = 4096 };

/* Maps the page. NULL: it cannot be mapped. */
struct event_page *event_page_map(int file);
void event_page_unmap(struct event_page *page);

/* Counts a new record of this process and answers its number. */
uint64_t event_page_submit(struct event_page *page);
void event_page_complete(struct event_page *page, uint64_t record);
/* Is this record, or a later one, complete? look_for_death: a dead process also completes it. */
bool event_page_is_complete(struct event_page *page, uint64_t record, bool look_for_death);

#endif
