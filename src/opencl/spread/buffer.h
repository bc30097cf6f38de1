/*
 * A buffer or image of the program that has been on more than one device. Here are its coherence
 * record, its copies, and the moving of bytes between them. The bytes of an image are its packed
 * pixels, and a range is always all of them. Call all functions with the spread lock held and no
 * engine entered. Every transfer enters the engine that it uses, for one chunk at a time.
 */
#ifndef OPENCL_SPREAD_BUFFER_H
#define OPENCL_SPREAD_BUFFER_H

#include "opencl/opencl_objects.h"
#include "spread/coherence.h"
#include "spread/decide.h"
#include "opencl/spread/spread_image.h"

struct split;

enum { BUFFER_READERS = 8 };

struct spread_buffer {
    struct mem_record *root;    /* owns this record */
    struct spread_image *image; /* owned; NULL: a buffer */
    struct coherence coherence;
    /* at further devices, in their contexts; NULL: none yet */
    cl_mem copies[PLACE_MAX];
    unsigned char *host;  /* the shadow, of the buffer's size; NULL: none yet */
    struct split *writer; /* the split whose partial results are in it */
    /* splits that are not merged yet and would need its contents again */
    struct split *readers[BUFFER_READERS];
    unsigned n_readers;
    struct spread_buffer *next; /* of front.spread.buffers */
    cl_int lost;                /* the code with which results were lost; no call has reported it yet */
    /*
     * The queue that saves the state at the end of jobs; NULL: none yet. It is kept because drivers
     * start a thread with a queue. Otherwise batond would find a new thread with every job.
     */
    cl_command_queue saver;
    struct opencl_device *saver_device; /* the saver's; borrowed */
};

/*
 * The record of a root buffer, made at its first use. NULL: no memory, or a buffer that must stay
 * at home.
 */
struct spread_buffer *buffer_of(struct mem_record *root);
/* Frees it with its copies. */
void buffer_done(struct spread_buffer *buffer);

/* Translates a command's range in the root to this record. */
struct range buffer_range(const struct spread_buffer *buffer, struct range range);

/*
 * May the program change or read it without a call (host memory that it gave, a map that it has)?
 */
bool buffer_is_open(const struct spread_buffer *buffer);

/* Allocates a copy at the place; nothing to do at home. A driver's code. */
cl_int buffer_room(struct spread_buffer *buffer, int place);

/*
 * Copies the missing bytes of the range there. queue: one of the program's, for home.
 * CL_OUT_OF_RESOURCES: the record is too finely divided to remember a copy.
 */
cl_int buffer_make_valid(struct spread_buffer *buffer, int place, struct range range,
                         const struct queue_record *queue);
/* Home gets everything and is the only valid place from then on: a record without fragments. */
cl_int buffer_bring_home(struct spread_buffer *buffer, const struct queue_record *queue);
/* Bytes that buffer_make_valid() would have to move. */
size_t buffer_missing(const struct spread_buffer *buffer, int place, struct range range);

/* Moves the bytes from one place to another, whatever the record says. Records nothing. */
cl_int buffer_move(struct spread_buffer *buffer, int from, int to, struct range range,
                   const struct queue_record *queue);

/* Overwrites home with bytes of the host. */
cl_int buffer_fill_home(struct spread_buffer *buffer, struct range range, const unsigned char *bytes,
                        const struct queue_record *queue);

/*
 * Writes the program's bytes to a further device's copy; ret_times gets the times. Records nothing.
 */
cl_int buffer_upload(struct spread_buffer *buffer, int place, struct range range, const void *bytes,
                     struct command *ret_times);

/* The other way, from home or a further device into memory of the program. */
cl_int buffer_download(struct spread_buffer *buffer, int place, struct range range, void *bytes,
                       const struct queue_record *queue, struct command *ret_times);

/* Stores these bytes of the range in the host's shadow, which is then valid there. */
void buffer_shadow(struct spread_buffer *buffer, struct range range, const void *bytes);

/*
 * Handles of the buffers that have records, at most `room`. A buffer may be released meanwhile: use
 * mem_find(). Needs no lock.
 */
size_t buffer_list(cl_mem ret_handles[], size_t room);

/* Makes the bytes of a device's copy readable, until buffer_unmap(). NULL and a code on failure. */
const unsigned char *buffer_map(struct spread_buffer *buffer, int place, struct range range,
                                const struct queue_record *queue, cl_int *ret_code);
void buffer_unmap(struct spread_buffer *buffer, int place, const unsigned char *pointer,
                  const struct queue_record *queue);

/* The number of records; readable without the lock. */

/* The cost of moving and merging so far (the spread lock). */

#endif
