/*
 * The copies of a batch: whole, in paced chunks, slowed down to emulated links, or staged in host
 * memory.
 */
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "client/batch/batcher.h"

static struct timespec to_timespec(baton_nsec at)
{
    return (struct timespec){.tv_sec = at / NSEC_PER_SEC, .tv_nsec = at % NSEC_PER_SEC};
}

bool batch_wait_until(struct baton_batch *batch, baton_nsec at)
{
    struct timespec deadline = to_timespec(at);
    bool ok;

    pthread_mutex_lock(&batch->lock);
    while (!batch->failed && clock_now() < at)
        pthread_cond_timedwait(&batch->changed, &batch->lock, &deadline);
    ok = !batch->failed;
    pthread_mutex_unlock(&batch->lock);
    return ok;
}

/*
 * Lets the emulated copy advance to `until` bytes, then waits until it has moved `target`. False:
 * the batch has failed.
 */
static bool emulate(struct baton_batch *batch, size_t stream, double until, double target)
{
    bool ok;

    pthread_mutex_lock(&batch->lock);
    if (until > 0) {
        batch_emulator_begin(batch->emulator, stream, until, clock_now());
        pthread_cond_broadcast(&batch->changed);
    }
    while (!batch->failed) {
        baton_nsec now = clock_now();
        baton_nsec at = batch_emulator_reaches(batch->emulator, stream, target, now);
        struct timespec deadline = to_timespec(at);

        if (at <= now)
            break;
        pthread_cond_timedwait(&batch->changed, &batch->lock, &deadline);
    }
    if (!batch->emulator->active[stream])
        pthread_cond_broadcast(&batch->changed); /* the rates of the other streams rise now */
    ok = !batch->failed;
    pthread_mutex_unlock(&batch->lock);
    return ok;
}

/* The instant at which the plan's rates have moved this many bytes of the topology. */
static baton_nsec pace(const struct baton_batch *batch, size_t stream, double bytes)
{
    const struct pacing *pacing = batch->pacing;
    double begin = batch->plan.setup;

    for (size_t k = 0; k < pacing->n_steps; k++) {
        double rate = pacing->rate[k][stream];
        double most = rate > 0 ? rate * (pacing->end[k] - begin) : 0;

        if (rate > 0 && bytes <= most * (1 + 1e-9))
            return batch->started_at + (baton_nsec)(begin + bytes / rate);
        bytes -= most;
        begin = pacing->end[k];
    }
    return batch->started_at + (baton_nsec)(isfinite(begin) ? begin : 0);
}

static struct baton_place place_at(const struct baton_place *place, size_t at)
{
    struct baton_place moved = *place;

    moved.offset += at;
    return moved;
}

static int write_piece(const struct stream_task *task, size_t at, size_t length, const void *from)
{
    struct batcher_gpu *gpu = task->target;
    struct baton_place to = place_at(&task->to, at);
    int code;

    pthread_mutex_lock(&gpu->in_lock);
    code = gpu->api->write(gpu->device, &to, from, length);
    pthread_mutex_unlock(&gpu->in_lock);
    return code;
}

static int read_piece(const struct stream_task *task, size_t at, size_t length, void *to)
{
    struct batcher_gpu *gpu = task->source;
    struct baton_place from = place_at(&task->from, at);
    int code;

    pthread_mutex_lock(&gpu->out_lock);
    code = gpu->api->read(gpu->device, &from, to, length);
    pthread_mutex_unlock(&gpu->out_lock);
    return code;
}

static int copy_piece(const struct stream_task *task, size_t at, size_t length)
{
    struct batcher_gpu *source = task->source;
    struct batcher_gpu *target = task->target;
    struct baton_place from = place_at(&task->from, at);
    struct baton_place to = place_at(&task->to, at);
    int code;

    pthread_mutex_lock(&source->out_lock);
    pthread_mutex_lock(&target->in_lock);
    code = target->api->copy(source->device, &from, target->device, &to, length);
    pthread_mutex_unlock(&target->in_lock);
    pthread_mutex_unlock(&source->out_lock);
    return code;
}

/*
 * The second leg of a staged piece: waits until the first leg has read it, writes it, and frees the
 * slot.
 */
static int write_staged(struct baton_batch *batch, struct stream_task *task, size_t at, size_t length)
{
    size_t piece = at / BATCH_STAGE_BYTES;
    int error;

    pthread_mutex_lock(&batch->lock);
    task->reading = true;
    pthread_cond_broadcast(&batch->changed);
    while (!batch->failed && task->pieces_read <= piece)
        pthread_cond_wait(&batch->changed, &batch->lock);
    error = batch->failed ? COPY_CANCELLED : 0;
    pthread_mutex_unlock(&batch->lock);
    if (error)
        return error;
    error = write_piece(task, at, length, task->stage[piece % N_STAGES]);
    pthread_mutex_lock(&batch->lock);
    task->pieces_written = piece + 1;
    pthread_cond_broadcast(&batch->changed);
    pthread_mutex_unlock(&batch->lock);
    return error;
}

int batch_copy_first_leg(struct baton_batch *batch, size_t stream)
{
    struct stream_task *task = &batch->streams[stream];

    for (size_t at = 0; at < task->bytes; at += BATCH_STAGE_BYTES) {
        size_t piece = at / BATCH_STAGE_BYTES;
        size_t length = task->bytes - at < BATCH_STAGE_BYTES ? task->bytes - at : BATCH_STAGE_BYTES;
        bool failed;
        int error;

        pthread_mutex_lock(&batch->lock);
        while (!batch->failed && (!task->reading || piece >= task->pieces_written + N_STAGES))
            pthread_cond_wait(&batch->changed, &batch->lock);
        failed = batch->failed;
        pthread_mutex_unlock(&batch->lock);
        if (failed)
            return COPY_CANCELLED;
        error = read_piece(task, at, length, task->stage[piece % N_STAGES]);
        if (error)
            return error;
        pthread_mutex_lock(&batch->lock);
        task->pieces_read = piece + 1;
        pthread_cond_broadcast(&batch->changed);
        pthread_mutex_unlock(&batch->lock);
    }
    return 0;
}

static int move(struct baton_batch *batch, struct stream_task *task, size_t at, size_t length)
{
    switch (task->kind) {
    case COPY_UP:
        return write_piece(task, at, length, (const char *)task->from.host + at);
    case COPY_DOWN:
        return read_piece(task, at, length, (char *)task->to.host + at);
    case COPY_DEVICE:
        return copy_piece(task, at, length);
    case COPY_HOST:
        memmove((char *)task->to.host + at, (const char *)task->from.host + at, length);
        return 0;
    case COPY_STAGED:
        return write_staged(batch, task, at, length);
    case COPY_NONE:
        break;
    }
    return 0;
}

static size_t chunk_size(const struct baton_batch *batch, const struct stream_task *task)
{
    if (task->kind == COPY_STAGED)
        return BATCH_STAGE_BYTES;
    return batch->pacing || batch->emulator ? batch_chunk_bytes(task->bytes) : task->bytes;
}

int batch_copy(struct baton_batch *batch, size_t stream)
{
    struct stream_task *task = &batch->streams[stream];
    size_t chunk = chunk_size(batch, task);
    double all = batch->emulator ? batch->emulator->batch.flows[stream].bytes : 0;

    for (size_t at = 0; at < task->bytes; at += chunk) {
        size_t length = task->bytes - at < chunk ? task->bytes - at : chunk;
        double begin = all * (double)at / (double)task->bytes;
        double end = all * (double)(at + length) / (double)task->bytes;
        int error;

        if (batch->pacing && !batch_wait_until(batch, pace(batch, stream, (double)at * batch->ratio)))
            return COPY_CANCELLED;
        /*
         * The emulated copy may advance to the end, a paced one to the end of this chunk. The
         * previous chunk must have arrived.
         */
        if (batch->emulator && !emulate(batch, stream, batch->pacing ? end : at ? 0 : all, begin))
            return COPY_CANCELLED;
        error = move(batch, task, at, length);
        if (error)
            return error;
    }
    if (batch->emulator && !emulate(batch, stream, 0, all))
        return COPY_CANCELLED;
    return 0;
}
