/* Shared by the files that read a topology; no other file includes this. */
#ifndef MODEL_TOPOLOGY_READER_H
#define MODEL_TOPOLOGY_READER_H

#include "model/document.h"
#include "model/topology.h"

struct topology_reader {
    const struct document *document;
    struct topology *topology;
    struct input_error *error;
};

/*
 * The node with this name. If `make` is set and no link has named it yet, it is created with the
 * role that its name suggests.
 */
int topology_read_node(struct topology_reader *reader, const struct node *node, bool make,
                       unsigned *ret_index);

/* A bandwidth in GB/s: above 0, finite. */
int topology_read_bandwidth(struct topology_reader *reader, const struct node *node, double *ret_gbps);

/* The entry of a mapping, or a rejection that names the missing key. */
int topology_require(struct topology_reader *reader, const struct node *mapping, const char *key,
                     const struct node **ret_node);

/* `sizes`; NULL if the file has none. */
int topology_read_sizes(struct topology_reader *reader, const struct node *list);

/* `measured`; NULL if the file has none. */
int topology_read_table(struct topology_reader *reader, const struct node *list);

#endif
