#include "cuda_cpu/driver/advice.h"

#include <pthread.h>
#include <stdlib.h>

struct advice {
    enum advice_kind kind;
    uint64_t begin, end;
    CUmemLocation location;
    bool is_set;
};

/* The one state of this module: what was said, in order. Later advice replaces earlier. */
static struct {
    pthread_mutex_t lock;
    struct advice *all;
    size_t n, room;
} advices = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_same(CUmemLocation a, CUmemLocation b)
{
    return a.type == b.type && (a.type != 1 || a.id == b.id);
}

/* Under the lock: removes what the new advice makes void. */
static void remove_covered(const struct advice *by)
{
    size_t kept = 0;

    for (size_t i = 0; i < advices.n; i++) {
        const struct advice *old = &advices.all[i];

        if (!(old->kind == by->kind && old->begin >= by->begin && old->end <= by->end &&
              (by->kind != ADVICE_ACCESSED_BY || is_same(old->location, by->location))))
            advices.all[kept++] = *old;
    }
    advices.n = kept;
}

bool advice_note(enum advice_kind kind, uint64_t address, uint64_t size, CUmemLocation location, bool is_set)
{
    struct advice advice = {kind, address, address + size, location, is_set};
    bool has_room = true;

    pthread_mutex_lock(&advices.lock);
    remove_covered(&advice);
    if (advices.n == advices.room) {
        size_t room = advices.room ? 2 * advices.room : 16;
        struct advice *grown = realloc(advices.all, room * sizeof *grown);

        has_room = grown != NULL;
        if (grown) {
            advices.all = grown;
            advices.room = room;
        }
    }
    if (has_room)
        advices.all[advices.n++] = advice;
    pthread_mutex_unlock(&advices.lock);
    return has_room;
}

void advice_forget(uint64_t address, uint64_t size)
{
    size_t kept = 0;

    pthread_mutex_lock(&advices.lock);
    for (size_t i = 0; i < advices.n; i++)
        if (advices.all[i].begin >= address + size || advices.all[i].end <= address)
            advices.all[kept++] = advices.all[i];
    advices.n = kept;
    pthread_mutex_unlock(&advices.lock);
}

/* Under the lock: what is said of this byte; NULL: nothing. */
static const struct advice *latest(enum advice_kind kind, uint64_t address, const CUmemLocation *asked)
{
    for (size_t i = advices.n; i-- > 0;) {
        const struct advice *advice = &advices.all[i];

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

    pthread_mutex_lock(&advices.lock);
    first = latest(kind, address, ret_location);
    holds = first != NULL;
    for (size_t i = 0; i < 2 * advices.n && holds; i++) { /* it can change where a range begins or ends */
        uint64_t at = i % 2 ? advices.all[i / 2].end : advices.all[i / 2].begin;

        if (at <= address || at >= address + size)
            continue;
        here = latest(kind, at, ret_location);
        holds = here && (kind == ADVICE_READ_MOSTLY || is_same(here->location, first->location));
    }
    if (holds)
        *ret_location = first->location;
    pthread_mutex_unlock(&advices.lock);
    return holds;
}
