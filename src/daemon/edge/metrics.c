#include "daemon/edge/metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/draft.h"
#include "base/patience.h"
#include "daemon/config.h"
#include "daemon/exposition.h"

void metrics_init(struct metrics *metrics)
{
    metrics->fd = -1;
    metrics->file.path[0] = 0;
    for (unsigned i = 0; i < METRICS_READERS; i++)
        metrics->readers[i] = (struct metrics_reader){.fd = -1};
}

/* ---- listening ---- */

static int listen_on(int fd, const struct sockaddr *address, socklen_t size)
{
    if (fd < 0)
        return -errno;
    if (bind(fd, address, size) < 0 || listen(fd, METRICS_READERS) < 0) {
        int result = -errno;

        close(fd);
        return result;
    }
    return fd;
}

static int listen_path(struct metrics *metrics, const char *path)
{
    int fd = socket_file_listen(path, false, METRICS_READERS, &metrics->file);
    int result = fd < 0 ? fd : socket_file_show(&metrics->file);

    if (fd >= 0 && result)
        close(fd);
    return result ? result : fd;
}

static int listen_port(unsigned port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    return listen_on(fd, (const struct sockaddr *)&address, sizeof address);
}

int metrics_open(struct metrics *metrics, const char *where)
{
    unsigned port = config_metrics_port(where);
    int result = port ? listen_port(port) : listen_path(metrics, where);

    if (result < 0)
        return result;
    metrics->fd = result;
    return 0;
}

/* ---- readers ---- */

static void drop(struct metrics_reader *reader)
{
    if (reader->fd >= 0)
        close(reader->fd);
    free(reader->answer);
    *reader = (struct metrics_reader){.fd = -1};
}

int metrics_accept(struct metrics *metrics, baton_nsec now_at)
{
    int fd = accept4(metrics->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return -errno;
    for (unsigned i = 0; i < METRICS_READERS; i++) {
        struct metrics_reader *reader = &metrics->readers[i];

        if (reader->fd >= 0)
            continue;
        *reader = (struct metrics_reader){.fd = fd, .until_at = now_at + patience_limit(METRICS_LIMIT)};
        return (int)i;
    }
    close(fd);
    return -EBUSY;
}

static void answer(struct metrics_reader *reader, const char *status, const struct server *server)
{
    struct draft draft;
    char *body = NULL;
    size_t size = 0;
    int n;

    if (draft_begin(&draft) < 0)
        return;
    if (server)
        exposition_write(server, draft.out);
    else
        (void)fprintf(draft.out, "%s\n", status);
    if (draft_take(&draft, 0, &body, &size) < 0)
        return;
    n = asprintf(&reader->answer,
                 "HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: "
                 "%zu\r\nConnection: close\r\n\r\n%s",
                 status, size, body);
    reader->size = n < 0 ? 0 : (size_t)n;
    if (n < 0)
        reader->answer = NULL;
    free(body);
}

/* True: an answer is ready. False with the connection open: the request is incomplete. */
static bool read_request(struct metrics_reader *reader, const struct server *server)
{
    ssize_t n = recv(reader->fd, reader->request + reader->n, METRICS_REQUEST - 1 - reader->n, MSG_DONTWAIT);
    bool get;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        drop(reader);
        return false;
    }
    reader->n += (size_t)n;
    reader->request[reader->n] = 0;
    if (memchr(reader->request, 0, reader->n)) {
        answer(reader, "400 Bad Request", NULL);
    } else if (!strstr(reader->request, "\r\n\r\n") && !strstr(reader->request, "\n\n")) {
        if (reader->n < METRICS_REQUEST - 1)
            return false;
        answer(reader, "431 Request Header Fields Too Large", NULL);
    } else {
        get = strncmp(reader->request, "GET ", 4) == 0;
        if (!get)
            answer(reader, "405 Method Not Allowed", NULL);
        else if (strncmp(reader->request + 4, "/metrics ", 9) == 0)
            answer(reader, "200 OK", server);
        else
            answer(reader, "404 Not Found", NULL);
    }
    if (!reader->answer)
        drop(reader);
    return reader->answer != NULL;
}

int metrics_serve(struct metrics *metrics, unsigned index, const struct server *server)
{
    struct metrics_reader *reader = &metrics->readers[index];

    if (reader->fd < 0)
        return -1;
    if (!reader->answer && !read_request(reader, server))
        return reader->fd < 0 ? -1 : 0;
    while (reader->sent < reader->size) {
        ssize_t n = send(reader->fd, reader->answer + reader->sent, reader->size - reader->sent,
                         MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 1;
        if (n < 0)
            break;
        reader->sent += (size_t)n;
    }
    drop(reader);
    return -1;
}

baton_nsec metrics_next_at(const struct metrics *metrics)
{
    baton_nsec at = NSEC_MAX;

    for (unsigned i = 0; i < METRICS_READERS; i++) {
        if (metrics->readers[i].fd >= 0 && metrics->readers[i].until_at < at)
            at = metrics->readers[i].until_at;
    }
    return at;
}

void metrics_tick(struct metrics *metrics, baton_nsec now_at)
{
    for (unsigned i = 0; i < METRICS_READERS; i++) {
        if (metrics->readers[i].fd >= 0 && metrics->readers[i].until_at <= now_at)
            drop(&metrics->readers[i]);
    }
}

void metrics_close(struct metrics *metrics)
{
    for (unsigned i = 0; i < METRICS_READERS; i++)
        drop(&metrics->readers[i]);
    socket_file_remove(&metrics->file);
    if (metrics->fd >= 0)
        close(metrics->fd);
    metrics_init(metrics);
}
