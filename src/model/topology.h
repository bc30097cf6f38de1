/*
 * The interconnect of one machine: directed links with effective bandwidths between memories, hubs
 * and GPUs (Batch, sec. 3.2), and the number of DMA engines of each GPU. It also has measured
 * throughput for combinations of transfers that the graph predicts badly (sec. 5). Bandwidths are
 * GB/s (1e9), which is bytes per nanosecond.
 */
#ifndef MODEL_TOPOLOGY_H
#define MODEL_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/input_error.h"
#include "base/nsec.h"

#define TOPOLOGY_MAX_NODES 128
#define TOPOLOGY_MAX_LINKS 512
#define TOPOLOGY_MAX_PAIRS 64   /* different (from, to) in the look-up table */
#define TOPOLOGY_MAX_TABLE 4096 /* its entries */
#define TOPOLOGY_MAX_SIZES 256
#define ROUTE_MAX_LINKS    16

enum node_role {
    ROLE_HUB,    /* forwards: CPU, I/O hub, switch */
    ROLE_MEMORY, /* host memory: begins and ends transfers, and stages copies between GPUs */
    ROLE_GPU,    /* device memory: begins and ends transfers, never forwards */
};

struct topology_node {
    const char *name;
    enum node_role role;
    unsigned engines; /* GPU: 1 (both directions share it) or 2 (one each way) */
    /* GPU: index among the machine's OpenCL devices; default: its position among the GPUs */
    int device;
};

struct topology_link {
    unsigned from, to;  /* nodes */
    double gbps;        /* effective bandwidth */
    double lowest_gbps; /* the lowest measured, for worst cases; = gbps when not given */
    unsigned line, column;
};

/* A route that the file gives because transfers do not take the shortest one. */
struct topology_route {
    unsigned nodes[ROUTE_MAX_LINKS + 1];
    size_t n_nodes;
};

/* A (from, to) that occurs in the look-up table; its index is its bit in table_entry::mask. */
struct topology_pair {
    unsigned from, to;
};

/* Measured throughput when exactly these transfers run together. */
struct table_entry {
    uint64_t mask;
    const double *gbps, *lowest_gbps; /* by ascending bit of mask */
};

/*
 * The speed of a command of this size relative to links and table: drivers and memories handle
 * small copies differently from large ones.
 */
struct topology_size {
    double bytes, ratio;
};

struct topology {
    struct arena arena; /* owns what follows */
    struct topology_node *nodes;
    size_t n_nodes;
    struct topology_link *links;
    size_t n_links;
    struct topology_route *routes;
    size_t n_routes;
    struct topology_pair *pairs;
    size_t n_pairs;
    struct table_entry *table; /* by ascending mask */
    size_t n_table;
    struct topology_size *sizes; /* by ascending size */
    size_t n_sizes;
    bool has_loop;    /* three or more nodes form a ring: only given routes are used */
    baton_nsec setup; /* fixed cost of any batch, calibrated */
    /* origin of its rates, one sentence for the reader of a prediction; NULL: not given */
    const char *origin;
    /* of the host, if its cores both copy and run the kernels; 0: devices do that themselves */
    unsigned cores;
};

/* Reads the file; on success the caller calls topology_done(). 0, INPUT_REJECTED, -errno. */
int topology_read_file(const char *path, struct topology *ret_topology, struct input_error *ret_error);
int topology_read(const char *name, const char *text, size_t size, struct topology *ret_topology,
                  struct input_error *ret_error);
void topology_done(struct topology *topology);

/* Index of the node, or -1. */
int topology_node(const struct topology *topology, const char *name);

/*
 * Speed of one command of this size relative to links and table. Between two sizes of the file it
 * is linear over log(bytes). 1 without `sizes`.
 */
double topology_size_ratio(const struct topology *topology, double bytes);
/* The least ratio, at most 1: for callers that do not know how a copy will be cut. */
double topology_lowest_ratio(const struct topology *topology);

/* Answers of topology_find_route(), besides 0. */
enum {
    ROUTE_NONE = 1,      /* no way between the nodes */
    ROUTE_AMBIGUOUS = 2, /* two routes are equally short, so the file must give one */
    ROUTE_TOO_LONG = 3,  /* more than ROUTE_MAX_LINKS links */
};

struct found_route {
    unsigned links[ROUTE_MAX_LINKS];
    size_t n_links;
    int stage; /* the memory that stages a copy between two GPUs, or -1 */
};

/*
 * The links from one node to another: the route in the file, else the one with the fewest links
 * that passes only through hubs. Between two GPUs without such a route, one through a memory, which
 * stages the copy. From a GPU to itself: its link to itself, the bandwidth of its memory.
 */
int topology_find_route(const struct topology *topology, unsigned from, unsigned to,
                        struct found_route *ret_route);

#endif
