#include "cli/monitor.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/patience.h"
#include "wire/dial.h"

#define ANSWER_WAIT (5 * NSEC_PER_SEC)

/* Connects as dial() does; $BATON_SOCKET names the socket if `given` does not. */
static int connect_first(const char *given, char ret_path[SOCKET_PATH_SIZE])
{
    return dial(given && given[0] ? given : getenv("BATON_SOCKET"), 0, ret_path);
}

int monitor_find(const char *given, char ret_path[SOCKET_PATH_SIZE])
{
    int fd = connect_first(given, ret_path);

    if (fd < 0)
        return fd;
    close(fd);
    return 0;
}

/* Why one candidate did not answer. Could a batond be started there? */
static bool describe(const char *path, char *ret_text, size_t size)
{
    char unused[SOCKET_PATH_SIZE];
    struct stat about;
    int result;

    if (stat(path, &about) < 0) {
        (void)snprintf(ret_text, size, "%s %s", path, errno == ENOENT ? "is not there" : "cannot be read");
        return true;
    }
    if (!S_ISSOCK(about.st_mode)) {
        (void)snprintf(ret_text, size, "%s is not a socket", path);
        return false;
    }
    result = dial(path, 0, unused);
    if (result >= 0) {
        close(result);
        (void)snprintf(ret_text, size, "%s is another user's", path);
    } else if (result == -ECONNREFUSED) {
        (void)snprintf(ret_text, size, "%s refuses: no process listens there", path);
    } else {
        (void)snprintf(ret_text, size, "%s: %s", path, strerror(-result));
    }
    return true;
}

void monitor_absent_words(const char *given, int error, char *ret_text, size_t size)
{
    const char *named = given && given[0] ? given : getenv("BATON_SOCKET");
    bool startable = false;
    char path[SOCKET_PATH_SIZE];
    size_t used = 0;

    named = named && named[0] ? named : NULL;
    ret_text[0] = 0;
    for (unsigned i = 0; socket_path_candidate(named, i, path) == 0 && used < size; i++) {
        char words[SOCKET_PATH_SIZE + 128];

        startable |= describe(path, words, sizeof words);
        used += (size_t)snprintf(ret_text + used, size - used, "%s%s", used ? "; " : "", words);
    }
    if (used == 0)
        (void)snprintf(ret_text, size, "%s", strerror(-error));
    else if (startable && used < size)
        (void)snprintf(ret_text + used, size - used, " (`baton start%s%s` starts one)",
                       given && given[0] ? " --socket " : "", given && given[0] ? given : "");
}

int monitor_fail_absent(const struct cli_args *args, const char *given, int error)
{
    char words[1024];

    monitor_absent_words(given, error, words, sizeof words);
    return cli_fail_environment(args, 0, "no batond answers: %s", words);
}

static int receive(struct monitor *monitor, struct frame *ret_frame)
{
    for (;;) {
        struct pollfd fd = {monitor->fd, POLLIN, 0};
        const uint8_t *waiting;
        size_t pending = outbox_pending(&monitor->in, &waiting);
        uint8_t bytes[4096];
        size_t used;
        ssize_t n;
        int result = frame_decode(waiting, pending, ret_frame, &used);

        if (result == 0) {
            outbox_drop(&monitor->in, used);
            return 0;
        }
        if (result == FRAME_BAD)
            return -EPROTO;
        if (poll(&fd, 1, monitor->answer_ms) == 0)
            return -ETIMEDOUT;
        n = recv(monitor->fd, bytes, sizeof bytes, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -ECONNRESET;
        if (outbox_append(&monitor->in, bytes, (size_t)n) != (size_t)n)
            return -EPROTO;
    }
}

int monitor_ask(struct monitor *monitor, const struct frame *question, struct frame *ret_answer)
{
    uint8_t bytes[FRAME_MAX_SIZE];
    size_t size = frame_encode(question, bytes);
    size_t sent = 0;

    while (sent < size) {
        ssize_t n = send(monitor->fd, bytes + sent, size - sent, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EPIPE) /* batond has closed, and may have said why before */
            break;
        if (n < 0)
            return -errno;
        sent += (size_t)n;
    }
    return receive(monitor, ret_answer);
}

int monitor_query(struct monitor *monitor, enum query_what what, uint32_t index, uint64_t cursor,
                  struct frame *ret_answer)
{
    struct frame question = {.type = FRAME_QUERY, .query = {.what = what, .index = index, .cursor = cursor}};

    return monitor_ask(monitor, &question, ret_answer);
}

uint32_t monitor_next(const struct frame *answer, uint32_t index)
{
    return answer->type == FRAME_ABOUT_CLIENT   ? answer->about_client.next
           : answer->type == FRAME_ABOUT_ENGINE ? answer->about_engine.index + 1
                                                : index + 1;
}

int monitor_open(struct monitor *monitor, const char *given)
{
    struct frame hello = {.type = FRAME_HELLO,
                          .hello = {.version = FRAME_VERSION, .flags = HELLO_MONITOR, .name = "baton"}};
    struct frame answer = {0};
    int result;

    outbox_init(&monitor->in);
    monitor->answer_ms = (int)(patience_limit(ANSWER_WAIT) / NSEC_PER_MS);
    monitor->fd = connect_first(given, monitor->path);
    if (monitor->fd < 0)
        return monitor->fd;
    result = monitor_ask(monitor, &hello, &answer);
    if (!result && answer.type != FRAME_WELCOME)
        result = answer.type == FRAME_ERROR && answer.error.reason ? -(int)answer.error.reason : -EPROTO;
    if (result) {
        monitor_close(monitor);
        return result;
    }
    monitor->generation = answer.welcome.generation;
    return 0;
}

void monitor_close(struct monitor *monitor)
{
    if (monitor->fd >= 0)
        close(monitor->fd);
    monitor->fd = -1;
}
