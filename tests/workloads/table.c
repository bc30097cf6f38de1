#include "workload.h"

#include <string.h>

#define WORKLOAD(name) extern const struct workload workload_##name;
#include "workloads.def"
#undef WORKLOAD

const struct workload *const workloads[] = {
#define WORKLOAD(name) &workload_##name,
#include "workloads.def"
#undef WORKLOAD
};
const size_t n_workloads = sizeof workloads / sizeof workloads[0];

const struct workload *workload_find(const char *name)
{
    for (size_t i = 0; i < n_workloads; i++)
        if (!strcmp(workloads[i]->name, name))
            return workloads[i];
    return NULL;
}
