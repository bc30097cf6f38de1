/* What the files that read a topology share; no other file includes this. */
#ifndef MODEL_TOPOLOGY_READER_H
#define MODEL_TOPOLOGY_READER_H

#include "model/document.h"
#include "model/topology.h"

struct topology_reader {
    const struct document *document;
    struct topology *topology;
    struct input_error *error;
};

/* The node with this name; made, with the role its name suggests, when `make` is set and no link has named it yet. */
int topology_read_node(struct topology_reader *reader, const struct node *node, bool make,
                       unsigned *ret_index);

/* A bandwidth in GB/s: above 0, finite. */
int topology_read_bandwidth(struct topology_reader *reader, const struct node *node, double *ret_gbps);

/* The entry of a mapping, or a rejection that names the missing key. */
int topology_require(struct topology_reader *reader, const struct node *mapping, const char *key,
                     const struct node **ret_node);

/* `sizes`, or NULL where the file has none. */
int topology_read_sizes(struct topology_reader *reader, const struct node *list);

/* `measured`, or NULL where the file has none. */
int topology_read_table(struct topology_reader *reader, const struct node *list);

#endif
