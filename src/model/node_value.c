/* Typed access to the nodes of a document: the second half of model/document.h. */
#include "model/document.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 *  Longest duration in any input: 10^16 ns, 115 days. Sums of thousands of them still fit an
 *  int64_t.
 */
#define DURATION_LIMIT 1e16L

/*
 * A decimal number as YAML and JSON write it: no hexadecimal, no infinity, no NaN. Returns its end,
 * or NULL.
 */
static const char *decimal(const char *text, long double *ret_value)
{
    char *end;

    if (text[strspn(text, "+-")] != '.' && strspn(text + strspn(text, "+-"), "0123456789") == 0)
        return NULL;
    if (text[strspn(text, "+-0")] == 'x' || text[strspn(text, "+-0")] == 'X')
        return NULL;
    *ret_value = strtold(text, &end);
    return end == text || !isfinite(*ret_value) ? NULL : end;
}

int parse_duration(const char *text, baton_nsec unit, baton_nsec *ret_value)
{
    long double value;
    const char *end = decimal(text, &value);

    if (!end || *end)
        return -EINVAL;
    value *= (long double)unit;
    if (fabsl(value) > DURATION_LIMIT)
        return -EINVAL;
    *ret_value = (baton_nsec)llroundl(value);
    return 0;
}

int parse_bytes(const char *text, int64_t *ret_bytes)
{
    static const struct {
        const char *name;
        long double factor;
    } units[] = {{"", 1},       {"B", 1},        {"kB", 1e3L},         {"MB", 1e6L},
                 {"GB", 1e9L},  {"KiB", 1024},   {"MiB", 1024 * 1024}, {"GiB", 1024 * 1024 * 1024},
                 {"TB", 1e12L}, {"TiB", 0x1p40L}};
    long double value;
    const char *end = decimal(text, &value);

    if (!end || value < 0)
        return -EINVAL;
    end += strspn(end, " ");
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(end, units[i].name) != 0)
            continue;
        value *= units[i].factor;
        if (value > 0x1p60L || value != floorl(value))
            return -EINVAL;
        *ret_bytes = (int64_t)value;
        return 0;
    }
    return -EINVAL;
}

static size_t common_prefix(const char *a, const char *b)
{
    size_t n = 0;

    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

/*
 * "a, b, c". Where that does not fit: first the key that begins most like what was found, which may
 * be a typing error, then as many whole names as fit, and "...".
 */
static void list_keys(const char *const keys[], const char *found, char *ret_list, size_t size)
{
    static const char more[] = ", ...";
    size_t length = 0;
    size_t likest = 0;
    size_t used = 0;

    for (size_t k = 0; keys[k]; k++) {
        length += strlen(keys[k]) + 2;
        if (common_prefix(keys[k], found) > common_prefix(keys[likest], found))
            likest = k;
    }
    if (length > size)
        used = (size_t)snprintf(ret_list, size, "%s", keys[likest]);
    for (size_t k = 0; keys[k]; k++) {
        if (length > size && k == likest)
            continue;
        if (length > size && used + 2 + strlen(keys[k]) + sizeof more > size) {
            (void)snprintf(ret_list + used, size - used, "%s", more);
            return;
        }
        used += (size_t)snprintf(ret_list + used, size - used, "%s%s", used ? ", " : "", keys[k]);
    }
}

int node_expect_mapping(const struct document *document, const struct node *node,
                        const char *const known_keys[], struct input_error *ret_error)
{
    if (node->kind != NODE_MAPPING)
        return document_reject(document, node, ret_error, "a mapping");
    for (const struct node *child = node->first; child; child = child->next) {
        size_t i = 0;

        while (known_keys[i] && strcmp(known_keys[i], child->key) != 0)
            i++;
        if (!known_keys[i]) {
            char list[sizeof ret_error->expected - 16] = "";

            list_keys(known_keys, child->key, list, sizeof list);
            return input_reject(ret_error, document->name, child->key_line, child->key_column, child->key,
                                "one of %s", list);
        }
    }
    return 0;
}

int node_expect_sequence(const struct document *document, const struct node *node, const char *what,
                         struct input_error *ret_error)
{
    if (node->kind != NODE_SEQUENCE || node->n == 0)
        return document_reject(document, node, ret_error, "%s", what);
    return 0;
}

int node_text(const struct document *document, const struct node *node, const char *what,
              const char **ret_text, struct input_error *ret_error)
{
    if (node->kind != NODE_SCALAR || !*node->text)
        return document_reject(document, node, ret_error, "%s", what);
    *ret_text = node->text;
    return 0;
}

static bool is_plain(const struct node *node)
{
    return node->kind == NODE_SCALAR && !node->quoted;
}

int node_int(const struct document *document, const struct node *node, const char *what, int64_t low,
             int64_t high, int64_t *ret_value, struct input_error *ret_error)
{
    char *end = NULL;
    long long value = 0;

    errno = 0;
    if (is_plain(node))
        value = strtoll(node->text, &end, 10);
    if (!end || end == node->text || *end || errno || value < low || value > high)
        return document_reject(document, node, ret_error, "%s: a whole number from %lld to %lld", what,
                               (long long)low, (long long)high);
    *ret_value = value;
    return 0;
}

int node_get_count(const struct document *document, const struct node *mapping, const char *key, int64_t low,
                   int64_t high, unsigned *value, struct input_error *ret_error)
{
    const struct node *node = node_get(mapping, key);
    int64_t wide;
    int result;

    if (!node)
        return 0;
    result = node_int(document, node, key, low, high, &wide, ret_error);
    if (!result)
        *value = (unsigned)wide;
    return result;
}

int node_bool(const struct document *document, const struct node *node, bool *ret_value,
              struct input_error *ret_error)
{
    if (is_plain(node) && (strcmp(node->text, "true") == 0 || strcmp(node->text, "false") == 0)) {
        *ret_value = node->text[0] == 't';
        return 0;
    }
    return document_reject(document, node, ret_error, "true or false");
}

int node_number(const struct document *document, const struct node *node, const char *what, double low,
                double high, double *ret_value, struct input_error *ret_error)
{
    long double value = 0;
    const char *end = is_plain(node) ? decimal(node->text, &value) : NULL;

    if (!end || *end || value < (long double)low || value > (long double)high)
        return document_reject(document, node, ret_error, "%s: a number from %g to %g", what, low, high);
    *ret_value = (double)value;
    return 0;
}

int node_duration(const struct document *document, const struct node *node, const char *what, baton_nsec unit,
                  baton_nsec low, baton_nsec *ret_value, struct input_error *ret_error)
{
    baton_nsec value = 0;

    if (!is_plain(node) || parse_duration(node->text, unit, &value) || value < low)
        return document_reject(document, node, ret_error, "%s, a number %s 0 and at most %g", what,
                               low > 0 ? "above" : "of at least",
                               (double)(DURATION_LIMIT / (long double)unit));
    *ret_value = value;
    return 0;
}

int node_bytes(const struct document *document, const struct node *node, const char *what, int64_t *ret_bytes,
               struct input_error *ret_error)
{
    if (node->kind != NODE_SCALAR || parse_bytes(node->text, ret_bytes))
        return document_reject(document, node, ret_error,
                               "%s: whole bytes, or a number with kB MB GB KiB MiB GiB", what);
    return 0;
}

int node_choice(const struct document *document, const struct node *node, const char *what,
                const char *const names[], unsigned *ret_index, struct input_error *ret_error)
{
    char list[sizeof ret_error->expected - 40] = "";

    for (unsigned i = 0; names[i]; i++) {
        size_t used = strlen(list);

        if (node->kind == NODE_SCALAR && strcmp(node->text, names[i]) == 0) {
            *ret_index = i;
            return 0;
        }
        (void)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
    }
    return document_reject(document, node, ret_error, "%s: one of %s", what, list);
}
