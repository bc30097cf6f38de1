/*
 * Maps. A map that can go to the driver at once does. One that must wait needs a pointer now,
 * before the driver can say one: it gets memory of ours (or, with CL_MEM_USE_HOST_PTR, the place in
 * the program's own memory that OpenCL demands), images with their own pitches. In its turn the
 * region is mapped for real and copied there; the unmap copies back what may have been written.
 */
#ifndef OPENCL_GRAPH_MAP_H
#define OPENCL_GRAPH_MAP_H

#include "engine/pipe.h"
#include "opencl/graph/opencl_command.h"
#include "opencl/opencl_objects.h"

struct map_record {
    struct map_record *next; /* mem_record::maps */
    void *pointer;           /* what the program was told */
    void *driver_pointer;    /* what the driver said; NULL: its turn has not come */
    void *memory;            /* ours, freed at the end; NULL: none */
    cl_map_flags flags;
    bool image, direct;
    size_t offset, size; /* buffers */
    size_t origin[3], region[3];
    size_t element, row, slice, driver_row, driver_slice; /* images */
    size_t rows, slices; /* to copy: an array of one-dimensional images has a row in each slice */
};

/* Remembers a map that went to the driver directly, so that its unmap can be checked. */
void map_note(struct mem_record *mem, void *pointer);

/* A record for a map that must wait; NULL: no memory. */
struct map_record *map_defer_buffer(struct mem_record *mem, cl_map_flags flags, size_t offset, size_t size);
struct map_record *map_defer_image(struct mem_record *mem, cl_map_flags flags, const size_t origin[3],
                                   const size_t region[3]);

/* The map that an unmap call names, out of the list; NULL: no such map. map_put_back undoes it. */
struct map_record *map_take(struct mem_record *mem, const void *pointer);
void map_put_back(struct mem_record *mem, struct map_record *record);
void map_free(struct map_record *record);

/* Maps answered by us whose turn has not come: the driver does not count them yet. */
cl_uint map_n_deferred(struct mem_record *mem);

/* kind::issue: the driver's calls, in its turn. */
cl_int map_issue(struct piece_pipe *pipe, struct opencl_command *command, cl_event *ret_event);
cl_int map_issue_unmap(struct piece_pipe *pipe, struct opencl_command *command, cl_event *ret_event);
/* The unmap is complete. */
void map_finished(struct opencl_command *command);

#endif
