#include "model/platform.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "model/overheads.h"
#include "model/print.h"

#define OVERHEADS_FILE_LIMIT ((size_t)1 << 20)

#define FIELD(member)                                                                                        \
    {                                                                                                        \
#member, offsetof(struct overheads, member)                                                          \
    }

static const struct {
    const char *key;
    size_t offset;
} fields[] = {
    FIELD(scheduler),  FIELD(context_switch), FIELD(ipi),          FIELD(event_latency),
    FIELD(tick),       FIELD(tick_period),    FIELD(release),      FIELD(cpmd),
    FIELD(syscall_in), FIELD(syscall_out),    FIELD(gpu_top_half), FIELD(gpu_bottom_half),
};
#define N_FIELDS (sizeof fields / sizeof fields[0])

static const char *const direction_names[] = {"in", "out", "p2p", NULL};

static baton_nsec *field_of(struct overheads *overheads, size_t i)
{
    return (baton_nsec *)(void *)((char *)overheads + fields[i].offset);
}

static int by_bytes(const void *a, const void *b)
{
    const struct copy_cost *x = a;
    const struct copy_cost *y = b;

    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int read_copy(const struct document *document, const struct node *entry, struct overheads *overheads,
                     struct input_error *ret_error)
{
    static const char *const keys[] = {"direction", "bytes", "us", NULL};
    struct copy_cost cost = {0};
    unsigned direction = 0;
    int result = node_expect_mapping(document, entry, keys, ret_error);

    if (result)
        return result;
    for (size_t i = 0; keys[i]; i++) {
        if (!node_get(entry, keys[i]))
            return document_reject(document, entry, ret_error, "a copy with direction, bytes and us");
    }
    result = node_choice(document, node_get(entry, "direction"), "a direction", direction_names, &direction,
                         ret_error);
    if (!result)
        result = node_bytes(document, node_get(entry, "bytes"), "a size", &cost.bytes, ret_error);
    if (!result && cost.bytes == 0)
        result = document_reject(document, node_get(entry, "bytes"), ret_error, "a size above 0");
    if (!result)
        result = node_duration(document, node_get(entry, "us"), "a cost in us", NSEC_PER_US, 0, &cost.cost,
                               ret_error);
    if (!result)
        overheads->copies[direction][overheads->n_copies[direction]++] = cost;
    return result;
}

static int read_copies(const struct document *document, const struct node *list, struct arena *arena,
                       struct overheads *overheads, struct input_error *ret_error)
{
    int result = node_expect_sequence(document, list, "a list of copy costs", ret_error);

    if (result)
        return result;
    for (size_t d = 0; d < COPY_DIRECTIONS; d++) {
        overheads->copies[d] = arena_calloc(arena, list->n, sizeof *overheads->copies[d]);
        if (!overheads->copies[d])
            return -ENOMEM;
    }
    for (const struct node *entry = list->first; entry; entry = entry->next) {
        result = read_copy(document, entry, overheads, ret_error);
        if (result)
            return result;
    }
    for (size_t d = 0; d < COPY_DIRECTIONS; d++) {
        struct copy_cost *costs = overheads->copies[d];

        qsort(costs, overheads->n_copies[d], sizeof *costs, by_bytes);
        for (size_t i = 1; i < overheads->n_copies[d]; i++) {
            if (costs[i].bytes == costs[i - 1].bytes)
                return document_reject(document, list, ret_error, "each size once per direction");
        }
    }
    return 0;
}

int overheads_read(const struct document *document, const struct node *mapping, struct arena *arena,
                   struct overheads *ret_overheads, struct input_error *ret_error)
{
    struct overheads overheads = {.tick_period = NSEC_PER_MS};
    const char *keys[N_FIELDS + 2] = {0};
    const struct node *node;
    int result;

    for (size_t i = 0; i < N_FIELDS; i++)
        keys[i] = fields[i].key;
    keys[N_FIELDS] = "copies";
    result = node_expect_mapping(document, mapping, keys, ret_error);
    for (size_t i = 0; i < N_FIELDS && !result; i++) {
        node = node_get(mapping, fields[i].key);
        if (node)
            result =
                node_duration(document, node, "a time in us", NSEC_PER_US,
                              strcmp(fields[i].key, "tick_period") == 0, field_of(&overheads, i), ret_error);
    }
    node = result ? NULL : node_get(mapping, "copies");
    if (node)
        result = read_copies(document, node, arena, &overheads, ret_error);
    if (!result)
        *ret_overheads = overheads;
    return result;
}

static int read_name(const struct document *document, const struct node *entry, const char **ret_name,
                     struct input_error *ret_error)
{
    static const char *const keys[] = {"name", "worst_case", "loaded", "all", "P", "C", "G", NULL};
    int result = node_expect_mapping(document, entry, keys, ret_error);

    if (!result && !node_get(entry, "name"))
        result = document_reject(document, entry, ret_error, "an overhead set with a name");
    return result ? result : node_text(document, node_get(entry, "name"), "a name", ret_name, ret_error);
}

static int is_worst_loaded(const struct document *document, const struct node *entry, bool *ret_is,
                           struct input_error *ret_error)
{
    const struct node *worst = node_get(entry, "worst_case");
    const struct node *loaded = node_get(entry, "loaded");
    bool flags[2] = {false, false};
    int result = worst ? node_bool(document, worst, &flags[0], ret_error) : 0;

    if (!result && loaded)
        result = node_bool(document, loaded, &flags[1], ret_error);
    *ret_is = flags[0] && flags[1];
    return result;
}

/* The entry of that name; name NULL: the only entry, or the worst case of a loaded machine. */
static int choose(const struct document *document, const struct node *list, const char *name,
                  const struct node **ret_entry, struct input_error *ret_error)
{
    const struct node *found = NULL;
    int result = node_expect_sequence(document, list, "a list of overhead sets", ret_error);

    for (const struct node *entry = result ? NULL : list->first; entry && !result; entry = entry->next) {
        const char *here = NULL;
        bool chosen = false;

        result = read_name(document, entry, &here, ret_error);
        if (!result && name)
            chosen = strcmp(here, name) == 0;
        else if (!result)
            result = is_worst_loaded(document, entry, &chosen, ret_error);
        if (!result && chosen && found)
            result = document_reject(document, entry, ret_error,
                                     name ? "each name once"
                                          : "one set with worst_case and loaded; else its name");
        if (chosen || (!name && list->n == 1))
            found = entry;
    }
    if (!result && !found && name)
        result = document_reject(document, list, ret_error, "an overhead set named %s", name);
    else if (!result && !found)
        result = document_reject(document, list, ret_error,
                                 "one set, or one with worst_case and loaded; else {file: FILE, set: NAME}");
    if (!result && !node_get(found, "all"))
        result = document_reject(document, found, ret_error, "overheads for all platforms (`all:`)");
    *ret_entry = found;
    return result;
}

int overheads_read_any(const struct document *document, const char *set, struct arena *arena,
                       struct overheads *ret_overheads, struct input_error *ret_error)
{
    static const char *const keys[] = {"sets", NULL};
    const struct node *mapping = document->root;
    const struct node *entry = NULL;
    int result = 0;

    if (mapping->kind == NODE_MAPPING && node_get(mapping, "sets")) {
        result = node_expect_mapping(document, mapping, keys, ret_error);
        if (!result)
            result = choose(document, node_get(mapping, "sets"), set, &entry, ret_error);
        mapping = result ? NULL : node_get(entry, "all");
    } else if (set) {
        return document_reject(document, mapping, ret_error, "`sets:`, of which one is named %s", set);
    }
    return result ? result : overheads_read(document, mapping, arena, ret_overheads, ret_error);
}

int overheads_read_file(const char *path, const char *set, struct arena *arena,
                        struct overheads *ret_overheads, struct input_error *ret_error)
{
    struct document document;
    char *text;
    size_t size;
    int result = file_read(path, OVERHEADS_FILE_LIMIT, &text, &size);

    if (result == -EFBIG)
        return input_reject(ret_error, path, 0, 0, "a larger one", "a file of at most 1 MiB");
    if (result)
        return result;
    result = document_parse(path, text, size, &document, ret_error);
    if (!result) {
        result = overheads_read_any(&document, set, arena, ret_overheads, ret_error);
        document_done(&document);
    }
    free(text);
    return result;
}

baton_nsec overheads_copy_cost(const struct overheads *overheads, enum copy_direction direction,
                               int64_t bytes)
{
    const struct copy_cost *costs = overheads->copies[direction];
    size_t n = overheads->n_copies[direction];
    size_t i = 0;

    if (n == 0 || bytes <= 0)
        return 0;
    while (i < n && costs[i].bytes < bytes)
        i++;
    if (i == 0)
        return costs[0].cost;
    if (i == n) /* proportional beyond the largest entry */
        return (baton_nsec)((long double)costs[n - 1].cost * (long double)bytes /
                                (long double)costs[n - 1].bytes +
                            0.5L);
    return costs[i - 1].cost + (baton_nsec)((long double)(costs[i].cost - costs[i - 1].cost) *
                                                (long double)(bytes - costs[i - 1].bytes) /
                                                (long double)(costs[i].bytes - costs[i - 1].bytes) +
                                            0.5L);
}

void overheads_print(const struct overheads *overheads, const char *indent, FILE *out)
{
    size_t n = 0;

    for (size_t i = 0; i < N_FIELDS; i++) {
        (void)fprintf(out, "%s%s: ", indent, fields[i].key);
        print_duration(*(const baton_nsec *)(const void *)((const char *)overheads + fields[i].offset),
                       NSEC_PER_US, out);
        (void)fputc('\n', out);
    }
    for (size_t d = 0; d < COPY_DIRECTIONS; d++)
        n += overheads->n_copies[d];
    if (n == 0)
        return;
    (void)fprintf(out, "%scopies:\n", indent);
    for (size_t d = 0; d < COPY_DIRECTIONS; d++) {
        for (size_t i = 0; i < overheads->n_copies[d]; i++) {
            (void)fprintf(out, "%s  - {direction: %s, bytes: %lld, us: ", indent, direction_names[d],
                          (long long)overheads->copies[d][i].bytes);
            print_duration(overheads->copies[d][i].cost, NSEC_PER_US, out);
            (void)fprintf(out, "}\n");
        }
    }
}
