/*
 * Bytes from a client: splits them into frames, checks that the client may send each, and passes
 * each on.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/control.h"
#include "daemon/cpus.h"
#include "daemon/observe.h"
#include "daemon/regain.h"
#include "wire/notice.h"

#define LONGEST (NSEC_MAX / 4) /* time that a client may state: sums of a few such times are times */

/* Bytes of the character that begins here; 0: it is invalid, or a terminal control character. */
static size_t character(const unsigned char *at)
{
    static const struct {
        unsigned char mask, bits;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 0x20}, {0xe0, 0xc0, 0xa0}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

    for (size_t more = 0; more < sizeof forms / sizeof forms[0]; more++) {
        uint32_t code = at[0] & ~forms[more].mask & 0xffu;
        size_t n = 1;

        if ((at[0] & forms[more].mask) != forms[more].bits)
            continue;
        for (; n <= more && (at[n] & 0xc0) == 0x80; n++)
            code = code << 6 | (at[n] & 0x3fu);
        return n > more && code >= forms[more].least && code != 0x7f && code <= 0x10ffff &&
                       (code < 0xd800 || code > 0xdfff)
                   ? n
                   : 0;
    }
    return 0;
}

/* Names appear in logs and in JSON: whatever a client sends, a name becomes one line of UTF-8. */
static void make_printable(char *name)
{
    size_t n;

    for (unsigned char *at = (unsigned char *)name; *at; at += n ? n : 1) {
        n = character(at);
        if (!n)
            *at = '?';
    }
}

/* Does a job's state go to the GPU of its token, wherever that is? */
static bool state_follows(const struct server *server)
{
    return server->profile->tokens && server->config.gpu_cluster > 1 &&
           server->config.migration != MIGRATION_NONE;
}

static bool reports_jobs(const struct server *server, const struct peer *peer)
{
    return server->profile->tokens || server->config.policy == POLICY_EDF ||
           server->config.policy == POLICY_FAIR_LATENESS || (peer->hello.flags & HELLO_ADAPTIVE);
}

static int receive_hello(struct server *server, struct peer *peer, const struct frame_hello *hello)
{
    struct frame frame = {.type = FRAME_WELCOME};
    struct frame error = {.type = FRAME_ERROR, .error = {.reason = EPROTONOSUPPORT}};

    if (hello->version != FRAME_VERSION) {
        (void)snprintf(error.error.text, sizeof error.error.text, "expected protocol version %u, found %u",
                       FRAME_VERSION, hello->version);
        peer_put(server, peer, &error);
        if (hello->flags & HELLO_MONITOR)
            peer->state = PEER_MONITOR; /* it uses no GPU */
        peer_drop(server, peer, REPORT_VERSION, hello->version);
        return SERVER_DROP;
    }
    if (hello->priority > 99 || hello->period > LONGEST || hello->deadline > LONGEST)
        return SERVER_DROP;
    peer->hello = *hello;
    make_printable(peer->hello.name);
    frame.welcome.version = FRAME_VERSION;
    frame.welcome.generation = server->start.generation;
    frame.welcome.client = peer->client;
    if (hello->flags & HELLO_MONITOR) {
        peer->state = PEER_MONITOR;
        peer_put(server, peer, &frame);
        return 0;
    }
    if (server->host.page_new(server->host.user, peer->slot, &peer->page) < 0)
        return SERVER_DROP;
    page_init(peer->page, server->start.generation, peer->client);
    peer->state = PEER_CLIENT;
    frame.welcome.page_size = PAGE_SIZE_BYTES;
    peer->welcomed_jobs = peer->reports_jobs = reports_jobs(server, peer);
    frame.welcome.flags = (peer->reports_jobs ? WELCOME_JOBS : 0) |
                          (server->profile->buses && server->config.buses ? WELCOME_BUS : 0) |
                          (server->profile->tokens ? WELCOME_TOKENS : 0) |
                          (state_follows(server) ? WELCOME_FOLLOWS : 0) | WELCOME_NOTICES;
    peer_put(server, peer, &frame);
    admission_hello(server, peer);
    peer_plan(server, peer);
    history_add(&server->history, server->now_at, RECORD_JOIN, peer->client, 0);
    peer_replace_earlier(server, peer);
    arbiter_join(server, peer);
    if (hello->flags & HELLO_BEGAN)
        regain_lose(server); /* its job may be pending, and was delayed by what no daemon controlled */
    peer->realtime = (hello->flags & (HELLO_REALTIME | HELLO_TASK)) != 0;
    server->n_realtime += peer->realtime;
    return 0;
}

/* Makes room in the full list of threads if some have ended. */
static void forget_ended_threads(const struct server *server, struct peer *peer)
{
    size_t n = 0;

    for (size_t i = 0; i < peer->n_threads; i++) {
        pid_t tid = peer->threads[i];

        if (!server->host.rank_of || server->host.rank_of(server->host.user, peer->who.pid, tid) != -ESRCH)
            peer->threads[n++] = tid;
    }
    peer->n_threads = n;
}

static void receive_thread(struct server *server, struct peer *peer, uint32_t tid)
{
    for (size_t i = 0; i < peer->n_threads; i++) {
        if (peer->threads[i] == (pid_t)tid)
            return;
    }
    if (peer->n_threads == PEER_MAX_THREADS)
        forget_ended_threads(server, peer);
    if (peer->n_threads < PEER_MAX_THREADS && tid > 0 && tid <= INT32_MAX)
        peer->threads[peer->n_threads++] = (pid_t)tid;
    cpus_renew(server, peer);
}

/* Keeps the notice if there is room, and reports it once. */
static int receive_notice(struct server *server, struct peer *peer, const struct frame_notice *frame)
{
    struct peer_notice *kept;
    struct server_report report = {.kind = REPORT_NOTICE, .peer = peer->slot, .detail = frame->notice};

    if (frame->notice >= NOTICE_N)
        return SERVER_DROP;
    peer->unmanaged |= frame->notice == NOTICE_UNMANAGED; /* also if there is no room for it */
    if (peer->n_notices == PEER_MAX_NOTICES)
        return 0;
    kept = &peer->notices[peer->n_notices++];
    kept->said = *frame;
    kept->at = server->now_at;
    make_printable(kept->said.kernel);
    make_printable(kept->said.detail);
    report.name = peer->hello.name;
    report.other = kept->said.kernel;
    report.more = kept->said.detail;
    server->host.report(server->host.user, &report);
    return 0;
}

static int dispatch_client(struct server *server, struct peer *peer, const struct frame *frame)
{
    switch (frame->type) {
    case FRAME_ATTACH:
        if (frame->attach.index >= PAGE_LEASES || frame->attach.engine >= ENGINE_N ||
            peer->holds[frame->attach.index].state != HOLD_UNUSED || !device_name_valid(frame->attach.device))
            return SERVER_DROP;
        arbiter_attach(server, peer, &frame->attach);
        return 0;
    case FRAME_REQUEST:
        if (frame->request.index >= PAGE_LEASES)
            return SERVER_DROP;
        if (peer->holds[frame->request.index].state !=
            HOLD_UNUSED) /* otherwise it was refused, and the answer is queued */
            arbiter_request(server, peer, frame->request.index, frame->request.epoch);
        return 0;
    case FRAME_RELEASE:
        if (frame->release.index >= PAGE_LEASES)
            return SERVER_DROP;
        if (peer->holds[frame->release.index].state != HOLD_UNUSED)
            arbiter_release(server, peer, &frame->release);
        return 0;
    case FRAME_GROUP:
        if (!frame->group.leases)
            return SERVER_DROP;
        arbiter_group(server, peer, &frame->group);
        return 0;
    case FRAME_GROUP_RELEASE:
        arbiter_group_release(server, peer, &frame->group_release);
        return 0;
    case FRAME_PRIORITY:
        if (frame->priority.priority < 1 || frame->priority.priority > 99)
            return SERVER_DROP;
        peer->hello.priority = frame->priority.priority;
        peer->hello.flags &= ~(HELLO_ADAPTIVE | HELLO_NICE);
        peer_plan_now(server, peer);
        return 0;
    case FRAME_THREAD:
        receive_thread(server, peer, frame->thread.tid);
        return 0;
    case FRAME_TAKEN:
        peer_taken(server, peer, frame->taken.serial);
        return 0;
    case FRAME_LATE:
        return observe_late(server, peer, &frame->late);
    case FRAME_NOTICE:
        return receive_notice(server, peer, &frame->notice);
    case FRAME_PLACE:
        if (frame->place.n > PAGE_LEASES)
            return SERVER_DROP;
        if (peer->joined)
            placement_request(server, peer, &frame->place);
        return 0;
    case FRAME_MOVED:
        placement_moved(server, peer, &frame->moved);
        return 0;
    case FRAME_JOB:
        arbiter_job(server, peer, &frame->job);
        return 0;
    default:
        return SERVER_DROP;
    }
}

static int dispatch(struct server *server, struct peer *peer, const struct frame *frame)
{
    if (peer->state == PEER_GREETING)
        return frame->type == FRAME_HELLO ? receive_hello(server, peer, &frame->hello) : SERVER_DROP;
    switch (frame->type) {
    case FRAME_GOODBYE:
        peer->finished = true;
        peer->drop = true;
        peer_dirty(server, peer);
        return 0;
    case FRAME_QUERY:
        answer_query(server, peer, &frame->query);
        return 0;
    case FRAME_RELOAD:
        control_reload(server, peer);
        return 0;
    case FRAME_CONTROL:
        if (peer->state != PEER_MONITOR)
            return SERVER_DROP;
        control_receive(server, peer, &frame->control);
        return 0;
    case FRAME_ADMIT:
        if (peer->state != PEER_MONITOR || peer->awaits_verdict)
            return SERVER_DROP;
        admission_admit(server, peer, frame->admit.task);
        return 0;
    default:
        return peer->state == PEER_CLIENT ? dispatch_client(server, peer, frame) : SERVER_DROP;
    }
}

int server_receive(struct server *server, unsigned slot, const uint8_t *bytes, size_t n, baton_nsec now_at)
{
    struct peer *peer = server->peers[slot];

    server->now_at = now_at;
    while (n > 0 && !peer->drop) {
        size_t taken = outbox_append(&peer->in, bytes, n);
        int result = 0;

        bytes += taken;
        n -= taken;
        while (!peer->drop && result == 0) {
            const uint8_t *waiting;
            size_t pending = outbox_pending(&peer->in, &waiting);
            struct frame frame;
            size_t used;

            result = frame_decode(waiting, pending, &frame, &used);
            if (result == FRAME_PARTIAL)
                break;
            if (result == 0) {
                outbox_drop(&peer->in, used);
                result = dispatch(server, peer, &frame);
                regain_follow(server);
            }
            if (result)
                peer_drop(server, peer, REPORT_BAD_FRAME, 0);
        }
    }
    return peer->drop ? SERVER_DROP : 0;
}
