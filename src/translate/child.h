/* One question to one short-lived process, asked from within the application's process. */
#ifndef TRANSLATE_CHILD_H
#define TRANSLATE_CHILD_H

#include "base/nsec.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Starts program (no arguments), sends it question[0..n) on its standard input and collects what it
 * writes until it ends. It inherits no descriptor, signal handler or mask. The caller frees
 * *ret_answer.
 *
 * -ETIMEDOUT after `limit`, -EFBIG for an answer past `largest` bytes (the process is killed in
 * both cases). -ECHILD if it failed by itself and this process adopts orphans (*ret_status: as in
 * waitpid; else 0, and only the answer shows a failure). Otherwise -errno. Never raises SIGPIPE or
 * SIGCHLD, leaves no zombie; no wait call of the host sees the process.
 */
int child_ask(const char *program, const uint8_t *question, size_t n, baton_nsec limit, size_t largest,
              uint8_t **ret_answer, size_t *ret_n, int *ret_status);

#endif
