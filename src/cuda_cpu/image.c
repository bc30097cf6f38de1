/* Loading: read, link, emit, compile. The facts about a loaded image are in image_fill.c. */
#include "base/draft.h"
#include "cuda_cpu/device/device_text.h"
#include "cuda_cpu/emit/emit.h"
#include "cuda_cpu/image_private.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 4096 };

struct loading {
    struct ptx_module *modules;
    size_t n; /* texts read so far, including one that failed */
    struct unit unit;
    char text[TEXT]; /* why the load failed */
};

static void tell(const struct image_options *options, const char *text)
{
    if (options && options->log && options->log_size)
        (void)snprintf(options->log, options->log_size, "%s%s", text, text[0] ? "\n" : "");
}

/* An unknown version has a status of its own. */
static enum cpu_status status_of(const struct input_error *error, bool refused)
{
    if (refused)
        return CPU_UNSUPPORTED_PTX;
    return strstr(error->expected, "a PTX version") || strstr(error->expected, "a target such as")
               ? CPU_UNSUPPORTED_VERSION
               : CPU_BAD_PTX;
}

static enum cpu_status read_texts(struct loading *loading, const struct image_text texts[], size_t n)
{
    loading->modules = calloc(n ? n : 1, sizeof *loading->modules);
    if (!loading->modules)
        return CPU_OUT_OF_MEMORY;
    for (size_t i = 0; i < n; i++) {
        struct input_error error = {0};
        bool refused;
        int r = ptx_module_read(&loading->modules[loading->n++], texts[i].name ? texts[i].name : "ptx",
                                texts[i].text, texts[i].size, &refused, &error);

        if (r < 0)
            return CPU_OUT_OF_MEMORY;
        if (r > 0) {
            (void)input_error_format(&error, loading->text, sizeof loading->text);
            return status_of(&error, refused);
        }
    }
    return CPU_OK;
}

static enum cpu_status miss(struct loading *loading, const struct ptx_module *module,
                            const struct ptx_operand *operand)
{
    struct ptx_name name = operand->routine->name;
    bool launches = name.length > 16 && memcmp(name.text, "cudaLaunchDevice", 16) == 0;
    bool is_runtime = launches || (name.length > 19 && memcmp(name.text, "cudaGetParameterBuf", 19) == 0) ||
                      (name.length > 3 && memcmp(name.text, "cnp", 3) == 0); /* NVIDIA's device runtime */

    (void)snprintf(loading->text, sizeof loading->text, "%s:%u:%u: %s%.*s", module->source.name,
                   operand->token->line, ptx_token_column(&module->source, operand->token),
                   is_runtime ? "this device has no launches from kernels: "
                              : "no module defines the function ",
                   (int)name.length, name.text);
    return is_runtime ? CPU_UNSUPPORTED_PTX : CPU_UNRESOLVED;
}

static const struct ptx_operand *missing_in(const struct ptx_operand *operand)
{
    const struct ptx_operand *found = NULL;

    if (operand->kind == PTX_OP_ROUTINE && operand->routine->user == UNIT_NOTHING)
        return operand;
    for (unsigned i = 0; i < operand->n_parts && !found; i++)
        found = missing_in(&operand->parts[i]);
    return found;
}

/* Checks for functions that code needs and no module defines. */
static enum cpu_status check_calls(struct loading *loading)
{
    for (size_t i = 0; i < loading->unit.n_routines; i++) {
        const struct unit_routine *routine = &loading->unit.routines[i];

        for (size_t k = 0; k < routine->routine->n; k++) {
            const struct ptx_statement *s = &routine->routine->statements[k];
            const struct ptx_operand *missing = NULL;

            if (s->kind != PTX_STATEMENT_OPERATION)
                continue;
            if (s->callee)
                missing = missing_in(s->callee);
            for (unsigned o = 0; o < s->n_operands && !missing; o++)
                missing = missing_in(&s->operands[o]);
            if (missing)
                return miss(loading, routine->module, missing);
        }
    }
    return CPU_OK;
}

static enum cpu_status read_and_link(struct loading *loading, const struct image_text texts[], size_t n,
                                     const struct image_options *options)
{
    enum cpu_status status = read_texts(loading, texts, n);

    if (status == CPU_OK)
        status = unit_make(&loading->unit, loading->modules, n, loading->text, sizeof loading->text);
    if (status == CPU_OK && !(options && options->keep_unresolved))
        status = check_calls(loading);
    return status;
}

static void done(struct loading *loading)
{
    unit_done(&loading->unit);
    for (size_t i = 0; i < loading->n; i++)
        ptx_module_done(&loading->modules[i]);
    free(loading->modules);
}

/* The whole C text; the device functions come first. */
static int write_unit(const struct unit *unit, char **ret_text, size_t *ret_size)
{
    const char *const parts[] = {device_abi,  device_integer, device_real,
                                 device_half, device_convert, device_access};
    struct draft draft;
    int r = draft_begin(&draft);

    if (r)
        return r;
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++)
        fputs(parts[i], draft.out);
    r = emit_unit(unit, draft.out);
    return draft_take(&draft, r, ret_text, ret_size);
}

enum cpu_status image_check(const struct image_text texts[], size_t n, const struct image_options *options)
{
    struct loading *loading = calloc(1, sizeof *loading);
    enum cpu_status status = loading ? read_and_link(loading, texts, n, options) : CPU_OUT_OF_MEMORY;

    if (loading) {
        tell(options, status == CPU_OK ? "" : loading->text[0] ? loading->text : cpu_status_text(status));
        done(loading);
    }
    free(loading);
    return status;
}

static enum cpu_status build(struct loading *loading, struct image *image,
                             const struct image_options *options)
{
    char *text;
    size_t size;
    enum cpu_status status;

    if (write_unit(&loading->unit, &text, &size) < 0)
        return CPU_OUT_OF_MEMORY;
    status = image_compile(text, size, options, image, loading->text, sizeof loading->text);
    free(text);
    if (status == CPU_OK)
        status = image_fill(image, &loading->unit, options->owner, loading->text, sizeof loading->text);
    return status;
}

enum cpu_status image_load(struct space *space, const struct image_text texts[], size_t n,
                           const struct image_options *options, struct image **ret_image)
{
    static const struct image_options usual = {0};
    struct loading *loading = calloc(1, sizeof *loading);
    struct image *image = calloc(1, sizeof *image);
    enum cpu_status status = CPU_OUT_OF_MEMORY;

    options = options ? options : &usual;
    if (loading && image) {
        image->space = space;
        status = read_and_link(loading, texts, n, options);
        if (status == CPU_OK)
            status = build(loading, image, options);
        tell(options, status == CPU_OK ? "" : loading->text[0] ? loading->text : cpu_status_text(status));
        done(loading);
    }
    free(loading);
    if (status == CPU_OK)
        *ret_image = image;
    else
        image_free(image);
    return status;
}

void image_free(struct image *image)
{
    if (!image)
        return;
    if (image->data)
        (void)space_release(image->space, image->data);
    if (image->library)
        (void)dlclose(image->library);
    free(image->entries);
    free(image->starts);
    free(image->stack_bytes);
    free(image->is_recursive);
    free(image->variables);
    free(image->names);
    free(image->parameters);
    free(image);
}
