/*
 * cuLink*: several PTX texts become one module. The result that the program gets is also text,
 * which cuModuleLoadData accepts. Machine code cannot be linked here.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/handles.h"
#include "cuda_cpu/driver/module.h"
#include "cuda_cpu/driver/source.h"

#define MOST_FILE ((size_t)1 << 30)

struct link_part {
    char *text, *name; /* owned */
    size_t size;
};

struct CUlinkState_st {
    struct link_part *parts;
    size_t n;
    struct module_log log;
    char *result; /* owned; valid until the state is destroyed */
};

static void link_free(CUlinkState state)
{
    for (size_t i = 0; i < state->n; i++) {
        free(state->parts[i].text);
        free(state->parts[i].name);
    }
    free(state->parts);
    free(state->result);
    free(state);
}

void link_end_all(CUcontext context)
{
    CUlinkState state;

    while ((state = handle_take(context, HANDLE_LINK)))
        link_free(state);
}

DRIVER_EXPORT CUresult cuLinkCreate_v2(unsigned int n, CUjit_option *options, void **values,
                                       CUlinkState *ret_state)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    CUlinkState state;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_state || (n && (!options || !values)))
        return CUDA_ERROR_INVALID_VALUE;
    state = calloc(1, sizeof *state);
    if (!state || !handle_put(state, HANDLE_LINK, context_of_thread())) {
        free(state);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    state->log = module_log_of(options, values, n);
    *ret_state = state;
    return CUDA_SUCCESS;
}

static CUresult add_text(CUlinkState state, const struct image_text *text, const char *name)
{
    struct link_part *grown = realloc(state->parts, (state->n + 1) * sizeof *grown);
    struct link_part part = {strndup(text->text, text->size), strdup(name ? name : "ptx"), text->size};

    if (grown)
        state->parts = grown;
    if (!grown || !part.text || !part.name) {
        free(part.text);
        free(part.name);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    grown[state->n++] = part;
    return CUDA_SUCCESS;
}

static CUresult add_image(CUlinkState state, const void *image, const char *name)
{
    struct source source;
    CUresult code = source_read(image, &source);

    for (size_t i = 0; i < source.n && code == CUDA_SUCCESS; i++)
        code =
            state->n < SOURCE_MOST_TEXTS ? add_text(state, &source.texts[i], name) : CUDA_ERROR_INVALID_VALUE;
    source_done(&source);
    return code;
}

/* Accepts PTX and fatbins; refuses machine code. `size` limits PTX that need not end in 0. */
DRIVER_EXPORT CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
                                        const char *name, unsigned int n, CUjit_option *options,
                                        void **values)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    char *text;

    (void)n;
    (void)options;
    (void)values;
    if (code != CUDA_SUCCESS)
        return code;
    if (!handle_is(state, HANDLE_LINK))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!data || !size || (unsigned)type > CU_JIT_INPUT_NVVM)
        return CUDA_ERROR_INVALID_VALUE;
    if (type == CU_JIT_INPUT_FATBINARY)
        return add_image(state, data, name);
    if (type != CU_JIT_INPUT_PTX)
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    text = strndup(data, size);
    code = text ? add_image(state, text, name) : CUDA_ERROR_OUT_OF_MEMORY;
    free(text);
    return code;
}

DRIVER_EXPORT CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
                                        unsigned int n, CUjit_option *options, void **values)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    char *text;
    size_t size;

    if (code != CUDA_SUCCESS)
        return code;
    if (!path)
        return CUDA_ERROR_INVALID_VALUE;
    if (file_read(path, MOST_FILE, &text, &size) < 0)
        return CUDA_ERROR_FILE_NOT_FOUND;
    code = cuLinkAddData_v2(state, type, text, size, path, n, options, values);
    free(text);
    return code;
}

/* Checks that the texts fit together, and packs them for source_read(). */
DRIVER_EXPORT CUresult cuLinkComplete(CUlinkState state, void **ret_image, size_t *ret_size)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct image_options options;
    struct image_text *texts;
    size_t size = 0;

    if (code != CUDA_SUCCESS)
        return code;
    if (!handle_is(state, HANDLE_LINK))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!ret_image || !state->n)
        return CUDA_ERROR_INVALID_VALUE;
    texts = calloc(state->n, sizeof *texts);
    if (!texts)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < state->n; i++)
        texts[i] = (struct image_text){state->parts[i].name, state->parts[i].text, state->parts[i].size};
    options = (struct image_options){.log = state->log.text, .log_size = state->log.size};
    code = status_code(image_check(texts, state->n, &options));
    if (code == CUDA_SUCCESS) {
        free(state->result);
        state->result = source_pack(texts, state->n, &size);
        code = state->result ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    free(texts);
    if (code == CUDA_SUCCESS) {
        *ret_image = state->result;
        if (ret_size)
            *ret_size = size;
    }
    return code;
}

DRIVER_EXPORT CUresult cuLinkDestroy(CUlinkState state)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (!handle_remove(state, HANDLE_LINK))
        return CUDA_ERROR_INVALID_HANDLE;
    link_free(state);
    return CUDA_SUCCESS;
}
