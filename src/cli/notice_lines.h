/* Notices of a client (wire/notice.h), as `baton status` and `baton trace` print them. */
#ifndef CLI_NOTICE_LINES_H
#define CLI_NOTICE_LINES_H

#include <jansson.h>

#include "cli/monitor.h"

/* The client's notices by number: 0, 1 past the last, or -errno. */
int notices_ask(struct monitor *monitor, uint32_t slot, uint64_t number,
                struct frame_about_notice *ret_about);

/*
 * Below the client's line: how many launches ran whole and why, the kernels, and a remedy. 0 or
 * -errno.
 */
int notices_print(struct monitor *monitor, const struct frame_about_client *client);

/* The same as a list; NULL: it is not available. */
json_t *notices_json(struct monitor *monitor, const struct frame_about_client *client);

#endif
