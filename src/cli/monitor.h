/*
 * A connection to batond that only asks questions: `baton status`, `trace`, `reload`. Calls block;
 * every answer has a time limit.
 */
#ifndef CLI_MONITOR_H
#define CLI_MONITOR_H

#include <stdint.h>

#include "cli/subcommand.h"
#include "wire/frame.h"
#include "wire/outbox.h"
#include "wire/socket_path.h"

struct monitor {
    int fd;
    struct outbox in;
    char path[SOCKET_PATH_SIZE];
    uint32_t generation;
    int answer_ms; /* time limit of an answer */
};

/*
 * given: a socket's path; NULL or "" means $BATON_SOCKET, then the user's own, then the system's.
 * Errors as in wire/dial.h.
 */
int monitor_open(struct monitor *monitor, const char *given);
void monitor_close(struct monitor *monitor);

/* One question, one answer. 0 or -errno (-ETIMEDOUT, -EPROTO, -ECONNRESET). */
int monitor_ask(struct monitor *monitor, const struct frame *question, struct frame *ret_answer);
int monitor_query(struct monitor *monitor, enum query_what what, uint32_t index, uint64_t cursor,
                  struct frame *ret_answer);

/*
 * The index to ask for next, after this answer to the question about `index`: clients and engines
 * may have gaps between them.
 */
uint32_t monitor_next(const struct frame *answer, uint32_t index);

/*
 * Explains why monitor_open() or monitor_find() answered `error`, and how to start a daemon there.
 * For each socket tried: is it missing, is it no socket, does it refuse, or does it belong to
 * another user's process?
 */
void monitor_absent_words(const char *given, int error, char *ret_text, size_t size);

/* Prints that no batond answers, and why; CLI_ENVIRONMENT. */
int monitor_fail_absent(const struct cli_args *args, const char *given, int error);

/*
 * Does a daemon listen? The path of the first candidate that accepts a connection; errors as above.
 */
int monitor_find(const char *given, char ret_path[SOCKET_PATH_SIZE]);

#endif
