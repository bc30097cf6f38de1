/* The parameters of kernels: from the driver, the module's text, or the kernel of the library. */
#include <stdlib.h>
#include <string.h>

#include "cuda/front.h"
#include "cuda/function_private.h"
#include "translate/translate_cut.h"

static CUresult ask_param(const struct function_record *function, size_t index, size_t *offset, size_t *size)
{
    if (function->is_kernel)
        return cuda_front.genuine.cuKernelGetParamInfo
                   ? cuda_front.genuine.cuKernelGetParamInfo(function->handle, index, offset, size)
                   : CUDA_ERROR_NOT_SUPPORTED;
    return cuda_front.genuine.cuFuncGetParamInfo
               ? cuda_front.genuine.cuFuncGetParamInfo(function->handle, index, offset, size)
               : CUDA_ERROR_NOT_SUPPORTED;
}

/* False: no memory, or no kernel can have a parameter there. */
static bool add_param(struct function_record *function, size_t offset, size_t size)
{
    void *grown = realloc(function->params, (function->n_params + 1) * sizeof *function->params);

    if (grown)
        function->params = grown;
    if (!grown || offset > FUNCTION_MOST_BYTES || size > FUNCTION_MOST_BYTES - offset)
        return false;
    function->params[function->n_params++] = (struct function_param){offset, size};
    function->bytes = offset + size > function->bytes ? offset + size : function->bytes;
    return true;
}

static void forget_params(struct function_record *function)
{
    function->n_params = 0;
    function->bytes = 0;
}

/*
 * Until the driver says that there is no such parameter. If one is where no kernel can have it, the
 * driver's answers are not believed, and the parameters are not known.
 */
static bool ask_params(struct function_record *function)
{
    CUresult code = CUDA_SUCCESS;
    size_t offset, size;

    forget_params(function);
    while (function->n_params < FUNCTION_MOST_PARAMS &&
           (code = ask_param(function, function->n_params, &offset, &size)) == CUDA_SUCCESS)
        if (!add_param(function, offset, size))
            return false;
    return code == CUDA_ERROR_INVALID_VALUE;
}

/* entry: what the module's text says of the kernel. */
static bool read_text_params(struct function_record *function, const struct ptx_cut_entry *entry)
{
    bool known = true;

    forget_params(function);
    for (uint32_t i = 0; i < entry->n_parameters && known; i++)
        known = add_param(function, entry->parameters[i].offset, entry->parameters[i].size);
    return known;
}

static bool take_params(struct function_record *function, const struct function_record *of)
{
    bool known = true;

    forget_params(function);
    for (unsigned i = 0; i < of->n_params && known; i++)
        known = add_param(function, of->params[i].offset, of->params[i].size);
    return known;
}

/* Of the text that is not to be cut; NULL: it has no such kernel, or there is no memory. */
static const struct ptx_cut_entry *study_text(struct module_record *module, const char *name)
{
    struct ptx_cut *studied = atomic_load(&module->studied), *fresh;

    if (!module->text)
        return NULL;
    if (!studied) {
        fresh = calloc(1, sizeof *fresh);
        if (!fresh || translate_cut(module->text, strlen(module->text), fresh, NULL) < 0) {
            free(fresh);
            return NULL;
        }
        if (atomic_compare_exchange_strong(&module->studied, &studied, fresh)) {
            studied = fresh;
        } else { /* another thread was first */
            ptx_cut_done(fresh);
            free(fresh);
        }
    }
    return ptx_cut_find(studied, name);
}

/*
 * A launch whose parameters are not known waits on the program's thread, which may itself be what
 * the work before it waits for. So a driver that does not tell is asked again, and then the
 * module's text or the library's kernel says it. The text also decides if the driver tells of
 * another number.
 */
void function_read_params(struct function_record *function, struct module_record *module,
                          const struct function_record *of)
{
    const struct ptx_cut_entry *entry = ptx_cut_find(&module->cut, function->name);

    function->params_known = ask_params(function) || (!entry && ask_params(function));
    if (!entry && !function->params_known)
        entry = study_text(module, function->name);
    if (entry && (!function->params_known || function->n_params != entry->n_parameters))
        function->params_known = read_text_params(function, entry);
    if (!function->params_known && of && of->params_known)
        function->params_known = take_params(function, of);
}
