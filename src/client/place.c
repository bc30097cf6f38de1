#include "client/place.h"

#include <errno.h>

#include "base/clock.h"
#include "base/patience.h"
#include "client/session_private.h"

#define ANSWER_WAIT (20 * NSEC_PER_MS) /* a round trip takes about 50 us; a slower answer is ignored */

/* The home GPU first, then the others in order. */
static uint32_t first_choice(size_t n, size_t home, unsigned gpus)
{
    uint32_t chosen = home < n ? UINT32_C(1) << home : 0;

    for (size_t i = 0; i < n && (unsigned)__builtin_popcount(chosen) < gpus; i++)
        chosen |= UINT32_C(1) << i;
    return chosen;
}

static void send_now(struct session *session, const struct frame *frame)
{
    protocol_send(&session->protocol, frame);
    session_flush(session);
}

/*
 * Lock held. True: the daemon answered this question. Under tokens the answer is the grant of the
 * job's token, which may take as long as other jobs hold theirs. A lost connection ends the wait.
 */
static bool wait_for_answer(struct session *session, uint32_t number, baton_nsec patience)
{
    baton_nsec until_at = clock_now() + patience_limit(patience ? patience : ANSWER_WAIT);
    struct timespec until = {until_at / NSEC_PER_SEC, until_at % NSEC_PER_SEC};
    uint32_t generation = session->protocol.generation;

    while (session->protocol.state == PROTOCOL_ONLINE && session->protocol.generation == generation &&
           !session->leaving && session->protocol.placed.number != number) {
        if (session->protocol.flags & WELCOME_TOKENS)
            pthread_cond_wait(&session->welcomed, &session->lock);
        else if (pthread_cond_timedwait(&session->welcomed, &session->lock, &until) != 0)
            break;
    }
    return session->protocol.placed.number == number;
}

int place_choose(struct session *session, struct lease *const candidates[], size_t n,
                 const struct place_request *request, uint32_t *ret_chosen)
{
    struct frame frame = {.type = FRAME_PLACE};
    unsigned gpus = request->gpus ? request->gpus : 1;
    uint32_t leases = 0;
    uint32_t chosen = 0;

    if (n == 0 || n > PAGE_LEASES || gpus > n || (request->home != PLACE_NOWHERE && request->home >= n))
        return -EINVAL;
    *ret_chosen = first_choice(n, request->home, gpus);
    if (!session_online(session))
        return PLACE_PASSED;
    for (size_t i = 0; i < n; i++)
        frame.place.leases |= UINT32_C(1) << candidates[i]->index;
    frame.place.n = gpus;
    frame.place.home = request->home == PLACE_NOWHERE ? FRAME_NO_LEASE : candidates[request->home]->index;
    frame.place.bytes = request->bytes;
    frame.place.work = (uint64_t)request->work;
    pthread_mutex_lock(&session->lock);
    if (++session->placings == 0) /* 0 is not a valid question number */
        session->placings = 1;
    frame.place.number = session->placings;
    send_now(session, &frame);
    if (wait_for_answer(session, frame.place.number, request->patience))
        leases = session->protocol.placed.leases;
    pthread_mutex_unlock(&session->lock);
    for (size_t i = 0; i < n; i++)
        chosen |= (leases >> candidates[i]->index & 1) << i;
    if ((unsigned)__builtin_popcount(chosen) != gpus)
        return PLACE_PASSED;
    *ret_chosen = chosen;
    return 0;
}

void place_leave(struct session *session)
{
    pthread_mutex_lock(&session->lock);
    session->leaving = true;
    pthread_cond_broadcast(&session->welcomed);
    pthread_mutex_unlock(&session->lock);
}

void place_end(struct session *session)
{
    struct frame frame = {.type = FRAME_PLACE, .place = {.home = FRAME_NO_LEASE}};

    if (!session_online(session))
        return;
    pthread_mutex_lock(&session->lock);
    send_now(session, &frame);
    pthread_mutex_unlock(&session->lock);
}

void place_moved(struct session *session, const struct lease *from, const struct lease *to, uint64_t bytes,
                 baton_nsec length)
{
    struct frame frame = {.type = FRAME_MOVED};

    if (!session_online(session) || length < 0)
        return;
    frame.moved.from = from ? from->index : FRAME_NO_LEASE;
    frame.moved.to = to->index;
    frame.moved.bytes = bytes;
    frame.moved.length = (uint64_t)length;
    pthread_mutex_lock(&session->lock);
    send_now(session, &frame);
    pthread_mutex_unlock(&session->lock);
}
