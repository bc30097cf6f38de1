#include "cli/trace_counters.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct change {
    uint64_t at;
    uint32_t engine;
    int by; /* +1 or -1 */
};

static int by_instant(const void *a, const void *b)
{
    const struct change *x = a;
    const struct change *y = b;

    if (x->at != y->at)
        return x->at > y->at ? 1 : -1;
    return (x->by > y->by) - (x->by < y->by); /* a wait that ends makes room for the next */
}

/* How many programs wait for each engine (RECORD_REQUEST), or commands run on it (RECORD_RUN). */
static void write_counter(const struct trace_recording *recording, struct trace_writer *writer,
                          struct change *changes, enum record_kind kind)
{
    const char *what = kind == RECORD_RUN ? "in flight" : "waiting";
    int values[RECORDING_ENGINES] = {0};
    char name[64];
    size_t n = 0;

    for (size_t i = 0; i < recording->n; i++) {
        const struct trace_record *record = &recording->records[i];
        uint64_t end_at = record->at + record->length;

        if (record->kind != (uint32_t)kind || record->engine >= RECORDING_ENGINES)
            continue;
        if (kind == RECORD_REQUEST)
            end_at = recording_ended_at(recording, i, RECORD_GRANT, RECORD_GRANT);
        changes[n++] = (struct change){record->at, record->engine, 1};
        changes[n++] = (struct change){end_at, record->engine, -1};
    }
    if (n)
        qsort(changes, n, sizeof *changes, by_instant);
    for (size_t i = 0; i < n; i++) {
        uint32_t engine = changes[i].engine;

        values[engine] += changes[i].by;
        (void)snprintf(name, sizeof name, "%s %s", recording->engines[engine], what);
        trace_counter(writer, recording->daemon.pid, name,
                      (uint64_t)(values[engine] > 0 ? values[engine] : 0), (baton_nsec)changes[i].at);
    }
}

int trace_counters_write(const struct trace_recording *recording, struct trace_writer *writer)
{
    struct change *changes = calloc(2 * recording->n + 1, sizeof *changes);

    if (!changes)
        return -ENOMEM;
    write_counter(recording, writer, changes, RECORD_REQUEST);
    write_counter(recording, writer, changes, RECORD_RUN);
    free(changes);
    return 0;
}
