/* What tests of the real batond ask its clients. */
#ifndef TESTS_DAEMON_ASK_H
#define TESTS_DAEMON_ASK_H

#include <stdbool.h>

#include "fixture.h"

#define PLAIN  "probe: false\nrealtime: false\n" /* of a daemon without devices of its own */
#define DEVICE "test:0"

/* PUPPET_ONLINE, and its answer. */
char ask_online(struct puppet *puppet);
/* Of a struct puppet, for fixture_until(). */
bool is_online(void *argument);

#endif
