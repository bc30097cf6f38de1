#include "mirror.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "mirror_private.h"

void mirror_add(struct mirror_stream *stream, struct mirror_record record)
{
    if (stream->n == stream->room) {
        stream->room = stream->room * 2 + 256;
        stream->records = realloc(stream->records, stream->room * sizeof *stream->records);
        ck_assert_ptr_nonnull(stream->records);
    }
    stream->records[stream->n++] = record;
}

/* Placed GPUs are an answer within a step of the simulator, no decision of its stream. */
void mirror_decided(struct mirror_stream *stream, const struct sched_decision *decision, baton_nsec at)
{
    struct mirror_record record = {.at = at, .what = (int)decision->action, .job = decision->job};

    if (decision->action == SCHED_PLACED)
        return;
    if (decision->action == SCHED_EFF || decision->action == SCHED_YIELD)
        record.as = decision->as;
    if (decision->action == SCHED_TOKEN)
        record.gpu = decision->gpu;
    if (decision->action == SCHED_GRANT)
        record.engines = decision->engines;
    mirror_add(stream, record);
}

/* ---- the simulator ---- */

static void on_span(void *context, size_t row, size_t task, uint64_t job, size_t step, baton_nsec from_at,
                    baton_nsec to_at)
{
    (void)context, (void)row, (void)task, (void)job, (void)step, (void)from_at, (void)to_at;
}

static void on_mark(void *context, enum sim_mark mark, size_t row, size_t task, uint64_t job, size_t other,
                    baton_nsec at)
{
    struct mirror *mirror = context;

    (void)row, (void)job, (void)other;
    if (mark == SIM_COMPLETE)
        mirror_add(&mirror->simulated,
                   (struct mirror_record){.at = at, .what = MIRROR_END, .job = (unsigned)task});
}

static void on_decided(void *context, const struct sched_decision *decision, baton_nsec at)
{
    mirror_decided(&((struct mirror *)context)->simulated, decision, at);
}

/* ---- comparing ---- */

static const char *name_of(int what)
{
    static const char *const names[] = {"GRANT",   "YIELD",  "TURN",   "TOKEN",   "EFF",
                                        "SUSPEND", "RESUME", "PLACED", "OVERRUN", "ENDED"};

    return what == MIRROR_END ? "job ends" : what < 10 ? names[what] : "?";
}

static void print(const struct mirror_stream *stream, size_t at, char *ret_text, size_t size)
{
    const struct mirror_record *record = at < stream->n ? &stream->records[at] : NULL;

    if (record)
        (void)snprintf(ret_text, size, "at %.3f ms %s t%u as t%u gpu%u engines %llx", nsec_to_ms(record->at),
                       name_of(record->what), record->job, record->as, record->gpu,
                       (unsigned long long)record->engines.bits[0]);
    else
        (void)snprintf(ret_text, size, "nothing");
}

/* What the text of the script does not say. */
static const char *script_words(const struct mirror *mirror)
{
    static const char *const overruns[] = {"told", "demoted", "throttled"};
    static char words[96];

    (void)snprintf(words, sizeof words, "profile %s, policy %s, overruns %s%s",
                   sched_profiles[mirror->profile].name, sched_policies[mirror->policy].name,
                   mirror->has_budgets ? overruns[mirror->overrun] : "none",
                   mirror->deaths ? ", deaths" : "");
    return words;
}

static bool compare(struct mirror *mirror)
{
    const struct mirror_stream *a = &mirror->simulated;
    const struct mirror_stream *b = &mirror->served;
    size_t at = 0;
    char texts[2][160];

    while (at < a->n && at < b->n && memcmp(&a->records[at], &b->records[at], sizeof a->records[at]) == 0)
        at++;
    if (at == a->n && at == b->n)
        return true;
    print(a, at, texts[0], sizeof texts[0]);
    print(b, at, texts[1], sizeof texts[1]);
    (void)snprintf(mirror->failure, sizeof mirror->failure,
                   "seed %llu, %s, decision %zu: simulated %s; served %s", (unsigned long long)mirror->seed,
                   script_words(mirror), at, texts[0], texts[1]);
    return false;
}

static void count(struct mirror *mirror)
{
    for (size_t i = 0; i < mirror->served.n; i++) {
        const struct mirror_record *record = &mirror->served.records[i];

        mirror->tokens += record->what == SCHED_TOKEN;
        mirror->grants += record->what == SCHED_GRANT;
        mirror->yields += record->what == SCHED_YIELD;
        mirror->inherited += record->what == SCHED_EFF && record->as != record->job;
        mirror->suspended += record->what == SCHED_SUSPEND;
        mirror->ended += record->what == SCHED_ENDED;
        mirror->overruns += record->what == SCHED_OVERRUN;
        mirror->completed += record->what == MIRROR_END;
        mirror->peer_copies +=
            record->what == SCHED_GRANT && __builtin_popcountll(record->engines.bits[0]) == 2;
    }
}

bool mirror_run(struct mirror *mirror, uint64_t seed)
{
    struct sim_observer observer = {
        .context = mirror, .span = on_span, .mark = on_mark, .decided = on_decided};
    struct sim_run run = {.horizon = MIRROR_HORIZON, .seed = seed, .sporadic = true};
    baton_nsec offsets[16], deaths[16];
    struct random_state random;
    struct input_error error;
    struct sim_options options = {0};
    struct sim_result result;
    struct task_set set;
    const char *reason = "";
    struct sim *sim = NULL;
    size_t task = 0;

    *mirror = (struct mirror){.seed = seed};
    random_init(&random, seed, 77);
    mirror_script(mirror, &random);
    ck_assert_msg(task_set_read("script", mirror->text, strlen(mirror->text), &set, &error) == 0,
                  "seed %llu, %u:%u: expected %s, found %s\n%s", (unsigned long long)seed, error.line,
                  error.column, error.expected, error.found, mirror->text);
    options = (struct sim_options){.set = &set,
                                   .profile = mirror->profile,
                                   .policy = mirror->policy,
                                   .lock = mirror->lock,
                                   .budgets = mirror->has_budgets ? mirror->budgets : NULL,
                                   .overrun = mirror->overrun};
    ck_assert_msg(sim_new(&options, &sim, &reason, &task) == 0, "seed %llu: %s\n%s", (unsigned long long)seed,
                  reason, mirror->text);
    for (size_t i = 0; i < set.n_tasks; i++) {
        offsets[i] = (baton_nsec)random_below(&random, 20) * NSEC_PER_MS / 2;
        deaths[i] = mirror->deaths && random_below(&random, 2)
                        ? (baton_nsec)random_below(&random, 400) * NSEC_PER_MS / 4
                        : 2 * MIRROR_HORIZON;
        mirror->died += deaths[i] < MIRROR_HORIZON;
    }
    run.offsets = offsets;
    run.deaths = deaths;
    run.random_ties = mirror->ties;
    sim_run(sim, &run, &observer, &result);
    mirror_serve(mirror, sim, &run);
    count(mirror);
    sim_free(sim);
    task_set_done(&set);
    return compare(mirror) && !mirror->failure[0];
}

void mirror_done(struct mirror *mirror)
{
    free(mirror->simulated.records);
    free(mirror->served.records);
}
