#include "cuda_cpu/driver/advice.h"

#include <pthread.h>
#include <stdlib.h>

#include "cuda_cpu/driver/driver_state.h"

struct advice {
    enum advice_kind kind;
    uint64_t begin, end;
    CUmemLocation location;
    bool is_set;
};

static bool is_same(CUmemLocation a, CUmemLocation b)
{
    return a.type == b.type && (a.type != 1 || a.id == b.id);
}

/* Under the lock: removes advice that the new advice replaces. */
static void remove_covered(const struct advice *by)
{
    size_t kept = 0;

    for (size_t i = 0; i < driver.advices.n; i++) {
        const struct advice *old = &driver.advices.all[i];

        if (!(old->kind == by->kind && old->begin >= by->begin && old->end <= by->end &&
              (by->kind != ADVICE_ACCESSED_BY || is_same(old->location, by->location))))
            driver.advices.all[kept++] = *old;
    }
    driver.advices.n = kept;
}

bool advice_note(enum advice_kind kind, uint64_t address, uint64_t size, CUmemLocation location, bool is_set)
{
    struct advice advice = {kind, address, address + size, location, is_set};
    bool has_room = true;

    pthread_mutex_lock(&driver.advices.lock);
    remove_covered(&advice);
    if (driver.advices.n == driver.advices.room) {
        size_t room = driver.advices.room ? 2 * driver.advices.room : 16;
        struct advice *grown = realloc(driver.advices.all, room * sizeof *grown);

        has_room = grown != NULL;
        if (grown) {
            driver.advices.all = grown;
            driver.advices.room = room;
        }
    }
    if (has_room)
        driver.advices.all[driver.advices.n++] = advice;
    pthread_mutex_unlock(&driver.advices.lock);
    return has_room;
}

void advice_forget(uint64_t address, uint64_t size)
{
    size_t kept = 0;

    pthread_mutex_lock(&driver.advices.lock);
    for (size_t i = 0; i < driver.advices.n; i++)
        if (driver.advices.all[i].begin >= address + size || driver.advices.all[i].end <= address)
            driver.advices.all[kept++] = driver.advices.all[i];
    driver.advices.n = kept;
    pthread_mutex_unlock(&driver.advices.lock);
}

/* Under the lock: the latest advice of the kind for this byte; NULL: none. */
static const struct advice *latest(enum advice_kind kind, uint64_t address, const CUmemLocation *asked)
{
    for (size_t i = driver.advices.n; i-- > 0;) {
        const struct advice *advice = &driver.advices.all[i];

        if (advice->kind == kind && advice->begin <= address && address < advice->end &&
            (kind != ADVICE_ACCESSED_BY || is_same(advice->location, *asked)))
            return advice->is_set ? advice : NULL;
    }
    return NULL;
}

bool advice_holds(enum advice_kind kind, uint64_t address, uint64_t size, CUmemLocation *ret_location)
{
    const struct advice *first, *here;
    bool holds;

    pthread_mutex_lock(&driver.advices.lock);
    first = latest(kind, address, ret_location);
    holds = first != NULL;
    for (size_t i = 0; i < 2 * driver.advices.n && holds;
         i++) { /* advice can change only where a range begins or ends */
        uint64_t at = i % 2 ? driver.advices.all[i / 2].end : driver.advices.all[i / 2].begin;

        if (at <= address || at >= address + size)
            continue;
        here = latest(kind, at, ret_location);
        holds = here && (kind == ADVICE_READ_MOSTLY || is_same(here->location, first->location));
    }
    if (holds)
        *ret_location = first->location;
    pthread_mutex_unlock(&driver.advices.lock);
    return holds;
}
