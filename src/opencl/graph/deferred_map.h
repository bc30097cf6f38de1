/*
 * Maps. A map that can go to the driver at once does so. A map that must wait needs a pointer now,
 * before the driver can give one. It gets memory of the layer, in which images have their own
 * pitches. With CL_MEM_USE_HOST_PTR it gets the place in the program's own memory that OpenCL
 * demands. When its turn comes, the region is mapped by the driver and copied there. The unmap
 * copies back what may have been written.
 */
#ifndef OPENCL_GRAPH_MAP_H
#define OPENCL_GRAPH_MAP_H

#include "engine/pipe.h"
#include "opencl/graph/opencl_command.h"
#include "opencl/opencl_objects.h"

struct map_record {
    struct map_record *next; /* mem_record::maps */
    void *pointer;           /* the pointer that the program got */
    void *driver_pointer;    /* the driver's pointer; NULL: its turn has not come */
    void *memory;            /* the layer's, freed at the end; NULL: none */
    cl_map_flags flags;
    bool image, direct;
    size_t offset, size; /* buffers */
    size_t origin[3], region[3];
    size_t element, row, slice, driver_row, driver_slice; /* images */
    size_t rows, slices; /* to copy; an array of one-dimensional images has one row per slice */
};

/*
 * Remembers a map that went to the driver directly, so that its unmap can be checked. The unmap is
 * a copy to the device only if the map was one for writing.
 */
void map_note(struct mem_record *mem, void *pointer, cl_map_flags flags);

/* A record for a map that must wait; NULL: no memory. */
struct map_record *map_defer_buffer(struct mem_record *mem, cl_map_flags flags, size_t offset, size_t size);
struct map_record *map_defer_image(struct mem_record *mem, cl_map_flags flags, const size_t origin[3],
                                   const size_t region[3]);

/*
 * Removes the map that an unmap call names from the list; NULL: no such map. map_put_back() undoes
 * it.
 */
struct map_record *map_take(struct mem_record *mem, const void *pointer);
void map_put_back(struct mem_record *mem, struct map_record *record);
void map_free(struct map_record *record);

/* May the program have written there? */
bool map_writes(const struct map_record *record);

/* Maps that the layer answered and whose turn has not come: the driver does not count them yet. */
cl_uint map_n_deferred(struct mem_record *mem);

/* kind::issue: the driver's calls, when the turn of the map has come. */
cl_int map_issue(struct piece_pipe *pipe, struct opencl_command *command, cl_event *ret_event);
cl_int map_issue_unmap(struct piece_pipe *pipe, struct opencl_command *command, cl_event *ret_event);
/* The unmap is complete. */
void map_finished(struct opencl_command *command);

#endif
