/* Merges the results of a split launch at home, when they are needed. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "opencl/layer.h"
#include "spread/byte_merge.h"
#include "opencl/spread/split.h"

#define MERGE_CHUNK ((size_t)16 << 20) /* bytes mapped at a time; a multiple of MERGE_BLOCK */

static unsigned merge_threads(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n > 4 ? 4 : n > 1 ? (unsigned)n : 1; /* GPU-SPARC Sec. V uses 4 threads */
}

/* --- by comparison --- */

/* Merges one chunk of an output into the shadow. A driver's code, or MERGE_CONFLICT. */
static cl_int merge_chunk(struct split *split, struct split_output *output, struct range part,
                          uint16_t *ret_writers, struct queue_record *queue)
{
    const unsigned char *copies[MERGE_MAX_COPIES] = {NULL};
    struct spread_buffer *buffer = output->buffer;
    unsigned char *shadow = buffer->host + part.begin;
    cl_int code = CL_SUCCESS;
    baton_nsec begin_at, took;
    unsigned mapped = 0;
    size_t at;

    for (; mapped < split->n_shares && code == CL_SUCCESS; mapped++)
        copies[mapped] = buffer_map(buffer, mapped == 0 ? PLACE_HOME : split->shares[mapped].device->place,
                                    part, queue, &code);
    begin_at = clock_now();
    if (code == CL_SUCCESS) {
        code = merge_copies(shadow, shadow, (const void *const *)copies, split->n_shares, range_length(part),
                            output->granule, output->reads, merge_threads(), ret_writers, &at);
        took = clock_now() - begin_at;
        growth_add(&front.spread.costs.merge, range_length(part), (double)took);
        runtime_count(COUNTER_MERGE_NS, (uint64_t)took);
    }
    for (unsigned i = 0; i < mapped; i++)
        buffer_unmap(buffer, i == 0 ? PLACE_HOME : split->shares[i].device->place, copies[i], queue);
    return code;
}

static cl_int merge_output(struct split *split, struct split_output *output, struct queue_record *queue)
{
    size_t length = range_length(output->range);
    size_t chunk = output->buffer->image ? length : MERGE_CHUNK; /* an image is read whole */
    cl_int code = CL_SUCCESS;

    free(output->writers);
    output->writers = calloc(length / MERGE_BLOCK + 1, sizeof *output->writers);
    if (!output->writers)
        return CL_OUT_OF_HOST_MEMORY;
    for (size_t done = 0; done < length && code == CL_SUCCESS; done += chunk) {
        struct range part = {output->range.begin + done,
                             length - done > chunk ? output->range.begin + done + chunk : output->range.end};

        code = merge_chunk(split, output, part, output->writers + done / MERGE_BLOCK, queue);
    }
    output->merged = code == CL_SUCCESS;
    runtime_count(COUNTER_MERGED_BYTES, length);
    return code;
}

/* Has another share changed the block? An image is not divided, so any of its blocks counts. */
static bool others_changed(const struct split_output *output, unsigned share, size_t block)
{
    size_t blocks = (range_length(output->range) + MERGE_BLOCK - 1) / MERGE_BLOCK;
    unsigned writers = output->writers[block];

    for (size_t i = 0; output->buffer->image && i < blocks; i++)
        writers |= output->writers[i];
    return (writers & ~(1u << share)) != 0;
}

/*
 * The next run of blocks, from *block on, that another share changed (or none, when
 * !changed).
 */
static struct range next_run(const struct split_output *output, unsigned share, bool changed, size_t *block)
{
    size_t length = range_length(output->range), blocks = (length + MERGE_BLOCK - 1) / MERGE_BLOCK, first;

    if (output->buffer->image) {
        first = *block || others_changed(output, share, 0) != changed ? blocks : 0;
        *block = blocks;
    } else {
        while (*block < blocks && others_changed(output, share, *block) != changed)
            ++*block;
        first = *block;
        while (*block < blocks && others_changed(output, share, *block) == changed)
            ++*block;
    }
    return (struct range){output->range.begin + (first * MERGE_BLOCK < length ? first * MERGE_BLOCK : length),
                          output->range.begin +
                              (*block * MERGE_BLOCK < length ? *block * MERGE_BLOCK : length)};
}

/*
 * The shadow is the result. Home gets what other shares wrote; each device keeps the blocks that no
 * other share wrote.
 */
static cl_int spread_merged(struct split *split, struct split_output *output, struct queue_record *queue)
{
    struct coherence *coherence = &output->buffer->coherence;
    struct range run;
    cl_int code = CL_SUCCESS;
    size_t block = 0;

    while (code == CL_SUCCESS && range_length(run = next_run(output, 0, true, &block)))
        code = buffer_move(output->buffer, PLACE_HOST, PLACE_HOME, run, queue);
    if (code != CL_SUCCESS)
        return code;
    coherence_merged(coherence, PLACE_HOME, output->range);
    coherence_copied(coherence, PLACE_HOST, output->range);
    for (unsigned s = 1; s < split->n_shares; s++) {
        block = 0;
        while (range_length(run = next_run(output, s, false, &block)))
            coherence_copied(coherence, split->shares[s].device->place, run);
    }
    return CL_SUCCESS;
}

/* --- by knowledge --- */

/*
 * Each device wrote only the elements of its own work-items. Maps first, because that may fail
 * while home is unchanged.
 */
static cl_int map_parts(struct split *split, struct split_output *output, struct queue_record *queue)
{
    cl_int code = CL_SUCCESS;

    for (unsigned s = 1; s < split->n_shares && code == CL_SUCCESS; s++) {
        struct range part = split_own_part(split, output, &split->shares[s]);

        if (range_length(part))
            output->parts[s] = buffer_map(output->buffer, split->shares[s].device->place, part, queue, &code);
    }
    return code;
}

static void unmap_parts(struct split *split, struct split_output *output, struct queue_record *queue)
{
    for (unsigned s = 1; s < split->n_shares; s++) {
        if (output->parts[s])
            buffer_unmap(output->buffer, split->shares[s].device->place, output->parts[s], queue);
        output->parts[s] = NULL;
    }
}

static cl_int gather(struct split *split, struct split_output *output, struct queue_record *queue)
{
    cl_int code = CL_SUCCESS;

    for (unsigned s = 1; s < split->n_shares && code == CL_SUCCESS; s++) {
        struct range part = split_own_part(split, output, &split->shares[s]);

        if (!output->parts[s])
            continue;
        code = buffer_fill_home(output->buffer, part, output->parts[s], queue);
        runtime_count(COUNTER_MERGED_BYTES, range_length(part));
    }
    return code;
}

static void note_gathered(struct split *split, struct split_output *output)
{
    coherence_merged(&output->buffer->coherence, PLACE_HOME, output->range);
    for (unsigned s = 1; s < split->n_shares; s++)
        coherence_copied(&output->buffer->coherence, split->shares[s].device->place,
                         split_own_part(split, output, &split->shares[s]));
}

/* --- all of it --- */

/*
 * Home has run its own groups on its own copy. The remaining groups run there now, as if there were
 * no other device.
 */
static cl_int repeat_at_home(struct split *split, struct queue_record *queue)
{
    cl_int code = CL_SUCCESS;

    for (unsigned s = 1; s < split->n_shares && code == CL_SUCCESS; s++)
        code = split_at_home(split, queue, split->shares[s].begin, split->shares[s].end);
    for (unsigned i = 0; i < split->n_outputs; i++) {
        coherence_merged(&split->outputs[i].buffer->coherence, PLACE_HOME, split->outputs[i].range);
        split->outputs[i].buffer->lost = code;
    }
    return code;
}

/*
 * Does first everything that can fail or disagree without changing home. While home is unchanged,
 * the groups of the others can be repeated there.
 */
static cl_int compare_all(struct split *split, struct queue_record *queue)
{
    cl_int code = CL_SUCCESS;

    for (unsigned s = 1; s < split->n_shares; s++)
        if (split->shares[s].code != CL_SUCCESS)
            return split->shares[s].code;
    for (unsigned i = 0; i < split->n_outputs && code == CL_SUCCESS; i++)
        code = split->outputs[i].element  ? map_parts(split, &split->outputs[i], queue)
               : split->outputs[i].merged ? CL_SUCCESS
                                          : merge_output(split, &split->outputs[i], queue);
    return code;
}

static cl_int collect_all(struct split *split, struct queue_record *queue)
{
    cl_int code = CL_SUCCESS;

    for (unsigned i = 0; i < split->n_outputs && code == CL_SUCCESS; i++) {
        struct split_output *output = &split->outputs[i];

        if (!output->element) {
            code = spread_merged(split, output, queue);
        } else {
            code = gather(split, output, queue);
            if (code == CL_SUCCESS)
                note_gathered(split, output);
        }
    }
    return code;
}

cl_int split_resolve(struct split *split, struct queue_record *queue)
{
    baton_nsec begin_at = clock_now();
    cl_int code = compare_all(split, queue);
    bool repeat = code != CL_SUCCESS && !split->collecting;

    if (code == MERGE_CONFLICT) {
        split->known->decision.never = true;
        runtime_count(COUNTER_DISAGREEMENTS, 1);
    }
    if (code == CL_SUCCESS) {
        split->collecting = true;
        code = collect_all(split, queue);
    }
    for (unsigned i = 0; i < split->n_outputs; i++)
        unmap_parts(split, &split->outputs[i], queue);
    if (repeat)
        code = repeat_at_home(split, queue);
    split->spent += clock_now() - begin_at;
    /* home may have some of the results already; the next call merges the rest */
    if (code != CL_SUCCESS && !repeat)
        return code;
    split->useless = split->useless || repeat || code != CL_SUCCESS;
    split_drop(split);
    return code;
}

bool split_is_settled(const struct spread_buffer *buffer, bool for_writing)
{
    return !buffer->writer && !(for_writing && buffer->n_readers) && buffer->n_readers < BUFFER_READERS;
}

cl_int split_settle(struct spread_buffer *buffer, bool for_writing, struct queue_record *queue)
{
    cl_int code = CL_SUCCESS;

    while (code == CL_SUCCESS && !split_is_settled(buffer, for_writing)) {
        struct split *split = buffer->writer ? buffer->writer : buffer->readers[0];

        if (split->running)
            pthread_cond_wait(&front.spread.changed, &front.spread.lock);
        else
            code = split_resolve(split, queue);
    }
    return code;
}
