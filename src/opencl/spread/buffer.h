/*
 * A buffer or image of the program that has been on more than one device: the coherence record with
 * the copies that it speaks of, and the moving of bytes between them. Of an image the bytes are its
 * packed pixels, and a range is always all of them. All with the spread lock held and no engine
 * entered; every transfer enters the engine it uses, for one chunk at a time.
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
    struct mem_record *root;    /* owns this */
    struct spread_image *image; /* owned; NULL: a buffer */
    struct coherence coherence;
    /* at further devices, in their contexts; NULL: none yet */
    cl_mem copies[PLACE_MAX];
    unsigned char *host;                   /* the shadow, of the buffer's size; NULL: none yet */
    struct split *writer;                  /* whose partial results are in it */
    struct split *readers[BUFFER_READERS]; /* not merged yet, and would need its contents again */
    unsigned n_readers;
    struct spread_buffer *next; /* of front.spread.buffers */
    cl_int lost;                /* results for it are lost with this code, and no call has reported it yet */
    /*
     * Saves the state at the end of jobs; NULL: none yet. Kept, because drivers start a thread with
     * a queue: batond would find a new thread with every job.
     */
    cl_command_queue saver;
    struct opencl_device *saver_device; /* the saver's; borrowed */
};

/*
 * The record of a root buffer, made when first asked for. NULL: no memory, or a buffer that has to
 * stay at home.
 */
struct spread_buffer *buffer_of(struct mem_record *root);
/* Frees it with its copies. */
void buffer_done(struct spread_buffer *buffer);

/* What a command's range in the root means here. */
struct range buffer_range(const struct spread_buffer *buffer, struct range range);

/*
 * May the program change or see it without telling (host memory that it gave, a map that it holds)?
 */
bool buffer_is_open(const struct spread_buffer *buffer);

/* Memory for a copy at the place (nothing to do at home). A driver's code. */
cl_int buffer_room(struct spread_buffer *buffer, int place);

/* Copies there what is missing of the range. queue: one of the program's, for home. */
cl_int buffer_make_valid(struct spread_buffer *buffer, int place, struct range range,
                         const struct queue_record *queue);
/* Bytes that buffer_make_valid() would have to move. */
size_t buffer_missing(const struct spread_buffer *buffer, int place, struct range range);

/* Moves the bytes, whatever the record says. From one place to another; records nothing. */
cl_int buffer_move(struct spread_buffer *buffer, int from, int to, struct range range,
                   const struct queue_record *queue);

/* Writes bytes of the host over home's. */
cl_int buffer_fill_home(struct spread_buffer *buffer, struct range range, const unsigned char *bytes,
                        const struct queue_record *queue);

/*
 * Writes the program's bytes to a further device's copy; ret_times gets the times of it. Records
 * nothing.
 */
cl_int buffer_upload(struct spread_buffer *buffer, int place, struct range range, const void *bytes,
                     struct command *ret_times);

/* The other way, from home or a further device into memory of the program. */
cl_int buffer_download(struct spread_buffer *buffer, int place, struct range range, void *bytes,
                       const struct queue_record *queue, struct command *ret_times);

/* These are the bytes of the range: the host's shadow is valid there, without a transfer. */
void buffer_shadow(struct spread_buffer *buffer, struct range range, const void *bytes);

/*
 * Handles of the buffers that have records, at most `room`. Any of them may go meanwhile:
 * mem_find(). Needs no lock.
 */
size_t buffer_list(cl_mem ret_handles[], size_t room);

/* Makes the bytes of a device's copy readable, until buffer_unmap(). NULL and a code on failure. */
const unsigned char *buffer_map(struct spread_buffer *buffer, int place, struct range range,
                                const struct queue_record *queue, cl_int *ret_code);
void buffer_unmap(struct spread_buffer *buffer, int place, const unsigned char *pointer,
                  const struct queue_record *queue);

/* How many there are; readable without the lock. */

/* What moving and merging has cost so far (the spread lock). */

#endif
