/* The bytes of a program on their way from GPU to GPU, or to the host and back. */
#include <stdlib.h>

#include "base/clock.h"
#include "client/place.h"
#include "cuda/front.h"
#include "cuda/migrate/moved_memory.h"
#include "engine/policy.h"
#include "engine/runtime.h"

/* Of one copy between two looks at whether another client wants the engine, where no plan says. */
#define CHUNK ((size_t)4 << 20)

static size_t chunk_of(bool out)
{
    int64_t planned = policy_chunk(out);

    if (!policy_chunking())
        return SIZE_MAX;
    return planned ? (size_t)planned : CHUNK;
}

/* One driver call on a stream of ours and the wait for it, under an engine. */
struct move_step {
    struct device_engine *engine;
    enum engine_kind kind;
    struct stream_record *stream;
    struct context_visit visit;
    baton_nsec begin_at;
};

static void step_begin(struct move_step *step, unsigned place, enum engine_kind kind,
                       struct stream_record *stream)
{
    *step =
        (struct move_step){.engine = engine_device_for(&cuda_front.migrate.places[place].device->base, kind),
                           .kind = kind,
                           .stream = stream};
    engine_enter_alone(step->engine);
    step->begin_at = clock_now();
    context_visit_begin(stream->context, &step->visit);
}

static CUresult step_end(struct move_step *step, CUresult code)
{
    if (code == CUDA_SUCCESS)
        code = cuda_front.genuine.cuStreamSynchronize(step->stream->handle);
    context_visit_end(&step->visit);
    engine_report(engine_of_kind(step->engine, step->kind), step->begin_at, clock_now(), NULL);
    engine_exit(step->engine, step->kind, ENGINE_ALONE);
    return code;
}

/* --- one chunk --- */

static CUresult copy_out(unsigned from, CUdeviceptr address, unsigned char *bytes, size_t size)
{
    struct move_step step;

    step_begin(&step, from, ENGINE_COPY_OUT, place_stream(from, ENGINE_COPY_OUT));
    return step_end(&step,
                    cuda_front.genuine.cuMemcpyDtoHAsync_v2(bytes, address, size, step.stream->handle));
}

static CUresult copy_in(unsigned to, CUdeviceptr address, const unsigned char *bytes, size_t size)
{
    struct move_step step;

    step_begin(&step, to, ENGINE_COPY_IN, place_stream(to, ENGINE_COPY_IN));
    return step_end(&step,
                    cuda_front.genuine.cuMemcpyHtoDAsync_v2(address, bytes, size, step.stream->handle));
}

/*
 * The hold of the other GPU's copy engine is one of this GPU's, too: batond asks for both in one
 * request.
 */
static CUresult copy_directly(unsigned from, CUdeviceptr source, unsigned to, CUdeviceptr target, size_t size)
{
    struct move_step step;

    step_begin(&step, from, ENGINE_COPY_OUT, place_stream(to, ENGINE_COPY_IN));
    return step_end(&step, cuda_front.genuine.cuMemcpyPeerAsync(
                               target, cuda_front.migrate.places[to].context->handle, source,
                               cuda_front.migrate.places[from].context->handle, size, step.stream->handle));
}

/* --- one allocation --- */

static CUresult save(struct allocation *about, unsigned from)
{
    size_t chunk = chunk_of(true);
    CUresult code = CUDA_SUCCESS;

    if (about->is_saved)
        return code;
    if (!about->saved)
        about->saved = aligned_alloc(4096, (about->size + 4095) / 4096 * 4096);
    if (!about->saved)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t at = 0, size; at < about->size && code == CUDA_SUCCESS; at += size) {
        size = about->size - at < chunk ? about->size - at : chunk;
        code = copy_out(from, about->address + at, about->saved + at, size);
    }
    about->is_saved = code == CUDA_SUCCESS;
    return code;
}

static CUresult fetch_saved(const struct allocation *about, unsigned to, CUdeviceptr target)
{
    size_t chunk = chunk_of(false);
    CUresult code = CUDA_SUCCESS;

    for (size_t at = 0, size; at < about->size && code == CUDA_SUCCESS; at += size) {
        size = about->size - at < chunk ? about->size - at : chunk;
        code = copy_in(to, target + at, about->saved + at, size);
    }
    return code;
}

static CUresult fetch_directly(const struct allocation *about, unsigned from, unsigned to, CUdeviceptr target)
{
    size_t chunk = chunk_of(false); /* a peer copy is cut as a copy in, as its analysis does */
    CUresult code = CUDA_SUCCESS;

    for (size_t at = 0, size; at < about->size && code == CUDA_SUCCESS; at += size) {
        size = about->size - at < chunk ? about->size - at : chunk;
        code = copy_directly(from, about->address + at, to, target + at, size);
    }
    return code;
}

/* Can the driver copy from one GPU to the other without the host? */
static bool are_peers(unsigned from, unsigned to)
{
    int can = 0;

    return cuda_front.genuine.cuDeviceCanAccessPeer &&
           cuda_front.genuine.cuDeviceCanAccessPeer(&can, cuda_front.migrate.places[to].device->device,
                                                    cuda_front.migrate.places[from].device->device) ==
               CUDA_SUCCESS &&
           can;
}

static CUresult fetch(struct allocation *about, unsigned from, unsigned to, CUdeviceptr target)
{
    bool directly = policy_peer_copies() && are_peers(from, to);
    struct session *session = runtime_session();
    baton_nsec begin_at = clock_now(), took;
    CUresult code;

    if (directly) {
        code = fetch_directly(about, from, to, target);
    } else {
        code = save(about, from);
        code = code == CUDA_SUCCESS ? fetch_saved(about, to, target) : code;
    }
    took = clock_now() - begin_at;
    runtime_count(COUNTER_MOVED_BYTES, about->size);
    runtime_count(COUNTER_MOVED_NS, (uint64_t)took);
    if (code == CUDA_SUCCESS && session)
        place_moved(
            session,
            directly ? cuda_front.migrate.places[from].device->base.engines[ENGINE_EXECUTION].lease : NULL,
            cuda_front.migrate.places[to].device->base.engines[ENGINE_EXECUTION].lease, about->size, took);
    return code;
}

/* --- all of them; no list changes while memory moves --- */

static CUresult bring(struct region *region, unsigned from, unsigned to)
{
    CUresult code;

    pthread_mutex_lock(&cuda_front.migrate.memory.lock);
    code = region_room(region, to);
    pthread_mutex_unlock(&cuda_front.migrate.memory.lock);
    for (struct allocation *at = region->allocations; at && code == CUDA_SUCCESS; at = at->next)
        code = fetch(at, from, to, region->rooms[to].address + (at->address - region->address));
    return code;
}

/* All regions or none: the bytes are at both places until the end. */
static CUresult switch_all(unsigned from, unsigned to)
{
    CUresult code = CUDA_SUCCESS;
    struct list *at;

    for (at = cuda_front.migrate.memory.regions.next; at != &cuda_front.migrate.memory.regions;
         at = at->next) {
        code = region_switch(list_entry(at, struct region, link), from, to);
        if (code != CUDA_SUCCESS)
            break;
    }
    if (code == CUDA_SUCCESS)
        return code;
    for (at = at->prev; at != &cuda_front.migrate.memory.regions; at = at->prev) {
        struct region *region = list_entry(at, struct region, link);
        CUresult back = region_switch(region, to, from);

        if (back != CUDA_SUCCESS) /* once more */
            back = region_switch(region, to, from);
        if (back != CUDA_SUCCESS)
            follow_break(CUDA_ERROR_UNKNOWN);
    }
    return code;
}

CUresult memory_move(unsigned from, unsigned to)
{
    CUresult code = place_ready(&cuda_front.migrate.places[from]);

    if (code == CUDA_SUCCESS)
        code = place_ready(&cuda_front.migrate.places[to]);
    list_for_each(link, &cuda_front.migrate.memory.regions)
    {
        if (code == CUDA_SUCCESS)
            code = bring(list_entry(link, struct region, link), from, to);
    }
    return code == CUDA_SUCCESS ? switch_all(from, to) : code;
}

CUresult memory_save(unsigned from)
{
    CUresult code = place_ready(&cuda_front.migrate.places[from]);

    list_for_each(link, &cuda_front.migrate.memory.regions)
    {
        struct region *region = list_entry(link, struct region, link);

        for (struct allocation *at = region->allocations; at && code == CUDA_SUCCESS; at = at->next)
            code = save(at, from);
    }
    return code;
}

void memory_touched(void)
{
    list_for_each(link, &cuda_front.migrate.memory.regions)
    {
        struct region *region = list_entry(link, struct region, link);

        for (struct allocation *at = region->allocations; at; at = at->next)
            at->is_saved = false;
    }
}
