#include "daemon/history.h"

#include <string.h>

void history_add(struct history *history, baton_nsec at, enum record_kind kind, uint32_t client,
                 uint32_t engine)
{
    history->records[history->n_records++ % HISTORY_RECORDS] =
        (struct trace_record){.at = (uint64_t)at, .kind = kind, .client = client, .engine = engine};
}

void history_add_span(struct history *history, const struct trace_record *record)
{
    history->records[history->n_records++ % HISTORY_RECORDS] = *record;
}

void history_add_exceeded(struct history *history, const struct trace_record *record)
{
    struct trace_record *kept = &history->records[history->n_records++ % HISTORY_RECORDS];

    *kept = *record;
    kept->kind = RECORD_EXCEED;
}

void history_add_planned(struct history *history, baton_nsec at, baton_nsec length, uint32_t task,
                         enum admission_verdict verdict)
{
    history->records[history->n_records++ % HISTORY_RECORDS] =
        (struct trace_record){.at = (uint64_t)at,
                              .length = (uint64_t)length,
                              .kind = RECORD_PLANNED,
                              .engine = verdict,
                              .job = task};
}

/* Where reading may begin: entries older than `room` have been overwritten. */
static uint64_t first_left(uint64_t cursor, uint64_t written, uint64_t room, uint32_t *ret_lost)
{
    uint64_t oldest = written > room ? written - room : 0;
    uint64_t lost = cursor < oldest ? oldest - cursor : 0;

    *ret_lost = lost > UINT32_MAX ? UINT32_MAX : (uint32_t)lost;
    if (cursor > written)
        return written;
    return cursor < oldest ? oldest : cursor;
}

size_t history_read_page(const struct page *page, uint32_t client, const struct history_engines *engines,
                         uint64_t *cursor, struct trace_record *ret_records, size_t n, uint32_t *ret_lost)
{
    uint64_t written = atomic_load(&page->runs_written);
    uint64_t at = first_left(*cursor, written, PAGE_RUNS, ret_lost);
    size_t taken = 0;

    for (; at < written && taken < n; at++) {
        const struct page_run *run = &page->runs[at % PAGE_RUNS];
        int64_t end_at = atomic_load(&run->end_at);
        int64_t begin_at = atomic_load(&run->begin_at);
        uint32_t lease = atomic_load(&run->lease);

        enum record_kind kind = lease == PAGE_RUN_JOB    ? RECORD_JOB
                                : lease == PAGE_RUN_MISS ? RECORD_MISS
                                                         : RECORD_RUN;
        uint32_t engine = lease < PAGE_LEASES ? engines->of_lease[lease] : 0;

        if ((kind == RECORD_RUN && (lease >= PAGE_LEASES || engine == UINT32_MAX)) || begin_at < 0 ||
            end_at < begin_at)
            continue;
        ret_records[taken++] = (struct trace_record){.at = (uint64_t)begin_at,
                                                     .length = (uint64_t)(end_at - begin_at),
                                                     .kind = kind,
                                                     .client = client,
                                                     .engine = engine,
                                                     .job = atomic_load(&run->job),
                                                     .size = atomic_load(&run->size),
                                                     .kernel = atomic_load(&run->kernel),
                                                     .pieces = atomic_load(&run->pieces)};
    }
    *cursor = at;
    return taken;
}

/* The number of a departed client's kernel; 0: it has no name, or there is no room. */
static uint32_t keep_kernel(struct history *history, uid_t uid, const struct page *page, uint32_t kernel)
{
    char name[PAGE_KERNEL];

    if (!page_kernel_name(page, kernel, name))
        return 0;
    for (uint32_t i = 0; i < history->n_kernels; i++) {
        if (history->kernels[i].uid == uid && strcmp(history->kernels[i].name, name) == 0)
            return i + 1;
    }
    if (history->n_kernels == HISTORY_KERNELS)
        return 0;
    history->kernels[history->n_kernels].uid = uid;
    memcpy(history->kernels[history->n_kernels].name, name, sizeof name);
    return ++history->n_kernels;
}

const struct history_kernel *history_kernel(const struct history *history, uid_t uid, uint64_t number)
{
    if (number == 0 || number > history->n_kernels ||
        (uid != (uid_t)-1 && history->kernels[number - 1].uid != uid))
        return NULL;
    return &history->kernels[number - 1];
}

void history_keep(struct history *history, const struct history_client *client, const struct page *page,
                  const struct history_engines *engines)
{
    struct trace_record some[32];
    uint32_t numbers[PAGE_KERNELS + 1] = {0}; /* history's number by the page's number */
    uint64_t cursor = 0;
    uint32_t lost;
    size_t n;

    for (uint32_t k = 1; page && k <= PAGE_KERNELS; k++)
        numbers[k] = keep_kernel(history, client->uid, page, k);
    history->departed[history->n_departed++ % HISTORY_DEPARTED] = *client;
    /* Bounded although the client may still be writing: at most one whole ring. */
    for (size_t total = 0; page && total < PAGE_RUNS; total += n) {
        n = history_read_page(page, client->client, engines, &cursor, some, 32, &lost);
        history->forgotten += lost;
        if (n == 0)
            break;
        for (size_t i = 0; i < n; i++) {
            some[i].kernel = some[i].kernel <= PAGE_KERNELS ? numbers[some[i].kernel] : 0;
            history->run_uids[history->n_runs % HISTORY_RUNS] = client->uid;
            history->runs[history->n_runs++ % HISTORY_RUNS] = some[i];
        }
    }
}

size_t history_read(const struct history *history, uint64_t *cursor, struct trace_record *ret_records,
                    size_t n, uint32_t *ret_lost)
{
    uint64_t at = first_left(*cursor, history->n_records, HISTORY_RECORDS, ret_lost);
    size_t taken = 0;

    while (at < history->n_records && taken < n)
        ret_records[taken++] = history->records[at++ % HISTORY_RECORDS];
    *cursor = at;
    return taken;
}

size_t history_read_runs(const struct history *history, uid_t uid, uint64_t *cursor,
                         struct trace_record *ret_records, size_t n, uint32_t *ret_lost)
{
    uint64_t at = first_left(*cursor, history->n_runs, HISTORY_RUNS, ret_lost);
    size_t taken = 0;

    if (*cursor == 0) /* once per reader */
        *ret_lost += (uint32_t)(history->forgotten < INT32_MAX ? history->forgotten : INT32_MAX);

    for (; at < history->n_runs && taken < n; at++) {
        if (uid == (uid_t)-1 || history->run_uids[at % HISTORY_RUNS] == uid)
            ret_records[taken++] = history->runs[at % HISTORY_RUNS];
    }
    *cursor = at;
    return taken;
}
