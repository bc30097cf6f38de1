/*
 * Any bytes: the reader answers, never crashes; what it accepts, it prints so that it reads back.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "model/plan.h"
#include "model/task_set.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct task_set set;
    struct plan plan;
    struct input_error error;

    if (task_set_read("fuzz", (const char *)data, size, &set, &error) == 0) {
        char *text = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);
        struct task_set again;

        task_set_print(&set, out);
        (void)fclose(out);
        if (task_set_read("printed", text, length, &again, &error) != 0)
            abort();
        task_set_done(&again);
        free(text);
        task_set_done(&set);
    }
    if (plan_read("fuzz", (const char *)data, size, &plan, &error) == 0)
        plan_done(&plan);
    return 0;
}
