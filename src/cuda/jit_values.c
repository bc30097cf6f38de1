#include "cuda/jit_values.h"

#include <string.h>

#include "cuda/entries.h"

/* Where the arguments of a call are: the number of options, and their values. */
static const struct place {
    const char *base;
    unsigned n, values;
} places[] = {{"cuModuleLoadDataEx", 2, 4},
              {"cuLibraryLoadData", 4, 3},
              {"cuLibraryLoadFromFile", 4, 3},
              {"cuLinkAddData", 5, 7},
              {"cuLinkAddFile", 3, 5}};

void jit_values_keep(const struct call *call, struct jit_values *ret_values)
{
    ret_values->at = NULL;
    ret_values->n = 0;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        unsigned n = (unsigned)call->args[places[i].n];

        if (strcmp(call->entry->base, places[i].base) != 0 || n > JIT_MOST_VALUES)
            continue;
        ret_values->at = (void **)call->args[places[i].values];
        ret_values->n = ret_values->at ? n : 0;
        for (unsigned at = 0; at < ret_values->n; at++)
            ret_values->kept[at] = ret_values->at[at];
    }
}

void jit_values_restore(const struct jit_values *values)
{
    for (unsigned i = 0; i < values->n; i++)
        values->at[i] = values->kept[i];
}
