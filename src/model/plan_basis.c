#include "model/plan_basis.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fingerprint.h"
#include "model/print.h"

enum shape { COUNT, WORD };

#define BASIS(identifier, key, shape, help) key,
const char *const plan_basis_keys[PLAN_BASIS_FIELDS + 1] = {
#include "model/plan_basis.def"
    NULL};
#undef BASIS

#define BASIS(identifier, key, shape, help) shape,
static const enum shape shapes[PLAN_BASIS_FIELDS] = {
#include "model/plan_basis.def"
};
#undef BASIS

void plan_basis_set(struct plan_basis *basis, enum plan_basis_field field, const char *value)
{
    (void)snprintf(basis->values[field], PLAN_VALUE_SIZE, "%s", value);
}

void plan_basis_set_count(struct plan_basis *basis, enum plan_basis_field field, unsigned value)
{
    (void)snprintf(basis->values[field], PLAN_VALUE_SIZE, "%u", value);
}

void plan_basis_set_tokens(struct plan_basis *basis, unsigned tokens_per_gpu)
{
    if (tokens_per_gpu == TOKENS_UNLIMITED)
        plan_basis_set(basis, BASIS_TOKENS, "inf");
    else
        plan_basis_set_count(basis, BASIS_TOKENS, tokens_per_gpu);
}

void plan_basis_set_machine(struct plan_basis *basis, const struct platform *platform)
{
    plan_basis_set_count(basis, BASIS_CPUS, platform->cpus);
    plan_basis_set_count(basis, BASIS_CPU_CLUSTER, platform->cpu_cluster);
    plan_basis_set_count(basis, BASIS_GPUS, platform->gpus);
    plan_basis_set_count(basis, BASIS_GPU_CLUSTER, platform->gpus ? platform->gpu_cluster : 0);
    plan_basis_set_count(basis, BASIS_COPY_ENGINES, platform->copy_engines);
    plan_basis_set_count(basis, BASIS_BUSES, platform->buses);
}

void plan_basis_set_overheads(struct plan_basis *basis, const struct platform *platform)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = platform->has_overheads ? open_memstream(&text, &size) : NULL;

    plan_basis_set(basis, BASIS_OVERHEADS, platform->has_overheads ? "unknown" : "none");
    if (!out)
        return;
    overheads_print(&platform->overheads, "", out);
    if (fclose(out) == 0)
        (void)snprintf(basis->values[BASIS_OVERHEADS], PLAN_VALUE_SIZE, "%016" PRIx64,
                       fingerprint(FINGERPRINT_START, text, size));
    free(text);
}

static int read_count(const struct document *document, const struct node *node, const char *key, char *value,
                      struct input_error *ret_error)
{
    int64_t count = 0;
    int result;

    if (node->kind == NODE_SCALAR && !node->quoted && strcmp(node->text, "inf") == 0) {
        (void)snprintf(value, PLAN_VALUE_SIZE, "inf");
        return 0;
    }
    result = node_int(document, node, key, 0, 100000, &count, ret_error);
    if (!result)
        (void)snprintf(value, PLAN_VALUE_SIZE, "%" PRId64, count);
    return result;
}

int plan_basis_read(const struct document *document, const struct node *mapping, struct plan_basis *ret_basis,
                    struct input_error *ret_error)
{
    struct plan_basis basis = {0};
    int result = 0;

    for (size_t i = 0; i < PLAN_BASIS_FIELDS && !result; i++) {
        const struct node *node = node_get(mapping, plan_basis_keys[i]);
        const char *text = NULL;

        if (!node)
            continue;
        if (shapes[i] == COUNT) {
            result = read_count(document, node, plan_basis_keys[i], basis.values[i], ret_error);
            continue;
        }
        result = node_text(document, node, plan_basis_keys[i], &text, ret_error);
        if (!result && strlen(text) >= PLAN_VALUE_SIZE)
            result = document_reject(document, node, ret_error, "%s: a word of at most %d characters",
                                     plan_basis_keys[i], PLAN_VALUE_SIZE - 1);
        if (!result)
            memcpy(basis.values[i], text, strlen(text) + 1);
    }
    if (!result)
        *ret_basis = basis;
    return result;
}

void plan_basis_print(const struct plan_basis *basis, FILE *out)
{
    for (size_t i = 0; i < PLAN_BASIS_FIELDS; i++) {
        if (!basis->values[i][0])
            continue;
        (void)fprintf(out, "%s: ", plan_basis_keys[i]);
        if (shapes[i] == COUNT)
            (void)fputs(basis->values[i], out);
        else
            print_quoted(basis->values[i], out);
        (void)fputc('\n', out);
    }
}
