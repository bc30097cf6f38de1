#include "model/batch_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "model/document.h"

#define FILE_LIMIT ((size_t)1 << 20)

struct batch_reader {
    const struct document *document;
    const struct topology *topology;
    struct input_error *error;
};

/* The node that `key` names; -1 if the key is absent. */
static int read_place(struct batch_reader *reader, const struct node *mapping, const char *key, int *ret_node)
{
    const struct node *node = node_get(mapping, key);
    const char *name;
    int result;

    *ret_node = -1;
    if (!node)
        return 0;
    result = node_text(reader->document, node, "the name of a node", &name, reader->error);
    if (result)
        return result;
    *ret_node = topology_node(reader->topology, name);
    if (*ret_node < 0)
        return document_reject(reader->document, node, reader->error, "a node of the topology");
    return 0;
}

static int check_copy(struct batch_reader *reader, const struct node *node, const struct batch_stream *stream)
{
    const struct topology_node *nodes = reader->topology->nodes;
    struct found_route route;

    if (stream->from < 0)
        return document_reject(reader->document, node, reader->error, "'from' beside 'bytes'");
    if (stream->to < 0)
        return document_reject(reader->document, node, reader->error, "'to' beside 'bytes'");
    if (nodes[stream->from].role == ROLE_HUB)
        return document_reject(reader->document, node_get(node, "from"), reader->error, "a memory or a GPU");
    if (nodes[stream->to].role == ROLE_HUB)
        return document_reject(reader->document, node_get(node, "to"), reader->error, "a memory or a GPU");
    switch (topology_find_route(reader->topology, (unsigned)stream->from, (unsigned)stream->to, &route)) {
    case 0:
        return 0;
    case ROUTE_AMBIGUOUS:
        return document_reject(reader->document, node, reader->error,
                               "one shortest route from %s to %s, or one under 'routes' in the topology",
                               nodes[stream->from].name, nodes[stream->to].name);
    default:
        return document_reject(reader->document, node, reader->error, "a route from %s to %s in the topology",
                               nodes[stream->from].name, nodes[stream->to].name);
    }
}

static int check_kernel(struct batch_reader *reader, const struct node *node, struct batch_stream *stream)
{
    if (stream->to < 0)
        return document_reject(reader->document, node, reader->error,
                               "'to' beside 'kernel_ms': the GPU that runs the kernel");
    if (reader->topology->nodes[stream->to].role != ROLE_GPU)
        return document_reject(
            reader->document, node_get(node, "to"), reader->error,
            "a GPU that runs the kernel (a copy to the host and a kernel belong into two batches)");
    stream->gpu = stream->to;
    return 0;
}

static int read_stream(struct batch_reader *reader, const struct node *node, struct batch_file *batch)
{
    static const char *const keys[] = {"name", "from", "to", "bytes", "kernel_ms", NULL};
    struct batch_stream stream = {.gpu = -1};
    const struct node *bytes;
    const struct node *kernel;
    const struct node *name;
    char number[32];
    const char *text = number;
    int result = node_expect_mapping(reader->document, node, keys, reader->error);

    if (result || (result = read_place(reader, node, "from", &stream.from)) ||
        (result = read_place(reader, node, "to", &stream.to)))
        return result;
    bytes = node_get(node, "bytes");
    kernel = node_get(node, "kernel_ms");
    name = node_get(node, "name");
    if (bytes && (result = node_bytes(reader->document, bytes, "a size", &stream.bytes, reader->error)))
        return result;
    if (kernel && (result = node_duration(reader->document, kernel, "a length in ms", NSEC_PER_MS, 0,
                                          &stream.kernel, reader->error)))
        return result;
    (void)snprintf(number, sizeof number, "%zu", batch->n_streams);
    if (name && (result = node_text(reader->document, name, "a name", &text, reader->error)))
        return result;
    if (!stream.bytes && !stream.kernel)
        return document_reject(reader->document, node, reader->error,
                               "a stream with 'bytes' to copy, 'kernel_ms', or both");
    if (!bytes && stream.from >= 0)
        return document_reject(reader->document, node, reader->error, "'bytes' beside 'from'");
    if (stream.bytes && (result = check_copy(reader, node, &stream)))
        return result;
    if (stream.kernel && (result = check_kernel(reader, node, &stream)))
        return result;
    if (!stream.bytes)
        stream.from = stream.to = -1;
    stream.name = arena_strndup(&batch->arena, text, strlen(text));
    if (!stream.name)
        return -ENOMEM;
    batch->streams[batch->n_streams++] = stream;
    return 0;
}

static int read_root(struct batch_reader *reader, struct batch_file *batch)
{
    static const char *const keys[] = {"streams", NULL};
    const struct node *root = reader->document->root;
    const struct node *list;
    int result = node_expect_mapping(reader->document, root, keys, reader->error);

    if (result)
        return result;
    list = node_get(root, "streams");
    if (!list)
        return document_reject(reader->document, root, reader->error, "the key 'streams'");
    result = node_expect_sequence(reader->document, list, "a list of streams", reader->error);
    if (result)
        return result;
    if (list->n == 0 || list->n > BATCH_MAX_STREAMS)
        return document_reject(reader->document, list, reader->error, "1 to %d streams", BATCH_MAX_STREAMS);
    batch->streams = arena_calloc(&batch->arena, list->n, sizeof *batch->streams);
    if (!batch->streams)
        return -ENOMEM;
    for (const struct node *at = list->first; at && !result; at = at->next)
        result = read_stream(reader, at, batch);
    return result;
}

int batch_read(const char *name, const char *text, size_t size, const struct topology *topology,
               struct batch_file *ret_batch, struct input_error *ret_error)
{
    struct document document;
    struct batch_file batch = {0};
    struct batch_reader reader = {.document = &document, .topology = topology, .error = ret_error};
    int result = document_parse(name, text, size, &document, ret_error);

    if (result)
        return result;
    arena_init(&batch.arena, 0);
    result = read_root(&reader, &batch);
    document_done(&document);
    if (result)
        batch_file_done(&batch);
    else
        *ret_batch = batch;
    return result;
}

int batch_read_file(const char *path, const struct topology *topology, struct batch_file *ret_batch,
                    struct input_error *ret_error)
{
    char *text;
    size_t size;
    int result = file_read(path, FILE_LIMIT, &text, &size);

    if (result)
        return result;
    result = batch_read(path, text, size, topology, ret_batch, ret_error);
    free(text);
    return result;
}

void batch_file_done(struct batch_file *batch)
{
    arena_done(&batch->arena);
    *batch = (struct batch_file){0};
}
