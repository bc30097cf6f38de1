#include "story.h"

struct sched_config small(enum sched_profile_id profile)
{
    return (struct sched_config){.profile = profile,
                                 .gpus = 2,
                                 .copy_engines = 2,
                                 .buses = 1,
                                 .tokens_per_gpu = 1,
                                 .cpus = 2,
                                 .clients = 4,
                                 .jobs = 6,
                                 .lanes = 3};
}

struct story begin(const struct sched_config *config)
{
    struct story story = {0};

    ck_assert_int_eq(sched_core_new(config, &story.core), 0);
    for (client_id c = 0; c < 3; c++) {
        struct sched_event join = {.kind = SCHED_CLIENT_JOIN, .client = c, .uses_gpu = true};

        ck_assert_int_eq(sched_core_handle(story.core, &join, &story.decisions, &story.n), 0);
    }
    return story;
}

int tell(struct story *story, struct sched_event event)
{
    event.at = story->at;
    story->n = 0;
    return sched_core_handle(story->core, &event, &story->decisions, &story->n);
}

void must(struct story *story, struct sched_event event)
{
    ck_assert_int_eq(tell(story, event), 0);
}

void release(struct story *story, job_id job, client_id client, unsigned priority)
{
    must(story, (struct sched_event){.kind = SCHED_JOB_RELEASE,
                                     .job = job,
                                     .client = client,
                                     .priority = priority,
                                     .deadline_at = NSEC_MAX});
}

struct engine_set one(engine_id engine)
{
    struct engine_set set = {0};

    engine_set_add(&set, engine);
    return set;
}

void ask(struct story *story, job_id job, unsigned lane, engine_id engine)
{
    must(story, (struct sched_event){.kind = SCHED_ENGINE_REQUEST,
                                     .job = job,
                                     .lane = lane,
                                     .engines = one(engine),
                                     .home = SCHED_NO_GPU});
}

bool decided(const struct story *story, enum sched_action action, job_id job)
{
    for (size_t i = 0; i < story->n; i++) {
        if (story->decisions[i].action == action && story->decisions[i].job == job)
            return true;
    }
    return false;
}

size_t place_of(const struct story *story, enum sched_action action, job_id job)
{
    for (size_t i = 0; i < story->n; i++) {
        if (story->decisions[i].action == action && story->decisions[i].job == job)
            return i;
    }
    return SIZE_MAX;
}
