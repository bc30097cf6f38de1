#include "model/topology.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "model/document.h"
#include "model/topology_reader.h"

#define FILE_LIMIT ((size_t)16 << 20)

int topology_node(const struct topology *topology, const char *name)
{
    for (size_t i = 0; i < topology->n_nodes; i++) {
        if (strcmp(topology->nodes[i].name, name) == 0)
            return (int)i;
    }
    return -1;
}

/* The prefix followed by digits or nothing: GPU, GPU0, MEM1. */
static bool is_numbered(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);

    if (strncmp(name, prefix, length) != 0)
        return false;
    for (name += length; *name; name++) {
        if (!isdigit((unsigned char)*name))
            return false;
    }
    return true;
}

/*
 * The node with this name, created if `make` is set. Its role follows from its name unless the file
 * sets it.
 */
int topology_read_node(struct topology_reader *reader, const struct node *node, bool make,
                       unsigned *ret_index)
{
    struct topology *topology = reader->topology;
    struct topology_node *fresh;
    const char *name;
    int index;
    int result = node_text(reader->document, node, "the name of a node", &name, reader->error);

    if (result)
        return result;
    index = topology_node(topology, name);
    if (index >= 0) {
        *ret_index = (unsigned)index;
        return 0;
    }
    if (!make)
        return document_reject(reader->document, node, reader->error, "a node that a link names");
    if (topology->n_nodes == TOPOLOGY_MAX_NODES)
        return document_reject(reader->document, node, reader->error, "at most %d nodes", TOPOLOGY_MAX_NODES);
    fresh = &topology->nodes[topology->n_nodes];
    *fresh = (struct topology_node){.engines = 2, .device = -1};
    fresh->name = arena_strndup(&topology->arena, name, strlen(name));
    if (!fresh->name)
        return -ENOMEM;
    fresh->role = is_numbered(name, "GPU") ? ROLE_GPU : is_numbered(name, "MEM") ? ROLE_MEMORY : ROLE_HUB;
    *ret_index = (unsigned)topology->n_nodes++;
    return 0;
}

/* A bandwidth in GB/s: above 0, finite. */
int topology_read_bandwidth(struct topology_reader *reader, const struct node *node, double *ret_gbps)
{
    return node_number(reader->document, node, "a bandwidth above 0 in GB/s", 1e-6, 1e6, ret_gbps,
                       reader->error);
}

/* The entry of a mapping, or a rejection that names the missing key. */
int topology_require(struct topology_reader *reader, const struct node *mapping, const char *key,
                     const struct node **ret_node)
{
    *ret_node = node_get(mapping, key);
    if (!*ret_node)
        return document_reject(reader->document, mapping, reader->error, "the key '%s'", key);
    return 0;
}

static int read_lowest(struct topology_reader *reader, const struct node *node, double gbps,
                       double *ret_lowest)
{
    int result;

    *ret_lowest = gbps;
    if (!node)
        return 0;
    result = topology_read_bandwidth(reader, node, ret_lowest);
    if (!result && *ret_lowest > gbps)
        return document_reject(reader->document, node, reader->error, "at most the bandwidth itself, %g GB/s",
                               gbps);
    return result;
}

static int read_link(struct topology_reader *reader, const struct node *node)
{
    static const char *const keys[] = {"from", "to", "gbps", "lowest_gbps", NULL};
    struct topology *topology = reader->topology;
    struct topology_link link = {.line = node->line, .column = node->column};
    const struct node *from;
    const struct node *to;
    const struct node *gbps;
    int result = node_expect_mapping(reader->document, node, keys, reader->error);

    if (result || (result = topology_require(reader, node, "from", &from)) ||
        (result = topology_require(reader, node, "to", &to)) ||
        (result = topology_require(reader, node, "gbps", &gbps)) ||
        (result = topology_read_node(reader, from, true, &link.from)) ||
        (result = topology_read_node(reader, to, true, &link.to)) ||
        (result = topology_read_bandwidth(reader, gbps, &link.gbps)) ||
        (result = read_lowest(reader, node_get(node, "lowest_gbps"), link.gbps, &link.lowest_gbps)))
        return result;
    for (size_t i = 0; i < topology->n_links; i++) {
        if (topology->links[i].from == link.from && topology->links[i].to == link.to)
            return document_reject(
                reader->document, node, reader->error, "one link from %s to %s only, after that of line %u",
                topology->nodes[link.from].name, topology->nodes[link.to].name, topology->links[i].line);
    }
    topology->links[topology->n_links++] = link;
    return 0;
}

static int read_links(struct topology_reader *reader, const struct node *list)
{
    struct topology *topology = reader->topology;
    int result = node_expect_sequence(reader->document, list, "a list of links", reader->error);

    if (result)
        return result;
    if (list->n == 0 || list->n > TOPOLOGY_MAX_LINKS)
        return document_reject(reader->document, list, reader->error, "1 to %d links", TOPOLOGY_MAX_LINKS);
    topology->links = arena_calloc(&topology->arena, list->n, sizeof *topology->links);
    topology->nodes = arena_calloc(&topology->arena, TOPOLOGY_MAX_NODES, sizeof *topology->nodes);
    if (!topology->links || !topology->nodes)
        return -ENOMEM;
    for (const struct node *at = list->first; at && !result; at = at->next)
        result = read_link(reader, at);
    return result;
}

static int read_gpu(struct topology_reader *reader, const struct node *node)
{
    static const char *const keys[] = {"node", "engines", "device", NULL};
    const struct node *name;
    int64_t number;
    unsigned index;
    int result = node_expect_mapping(reader->document, node, keys, reader->error);

    if (result || (result = topology_require(reader, node, "node", &name)) ||
        (result = topology_read_node(reader, name, false, &index)))
        return result;
    reader->topology->nodes[index].role = ROLE_GPU;
    if (node_get(node, "engines")) {
        result = node_int(reader->document, node_get(node, "engines"), "1 or 2 DMA engines", 1, 2, &number,
                          reader->error);
        if (result)
            return result;
        reader->topology->nodes[index].engines = (unsigned)number;
    }
    if (node_get(node, "device")) {
        result = node_int(reader->document, node_get(node, "device"), "the index of an OpenCL device", 0,
                          1023, &number, reader->error);
        if (result)
            return result;
        reader->topology->nodes[index].device = (int)number;
    }
    return 0;
}

/* `gpus` and `memories`, if given, replace the roles that names suggest. */
static int read_roles(struct topology_reader *reader, const struct node *gpus, const struct node *memories)
{
    struct topology *topology = reader->topology;
    int result = 0;
    int n_gpus = 0;

    if (gpus && (result = node_expect_sequence(reader->document, gpus, "a list of GPUs", reader->error)))
        return result;
    if (memories &&
        (result = node_expect_sequence(reader->document, memories, "a list of nodes", reader->error)))
        return result;
    for (size_t i = 0; i < topology->n_nodes; i++) {
        enum node_role role = topology->nodes[i].role;

        if ((gpus && role == ROLE_GPU) || (memories && role == ROLE_MEMORY))
            topology->nodes[i].role = ROLE_HUB;
    }
    for (const struct node *at = gpus ? gpus->first : NULL; at && !result; at = at->next)
        result = read_gpu(reader, at);
    for (const struct node *at = memories ? memories->first : NULL; at && !result; at = at->next) {
        unsigned index;

        result = topology_read_node(reader, at, false, &index);
        if (!result && topology->nodes[index].role == ROLE_GPU)
            result = document_reject(reader->document, at, reader->error, "a node that is not a GPU");
        if (!result)
            topology->nodes[index].role = ROLE_MEMORY;
    }
    for (size_t i = 0; i < topology->n_nodes && !result; i++) {
        if (topology->nodes[i].role == ROLE_GPU && topology->nodes[i].device < 0)
            topology->nodes[i].device = n_gpus;
        n_gpus += topology->nodes[i].role == ROLE_GPU;
    }
    return result;
}

static bool is_linked(const struct topology *topology, unsigned from, unsigned to)
{
    for (size_t i = 0; i < topology->n_links; i++) {
        if (topology->links[i].from == from && topology->links[i].to == to)
            return true;
    }
    return false;
}

static int read_route(struct topology_reader *reader, const struct node *list)
{
    struct topology *topology = reader->topology;
    struct topology_route route = {0};
    int result = node_expect_sequence(reader->document, list, "a route, as a list of nodes", reader->error);

    if (result)
        return result;
    if (list->n < 2 || list->n > ROUTE_MAX_LINKS + 1)
        return document_reject(reader->document, list, reader->error, "a route of 2 to %d nodes",
                               ROUTE_MAX_LINKS + 1);
    for (const struct node *at = list->first; at; at = at->next) {
        unsigned index;

        result = topology_read_node(reader, at, false, &index);
        if (result)
            return result;
        for (size_t i = 0; i < route.n_nodes; i++) {
            if (route.nodes[i] == index)
                return document_reject(reader->document, at, reader->error,
                                       "a node that the route has not visited (a cycle)");
        }
        if (route.n_nodes && !is_linked(topology, route.nodes[route.n_nodes - 1], index))
            return document_reject(reader->document, at, reader->error, "a node that a link leads to from %s",
                                   topology->nodes[route.nodes[route.n_nodes - 1]].name);
        if (at != list->first && at->next && topology->nodes[index].role == ROLE_GPU)
            return document_reject(reader->document, at, reader->error,
                                   "a hub or a memory inside a route, as GPUs do not forward");
        route.nodes[route.n_nodes++] = index;
    }
    for (size_t i = 0; i < topology->n_routes; i++) {
        const struct topology_route *other = &topology->routes[i];

        if (other->nodes[0] == route.nodes[0] &&
            other->nodes[other->n_nodes - 1] == route.nodes[route.n_nodes - 1])
            return document_reject(reader->document, list, reader->error, "one route between two nodes only");
    }
    topology->routes[topology->n_routes++] = route;
    return 0;
}

static int read_routes(struct topology_reader *reader, const struct node *list)
{
    struct topology *topology = reader->topology;
    int result;

    if (!list)
        return 0;
    result = node_expect_sequence(reader->document, list, "a list of routes", reader->error);
    if (result)
        return result;
    topology->routes = arena_calloc(&topology->arena, list->n + 1, sizeof *topology->routes);
    if (!topology->routes)
        return -ENOMEM;
    for (const struct node *at = list->first; at && !result; at = at->next)
        result = read_route(reader, at);
    return result;
}

/* Is there a way from one node to another without their direct link? */
static bool is_reachable_around(const struct topology *topology, unsigned from, unsigned to)
{
    bool seen[TOPOLOGY_MAX_NODES] = {false};
    unsigned stack[TOPOLOGY_MAX_NODES];
    size_t n = 0;

    stack[n++] = from;
    seen[from] = true;
    while (n > 0) {
        unsigned at = stack[--n];

        for (size_t i = 0; i < topology->n_links; i++) {
            const struct topology_link *link = &topology->links[i];

            if (link->from != at || seen[link->to] || (at == from && link->to == to))
                continue;
            if (link->to == to)
                return true;
            seen[link->to] = true;
            stack[n++] = link->to;
        }
    }
    return false;
}

/*
 * A ring of three or more nodes: the direction of a transfer around it is unknown, so the file must
 * give the routes. A pair of opposite links is no ring. A link from a GPU to itself is its memory.
 */
static int check_loops(struct topology_reader *reader, const struct node *links)
{
    struct topology *topology = reader->topology;
    const struct node *at = links->first;

    for (size_t i = 0; i < topology->n_links; i++, at = at->next) {
        const struct topology_link *link = &topology->links[i];

        if (link->from == link->to && topology->nodes[link->from].role != ROLE_GPU)
            return document_reject(reader->document, node_get(at, "to"), reader->error,
                                   "another node than the link begins at (a cycle), unless it is a GPU");
        if (!is_reachable_around(topology, link->to, link->from))
            continue;
        topology->has_loop = true;
        if (topology->n_routes == 0)
            return input_reject(reader->error, reader->document->name, at->line, at->column,
                                "a link that closes a cycle", "links without a cycle, or 'routes'");
    }
    return 0;
}

static int read_origin(struct topology_reader *reader, const struct node *node)
{
    const char *text = NULL;
    int result = node ? node_text(reader->document, node, "a sentence", &text, reader->error) : 0;

    if (!node || result)
        return result;
    reader->topology->origin = arena_strndup(&reader->topology->arena, text, strlen(text));
    return reader->topology->origin ? 0 : -ENOMEM;
}

static int read_root(struct topology_reader *reader)
{
    static const char *const keys[] = {"links",    "gpus",  "memories", "routes", "measured",
                                       "setup_ms", "sizes", "cores",    "origin", NULL};
    const struct node *root = reader->document->root;
    const struct node *links;
    int64_t cores;
    int result = node_expect_mapping(reader->document, root, keys, reader->error);

    if (result || (result = topology_require(reader, root, "links", &links)) ||
        (result = read_links(reader, links)) ||
        (result = read_roles(reader, node_get(root, "gpus"), node_get(root, "memories"))) ||
        (result = read_routes(reader, node_get(root, "routes"))) || (result = check_loops(reader, links)) ||
        (result = topology_read_table(reader, node_get(root, "measured"))) ||
        (result = topology_read_sizes(reader, node_get(root, "sizes"))))
        return result;
    if (node_get(root, "cores")) {
        result = node_int(reader->document, node_get(root, "cores"),
                          "the number of cores that copy and compute", 1, 100000, &cores, reader->error);
        if (result)
            return result;
        reader->topology->cores = (unsigned)cores;
    }
    if ((result = read_origin(reader, node_get(root, "origin"))))
        return result;
    if (node_get(root, "setup_ms"))
        return node_duration(reader->document, node_get(root, "setup_ms"), "a set-up time in ms", NSEC_PER_MS,
                             0, &reader->topology->setup, reader->error);
    return 0;
}

int topology_read(const char *name, const char *text, size_t size, struct topology *ret_topology,
                  struct input_error *ret_error)
{
    struct document document;
    struct topology topology = {0};
    struct topology_reader reader = {.document = &document, .topology = &topology, .error = ret_error};
    int result = document_parse(name, text, size, &document, ret_error);

    if (result)
        return result;
    arena_init(&topology.arena, 0);
    result = read_root(&reader);
    document_done(&document);
    if (result)
        topology_done(&topology);
    else
        *ret_topology = topology;
    return result;
}

int topology_read_file(const char *path, struct topology *ret_topology, struct input_error *ret_error)
{
    char *text;
    size_t size;
    int result = file_read(path, FILE_LIMIT, &text, &size);

    if (result)
        return result;
    result = topology_read(path, text, size, ret_topology, ret_error);
    free(text);
    return result;
}

void topology_done(struct topology *topology)
{
    arena_done(&topology->arena);
    *topology = (struct topology){0};
}
