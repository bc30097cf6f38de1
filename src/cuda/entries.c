#include "cuda/entries.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/front.h"

enum { PLAIN = FORM_PLAIN, PTDS = FORM_PTDS, PTSZ = FORM_PTSZ };

/* A row of entries.def. */
struct entry_row {
    const char *symbol, *base; /* symbol: of ROUTE */
    enum treatment treatment;
    entry_handler handler;
    unsigned arguments;
    int stream;
};

static const struct entry_row rows[] = {
#define ROUTE(symbol, base, handler, arguments, stream)                                                      \
    {#symbol, #base, TREATMENT_ROUTE, route_##handler, arguments, stream},
#define DRAIN(base)   {NULL, #base, TREATMENT_DRAIN, NULL, 0, NO_STREAM},
#define PASS(base)    {NULL, #base, TREATMENT_PASS, NULL, 0, NO_STREAM},
#define EXTRA(symbol) {NULL, #symbol, TREATMENT_DRAIN, NULL, 0, NO_STREAM},
#include "cuda/entries.def"
#undef ROUTE
#undef DRAIN
#undef PASS
#undef EXTRA
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

static const struct {
    const char *symbol, *base;
    int since;
    enum form form;
} names[ENTRY_KNOWN] = {
#define NAME(symbol, base, since, suffix) {#symbol, #base, since, (enum form)suffix},
#include "cuda_abi/names.def"
#undef NAME
#define ROUTE(symbol, base, handler, arguments, stream)
#define DRAIN(base)
#define PASS(base)
#define EXTRA(symbol) {#symbol, #symbol, 0, FORM_PLAIN},
#include "cuda/entries.def"
#undef ROUTE
#undef DRAIN
#undef PASS
#undef EXTRA
};

/* Is the symbol this one, or a form of it for per-thread default streams? */
static bool is_form_of(const char *symbol, const char *plain)
{
    size_t length = strlen(plain);

    return strncmp(symbol, plain, length) == 0 && (!symbol[length] || strcmp(symbol + length, "_ptds") == 0 ||
                                                   strcmp(symbol + length, "_ptsz") == 0);
}

/* The rows of cuda_abi/names.def say it; an EXTRA name tells by its end. */
static enum form form_of(const char *symbol, enum form said)
{
    size_t length = strlen(symbol);

    return length > 5 && strcmp(symbol + length - 5, "_ptsz") == 0 ? FORM_PTSZ : said;
}

static void fill(struct entry *entry)
{
    entry->treatment = TREATMENT_UNKNOWN;
    for (size_t i = 0; i < N_ROWS; i++) {
        const struct entry_row *row = &rows[i];

        if (strcmp(row->base, entry->base) != 0)
            continue;
        if (row->treatment == TREATMENT_ROUTE && !is_form_of(entry->symbol, row->symbol)) {
            entry->treatment = TREATMENT_DRAIN; /* unless a later row is this symbol's */
            continue;
        }
        entry->treatment = row->treatment;
        entry->handler = row->handler;
        entry->arguments = row->arguments;
        entry->stream = row->stream;
        return;
    }
}

void entries_init(void)
{
    for (unsigned i = 0; i < ENTRY_KNOWN; i++) {
        struct entry *entry = &cuda_front.names.entries[i];

        entry->symbol = names[i].symbol;
        entry->base = names[i].base;
        entry->since = names[i].since;
        entry->form = form_of(names[i].symbol, names[i].form);
        entry->stream = NO_STREAM;
        fill(entry);
    }
    for (unsigned i = ENTRY_KNOWN; i < ENTRY_N; i++)
        cuda_front.names.entries[i] = (struct entry){.treatment = TREATMENT_UNKNOWN, .stream = NO_STREAM};
}

const struct entry *entry_at(unsigned index)
{
    return &cuda_front.names.entries[index];
}

struct entry *entry_change(unsigned index)
{
    return &cuda_front.names.entries[index];
}

int entry_find(const char *symbol)
{
    for (int i = 0; i < ENTRY_KNOWN; i++)
        if (strcmp(names[i].symbol, symbol) == 0)
            return i;
    return ENTRY_NONE;
}

/* Under the lock. */
static int find_spare(const char *name)
{
    struct entry *entry;
    char *copy;

    for (unsigned i = 0; i < cuda_front.names.n_spare; i++)
        if (strcmp(cuda_front.names.entries[ENTRY_KNOWN + i].symbol, name) == 0)
            return (int)(ENTRY_KNOWN + i);
    copy = cuda_front.names.n_spare < ENTRY_SPARE ? strdup(name) : NULL; /* for the life of the process */
    if (!copy)
        return ENTRY_NONE;
    entry = &cuda_front.names.entries[ENTRY_KNOWN + cuda_front.names.n_spare++];
    entry->symbol = entry->base = copy;
    return (int)(entry - cuda_front.names.entries);
}

int entry_for_unknown(const char *name)
{
    int index;

    pthread_mutex_lock(&cuda_front.names.lock);
    index = find_spare(name);
    pthread_mutex_unlock(&cuda_front.names.lock);
    return index;
}

CUresult call_invoke(const struct call *call)
{
    /*
     * Every argument of these calls is an integer or a pointer. One is a struct of eight bytes,
     * which travels as an integer. Surplus arguments do no harm, because the caller removes them.
     */
    CUresult (*function)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                         uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
    const uint64_t *a = call->args;

    _Static_assert(CALL_MOST_ARGUMENTS == 14, "all of them are passed");

    if (call->refused != CUDA_SUCCESS)
        return call->refused;
    *(void **)&function = call->genuine;
    return function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13]);
}
