/*
 * Which GPU a job gets. The client says where its data is and how much of it would have to move.
 * The core chooses, among the GPUs of the plan if the plan assigns some. Under tokens the job's
 * token decides the GPU, so the answer comes with the grant of the token (lanes.h).
 */
#include "daemon/holds.h"
#include "daemon/lanes.h"

static bool attached(const struct peer *peer, uint32_t lease)
{
    return lease < PAGE_LEASES && peer->holds[lease].state != HOLD_UNUSED;
}

static uint64_t gpus_of(const struct peer *peer, uint32_t leases)
{
    uint64_t gpus = 0;

    for (unsigned i = 0; i < PAGE_LEASES; i++) {
        if ((leases >> i & 1) && attached(peer, i))
            gpus |= UINT64_C(1) << peer->holds[i].device;
    }
    return gpus;
}

/* One of the leases for each of these GPUs. */
static uint32_t leases_of(const struct peer *peer, uint32_t leases, uint64_t gpus)
{
    uint32_t found = 0;

    for (unsigned i = 0; i < PAGE_LEASES; i++) {
        uint64_t gpu = attached(peer, i) ? UINT64_C(1) << peer->holds[i].device : 0;

        if ((leases >> i & 1) && (gpus & gpu)) {
            found |= UINT32_C(1) << i;
            gpus &= ~gpu;
        }
    }
    return found;
}

/* GPUs that other clients use without an announcement: their load is not in the core's sums. */
static uint64_t occupied(const struct server *server, const struct peer *peer)
{
    uint64_t gpus = 0;

    for (unsigned q = 0; q < server->n_devices; q++) {
        engine_id engine = sched_execution_engine(server->core, q);
        const struct peer *holder = server->holders[engine];

        if (holder && holder != peer && !holder->placed &&
            lease_word_state(atomic_load(&holder->page->leases[server->holder_leases[engine]].word)) ==
                LEASE_STATE_BUSY)
            gpus |= UINT64_C(1) << q;
    }
    return gpus;
}

/* The data's place in the terms of the predictor. */
static unsigned place_of(const struct peer *peer, uint32_t lease)
{
    return attached(peer, lease) ? peer->holds[lease].device : MOVES_HOST;
}

/* The core adds one cost for every GPU except home, so take the most expensive one. */
static baton_nsec migration(const struct server *server, const struct frame_place *frame, unsigned home,
                            uint64_t gpus)
{
    baton_nsec most = 0;

    for (unsigned q = 0; home != MOVES_HOST && q < server->n_devices; q++) {
        baton_nsec cost = moves_predict(&server->moves, home, q, frame->bytes);

        if ((gpus >> q & 1) && cost > most)
            most = cost;
    }
    return most;
}

void placement_request(struct server *server, struct peer *peer, const struct frame_place *frame)
{
    struct frame answer = {.type = FRAME_PLACED, .placed = {.number = frame->number}};
    uint64_t gpus = gpus_of(peer, frame->leases) & (peer->gpu_set ? peer->gpu_set : UINT64_MAX);
    unsigned home = place_of(peer, frame->home);
    struct sched_event event = {.kind = SCHED_PLACE,
                                .job = peer->slot,
                                .n = frame->n,
                                .gpus = frame->n ? gpus : 0,
                                .home = home == MOVES_HOST ? SCHED_NO_GPU : home,
                                .occupied = occupied(server, peer),
                                .migration = migration(server, frame, home, gpus)};

    event.cost = frame->work < (uint64_t)NSEC_PER_SEC * 3600 ? (baton_nsec)frame->work : 0;
    peer->placed = 0;
    /*
     * The client's data is on a GPU that the plan does not assign: each job moves it, and no task
     * set counts those copies.
     */
    if (frame->n && peer->gpu_set && home != MOVES_HOST && !(peer->gpu_set >> home & 1) &&
        !holds_tokens(server))
        peer->strayed = true;
    if (holds_tokens(server) && frame->n == 1 && gpus) {
        peer->place_home = event.home;
        peer->place_migration = event.migration;
        peer->place_work = event.cost;
        lanes_place(server, peer, frame, gpus);
        return;
    }
    if (holds_tokens(server)) {
        peer->placing = false; /* a job has one token, and so one GPU */
    } else if (frame->n == 0 || (unsigned)__builtin_popcountll(gpus) >= frame->n) {
        if (frame->n)
            arbiter_rejoin(server, peer);
        holds_push(server, event);
        holds_run(server);
    }
    if (!frame->n) {
        peer->placed = 0;
        return;
    }
    answer.placed.leases = leases_of(peer, frame->leases, peer->placed);
    if (home != MOVES_HOST && !(peer->placed >> home & 1))
        answer.placed.migration = (uint64_t)event.migration;
    peer_put(server, peer, &answer);
}

/*
 * Did the data take a way that the analysis does not count? `none` and `system` know no copy from
 * GPU to GPU. `p2p` knows no copy by way of the host: the driver could not do it directly.
 */
static bool is_uncounted(const struct server *server, const struct peer *peer,
                         const struct frame_moved *frame)
{
    bool between = attached(peer, frame->from) && attached(peer, frame->to);

    switch (server->config.migration) {
    case MIGRATION_P2P:
        return !between;
    case MIGRATION_ON_DEMAND:
        return false;
    default:
        return between;
    }
}

void placement_moved(struct server *server, struct peer *peer, const struct frame_moved *frame)
{
    if (holds_tokens(server) && is_uncounted(server, peer, frame))
        peer->strayed = true;
    if (attached(peer, frame->to))
        moves_learn(&server->moves, place_of(peer, frame->from), peer->holds[frame->to].device, frame->bytes,
                    frame->length);
}
