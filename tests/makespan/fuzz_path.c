/*
 * Any bytes as PTX and as a string: an answer or a rejection with its place, never a crash, never
 * an empty string.
 */
#include <stdlib.h>

#include "fuzz.h"
#include "makespan/path/path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct path_settings settings = {.first_iteration = true, .weight = {1, 0.25, 1, 1}};
    struct input_error error = {0};
    struct kernel kernel = {0};
    int result = path_read("fuzz", (const char *)data, size, NULL, &settings, &kernel, &error);

    if (result == 0 && kernel.n == 0)
        abort();
    if (result == INPUT_REJECTED && !error.expected[0])
        abort();
    if (result == 0)
        kernel_done(&kernel);
    result = kernel_parse((const char *)data, size, "fuzz", &kernel, &error);
    if (result == 0) {
        char *text = kernel_format(kernel.units, kernel.n);

        if (!text || kernel.n == 0)
            abort();
        free(text);
        kernel_done(&kernel);
    }
    return 0;
}
