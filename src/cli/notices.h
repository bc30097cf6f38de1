/* What a client's user should know (wire/notice.h), as `baton status` and `baton trace` show it. */
#ifndef CLI_NOTICES_H
#define CLI_NOTICES_H

#include <jansson.h>

#include "cli/monitor.h"

/* What the client in that slot was said to do, one after the other: 0, 1 when there is no further one, -errno. */
int notices_ask(struct monitor *monitor, uint32_t slot, uint64_t number,
                struct frame_about_notice *ret_about);

/* Below the client's line: how many launches ran whole and why, the kernels, and what helps. 0 or -errno. */
int notices_print(struct monitor *monitor, const struct frame_about_client *client);

/* The same as a list; NULL: it cannot be had. */
json_t *notices_json(struct monitor *monitor, const struct frame_about_client *client);

#endif
