#include "cuda/migrate/migrate.h"

#include <stdlib.h>
#include <string.h>

#include "client/place.h"
#include "cuda/cuda_kinds.h"
#include "cuda/front.h"
#include "cuda/migrate/code.h"
#include "cuda/migrate/inside.h"
#include "cuda/migrate/moved_memory.h"
#include "engine/flight.h"
#include "engine/graph.h"
#include "engine/inferred_job.h"
#include "engine/policy.h"

enum { ATTEMPTS = 2 }; /* to return home */

/* --- commands and calls that are inside --- */

/* Under the lock. */
static void wait_for_move(void)
{
    while (cuda_front.migrate.moving)
        pthread_cond_wait(&cuda_front.migrate.changed, &cuda_front.migrate.lock);
}

bool inside_begin(void)
{
    bool follows;

    pthread_mutex_lock(&cuda_front.migrate.lock);
    wait_for_move();
    cuda_front.migrate.inside++;
    follows = !cuda_front.migrate.stays;
    pthread_mutex_unlock(&cuda_front.migrate.lock);
    return follows;
}

void inside_end(void)
{
    pthread_mutex_lock(&cuda_front.migrate.lock);
    if (--cuda_front.migrate.inside == 0)
        pthread_cond_broadcast(&cuda_front.migrate.changed);
    pthread_mutex_unlock(&cuda_front.migrate.lock);
}

/* The thread that has set `moving` is done. */
static void let_others_in(void)
{
    pthread_mutex_lock(&cuda_front.migrate.lock);
    cuda_front.migrate.moving = false;
    pthread_cond_broadcast(&cuda_front.migrate.changed);
    pthread_mutex_unlock(&cuda_front.migrate.lock);
}

/* --- moves: while `moving`, and no command is inside --- */

/* Nothing of the process is held back or in flight. */
static bool is_quiet(void)
{
    struct context_visit visit;
    CUresult code;

    for (struct engine_device *device = engine_devices(); device; device = device->next)
        for (int kind = 0; kind < ENGINE_N; kind++) {
            flight_reap(&device->engines[kind], false);
            if (flight_any(&device->engines[kind]))
                return false;
        }
    if (!graph_idle() || cuda_front.migrate.broken != CUDA_SUCCESS)
        return false;
    context_visit_begin(cuda_front.migrate.places[HOME].context, &visit);
    code = cuda_front.genuine.cuCtxSynchronize();
    context_visit_end(&visit);
    return code == CUDA_SUCCESS;
}

static void settle_saved(void)
{
    if (cuda_front.migrate.touched)
        memory_touched();
    cuda_front.migrate.touched = false;
}

static CUresult move(unsigned to)
{
    size_t at_home;
    CUresult code;

    settle_saved();
    code = memory_move(cuda_front.migrate.place, to);
    memory_count(&cuda_front.migrate.job_bytes, &at_home);
    if (code == CUDA_SUCCESS)
        cuda_front.migrate.place = to;
    return cuda_front.migrate.broken != CUDA_SUCCESS ? (CUresult)cuda_front.migrate.broken : code;
}

static CUresult go_home(void)
{
    CUresult code = (CUresult)atomic_load(&cuda_front.migrate.broken);

    for (int i = 0;
         i < ATTEMPTS && cuda_front.migrate.place != HOME && cuda_front.migrate.broken == CUDA_SUCCESS; i++)
        code = move(HOME);
    return code;
}

static void tell(const char *reason)
{
    struct session *session = runtime_session();

    if (session)
        (void)session_notice(session, NOTICE_STAYS_HOME, "", reason);
}

/* --- which GPU --- */

/* For tests: the lock is given one GPU to choose from, another one for most jobs. */
static unsigned ask_roaming(struct session *session)
{
    struct place_request request = {.gpus = 1, .home = PLACE_NOWHERE};
    struct lease *lease;
    uint32_t chosen = 0;
    unsigned to;

    cuda_front.migrate.roams = cuda_front.migrate.roams * 1103515245u + 12345u;
    to = (cuda_front.migrate.roams >> 16) % cuda_front.migrate.n_places;
    lease = cuda_front.migrate.places[to].device->base.engines[ENGINE_EXECUTION].lease;
    cuda_front.migrate.announced = true;
    return place_choose(session, &lease, 1, &request, &chosen) == 0 ? to : cuda_front.migrate.place;
}

/* The place of the job's token; the present one if there is no daemon to ask. */
static unsigned ask(struct session *session)
{
    struct place_request request = {
        .gpus = 1, .home = cuda_front.migrate.place, .bytes = cuda_front.migrate.job_bytes};
    struct lease *leases[PLACES];
    uint32_t chosen = 0;

    if (cuda_front.migrate.roams)
        return ask_roaming(session);
    for (unsigned i = 0; i < cuda_front.migrate.n_places; i++)
        leases[i] = cuda_front.migrate.places[i].device->base.engines[ENGINE_EXECUTION].lease;
    if (place_choose(session, leases, cuda_front.migrate.n_places, &request, &chosen) != 0)
        return cuda_front.migrate.place;
    cuda_front.migrate.announced = true;
    return (unsigned)__builtin_ctz(chosen);
}

/* Before the first command of a job. */
static void choose(void)
{
    struct session *session = runtime_session();
    unsigned target = HOME;
    CUresult code;

    if (!is_quiet())
        return;
    if (!cuda_front.migrate.stays && session && session_follows(session))
        target = ask(session);
    cuda_front.migrate.job_bytes = 0;
    if (target == cuda_front.migrate.place)
        return;
    code = move(target);
    if (code == CUDA_SUCCESS)
        return;
    if (!cuda_front.migrate.stays)
        tell("a move to another GPU failed");
    cuda_front.migrate.stays = true;
    (void)go_home();
}

CUresult migrate_stay_home(const char *reason)
{
    CUresult code = CUDA_SUCCESS;
    bool first;

    if (!migrate_on())
        return code;
    pthread_mutex_lock(&cuda_front.migrate.lock);
    wait_for_move();
    first = !cuda_front.migrate.stays;
    cuda_front.migrate.stays = true;
    if (!first && cuda_front.migrate.place == HOME) {
        pthread_mutex_unlock(&cuda_front.migrate.lock);
        return code;
    }
    cuda_front.migrate.moving = true;
    while (cuda_front.migrate.inside)
        pthread_cond_wait(&cuda_front.migrate.changed, &cuda_front.migrate.lock);
    pthread_mutex_unlock(&cuda_front.migrate.lock);
    if (first)
        tell(reason);
    if (cuda_front.migrate.place != HOME) {
        objects_drain();
        code = go_home();
    }
    memory_open_to_peers();
    let_others_in();
    return code;
}

/* --- commands --- */

/* One side of a copy of rows: x, y, z of its first byte, bytes of a row, rows of a plane. */
struct migrate_side {
    CUmemorytype type;
    CUdeviceptr device;
    size_t at[3], pitch, rows;
};

/* Does it stay within an allocation? extent: bytes, rows and planes. */
static bool side_fits(const struct migrate_side *side, const size_t extent[3])
{
    size_t row = side->pitch ? side->pitch : extent[0], plane = row * side->rows;

    if ((side->type != CU_MEMORYTYPE_DEVICE && side->type != CU_MEMORYTYPE_UNIFIED) || !extent[0] ||
        !extent[1] || !extent[2])
        return true;
    return memory_may_touch(side->device + side->at[2] * plane + side->at[1] * row + side->at[0],
                            (extent[2] - 1) * plane + (extent[1] - 1) * row + extent[0]);
}

static bool rows_fit(const CUDA_MEMCPY2D *rows)
{
    const struct migrate_side from = {
        rows->srcMemoryType, rows->srcDevice, {rows->srcXInBytes, rows->srcY}, rows->srcPitch, 0};
    const struct migrate_side to = {
        rows->dstMemoryType, rows->dstDevice, {rows->dstXInBytes, rows->dstY}, rows->dstPitch, 0};
    const size_t extent[3] = {rows->WidthInBytes, rows->Height, 1};

    return side_fits(&from, extent) && side_fits(&to, extent);
}

static bool planes_fit(const CUDA_MEMCPY3D *planes)
{
    const struct migrate_side from = {planes->srcMemoryType,
                                      planes->srcDevice,
                                      {planes->srcXInBytes, planes->srcY, planes->srcZ},
                                      planes->srcPitch,
                                      planes->srcHeight};
    const struct migrate_side to = {planes->dstMemoryType,
                                    planes->dstDevice,
                                    {planes->dstXInBytes, planes->dstY, planes->dstZ},
                                    planes->dstPitch,
                                    planes->dstHeight};
    const size_t extent[3] = {planes->WidthInBytes, planes->Height, planes->Depth};

    return side_fits(&from, extent) && side_fits(&to, extent);
}

/*
 * Regions are larger than what the program asked for, so their driver would take a range that is
 * too long.
 */
static bool fits(const struct cuda_command *draft)
{
    const uint64_t *args = draft->call.args;
    const char *base = draft->call.entry->base;
    const struct command_copy *copy = &draft->u.copy;

    if (cuda_kind_of(draft)->copy)
        return (copy->direction == COPY_OUT || memory_may_touch(copy->to, copy->size)) &&
               (copy->direction == COPY_IN || memory_may_touch(copy->from, copy->size));
    if (strncmp(base, "cuMemsetD2D", sizeof "cuMemsetD2D" - 1) == 0)
        return !args[3] || !args[4] ||
               memory_may_touch(args[0], (size_t)((args[4] - 1) * args[1]) + draft->base.bytes / args[4]);
    if (strncmp(base, "cuMemsetD", sizeof "cuMemsetD" - 1) == 0)
        return memory_may_touch(args[0], draft->base.bytes);
    if (strncmp(base, "cuMemcpy2D", sizeof "cuMemcpy2D" - 1) == 0)
        return rows_fit((const CUDA_MEMCPY2D *)args[0]);
    if (strcmp(base, "cuMemcpy3D") == 0 || strcmp(base, "cuMemcpy3DAsync") == 0)
        return planes_fit((const CUDA_MEMCPY3D *)args[0]);
    return true;
}

/* The command goes to the job's GPU. */
static CUresult point(struct cuda_command *draft, unsigned place)
{
    struct stream_record *stream = place_stream(place, draft->base.engine);
    CUresult code;

    if (cuda_kind_of(draft)->launch) {
        void *function = NULL, *piece = NULL;

        if (!draft->u.launch.function)
            return CUDA_ERROR_NOT_FOUND;
        code = code_find(draft->u.launch.function, place, &function, &piece);
        if (code != CUDA_SUCCESS)
            return code;
        draft->call.args[0] = (uint64_t)function;
        draft->u.launch.piece = piece;
    }
    if (draft->call.entry->stream != NO_STREAM)
        draft->call.args[draft->call.entry->stream] = (uint64_t)stream->handle;
    draft->on = stream;
    return CUDA_SUCCESS;
}

/* Enters; asks for a GPU first if the job is new. Answers where the command runs. */
static unsigned enter(struct cuda_command *draft)
{
    unsigned job = inferred_job_number(), place;

    pthread_mutex_lock(&cuda_front.migrate.lock);
    wait_for_move();
    if (cuda_front.migrate.job != job && !cuda_front.migrate.inside &&
        (!cuda_front.migrate.stays || cuda_front.migrate.place != HOME)) {
        cuda_front.migrate.moving = true;
        pthread_mutex_unlock(&cuda_front.migrate.lock);
        choose();
        pthread_mutex_lock(&cuda_front.migrate.lock);
        cuda_front.migrate.moving = false;
        pthread_cond_broadcast(&cuda_front.migrate.changed);
    }
    cuda_front.migrate.job = job;
    cuda_front.migrate.inside++;
    cuda_front.migrate.touched = true;
    place = cuda_front.migrate.place;
    pthread_mutex_unlock(&cuda_front.migrate.lock);
    draft->inside = true;
    return place;
}

CUresult migrate_enter(struct cuda_command *draft)
{
    unsigned place;
    CUresult code;

    if (!fits(draft))
        return CUDA_ERROR_INVALID_VALUE;
    place = enter(draft);
    if (place == HOME || point(draft, place) == CUDA_SUCCESS)
        return (CUresult)atomic_load(&cuda_front.migrate.broken);
    migrate_leave(draft);
    code = migrate_stay_home("a kernel that cannot be loaded on another GPU");
    if (code == CUDA_SUCCESS)
        (void)enter(draft);
    return code;
}

void migrate_leave(struct cuda_command *draft)
{
    if (draft->inside)
        inside_end();
    draft->inside = false;
}

CUresult migrate_await(const struct cuda_command *command, CUresult code)
{
    if (code != CUDA_SUCCESS)
        return code;
    code = command->call.entry->stream == NO_STREAM
               ? cuda_front.genuine.cuCtxSynchronize()
               : cuda_front.genuine.cuStreamSynchronize(command->on->handle);
    if (code != CUDA_SUCCESS)
        follow_break(code);
    return code;
}

/* --- jobs --- */

void migrate_job_ending(void)
{
    bool may;

    if (!migrate_on() || !policy_saves_state())
        return;
    pthread_mutex_lock(&cuda_front.migrate.lock);
    may = !cuda_front.migrate.moving && !cuda_front.migrate.inside && !cuda_front.migrate.stays;
    cuda_front.migrate.moving = cuda_front.migrate.moving || may;
    pthread_mutex_unlock(&cuda_front.migrate.lock);
    if (!may) /* the next move takes it from the GPU, which no analysis counts */
        return;
    if (is_quiet()) {
        settle_saved();
        (void)memory_save(cuda_front.migrate.place);
    }
    let_others_in();
}

void migrate_job_over(void)
{
    struct session *session;
    bool announced;

    if (!migrate_on())
        return;
    pthread_mutex_lock(&cuda_front.migrate.lock);
    announced = cuda_front.migrate.announced;
    cuda_front.migrate.announced = false;
    pthread_mutex_unlock(&cuda_front.migrate.lock);
    session = announced ? runtime_session() : NULL;
    if (session)
        place_end(session);
}

void migrate_stop(void)
{
    struct session *session = migrate_on() ? runtime_session() : NULL;

    if (!session)
        return;
    place_leave(session);
    /* exit handlers of the program find its memory where it is, from the device that they know */
    memory_open_to_peers();
}

bool migrate_serves(void)
{
    const struct session *session = migrate_on() ? runtime_session() : NULL;

    return session && !session_forked(session);
}

/* --- contexts --- */

static void begin(CUcontext context)
{
    struct session *session = runtime_session();
    const char *roams = getenv("BATON_TEST_ROAM");

    if (!session || !session_follows(session) || runtime.settings.placement == SETTING_PLACEMENT_FIXED ||
        front_is_whole() || places_find(context) < 2 || memory_init() != CUDA_SUCCESS)
        return;
    cuda_front.migrate.home = context;
    cuda_front.migrate.roams = roams ? (unsigned)strtoul(roams, NULL, 10) : 0;
    follow_install();
    atomic_store(&cuda_front.migrate.on, true);
}

void migrate_context_made(CUcontext context)
{
    pthread_mutex_lock(&cuda_front.migrate.begun_lock);
    if (!cuda_front.migrate.begun) {
        cuda_front.migrate.begun = true;
        begin(context);
    }
    pthread_mutex_unlock(&cuda_front.migrate.begun_lock);
    if (migrate_on() && context != cuda_front.migrate.home)
        (void)migrate_stay_home("a second context");
}

void migrate_context_ended(CUcontext context)
{
    if (!migrate_on() || context != cuda_front.migrate.home)
        return;
    pthread_mutex_lock(&cuda_front.migrate.lock);
    wait_for_move();
    cuda_front.migrate.stays = true;
    cuda_front.migrate.place = HOME;
    cuda_front.migrate.home = NULL;
    pthread_mutex_unlock(&cuda_front.migrate.lock);
    memory_free_all();
    follow_break(CUDA_SUCCESS);
}
