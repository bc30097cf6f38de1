#include "daemon/control.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool is_owner(const struct server *server, const struct peer *peer)
{
    return peer->who.uid == server->start.uid || peer->who.uid == 0;
}

static int refuse(struct frame *answer, int error, const char *why)
{
    (void)snprintf(answer->done.text, sizeof answer->done.text, "%s", why);
    return error;
}

static int reload(struct server *server, struct frame *answer)
{
    return server->host.reload(server->host.user, answer->done.text, sizeof answer->done.text);
}

static int stop(struct server *server, struct frame *answer)
{
    if (!server->host.stop)
        return refuse(answer, -ENOSYS, "this daemon cannot be stopped");
    return server->host.stop(server->host.user, answer->done.text, sizeof answer->done.text);
}

static int load(struct server *server, const struct frame_control *control, struct frame *answer)
{
    if (control->path[0] != '/')
        return refuse(answer, -EINVAL, "expected an absolute path");
    if (!server->host.load)
        return refuse(answer, -ENOSYS, "this daemon cannot load files");
    return server->host.load(server->host.user, control->what == CONTROL_LOAD_TASKS, control->path,
                             answer->done.text, sizeof answer->done.text);
}

static bool is_told(const struct peer *peer)
{
    return peer && peer->state == PEER_CLIENT && !peer->drop && (peer->hello.flags & HELLO_TOLD);
}

/*
 * Each client is told, since programs show their own worst values. The values of departed programs
 * are kept with their task.
 */
static int reset(struct server *server, struct frame *answer)
{
    const struct frame frame = {.type = FRAME_RESET};
    unsigned n = 0;

    for (unsigned i = 0; i < server->admission.n; i++)
        server->admission.entries[i].response_max = 0;
    for (unsigned i = 0; i < server->config.clients; i++) {
        if (is_told(server->peers[i])) {
            peer_put(server, server->peers[i], &frame);
            n++;
        }
    }
    (void)snprintf(answer->done.text, sizeof answer->done.text,
                   "worst values are reset for %u program%s and all tasks", n, n == 1 ? "" : "s");
    return 0;
}

static int set_priority(struct server *server, const struct peer *asker, struct peer *peer, unsigned priority,
                        struct frame *answer)
{
    struct frame told = {.type = FRAME_PRIORITY};

    if (!is_owner(server, asker) && asker->who.uid != peer->who.uid)
        return refuse(answer, -EPERM, "that program belongs to another user");
    if (peer->admitted)
        return refuse(answer, -EBUSY, "this program is a task of the plan, which sets its priority");
    told.priority.priority = priority;
    peer->hello.priority = priority;
    peer->hello.flags &= ~(HELLO_ADAPTIVE | HELLO_NICE);
    peer_plan_now(server, peer);
    if (is_told(peer))
        peer_put(server, peer, &told); /* the client repeats its priority to the next daemon */
    (void)snprintf(answer->done.text, sizeof answer->done.text, "%.64s (pid %d): priority %u%s",
                   peer->hello.name, (int)peer->who.pid, peer->priority,
                   peer->priority < priority ? ", the user's ceiling" : "");
    return 0;
}

static int find_and_set(struct server *server, const struct peer *asker, const struct frame_control *control,
                        struct frame *answer)
{
    int result = -ESRCH;

    if (control->priority < 1 || control->priority > 99)
        return refuse(answer, -EINVAL, "expected a priority from 1 to 99");
    for (unsigned i = 0; i < server->config.clients; i++) {
        struct peer *peer = server->peers[i];

        if (peer && peer->state == PEER_CLIENT && !peer->drop && (uint32_t)peer->who.pid == control->pid)
            result = set_priority(server, asker, peer, control->priority, answer);
    }
    return result == -ESRCH
               ? refuse(answer, -ESRCH, "no connected program has this pid; `baton status` lists them")
               : result;
}

static void answer_with(struct server *server, struct peer *peer, struct frame *answer, int result)
{
    answer->done.reason = (uint32_t)(result < 0 ? -result : result);
    peer_put(server, peer, answer);
}

void control_reload(struct server *server, struct peer *peer)
{
    struct frame answer = {.type = FRAME_DONE};

    answer_with(server, peer, &answer,
                is_owner(server, peer)
                    ? reload(server, &answer)
                    : refuse(&answer, -EPERM, "only the daemon's own user and root may do this"));
}

void control_receive(struct server *server, struct peer *peer, const struct frame_control *control)
{
    struct frame answer = {.type = FRAME_DONE};
    int result = -ENOSYS;

    if (control->what != CONTROL_PRIORITY && !is_owner(server, peer)) {
        result = refuse(&answer, -EPERM, "only the daemon's own user and root may do this");
    } else {
        switch ((enum control_what)control->what) {
        case CONTROL_STOP:
            result = stop(server, &answer);
            break;
        case CONTROL_LOAD_PLAN:
        case CONTROL_LOAD_TASKS:
            result = load(server, control, &answer);
            break;
        case CONTROL_RESET:
            result = reset(server, &answer);
            break;
        case CONTROL_PRIORITY:
            result = find_and_set(server, peer, control, &answer);
            break;
        default:
            result = refuse(&answer, -ENOSYS, "this daemon does not know the request");
            break;
        }
    }
    answer_with(server, peer, &answer, result);
}
