/* A client without the library, for what the library would never do. */
#ifndef TESTS_DAEMON_RAW_H
#define TESTS_DAEMON_RAW_H

#include <stdbool.h>

#include "fixture.h"
#include "wire/frame.h"
#include "wire/outbox.h"

struct raw {
    int fd;
    int page; /* descriptor that came with the welcome; -1 */
    struct outbox in;
};

/* A connection on which nothing was said. */
int raw_connect(const struct fixture *fixture);

void raw_send(const struct raw *raw, const struct frame *frame);

/* The next frame; false when the daemon hung up. */
bool raw_receive(struct raw *raw, struct frame *ret_frame);

/* A client in a session of its own, welcomed. */
void raw_open(const struct fixture *fixture, struct raw *raw, struct frame *ret_welcome);

void raw_close(struct raw *raw);

#endif
