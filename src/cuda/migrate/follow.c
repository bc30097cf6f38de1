/*
 * The hooks of a program that follows its jobs. A routed call gets another handler, a name that
 * passes or drains comes by migrate_before() first. Programs that do not follow have none of them.
 */
#include <string.h>

#include "cuda/front.h"
#include "cuda/migrate/migrate_answers.h"
#include "cuda/migrate/migrate_private.h"

static const char *const follows[] = {
#define FOLLOWS(base) #base,
#define OWN(symbol, handler, arguments)
#include "cuda/migrate/follows.def"
#undef FOLLOWS
#undef OWN
};

static const struct {
    const char *symbol;
    entry_handler handler;
    unsigned arguments;
} own[] = {
#define FOLLOWS(base)
#define OWN(symbol, handler, arguments) {#symbol, own_##handler, arguments},
#include "cuda/migrate/follows.def"
#undef FOLLOWS
#undef OWN
};

static unsigned index_of(const struct entry *entry)
{
    return (unsigned)(entry - entry_at(0));
}

static bool may_follow(const struct entry *entry)
{
    for (size_t i = 0; i < sizeof follows / sizeof follows[0]; i++)
        if (strcmp(follows[i], entry->base) == 0)
            return true;
    return false;
}

/* A symbol that is drained because only later versions of it are routed: of 32-bit addresses. */
static bool is_ancient(const struct entry *entry)
{
    for (unsigned i = 0; entry->treatment == TREATMENT_DRAIN && i < ENTRY_KNOWN; i++)
        if (entry_at(i)->treatment == TREATMENT_ROUTE && strcmp(entry_at(i)->base, entry->base) == 0)
            return true;
    return false;
}

/* --- calls that keep the program at home --- */

static CUresult stay(struct call *call)
{
    CUresult code = migrate_stay_home(call->entry->base);

    return code == CUDA_SUCCESS ? cuda_front.migrate.before.handlers[index_of(call->entry)](call) : code;
}

CUresult follow_original(struct call *call)
{
    entry_handler handler = cuda_front.migrate.before.handlers[index_of(call->entry)];

    return handler ? handler(call) : call_invoke(call);
}

static void hook(unsigned index)
{
    struct entry *entry = entry_change(index);

    if (!entry->symbol || (may_follow(entry) && !is_ancient(entry)))
        return;
    cuda_front.migrate.before.stays[index] = true;
    if (entry->treatment == TREATMENT_ROUTE) {
        cuda_front.migrate.before.handlers[index] = entry->handler;
        entry->handler = stay;
    } else {
        entry->hooked = true;
        front_look_again(index);
    }
}

static void hook_own(unsigned index, entry_handler handler, unsigned arguments)
{
    struct entry *entry = entry_change(index);

    if (!cuda_front.migrate.before.handlers[index] && entry->treatment == TREATMENT_ROUTE)
        cuda_front.migrate.before.handlers[index] = entry->handler;
    entry->treatment = TREATMENT_ROUTE;
    entry->handler = handler;
    entry->arguments = arguments;
    entry->hooked = true;
    cuda_front.migrate.before.stays[index] = false;
    front_look_again(index);
}

void follow_install(void)
{
    for (unsigned i = 0; i < ENTRY_KNOWN; i++)
        hook(i);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        int index = entry_find(own[i].symbol);

        if (index != ENTRY_NONE)
            hook_own((unsigned)index, own[i].handler, own[i].arguments);
    }
}

/* --- a context that is broken --- */

static CUresult answer_broken(void)
{
    return (CUresult)atomic_load(&cuda_front.migrate.broken);
}

static CUresult broken(struct call *call)
{
    (void)call;
    return (CUresult)atomic_load(&cuda_front.migrate.broken);
}

/* Does the name still do its work beside a context that is broken? */
static bool outlives(const struct entry *entry)
{
    static const char *const names[] = {
        "cuDevice", "cuCtxGet",     "cuCtxSet",    "cuCtxPush",   "cuCtxPop",    "cuInit",    "cuGet",
        "cuDriver", "cuCtxDestroy", "cuCtxDetach", "cuOccupancy", "cuCtxCreate", "cuFuncGet", "cuKernelGet"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(entry->base, names[i], strlen(names[i])) == 0)
            return true;
    return !entry->symbol;
}

static void change(unsigned index, bool is_broken)
{
    struct entry *entry = entry_change(index);

    if (outlives(entry))
        return;
    if (entry->treatment == TREATMENT_ROUTE) {
        if (is_broken)
            cuda_front.migrate.before.whole[index] = entry->handler;
        entry->handler = is_broken ? broken : cuda_front.migrate.before.whole[index];
    } else {
        entry->hooked = is_broken || cuda_front.migrate.before.stays[index];
        front_look_again(index);
    }
}

void follow_break(CUresult code)
{
    bool was = cuda_front.migrate.broken != CUDA_SUCCESS;

    if (was && code != CUDA_SUCCESS)
        return;
    cuda_front.migrate.broken = code;
    for (unsigned i = 0; i < ENTRY_KNOWN && was != (code != CUDA_SUCCESS); i++)
        change(i, code != CUDA_SUCCESS);
}

/* --- names that pass or drain --- */

static CUresult answer_no_memory(void)
{
    return CUDA_ERROR_OUT_OF_MEMORY;
}

void *migrate_before(unsigned index, void *genuine)
{
    CUresult (*answer)(void) = NULL;
    void *function = genuine;

    if (cuda_front.migrate.broken != CUDA_SUCCESS && !outlives(entry_at(index)))
        answer = answer_broken;
    else if (cuda_front.migrate.before.stays[index] &&
             migrate_stay_home(entry_at(index)->base) != CUDA_SUCCESS)
        answer = answer_no_memory;
    if (answer)
        *(CUresult(**)(void)) & function = answer;
    return function;
}
