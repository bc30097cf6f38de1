#include "raw.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "harness.h"
#include "wire/dial.h"

int raw_connect(const struct fixture *fixture)
{
    char path[SOCKET_PATH_SIZE];

    return dial(fixture->socket, 0, path);
}

void raw_send(const struct raw *raw, const struct frame *frame)
{
    uint8_t bytes[FRAME_MAX_SIZE];
    size_t n = frame_encode(frame, bytes);

    ck_assert_int_eq(send(raw->fd, bytes, n, MSG_NOSIGNAL), (ssize_t)n);
}

bool raw_receive(struct raw *raw, struct frame *ret_frame)
{
    for (;;) {
        union {
            char room[CMSG_SPACE(sizeof(int))];
            struct cmsghdr align;
        } control;
        uint8_t bytes[1024];
        struct iovec vector = {bytes, sizeof bytes};
        struct msghdr message = {
            .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
        const uint8_t *waiting;
        size_t pending = outbox_pending(&raw->in, &waiting);
        size_t used;
        ssize_t n;

        if (frame_decode(waiting, pending, ret_frame, &used) == 0) {
            outbox_drop(&raw->in, used);
            return true;
        }
        n = recvmsg(raw->fd, &message, MSG_CMSG_CLOEXEC);
        if (n <= 0)
            return false;
        if (CMSG_FIRSTHDR(&message))
            memcpy(&raw->page, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
        ck_assert_uint_eq(outbox_append(&raw->in, bytes, (size_t)n), (size_t)n);
    }
}

void raw_open(const struct fixture *fixture, struct raw *raw, struct frame *ret_welcome)
{
    struct frame hello = {.type = FRAME_HELLO,
                          .hello = {.version = FRAME_VERSION, .priority = 50, .name = "raw"}};

    raw->fd = raw_connect(fixture);
    raw->page = -1;
    outbox_init(&raw->in);
    ck_assert_int_ge(raw->fd, 0);
    hello.hello.key = (uint64_t)clock_now(); /* a session of its own */
    raw_send(raw, &hello);
    ck_assert(raw_receive(raw, ret_welcome));
}

void raw_close(struct raw *raw)
{
    close(raw->fd);
    if (raw->page >= 0)
        close(raw->page);
}
