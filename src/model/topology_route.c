#include <errno.h>

#include "model/topology.h"

static int find_link(const struct topology *topology, unsigned from, unsigned to)
{
    for (size_t i = 0; i < topology->n_links; i++) {
        if (topology->links[i].from == from && topology->links[i].to == to)
            return (int)i;
    }
    return -1;
}

static void append_given(const struct topology *topology, const struct topology_route *given,
                         struct found_route *route)
{
    for (size_t i = 0; i + 1 < given->n_nodes; i++) {
        unsigned node = given->nodes[i + 1];

        route->links[route->n_links++] = (unsigned)find_link(topology, given->nodes[i], node);
        if (i + 2 < given->n_nodes && topology->nodes[node].role == ROLE_MEMORY)
            route->stage = (int)node;
    }
}

/*
 * Breadth-first search from `from`: distances in links and the number of shortest ways (1, or 2 for
 * more), then back along the unique predecessors. GPUs never forward; memories do only if
 * through_memory.
 */
static int search(const struct topology *topology, unsigned from, unsigned to, bool through_memory,
                  struct found_route *ret_route)
{
    unsigned queue[TOPOLOGY_MAX_NODES];
    unsigned distance[TOPOLOGY_MAX_NODES] = {0}; /* 0: not reached */
    unsigned ways[TOPOLOGY_MAX_NODES] = {0};
    unsigned by[TOPOLOGY_MAX_NODES];
    size_t head = 0;
    size_t tail = 0;

    queue[tail++] = from;
    distance[from] = 1;
    ways[from] = 1;
    while (head < tail) {
        unsigned at = queue[head++];
        enum node_role role = topology->nodes[at].role;

        if (at != from && (role == ROLE_GPU || (role == ROLE_MEMORY && !through_memory)))
            continue;
        for (size_t i = 0; i < topology->n_links; i++) {
            unsigned next = topology->links[i].to;

            if (topology->links[i].from != at)
                continue;
            if (!distance[next]) {
                distance[next] = distance[at] + 1;
                by[next] = (unsigned)i;
                queue[tail++] = next;
                ways[next] = ways[at];
            } else if (distance[next] == distance[at] + 1) {
                ways[next] = 2;
            }
        }
    }
    if (!distance[to])
        return ROUTE_NONE;
    if (ways[to] > 1)
        return ROUTE_AMBIGUOUS;
    if (distance[to] - 1 > ROUTE_MAX_LINKS)
        return ROUTE_TOO_LONG;
    *ret_route = (struct found_route){.n_links = distance[to] - 1, .stage = -1};
    for (unsigned at = to; at != from; at = topology->links[by[at]].from) {
        ret_route->links[distance[at] - 2] = by[at];
        if (at != to && topology->nodes[at].role == ROLE_MEMORY)
            ret_route->stage = (int)at;
    }
    return 0;
}

int topology_find_route(const struct topology *topology, unsigned from, unsigned to,
                        struct found_route *ret_route)
{
    bool peers = topology->nodes[from].role == ROLE_GPU && topology->nodes[to].role == ROLE_GPU;
    int result;

    for (size_t i = 0; i < topology->n_routes; i++) {
        const struct topology_route *given = &topology->routes[i];

        if (given->nodes[0] == from && given->nodes[given->n_nodes - 1] == to) {
            *ret_route = (struct found_route){.stage = -1};
            append_given(topology, given, ret_route);
            return 0;
        }
    }
    if (from == to) {
        int own = find_link(topology, from, from);

        if (own < 0)
            return ROUTE_NONE;
        *ret_route = (struct found_route){.links = {(unsigned)own}, .n_links = 1, .stage = -1};
        return 0;
    }
    if (topology->has_loop)
        return ROUTE_NONE;
    result = search(topology, from, to, false, ret_route);
    if (result == ROUTE_NONE && peers)
        result = search(topology, from, to, true, ret_route);
    return result;
}
