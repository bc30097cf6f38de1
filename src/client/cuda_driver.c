#include "client/cuda_driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

static struct cuda_driver functions;
static bool complete;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!library)
        return;
    complete = true;
#define FIND(name) *(void **)&functions.name = dlsym(library, #name);
#define NEED(name) complete = complete && functions.name;
    CUDA_DRIVER_FUNCTIONS(FIND)
    CUDA_DRIVER_NEWER(FIND)
    CUDA_DRIVER_FUNCTIONS(NEED)
#undef NEED
#undef FIND
}

const struct cuda_driver *cuda_driver_get(void)
{
    (void)pthread_once(&once, load);
    return complete ? &functions : NULL;
}

const char *cuda_driver_error_name(int code)
{
    static const struct {
        int code;
        const char *name;
    } names[] = {
#define NAME(name, value, text) {value, #name},
        CUDA_ABI_RESULTS(NAME)
#undef NAME
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].code == code)
            return names[i].name;
    }
    return "an unknown CUDA error";
}
