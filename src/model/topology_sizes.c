/* The speed of a single command by its size: reads and looks up `sizes` of a topology. */
#include <errno.h>
#include <math.h>

#include "model/document.h"
#include "model/topology_reader.h"

static int read_size(struct topology_reader *reader, const struct node *node, struct topology_size *ret_size)
{
    static const char *const keys[] = {"bytes", "ratio", NULL};
    const struct node *bytes;
    const struct node *ratio;
    int64_t number;
    int result = node_expect_mapping(reader->document, node, keys, reader->error);

    if (result || (result = topology_require(reader, node, "bytes", &bytes)) ||
        (result = topology_require(reader, node, "ratio", &ratio)) ||
        (result = node_bytes(reader->document, bytes, "a size", &number, reader->error)) ||
        (result = node_number(reader->document, ratio, "a ratio from 0.01 to 100", 0.01, 100,
                              &ret_size->ratio, reader->error)))
        return result;
    if (number == 0)
        return document_reject(reader->document, bytes, reader->error, "a size above 0");
    ret_size->bytes = (double)number;
    return 0;
}

int topology_read_sizes(struct topology_reader *reader, const struct node *list)
{
    struct topology *topology = reader->topology;
    int result;

    if (!list)
        return 0;
    result = node_expect_sequence(reader->document, list, "a list of sizes", reader->error);
    if (result)
        return result;
    if (list->n > TOPOLOGY_MAX_SIZES)
        return document_reject(reader->document, list, reader->error, "at most %d sizes", TOPOLOGY_MAX_SIZES);
    topology->sizes = arena_calloc(&topology->arena, list->n + 1, sizeof *topology->sizes);
    if (!topology->sizes)
        return -ENOMEM;
    for (const struct node *at = list->first; at; at = at->next) {
        struct topology_size size;

        result = read_size(reader, at, &size);
        if (result)
            return result;
        if (topology->n_sizes && size.bytes <= topology->sizes[topology->n_sizes - 1].bytes)
            return document_reject(reader->document, at, reader->error, "sizes in ascending order");
        topology->sizes[topology->n_sizes++] = size;
    }
    return 0;
}

double topology_size_ratio(const struct topology *topology, double bytes)
{
    const struct topology_size *sizes = topology->sizes;
    size_t above = 0;
    double part;

    if (topology->n_sizes == 0)
        return 1;
    while (above < topology->n_sizes && sizes[above].bytes < bytes)
        above++;
    if (above == 0)
        return sizes[0].ratio;
    if (above == topology->n_sizes)
        return sizes[above - 1].ratio;
    part = log(bytes / sizes[above - 1].bytes) / log(sizes[above].bytes / sizes[above - 1].bytes);
    return sizes[above - 1].ratio + part * (sizes[above].ratio - sizes[above - 1].ratio);
}

double topology_lowest_ratio(const struct topology *topology)
{
    double lowest = 1;

    for (size_t i = 0; i < topology->n_sizes; i++)
        lowest = fmin(lowest, topology->sizes[i].ratio);
    return lowest;
}
