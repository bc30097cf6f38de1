#include "client/cuda_driver.h"

#include <dlfcn.h>
#include <stddef.h>

#include "client/client_process.h"

static void load(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!library)
        return;
    client_process.cuda_complete = true;
#define FIND(name) *(void **)&client_process.cuda.name = dlsym(library, #name);
#define NEED(name) client_process.cuda_complete = client_process.cuda_complete && client_process.cuda.name;
    CUDA_DRIVER_FUNCTIONS(FIND)
    CUDA_DRIVER_NEWER(FIND)
    CUDA_DRIVER_FUNCTIONS(NEED)
#undef NEED
#undef FIND
}

const struct cuda_driver *cuda_driver_get(void)
{
    (void)pthread_once(&client_process.cuda_once, load);
    return client_process.cuda_complete ? &client_process.cuda : NULL;
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
