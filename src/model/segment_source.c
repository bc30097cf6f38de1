#include "model/segment_source.h"

#include <errno.h>
#include <string.h>

#include "model/print.h"

static const char *const unit_keys[] = {"L", "C", "S", "D", NULL};
static const char *const sharing_names[] = {"alone", "contended", NULL};

static int read_text(const struct document *document, const struct node *node, const char *what,
                     struct arena *arena, const char **ret_text, struct input_error *ret_error)
{
    const char *text = NULL;
    int result = node_text(document, node, what, &text, ret_error);

    if (!result && !(*ret_text = arena_strndup(arena, text, strlen(text))))
        result = -ENOMEM;
    return result;
}

/* {L: 1, C: 4}: each from 1 to most; units that are not named keep their value. */
static int read_units(const struct document *document, const struct node *node, int64_t most,
                      unsigned values[SOURCE_UNITS], struct input_error *ret_error)
{
    int result = node_expect_mapping(document, node, unit_keys, ret_error);

    for (size_t u = 0; u < SOURCE_UNITS && !result; u++) {
        const struct node *item = node_get(node, unit_keys[u]);
        int64_t value = 0;

        if (!item)
            continue;
        result = node_int(document, item, "a number of warps or cycles", 1, most, &value, ret_error);
        if (!result)
            values[u] = (unsigned)value;
    }
    return result;
}

/* {LABEL: passes, ...} */
static int read_loops(const struct document *document, const struct node *node, struct arena *arena,
                      struct segment_source *source, struct input_error *ret_error)
{
    if (node->kind != NODE_MAPPING || node->n > SOURCE_MAX_LOOPS)
        return document_reject(document, node, ret_error, "at most %d labels with their numbers of passes",
                               SOURCE_MAX_LOOPS);
    for (const struct node *item = node->first; item; item = item->next) {
        struct source_loop *loop = &source->loops[source->n_loops];
        int64_t passes = 0;
        int result = node_int(document, item, "a number of passes", 1, (int64_t)1 << 20, &passes, ret_error);

        for (size_t i = 0; i < source->n_loops && !result; i++) {
            if (strcmp(source->loops[i].label, item->key) == 0)
                result = document_reject(document, item, ret_error, "each label once");
        }
        if (result)
            return result;
        loop->passes = (size_t)passes;
        loop->label = arena_strndup(arena, item->key, strlen(item->key));
        if (!loop->label)
            return -ENOMEM;
        source->n_loops++;
    }
    return 0;
}

static int read_count(const struct document *document, const struct node *mapping, const char *key,
                      int64_t most, int64_t *value, struct input_error *ret_error)
{
    const struct node *node = node_get(mapping, key);

    return node ? node_int(document, node, key, 1, most, value, ret_error) : 0;
}

static int read_code(const struct document *document, const struct node *mapping, struct arena *arena,
                     struct segment_source *source, struct input_error *ret_error)
{
    const struct node *ptx = node_get(mapping, "ptx");
    const struct node *string = node_get(mapping, "string");
    const struct node *entry = node_get(mapping, "entry");
    const struct node *loops = node_get(mapping, "loops");
    int result = 0;

    if (!ptx == !string)
        return document_reject(document, mapping, ret_error, "either ptx: FILE or string: S");
    if (string && (entry || loops))
        return document_reject(document, entry ? entry : loops, ret_error, "entry and loops with ptx only");
    if (ptx)
        result = read_text(document, ptx, "a PTX file", arena, &source->ptx, ret_error);
    else
        result = read_text(document, string, "an instruction string", arena, &source->string, ret_error);
    if (!result && entry)
        result = read_text(document, entry, "the name of a kernel", arena, &source->entry, ret_error);
    if (!result && loops)
        result = read_loops(document, loops, arena, source, ret_error);
    return result;
}

static int read_makespan(const struct document *document, const struct node *mapping, struct arena *arena,
                         struct segment_source *source, struct input_error *ret_error)
{
    static const char *const keys[] = {"ptx",   "entry",   "string", "loops",  "warps",           "issue",
                                       "units", "latency", "clock",  "groups", "multiprocessors", "resident",
                                       NULL};
    const struct node *node;
    int64_t warps = 0;
    int64_t issue = 0;
    int result = node_expect_mapping(document, mapping, keys, ret_error);

    source->multiprocessors = source->groups = source->resident = 1;
    for (size_t u = 0; u < SOURCE_UNITS; u++)
        source->units[u] = source->latency[u] = 1;
    if (!result && !node_get(mapping, "warps"))
        result = document_reject(document, mapping, ret_error, "warps: how many run together");
    if (!result && !node_get(mapping, "clock"))
        result = document_reject(document, mapping, ret_error, "clock: in MHz");
    if (!result)
        result = read_code(document, mapping, arena, source, ret_error);
    if (!result)
        result = read_count(document, mapping, "warps", 4096, &warps, ret_error);
    if (!result)
        result = read_count(document, mapping, "issue", 255, &issue, ret_error);
    if (!result)
        result =
            read_count(document, mapping, "multiprocessors", 1000000, &source->multiprocessors, ret_error);
    if (!result)
        result = read_count(document, mapping, "groups", 1000000000000, &source->groups, ret_error);
    if (!result)
        result = read_count(document, mapping, "resident", 4096, &source->resident, ret_error);
    if (!result && (node = node_get(mapping, "units")))
        result = read_units(document, node, 255, source->units, ret_error);
    if (!result && (node = node_get(mapping, "latency")))
        result = read_units(document, node, 1024, source->latency, ret_error);
    if (!result)
        result = node_number(document, node_get(mapping, "clock"), "a clock in MHz", 1, 1e6,
                             &source->clock_mhz, ret_error);
    if (!result && warps % source->resident)
        result = document_reject(document, node_get(mapping, "resident"), ret_error,
                                 "resident: a divisor of warps, which are those of all resident groups");
    source->warps = (unsigned)warps;
    source->issue = (unsigned)issue;
    return result;
}

static int read_route(const struct document *document, const struct node *mapping, struct arena *arena,
                      struct segment_source *source, struct input_error *ret_error)
{
    static const char *const keys[] = {"route", "topology", "sharing", NULL};
    const struct node *route = node_get(mapping, "route");
    const struct node *topology = node_get(mapping, "topology");
    const struct node *sharing = node_get(mapping, "sharing");
    unsigned choice = 0;
    int result = node_expect_mapping(document, mapping, keys, ret_error);

    if (!result && (!route || route->kind != NODE_SEQUENCE || route->n != 2))
        result = document_reject(document, route ? route : mapping, ret_error,
                                 "route: [FROM, TO], two nodes of the topology");
    if (!result && !topology)
        result = document_reject(document, mapping, ret_error, "topology: FILE");
    if (!result)
        result = read_text(document, route->first, "a node", arena, &source->from, ret_error);
    if (!result)
        result = read_text(document, route->first->next, "a node", arena, &source->to, ret_error);
    if (!result)
        result = read_text(document, topology, "a topology file", arena, &source->topology, ret_error);
    if (!result && sharing) {
        result = node_choice(document, sharing, "sharing", sharing_names, &choice, ret_error);
        source->sharing = choice ? SHARING_CONTENDED : SHARING_ALONE;
    }
    return result;
}

int segment_source_read(const struct document *document, const struct node *mapping, enum segment_kind kind,
                        struct arena *arena, struct segment_source **ret_source,
                        struct input_error *ret_error)
{
    struct segment_source *source = arena_calloc(arena, 1, sizeof *source);
    int result;

    if (!source)
        return -ENOMEM;
    source->line = mapping->line;
    source->column = mapping->column;
    source->kind = kind == SEGMENT_KERNEL ? SOURCE_MAKESPAN : SOURCE_ROUTE;
    if (kind == SEGMENT_CPU)
        return document_reject(document, mapping, ret_error, "a time in ms");
    result = source->kind == SOURCE_MAKESPAN ? read_makespan(document, mapping, arena, source, ret_error)
                                             : read_route(document, mapping, arena, source, ret_error);
    if (!result)
        *ret_source = source;
    return result;
}

static void print_text(const char *key, const char *text, FILE *out)
{
    (void)fprintf(out, "%s: ", key);
    print_quoted(text, out);
    (void)fputs(", ", out);
}

static void print_units(const char *key, const unsigned values[SOURCE_UNITS], FILE *out)
{
    (void)fprintf(out, ", %s: {L: %u, C: %u, S: %u, D: %u}", key, values[0], values[1], values[2], values[3]);
}

void segment_source_print(const struct segment_source *source, FILE *out)
{
    (void)fputc('{', out);
    if (source->kind == SOURCE_ROUTE) {
        (void)fputs("route: [", out);
        print_quoted(source->from, out);
        (void)fputs(", ", out);
        print_quoted(source->to, out);
        (void)fputs("], topology: ", out);
        print_quoted(source->topology, out);
        if (source->sharing != SHARING_BY_ANALYSIS)
            (void)fprintf(out, ", sharing: %s", sharing_names[source->sharing - SHARING_ALONE]);
        (void)fputc('}', out);
        return;
    }
    print_text(source->ptx ? "ptx" : "string", source->ptx ? source->ptx : source->string, out);
    if (source->entry)
        print_text("entry", source->entry, out);
    if (source->n_loops) {
        (void)fputs("loops: {", out);
        for (size_t i = 0; i < source->n_loops; i++) {
            (void)fputs(i ? ", " : "", out);
            print_quoted(source->loops[i].label, out);
            (void)fprintf(out, ": %zu", source->loops[i].passes);
        }
        (void)fputs("}, ", out);
    }
    (void)fprintf(out, "warps: %u, clock: %.17g, multiprocessors: %lld, groups: %lld, resident: %lld",
                  source->warps, source->clock_mhz, (long long)source->multiprocessors,
                  (long long)source->groups, (long long)source->resident);
    if (source->issue)
        (void)fprintf(out, ", issue: %u", source->issue);
    print_units("units", source->units, out);
    print_units("latency", source->latency, out);
    (void)fputc('}', out);
}
