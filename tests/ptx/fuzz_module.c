/*
 * Any bytes as a PTX module: read, or refused with a reason; what is read can be linked and written
 * as C.
 */
#include "base/draft.h"
#include "cuda_cpu/emit/emit.h"
#include "fuzz.h"
#include "ptx/flow_graph.h"
#include "ptx/ptx_module.h"

#include <stdlib.h>

static void check_graph(const struct ptx_routine *routine)
{
    uint32_t *component = calloc(routine->n + 1, sizeof *component);
    bool *cyclic = calloc(routine->n + 1, sizeof *cyclic);

    if (component && cyclic)
        (void)ptx_components(routine, component, cyclic);
    free(component);
    free(cyclic);
}

static void emit_it(struct ptx_module *module)
{
    struct unit unit;
    struct draft draft;
    char text[256] = "";
    char *code = NULL;
    size_t size;

    if (unit_make(&unit, module, 1, text, sizeof text) == CPU_OK) {
        if (draft_begin(&draft) == 0) {
            int r = emit_unit(&unit, draft.out);

            if (draft_take(&draft, r, &code, &size) == 0 && size == 0)
                abort();
            free(code);
        }
    } else if (!text[0]) {
        abort();
    }
    unit_done(&unit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ptx_module module;
    struct input_error error = {0};
    bool refused;
    int r = ptx_module_read(&module, "fuzz", (const char *)data, size, &refused, &error);

    if (r == INPUT_REJECTED && !error.expected[0])
        abort();
    if (r == 0) {
        for (const struct ptx_routine *f = module.routines; f; f = f->next)
            check_graph(f);
        emit_it(&module);
    }
    ptx_module_done(&module);
    return 0;
}
