#include "translate/metadata.h"
#include "translate/record.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *const access_names[] = {
    [TRANSLATE_VALUE] = "value", [TRANSLATE_UNUSED] = "unused",         [TRANSLATE_READ] = "read",
    [TRANSLATE_WRITE] = "write", [TRANSLATE_READ_WRITE] = "read_write", [TRANSLATE_UNKNOWN] = "unknown"};

enum { N_ACCESS = sizeof access_names / sizeof access_names[0], MOST_KERNELS = 100000, MOST_ARGS = 65536 };

const char *metadata_access_name(enum translate_access access)
{
    return access_names[access];
}

/* Reads members strictly: a missing or mistyped member sets *r to -EBADMSG. */
static bool get_bool(const json_t *object, const char *name, int *r)
{
    const json_t *value = json_object_get(object, name);

    if (!json_is_boolean(value))
        *r = -EBADMSG;
    return json_is_true(value);
}

static char *get_string(const json_t *object, const char *name, int *r)
{
    const char *text = json_string_value(json_object_get(object, name));
    char *copy;

    if (!text) {
        *r = -EBADMSG;
        return NULL;
    }
    copy = strdup(text);
    if (!copy)
        *r = -ENOMEM;
    return copy;
}

static uint32_t get_number(const json_t *value, int *r)
{
    json_int_t n = json_is_integer(value) ? json_integer_value(value) : -1;

    if (n < 0 || n > UINT32_MAX) {
        *r = -EBADMSG;
        return 0;
    }
    return (uint32_t)n;
}

/* Reads the numbers of a list one after the other. */
struct numbers {
    const json_t *list;
    size_t next;
    int r;
};

static uint32_t next_number(struct numbers *numbers, uint32_t least, uint32_t most)
{
    uint32_t n = get_number(json_array_get(numbers->list, numbers->next++), &numbers->r);

    if (n < least || n > most)
        numbers->r = -EBADMSG;
    return numbers->r ? least : n;
}

static void decode_product(struct numbers *numbers, uint32_t least, struct reach_product *product)
{
    product->number = next_number(numbers, least, INT32_MAX);
    product->n = next_number(numbers, 0, REACH_FACTORS);
    for (uint32_t i = 0; i < product->n; i++) {
        product->factors[i].kind = (uint8_t)next_number(numbers, 0, REACH_FACTOR_KINDS - 1);
        product->factors[i].of = (uint16_t)next_number(numbers, 0, UINT16_MAX);
    }
}

static int decode_reach(const json_t *list, struct reach *ret_reach)
{
    struct numbers numbers = {.list = list};

    ret_reach->n = next_number(&numbers, 0, REACH_DIGITS);
    for (uint32_t i = 0; i < ret_reach->n; i++) {
        struct reach_digit *digit = &ret_reach->digits[i];

        digit->kind = (uint8_t)next_number(&numbers, 0, REACH_KINDS - 1);
        digit->dim = (uint8_t)next_number(&numbers, 0, 2);
        decode_product(&numbers, 1, &digit->each);
        decode_product(&numbers, 0, &digit->room);
    }
    return numbers.r;
}

static int decode_arg(const json_t *object, struct translate_arg *ret_arg)
{
    const char *access = json_string_value(json_object_get(object, "access"));
    int r = 0;
    int i = 0;

    while (i < N_ACCESS && (!access || strcmp(access, access_names[i]) != 0))
        i++;
    if (i == N_ACCESS)
        return -EBADMSG;
    ret_arg->access = (enum translate_access)i;
    ret_arg->local = get_bool(object, "local", &r);
    ret_arg->image = get_bool(object, "image", &r);
    ret_arg->sampler = get_bool(object, "sampler", &r);
    ret_arg->own_write = get_bool(object, "own_write", &r);
    r = r < 0 ? r : decode_reach(json_object_get(object, "reach"), &ret_arg->reach);
    ret_arg->element = get_number(json_object_get(object, "element"), &r);
    ret_arg->store = get_number(json_object_get(object, "store"), &r);
    return r;
}

static int decode_kernel(const json_t *object, struct translate_kernel *kernel)
{
    const json_t *args = json_object_get(object, "args");
    const json_t *required = json_object_get(object, "reqd_local");
    int r = 0;

    kernel->name = get_string(object, "name", &r);
    kernel->reason = get_string(object, "reason", &r);
    kernel->sliceable = get_bool(object, "sliceable", &r);
    kernel->observes_local_size = get_bool(object, "observes_local_size", &r);
    kernel->splittable = get_bool(object, "splittable", &r);
    kernel->uses_printf = get_bool(object, "printf", &r);
    kernel->reqd_local_given = json_is_array(required);
    if (kernel->reqd_local_given ? json_array_size(required) != 3 : !json_is_null(required))
        return -EBADMSG;
    for (size_t i = 0; i < 3 && kernel->reqd_local_given; i++)
        kernel->reqd_local[i] = get_number(json_array_get(required, i), &r);
    if (r < 0 || !json_is_array(args) || json_array_size(args) > MOST_ARGS)
        return r < 0 ? r : -EBADMSG;
    kernel->n_args = (uint32_t)json_array_size(args);
    kernel->args = calloc(kernel->n_args ? kernel->n_args : 1, sizeof *kernel->args);
    if (!kernel->args)
        return -ENOMEM;
    for (uint32_t i = 0; i < kernel->n_args && !r; i++)
        r = decode_arg(json_array_get(args, i), &kernel->args[i]);
    return r;
}

static int decode_json(const json_t *root, struct translate_result *result, bool *ret_translated)
{
    const json_t *kernels = json_object_get(root, "kernels");
    int r = 0;

    *ret_translated = get_bool(root, "translated", &r);
    result->reason = get_string(root, "reason", &r);
    result->options = get_string(root, "options", &r);
    if (r < 0 || !json_is_array(kernels) || json_array_size(kernels) > MOST_KERNELS)
        return r < 0 ? r : -EBADMSG;
    result->kernels = calloc(json_array_size(kernels) + 1, sizeof *result->kernels);
    if (!result->kernels)
        return -ENOMEM;
    for (size_t i = 0; i < json_array_size(kernels) && !r; i++) {
        result->n_kernels++;
        r = decode_kernel(json_array_get(kernels, i), &result->kernels[i]);
    }
    return r;
}

static int decode_meta(const struct record *meta, struct translate_result *result, bool *ret_translated)
{
    json_error_t error;
    json_t *root = json_loadb((const char *)meta->bytes, meta->length, JSON_REJECT_DUPLICATES, &error);
    int r;

    if (!root)
        return -EBADMSG;
    r = decode_json(root, result, ret_translated);
    json_decref(root);
    return r;
}

static int take_text(const struct record *text, struct translate_result *result)
{
    result->source = malloc(text->length + 1);
    if (!result->source)
        return -ENOMEM;
    memcpy(result->source, text->bytes, text->length);
    result->source[text->length] = 0;
    result->length = text->length;
    return 0;
}

int metadata_decode(const uint8_t *bytes, size_t n, struct translate_result *ret_result,
                    const char **ret_deps, size_t *ret_n_deps)
{
    struct translate_result result = {0};
    struct record record;
    struct record meta = {.bytes = NULL};
    struct record text = {.bytes = NULL};
    struct record deps = {.bytes = NULL};
    bool translated = false;
    size_t position = 0;
    int r = record_check(bytes, n);

    while (!r && !(r = record_next(bytes, n, &position, &record))) {
        if (!strcmp(record.tag, "meta"))
            meta = record;
        else if (!strcmp(record.tag, "text"))
            text = record;
        else if (!strcmp(record.tag, "deps"))
            deps = record;
    }
    if (r < 0)
        return r;
    r = meta.bytes ? decode_meta(&meta, &result, &translated) : -EBADMSG;
    if (!r && translated)
        r = text.bytes ? take_text(&text, &result) : -EBADMSG;
    if (!r && !(result.files = strndup(deps.bytes ? (const char *)deps.bytes : "", deps.length)))
        r = -ENOMEM;
    if (r < 0) {
        translate_result_done(&result);
        return r;
    }
    *ret_result = result;
    *ret_deps = (const char *)deps.bytes;
    *ret_n_deps = deps.length;
    return translated ? 0 : TRANSLATE_WHOLE;
}

void translate_result_done(struct translate_result *result)
{
    for (size_t i = 0; i < result->n_kernels; i++) {
        free(result->kernels[i].name);
        free(result->kernels[i].reason);
        free(result->kernels[i].args);
    }
    free(result->kernels);
    free(result->source);
    free(result->options);
    free(result->reason);
    free(result->files);
    *result = (struct translate_result){0};
}

const struct translate_kernel *translate_find(const struct translate_result *result, const char *name)
{
    for (size_t i = 0; i < result->n_kernels; i++)
        if (!strcmp(result->kernels[i].name, name))
            return &result->kernels[i];
    return NULL;
}
