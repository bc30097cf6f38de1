#include "daemon/tally.h"

#include <stdio.h>
#include <string.h>

static struct tally_program *program_of(struct tally *tally, const char *name)
{
    for (unsigned i = 0; i < tally->n; i++) {
        if (strcmp(tally->programs[i].name, name) == 0)
            return &tally->programs[i];
    }
    if (tally->n > TALLY_PROGRAMS)
        return &tally->programs[TALLY_PROGRAMS];
    (void)snprintf(tally->programs[tally->n].name, sizeof tally->programs[0].name, "%s",
                   tally->n < TALLY_PROGRAMS ? name : TALLY_OTHERS);
    return &tally->programs[tally->n++];
}

static void add(struct tally_times *to, const struct page_times *from)
{
    for (unsigned i = 0; i < PAGE_CLASSES; i++)
        to->classes[i] += atomic_load_explicit(&from->classes[i], memory_order_relaxed);
    to->sum_ns += atomic_load_explicit(&from->sum_ns, memory_order_relaxed);
}

void tally_keep(struct tally *tally, const char *name, const struct page *page,
                const struct history_engines *engines)
{
    struct tally_program *program = program_of(tally, name);

    add(&program->responses, &page->responses);
    add(&program->pendings, &page->pendings);
    for (unsigned i = 0; i < PAGE_LEASES; i++) {
        uint32_t engine = engines->of_lease[i];

        if (engine < SCHED_MAX_ENGINES)
            tally->busy_ns[engine] += atomic_load_explicit(&page->leases[i].busy_ns, memory_order_relaxed);
    }
}
