#include "client/protocol.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "client/lease.h"
#include "client/protocol_private.h"

void protocol_put(struct protocol *protocol, const struct frame *frame)
{
    if (outbox_put(&protocol->out, frame) < 0)
        protocol->broken = true;
}

static void push_event(struct protocol *protocol, enum protocol_event_kind kind, unsigned lease)
{
    unsigned at;

    if (protocol->events_n == PROTOCOL_MAX_EVENTS) {
        protocol->broken = true; /* more events than the bytes of one read can hold: the peer is not batond */
        return;
    }
    at = (protocol->events_begin + protocol->events_n++) % PROTOCOL_MAX_EVENTS;
    protocol->events[at] = (struct protocol_event){kind, lease};
}

bool protocol_event(struct protocol *protocol, struct protocol_event *ret_event)
{
    if (!protocol->events_n)
        return false;
    *ret_event = protocol->events[protocol->events_begin];
    protocol->events_begin = (protocol->events_begin + 1) % PROTOCOL_MAX_EVENTS;
    protocol->events_n--;
    return true;
}

void protocol_init(struct protocol *protocol, const struct frame_hello *hello, struct page *private_page,
                   const struct protocol_host *host)
{
    memset(protocol, 0, sizeof *protocol);
    protocol->hello = *hello;
    protocol->hello.version = FRAME_VERSION;
    protocol->private_page = private_page;
    protocol->host = *host;
    protocol->plan = (struct frame_plan){.flags = PLAN_SLICING};
    outbox_init(&protocol->in);
    outbox_init(&protocol->out);
    page_init(private_page, 0, 0);
}

void protocol_connected(struct protocol *protocol)
{
    struct frame frame = {.type = FRAME_HELLO, .hello = protocol->hello};

    assert(protocol->state == PROTOCOL_OFFLINE);
    outbox_init(&protocol->in);
    outbox_init(&protocol->out);
    protocol->broken = false;
    protocol->state = PROTOCOL_GREETING;
    frame.hello.generation = protocol->generation;
    protocol_put(protocol, &frame);
}

void protocol_send(struct protocol *protocol, const struct frame *frame)
{
    if (protocol->state == PROTOCOL_ONLINE)
        protocol_put(protocol, frame);
}

static void send_request(struct protocol *protocol, unsigned index)
{
    struct frame frame = {.type = FRAME_REQUEST};

    frame.request.index = index;
    frame.request.epoch = protocol->leases[index].epoch;
    protocol_put(protocol, &frame);
}

/* ---- from one page to another ---- */

/*
 * Makes `word` the current word of the lease. A busy hold is flagged there from the beginning, so
 * no daemon will send a frame that the lease is wanted. The event is queued here instead.
 */
static void move(struct protocol *protocol, unsigned index, lease_word *word, bool busy)
{
    struct protocol_lease *lease = &protocol->leases[index];
    lease_word *old = atomic_exchange(&lease->word, word);

    if (busy && (atomic_load(&lease->tell) & PAGE_TELL_YIELD))
        push_event(protocol, PROTOCOL_YIELD, index);
    if (old) {
        lease_word_leave(old);
        protocol->host.wake(protocol->host.user, old);
    }
}

/* ---- acting as the daemon on a word without one ---- */

/*
 * From the daemon's page to the private one. A running hold stays BUSY there, flagged so that its
 * end takes the slow path and gives the old word up too. A requested lease is granted; the others
 * are idle.
 */
static void free_lease(struct protocol *protocol, unsigned index)
{
    struct protocol_lease *lease = &protocol->leases[index];
    lease_word *old = atomic_load(&lease->word);
    lease_word *word = &protocol->private_page->leases[index].word;
    bool busy = old && lease_word_call_in(old, LEASE_FLAGS) == LEASE_CALLED_BUSY;

    lease->ghost = busy ? old : NULL;
    atomic_store(word, lease_word_make(busy || lease->asked ? LEASE_STATE_BUSY : LEASE_STATE_IDLE,
                                       busy ? LEASE_ASK_TURN : 0, protocol->generation, lease->epoch));
    atomic_store(&lease->shared, NULL);
    move(protocol, index, word, busy);
}

void protocol_lost(struct protocol *protocol)
{
    protocol->state = PROTOCOL_OFFLINE;
    protocol->plan.flags &= ~(PLAN_LINGER | PLAN_JOBS); /* until the next daemon says so */
    outbox_init(&protocol->in);
    outbox_init(&protocol->out);
    for (unsigned i = 0; i < protocol->n_leases; i++) {
        if (protocol->leases[i].shared)
            free_lease(protocol, i);
        protocol->leases[i].refused = 0;
    }
    protocol->broken = false; /* the outbox, now empty, may have overflowed */
}

/* ---- after a welcome ---- */

static void attach(struct protocol *protocol, unsigned index)
{
    struct protocol_lease *lease = &protocol->leases[index];
    struct page_lease *place = &protocol->page->leases[index];
    lease_word *old = atomic_load(&lease->word);
    struct frame frame = {.type = FRAME_ATTACH};
    /* From here on both fast paths fail on the old word: it is NONE, or BUSY and flagged. */
    bool busy = old && lease_word_call_in(old, LEASE_FLAGS) == LEASE_CALLED_BUSY;

    atomic_store(&place->tell, atomic_load(&lease->tell));
    if (busy)
        lease_word_grant(&place->word, LEASE_FLAGS, protocol->generation, lease->epoch);
    atomic_store(&lease->shared, place);
    move(protocol, index, &place->word, busy);
    lease->ghost = NULL; /* the declaration replaces it */
    lease->declared = busy;
    lease->answered = false;
    lease->refused = 0;
    frame.attach.index = index;
    frame.attach.engine = lease->engine;
    frame.attach.busy = busy;
    frame.attach.epoch = lease->epoch;
    memcpy(frame.attach.device, lease->device, sizeof frame.attach.device);
    protocol_put(protocol, &frame);
}

static int welcome(struct protocol *protocol, const struct frame_welcome *frame)
{
    struct page *page;

    if (protocol->state != PROTOCOL_GREETING || frame->version != FRAME_VERSION)
        return -EPROTO;
    protocol->generation = frame->generation;
    protocol->client = frame->client;
    protocol->flags = frame->flags;
    protocol->state = PROTOCOL_ONLINE;
    if (!(protocol->hello.flags & HELLO_MONITOR)) {
        if (frame->page_size != PAGE_SIZE_BYTES)
            return -EPROTO;
        page = protocol->host.page(protocol->host.user, PAGE_SIZE_BYTES);
        if (!page || page->magic != PAGE_MAGIC || page->version != PAGE_VERSION)
            return -EPROTO;
        atomic_store(&protocol->page, page);
        for (unsigned i = 0; i < protocol->n_leases; i++)
            attach(protocol, i);
    }
    push_event(protocol, PROTOCOL_WELCOMED, 0);
    return 0;
}

/* ---- frames from the daemon ---- */

static int managed(struct protocol *protocol, const struct frame_managed *frame)
{
    if (frame->index >= protocol->n_leases)
        return -EPROTO;
    protocol->leases[frame->index].answered = true;
    push_event(protocol, PROTOCOL_ATTACHED, frame->index);
    return 0;
}

static int refused(struct protocol *protocol, const struct frame_refused *frame)
{
    struct protocol_lease *lease;

    if (frame->index >= protocol->n_leases)
        return -EPROTO;
    lease = &protocol->leases[frame->index];
    if (!lease->shared)
        return 0;
    lease->answered = true;
    lease->refused = frame->reason == ENOSPC ? -ENOSPC : -ENODEV;
    push_event(protocol, PROTOCOL_ATTACHED, frame->index);
    free_lease(protocol, frame->index);
    lease->ghost = NULL; /* the daemon reserves nothing for this client there */
    return 0;
}

static int yield_asked(struct protocol *protocol, const struct frame_yield *frame)
{
    if (frame->index >= protocol->n_leases)
        return -EPROTO;
    if (lease_word_epoch(atomic_load(protocol->leases[frame->index].word)) == frame->epoch)
        push_event(protocol, PROTOCOL_YIELD, frame->index);
    return 0;
}

static int dispatch(struct protocol *protocol, const struct frame *frame)
{
    if (protocol->state == PROTOCOL_GREETING)
        return frame->type == FRAME_WELCOME ? welcome(protocol, &frame->welcome) : -EPROTO;
    switch (frame->type) {
    case FRAME_YIELD:
        return yield_asked(protocol, &frame->yield);
    case FRAME_MANAGED:
        return managed(protocol, &frame->managed);
    case FRAME_REFUSED:
        return refused(protocol, &frame->refused);
    case FRAME_PLAN:
        protocol->plan = frame->plan;
        push_event(protocol, PROTOCOL_PLANNED, 0);
        return 0;
    case FRAME_PRIORITY:
        protocol->told_priority = frame->priority.priority;
        push_event(protocol, PROTOCOL_TOLD_PRIORITY, 0);
        return 0;
    case FRAME_RESET:
        push_event(protocol, PROTOCOL_TOLD_RESET, 0);
        return 0;
    case FRAME_PLACED:
        protocol->placed = frame->placed;
        push_event(protocol, PROTOCOL_PLACED, 0);
        return 0;
    case FRAME_ABOUT_DAEMON:
    case FRAME_ABOUT_DEVICE:
    case FRAME_ABOUT_ENGINE:
    case FRAME_ABOUT_CLIENT:
    case FRAME_ABOUT_TASK:
    case FRAME_ABOUT_ADMISSION:
    case FRAME_VERDICT:
    case FRAME_TRACE:
    case FRAME_NOTHING:
    case FRAME_DONE:
        protocol->answer = *frame;
        push_event(protocol, PROTOCOL_ANSWER, 0);
        return 0;
    default: /* ERROR included: the daemon is about to close the connection */
        return -EPROTO;
    }
}

int protocol_receive(struct protocol *protocol, const uint8_t *bytes, size_t n)
{
    while (n > 0) {
        size_t taken = outbox_append(&protocol->in, bytes, n);
        struct frame frame;
        size_t used;
        int result;

        bytes += taken;
        n -= taken;
        for (;;) {
            const uint8_t *waiting;
            size_t pending = outbox_pending(&protocol->in, &waiting);

            result = frame_decode(waiting, pending, &frame, &used);
            if (result == FRAME_PARTIAL)
                break;
            if (result == FRAME_BAD)
                return -EPROTO;
            outbox_drop(&protocol->in, used);
            result = dispatch(protocol, &frame);
            if (result)
                return result;
        }
    }
    return protocol->broken ? -EPROTO : 0;
}

/* ---- leases ---- */

int protocol_attach(struct protocol *protocol, const char *device, uint32_t engine, unsigned *ret_index)
{
    struct protocol_lease *lease;
    unsigned index;

    for (index = 0; index < protocol->n_leases; index++) {
        if (protocol->leases[index].engine == engine && strcmp(protocol->leases[index].device, device) == 0) {
            *ret_index = index;
            return 0;
        }
    }
    if (index == PAGE_LEASES)
        return -ENOSPC;
    if (!device_name_valid(device) || engine >= ENGINE_N)
        return -EINVAL;
    lease = &protocol->leases[index];
    lease->engine = engine;
    memcpy(lease->device, device, strlen(device) + 1);
    if (protocol->state == PROTOCOL_ONLINE) {
        attach(protocol, index);
    } else {
        free_lease(protocol, index);
    }
    protocol->n_leases++;
    *ret_index = index;
    return 0;
}

void protocol_tell(struct protocol *protocol, unsigned index, uint32_t what, bool on)
{
    struct protocol_lease *lease = &protocol->leases[index];
    struct page_lease *shared = atomic_load(&lease->shared);

    if (on) {
        (void)atomic_fetch_or(&lease->tell, what);
        if (shared)
            (void)atomic_fetch_or(&shared->tell, what);
    } else {
        (void)atomic_fetch_and(&lease->tell, ~what);
        if (shared)
            (void)atomic_fetch_and(&shared->tell, ~what);
    }
}

int protocol_request(struct protocol *protocol, unsigned index)
{
    struct protocol_lease *lease = &protocol->leases[index];
    uint64_t seen = 0;

    if (protocol_nest(protocol, index))
        return LEASE_BEGUN;
    if (lease->asked)
        return LEASE_TAKEN;
    if (lease_word_begin(lease->word, &seen))
        return LEASE_BEGUN;
    if (lease_word_state(seen) == LEASE_STATE_BUSY)
        return LEASE_TAKEN;
    assert(protocol_managed(protocol, lease)); /* private words are idle or busy */
    lease->epoch++;
    lease->asked = true;
    send_request(protocol, index);
    return LEASE_ASK;
}

static void give_back(struct protocol *protocol, unsigned index, uint32_t next)
{
    struct protocol_lease *lease = &protocol->leases[index];
    struct frame frame = {.type = FRAME_RELEASE};

    frame.release.index = index;
    frame.release.epoch = lease_word_epoch(atomic_load(lease->word));
    frame.release.next = next;
    lease_word_give(lease->word);
    lease->declared = false;
    protocol_put(protocol, &frame);
}

int protocol_yield(struct protocol *protocol, unsigned index)
{
    struct protocol_lease *lease = &protocol->leases[index];
    uint64_t seen = atomic_load(lease->word);

    assert(!lease->asked);
    if (lease->grouped || !protocol_managed(protocol, lease) || !(seen & LEASE_FLAGS))
        return LEASE_BEGUN;
    if (lease_word_state(seen) != LEASE_STATE_BUSY) { /* reclaims a lease in use: not batond */
        protocol->broken = true;
        return LEASE_BEGUN;
    }
    lease->epoch++;
    lease->asked = true;
    give_back(protocol, index, lease->epoch);
    return LEASE_ASK;
}

void protocol_end_private(struct protocol_lease *lease)
{
    if (lease->ghost)
        lease_word_give(lease->ghost);
    lease->ghost = NULL;
    (void)atomic_fetch_and(lease->word, ~LEASE_FLAGS);
    (void)lease_word_keep(lease->word);
}

void protocol_end(struct protocol *protocol, unsigned index)
{
    struct protocol_lease *lease = &protocol->leases[index];

    if (protocol_unnest(protocol, index) || lease_word_keep(lease->word))
        return;
    if (protocol_managed(protocol, lease)) {
        give_back(protocol, index, 0);
        return;
    }
    protocol_end_private(lease);
}

bool protocol_granted(struct protocol *protocol, unsigned index)
{
    struct protocol_lease *lease = &protocol->leases[index];
    uint64_t seen = atomic_load_explicit(lease->word, memory_order_acquire);

    if (!lease->asked || lease_word_state(seen) != LEASE_STATE_BUSY || lease_word_epoch(seen) != lease->epoch)
        return false;
    lease->asked = false;
    return true;
}
