/* Sentences about tasks, the same in `baton run`, `status` and `top`. */
#ifndef CLI_TASK_WORDS_H
#define CLI_TASK_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "wire/frame.h"

/* "admitted", "best effort", "refused", ... */
const char *task_verdict_word(uint32_t verdict);

/*
 * The reason, as one sentence without a full stop: "lidar would take 41.2 ms at worst, its deadline
 * is 33 ms".
 */
void task_reason_words(uint32_t reason, const char *cause, uint64_t response, uint64_t limit, char *ret_text,
                       size_t size);

/*
 * A rule of the model: its name for scripts ("partition"), and its sentence about the client `who`
 * (as in ABOUT_TASK).
 */
const char *task_rule_name(uint32_t rule);
void task_rule_words(uint32_t rule, uint32_t who, char *ret_text, size_t size);

/* One difference between the plan and what runs: "tokens_per_gpu: planned 2, found 1". */
void task_difference_words(const struct frame_about_difference *about, char *ret_text, size_t size);

#endif
