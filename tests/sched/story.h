/* One story: events that a core is told, and what it decides. */
#ifndef TESTS_SCHED_STORY_H
#define TESTS_SCHED_STORY_H

#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "sched/core.h"

struct story {
    struct sched_core *core;
    const struct sched_decision *decisions;
    size_t n;
    baton_nsec at;
};

struct sched_config small(enum sched_profile_id profile);
struct story begin(const struct sched_config *config);
int tell(struct story *story, struct sched_event event);
void must(struct story *story, struct sched_event event);
void release(struct story *story, job_id job, client_id client, unsigned priority);
struct engine_set one(engine_id engine);
void ask(struct story *story, job_id job, unsigned lane, engine_id engine);
bool decided(const struct story *story, enum sched_action action, job_id job);
size_t place_of(const struct story *story, enum sched_action action, job_id job);

#endif
