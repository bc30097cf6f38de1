/*
 * The table of calls: every name that a CUDA program can ask for, and what happens to a call of it
 * (entries.def). An index into it identifies a name everywhere: the exported stub (stubs.S), its
 * target, and the genuine library's address of the same name.
 *
 * Indices: the rows of cuda_abi/names.def in their order, then the EXTRA rows of entries.def.
 * Behind them are ENTRY_SPARE places for names that no table knows, given out as programs ask for
 * them.
 */
#ifndef CUDA_ENTRIES_H
#define CUDA_ENTRIES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_abi/driver_abi.h"

enum {
#define NAME(symbol, base, since, form) ENTRY_##symbol,
#include "cuda_abi/names.def"
#undef NAME
#define ROUTE(symbol, base, handler, arguments, stream)
#define DRAIN(base)
#define PASS(base)
#define EXTRA(symbol) ENTRY_##symbol,
#include "cuda/entries.def"
#undef ROUTE
#undef DRAIN
#undef PASS
#undef EXTRA
    ENTRY_KNOWN,
    ENTRY_SPARE = 64,
    ENTRY_N = ENTRY_KNOWN + ENTRY_SPARE,
    ENTRY_NONE = -1,
    NO_STREAM = -1,
    CALL_MOST_ARGUMENTS = 14, /* a struct on the stack counts by its words, behind six registers */
};

enum treatment { TREATMENT_PASS, TREATMENT_DRAIN, TREATMENT_ROUTE, TREATMENT_UNKNOWN };
enum form { FORM_PLAIN, FORM_PTDS, FORM_PTSZ };

/*
 * One call of the program, as its arguments came: each in 64 bits, what is narrower in the low
 * ones.
 */
struct call {
    const struct entry *entry;
    void *genuine;    /* the driver's own function */
    CUresult refused; /* the answer in its place; CUDA_SUCCESS: none */
    uint64_t args[CALL_MOST_ARGUMENTS];
};

typedef CUresult (*entry_handler)(struct call *call);

struct entry {
    const char *symbol, *base; /* a spare place: the name asked for, both; NULL: free */
    int since;                 /* CUDA version of the signature; 0: not known */
    enum form form;
    enum treatment treatment;
    entry_handler handler; /* of TREATMENT_ROUTE */
    unsigned arguments;    /* of TREATMENT_ROUTE */
    int stream;            /* the argument that names the stream, or NO_STREAM */
    /*
     * of a program that follows its jobs (migrate/): passes or drains, but comes by
     * migrate_before() first; routed: also when the process ends
     */
    bool hooked;
};

/* Fills the table; once, before any other function here. */
void entries_init(void);

const struct entry *entry_at(unsigned index);
/* For hooks of programs that follow their jobs (migrate/). */
struct entry *entry_change(unsigned index);

/* The index of an exported symbol; ENTRY_NONE: no such symbol. */
int entry_find(const char *symbol);

/*
 * A place for a name that no table knows; the same for the same name. ENTRY_NONE: all are taken.
 * Thread-safe.
 */
int entry_for_unknown(const char *name);

/* Makes the driver's call with its arguments as they are, unless the call is refused. */
CUresult call_invoke(const struct call *call);

/* The table itself, and the lock of its spare places (cuda_front.names). */
struct cuda_names {
    struct entry entries[ENTRY_N];
    pthread_mutex_t lock;
    unsigned n_spare;
};

#endif
