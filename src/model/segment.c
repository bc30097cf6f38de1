#include "model/segment.h"

#include <errno.h>
#include <string.h>

#include "model/print.h"
#include "model/segment_source.h"

static const char *const kind_names[] = {"cpu", "copy_in", "copy_out", "kernel", NULL};
static const char *const length_keys[] = {"cpu_ms", "copy_in_ms", "copy_out_ms", "kernel_ms"};

const char *segment_kind_name(enum segment_kind kind)
{
    return kind_names[kind];
}

int placement_read(const struct document *document, const struct node *node, const struct platform *platform,
                   struct placement *ret_placement, struct input_error *ret_error)
{
    static const char *const names[] = {"chosen", "any", NULL};
    struct placement placement = {.kind = PLACEMENT_FIXED};
    unsigned choice = 0;
    int result;

    if (node->kind != NODE_SEQUENCE) {
        result = node_choice(document, node, "a placement (or a list of GPUs)", names, &choice, ret_error);
        if (!result)
            *ret_placement = (struct placement){.kind = choice ? PLACEMENT_ANY : PLACEMENT_CHOSEN};
        return result;
    }
    if (node->n == 0 || platform->gpus == 0)
        return document_reject(document, node, ret_error, "a list of GPUs of the platform");
    for (const struct node *item = node->first; item; item = item->next) {
        int64_t gpu = 0;

        result = node_int(document, item, "a GPU", 0, (int64_t)platform->gpus - 1, &gpu, ret_error);
        if (!result && placement.gpus & (UINT64_C(1) << gpu))
            result = document_reject(document, item, ret_error, "each GPU once");
        if (result)
            return result;
        placement.gpus |= UINT64_C(1) << gpu;
    }
    *ret_placement = placement;
    return 0;
}

void placement_print(const struct placement *placement, FILE *out)
{
    const char *separator = "[";

    if (placement->kind != PLACEMENT_FIXED) {
        (void)fputs(placement->kind == PLACEMENT_ANY ? "any" : "chosen", out);
        return;
    }
    for (unsigned gpu = 0; gpu < PLATFORM_MAX_GPUS; gpu++) {
        if (placement->gpus & (UINT64_C(1) << gpu)) {
            (void)fprintf(out, "%s%u", separator, gpu);
            separator = ", ";
        }
    }
    (void)fputc(']', out);
}

static baton_nsec sum_of(const struct piece_list *list)
{
    baton_nsec sum = 0;

    for (size_t i = 0; i < list->n; i++)
        sum += list->pieces[i];
    return sum;
}

/* A list of durations in ms. The sum is limited, so that it cannot overflow later. */
static int read_pieces(const struct document *document, const struct node *node, struct arena *arena,
                       struct piece_list *ret_list, struct input_error *ret_error)
{
    const baton_nsec limit = INT64_C(10000000000000000);
    struct piece_list list = {0};
    baton_nsec sum = 0;
    int result = node_expect_sequence(document, node, "a list of times in ms", ret_error);

    if (result)
        return result;
    if (node->n > SEGMENT_MAX_PIECES)
        return document_reject(document, node, ret_error, "at most %d pieces", SEGMENT_MAX_PIECES);
    list.pieces = arena_calloc(arena, node->n, sizeof *list.pieces);
    if (!list.pieces)
        return -ENOMEM;
    for (const struct node *item = node->first; item; item = item->next) {
        result =
            node_duration(document, item, "a time in ms", NSEC_PER_MS, 0, &list.pieces[list.n], ret_error);
        if (result)
            return result;
        sum += list.pieces[list.n++];
        if (sum > limit)
            return document_reject(document, item, ret_error, "pieces that sum to at most %g ms",
                                   nsec_to_ms(limit));
    }
    *ret_list = list;
    return 0;
}

/* per_gpu_ms: [4, 10, 4] (one piece each) or pieces_per_gpu_ms: [[4], [10], [4]]. */
static int read_per_gpu(const struct document *document, const struct node *node, bool lists,
                        const struct platform *platform, struct arena *arena, struct segment *segment,
                        struct input_error *ret_error)
{
    if (node->kind != NODE_SEQUENCE || node->n != platform->gpus || platform->gpus == 0)
        return document_reject(document, node, ret_error, "a list with one entry for each of %u GPUs",
                               platform->gpus);
    segment->per_gpu = arena_calloc(arena, node->n, sizeof *segment->per_gpu);
    if (!segment->per_gpu)
        return -ENOMEM;
    for (const struct node *item = node->first; item; item = item->next) {
        struct piece_list *list = &segment->per_gpu[segment->n_per_gpu];
        int result;

        if (lists) {
            result = read_pieces(document, item, arena, list, ret_error);
        } else {
            list->pieces = arena_calloc(arena, 1, sizeof *list->pieces);
            list->n = 1;
            result = list->pieces ? node_duration(document, item, "a time in ms", NSEC_PER_MS, 0,
                                                  list->pieces, ret_error)
                                  : -ENOMEM;
        }
        if (result)
            return result;
        segment->n_per_gpu++;
        if (sum_of(list) > segment->length)
            segment->length = sum_of(list);
    }
    return 0;
}

static int read_multi(const struct document *document, const struct node *node,
                      const struct platform *platform, struct arena *arena, struct segment *segment,
                      struct input_error *ret_error)
{
    struct piece_list list = {0};
    int result;

    if (node->kind == NODE_SEQUENCE) {
        if (node->n == 0 || node->n + 1 > platform->gpus)
            return document_reject(document, node, ret_error,
                                   "a length, or a list for 2, 3, ... up to %u GPUs", platform->gpus);
        result = read_pieces(document, node, arena, &list, ret_error);
        segment->multi_is_list = true;
    } else {
        list.pieces = arena_calloc(arena, 1, sizeof *list.pieces);
        list.n = 1;
        result = list.pieces
                     ? node_duration(document, node, "a time in ms", NSEC_PER_MS, 0, list.pieces, ret_error)
                     : -ENOMEM;
    }
    segment->multi = list.pieces;
    segment->n_multi = list.n;
    return result;
}

/*
 * The kind: one of cpu_ms, copy_in_ms, copy_out_ms, kernel_ms; or `kind:`; or a key that only
 * kernels have.
 */
static int read_kind(const struct document *document, const struct node *mapping, struct segment *segment,
                     const struct node **ret_length, struct input_error *ret_error)
{
    const struct node *named = node_get(mapping, "kind");
    bool per_gpu = node_get(mapping, "per_gpu_ms") || node_get(mapping, "pieces_per_gpu_ms");
    unsigned kind = SEGMENT_KERNEL;
    size_t n = 0;

    *ret_length = NULL;
    for (unsigned i = 0; i < 4; i++) {
        const struct node *length = node_get(mapping, length_keys[i]);

        if (length) {
            *ret_length = length;
            kind = i;
            n++;
        }
    }
    if (n > 1)
        return document_reject(document, mapping, ret_error,
                               "only one of cpu_ms, copy_in_ms, copy_out_ms, kernel_ms in a segment");
    if (named) {
        unsigned said = 0;
        int result = node_choice(document, named, "a kind", kind_names, &said, ret_error);

        if (!result && n && said != kind)
            result = document_reject(document, named, ret_error, "%s, as its length says", kind_names[kind]);
        if (result)
            return result;
        kind = said;
    } else if (n == 0 && !per_gpu) {
        return document_reject(document, mapping, ret_error,
                               "a segment with one of cpu_ms, copy_in_ms, copy_out_ms, kernel_ms");
    }
    segment->kind = (enum segment_kind)kind;
    return 0;
}

/* The length: one number, explicit pieces, or a length per GPU. */
static int read_length(const struct document *document, const struct node *mapping, const struct node *length,
                       const struct platform *platform, struct arena *arena, struct segment *segment,
                       struct input_error *ret_error)
{
    const struct node *pieces = node_get(mapping, "pieces_ms");
    const struct node *each = node_get(mapping, "per_gpu_ms");
    const struct node *lists = node_get(mapping, "pieces_per_gpu_ms");
    /* `kernel_ms:` alone names the kind */
    bool has_length = length && (length->kind != NODE_SCALAR || *length->text);
    int result = 0;

    if (has_length && length->kind == NODE_MAPPING) {
        result = segment_source_read(document, length, segment->kind, arena, &segment->source, ret_error);
        if (!result && pieces)
            result = document_reject(document, pieces, ret_error, "piece_ms, where a length is computed");
        return result          ? result
               : each || lists ? document_reject(document, length, ret_error, "either %s or a length per GPU",
                                                 length->key)
                               : 0;
    }
    if (has_length) {
        result = node_duration(document, length, "a time in ms", NSEC_PER_MS, 0, &segment->length, ret_error);
        if (result)
            return result;
        if (each || lists)
            return document_reject(document, length, ret_error, "either %s or a length per GPU", length->key);
    }
    if (each && (lists || pieces))
        return document_reject(document, each, ret_error,
                               "only one of per_gpu_ms, pieces_per_gpu_ms, pieces_ms");
    if (lists && pieces)
        return document_reject(document, pieces, ret_error, "only one of pieces_ms and pieces_per_gpu_ms");
    if (pieces) {
        result = read_pieces(document, pieces, arena, &segment->pieces, ret_error);
        if (!result && has_length && sum_of(&segment->pieces) != segment->length)
            result = document_reject(document, pieces, ret_error, "pieces that sum to %s", length->key);
        if (!result)
            segment->length = sum_of(&segment->pieces);
    } else if (each || lists) {
        result =
            read_per_gpu(document, each ? each : lists, lists != NULL, platform, arena, segment, ret_error);
    } else if (!has_length) {
        result =
            document_reject(document, length ? length : mapping, ret_error, "a length in ms, or pieces_ms");
    }
    return result;
}

/* The keys that only kernels have: where they run and on how many GPUs. */
static int read_kernel(const struct document *document, const struct node *mapping,
                       const struct platform *platform, const struct placement *task_placement,
                       struct segment *segment, struct input_error *ret_error)
{
    static const char *const keys[] = {"gpus", "placement", "per_gpu_ms", "pieces_per_gpu_ms"};
    const struct node *node;
    struct placement placement = *task_placement;
    int result = 0;

    if (segment->kind != SEGMENT_KERNEL) {
        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
            node = node_get(mapping, keys[i]);
            if (node)
                return document_reject(document, node, ret_error, "%s in a kernel segment only", keys[i]);
        }
        return 0;
    }
    if (platform->gpus == 0)
        return document_reject(document, mapping, ret_error, "no kernel, as the platform has no GPU");
    if ((node = node_get(mapping, "placement"))) {
        result = placement_read(document, node, platform, &segment->placement, ret_error);
        segment->has_placement = true;
        placement = segment->placement;
    }
    segment->gpus = placement.kind == PLACEMENT_FIXED ? (unsigned)__builtin_popcountll(placement.gpus) : 1;
    if (!result && (node = node_get(mapping, "gpus"))) {
        int64_t gpus = 0;

        result = node_int(document, node, "gpus", 1, platform->gpus, &gpus, ret_error);
        if (!result && placement.kind == PLACEMENT_FIXED && gpus != segment->gpus)
            result = document_reject(document, node, ret_error, "%u, the number of GPUs in its placement",
                                     segment->gpus);
        if (!result)
            segment->gpus = (unsigned)gpus;
    }
    return result;
}

int segment_read(const struct document *document, const struct node *mapping, const struct platform *platform,
                 const struct placement *task_placement, struct arena *arena, struct segment *ret_segment,
                 struct input_error *ret_error)
{
    static const char *const keys[] = {"cpu_ms",     "copy_in_ms",        "copy_out_ms", "kernel_ms",
                                       "kind",       "best_ms",           "multi_ms",    "bytes",
                                       "piece_ms",   "pieces_ms",         "gpus",        "placement",
                                       "per_gpu_ms", "pieces_per_gpu_ms", NULL};
    struct segment segment = {.bytes = -1, .gpus = 1, .line = mapping->line, .column = mapping->column};
    const struct node *length = NULL;
    const struct node *node;
    int result = node_expect_mapping(document, mapping, keys, ret_error);

    if (!result)
        result = read_kind(document, mapping, &segment, &length, ret_error);
    if (!result)
        result = read_length(document, mapping, length, platform, arena, &segment, ret_error);
    if (!result)
        result = read_kernel(document, mapping, platform, task_placement, &segment, ret_error);
    if (!result && (node = node_get(mapping, "best_ms"))) {
        result = node_duration(document, node, "a time in ms", NSEC_PER_MS, 0, &segment.best, ret_error);
        if (!result && !segment.source && segment.best > segment.length)
            result = document_reject(document, node, ret_error, "a best case no longer than the worst");
    }
    if (!result && (node = node_get(mapping, "multi_ms")))
        result = read_multi(document, node, platform, arena, &segment, ret_error);
    if (!result && (node = node_get(mapping, "bytes")))
        result = node_bytes(document, node, "bytes", &segment.bytes, ret_error);
    if (!result && segment.source && segment.source->kind == SOURCE_ROUTE && segment.bytes <= 0)
        result = document_reject(document, mapping, ret_error, "bytes: how much goes over the route");
    if (!result && (node = node_get(mapping, "piece_ms"))) {
        result = node_duration(document, node, "a time in ms", NSEC_PER_MS, 1, &segment.piece, ret_error);
        if (!result && (segment.pieces.n || node_get(mapping, "pieces_per_gpu_ms")))
            result = document_reject(document, node, ret_error, "either piece_ms or explicit pieces");
    }
    if (!result)
        *ret_segment = segment;
    return result;
}

static void print_list(const struct piece_list *list, FILE *out)
{
    (void)fputc('[', out);
    for (size_t i = 0; i < list->n; i++) {
        (void)fputs(i ? ", " : "", out);
        print_duration(list->pieces[i], NSEC_PER_MS, out);
    }
    (void)fputc(']', out);
}

static void print_field(const char *key, baton_nsec value, FILE *out)
{
    (void)fprintf(out, ", %s: ", key);
    print_duration(value, NSEC_PER_MS, out);
}

/* per_gpu_ms if every GPU has one piece (piece_ms may be present too), else pieces_per_gpu_ms. */
static void print_per_gpu(const struct segment *segment, FILE *out)
{
    bool lists = false;

    for (size_t q = 0; q < segment->n_per_gpu; q++)
        lists |= segment->per_gpu[q].n != 1;
    (void)fputs(lists ? ", pieces_per_gpu_ms: [" : ", per_gpu_ms: [", out);
    for (size_t q = 0; q < segment->n_per_gpu; q++) {
        (void)fputs(q ? ", " : "", out);
        if (lists)
            print_list(&segment->per_gpu[q], out);
        else
            print_duration(segment->per_gpu[q].pieces[0], NSEC_PER_MS, out);
    }
    (void)fputc(']', out);
}

void segment_print(const struct segment *segment, FILE *out)
{
    if (segment->per_gpu || segment->pieces.n) {
        (void)fprintf(out, "{kind: %s", kind_names[segment->kind]);
    } else {
        (void)fprintf(out, "{%s: ", length_keys[segment->kind]);
        if (segment->source)
            segment_source_print(segment->source, out);
        else
            print_duration(segment->length, NSEC_PER_MS, out);
    }
    if (segment->pieces.n) {
        (void)fputs(", pieces_ms: ", out);
        print_list(&segment->pieces, out);
    }
    if (segment->per_gpu)
        print_per_gpu(segment, out);
    if (segment->best)
        print_field("best_ms", segment->best, out);
    if (segment->multi_is_list) {
        (void)fputs(", multi_ms: ", out);
        print_list(&(struct piece_list){segment->multi, segment->n_multi}, out);
    } else if (segment->n_multi) {
        print_field("multi_ms", segment->multi[0], out);
    }
    if (segment->bytes >= 0)
        (void)fprintf(out, ", bytes: %lld", (long long)segment->bytes);
    if (segment->piece)
        print_field("piece_ms", segment->piece, out);
    if (segment->kind == SEGMENT_KERNEL && segment->gpus != 1)
        (void)fprintf(out, ", gpus: %u", segment->gpus);
    if (segment->has_placement) {
        (void)fputs(", placement: ", out);
        placement_print(&segment->placement, out);
    }
    (void)fputc('}', out);
}
