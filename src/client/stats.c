/* Jobs and counters of a session: what `--stats` and `baton status` show. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/draft.h"
#include "client/session_private.h"

_Static_assert((unsigned)COUNTER_N == (unsigned)PAGE_COUNTER_N, "both enumerate wire/counters.def");

uint64_t session_counter(const struct session *session, enum session_counter counter)
{
    return atomic_load_explicit(&session->view.counters[counter], memory_order_relaxed);
}

void session_publish(struct session *session)
{
    struct page *page = atomic_load(&session->protocol.page);

    if (!page || session_forked(session))
        return;
    for (unsigned i = 0; i < COUNTER_N; i++)
        atomic_store_explicit(&page->counters[i], session_counter(session, i), memory_order_relaxed);
}

/* Under jobs_lock. */
static void publish_job(struct session *session)
{
    struct page *page = atomic_load(&session->protocol.page);

    if (!page)
        return;
    atomic_store_explicit(&page->released_at, session->released_at, memory_order_relaxed);
    atomic_store_explicit(&page->used_ns, (uint64_t)session->used, memory_order_relaxed);
    atomic_store_explicit(&page->job_mark, session->job_mark, memory_order_release);
    if (session->apart == NSEC_MAX)
        return;
    page_note_apart(page, session->apart);
    session->apart = NSEC_MAX;
}

static void note_apart(struct session *session, baton_nsec apart)
{
    if (apart < session->apart)
        session->apart = apart;
}

/* Under jobs_lock: a job has begun. */
static void note_begin(struct session *session)
{
    baton_nsec apart = session->jobs.release_at - session->released_at;
    baton_nsec bound = (baton_nsec)atomic_load_explicit(&session->bound, memory_order_relaxed);

    if (session->job_mark > 0)
        note_apart(session, apart > 0 ? apart : 0);
    if (!jobs_counting(&session->jobs)) /* a warm-up job has no budget and no response */
        note_apart(session, PAGE_NO_JOB);
    if (bound && session->jobs.begin_at - session->jobs.release_at > bound)
        note_apart(session, PAGE_BEGAN_LATE);
    session->released_at = session->jobs.release_at;
    session->used = 0;
    session->job_mark += session->job_mark % 2 ? 2 : 1;
    publish_job(session);
}

/*
 * Under jobs_lock: commands are submitted. Without a job they are pending, for all that the daemon
 * can know, until the next job has ended.
 */
static void note_commands(struct session *session)
{
    if (session->jobs.running)
        return;
    note_apart(session, PAGE_NO_JOB);
    session->job_mark += session->job_mark % 2 ? 0 : 1;
    publish_job(session);
}

void session_submits(struct session *session)
{
    if (session_forked(session))
        return;
    pthread_mutex_lock(&session->jobs_lock);
    note_commands(session);
    pthread_mutex_unlock(&session->jobs_lock);
}

void session_publish_job(struct session *session)
{
    pthread_mutex_lock(&session->jobs_lock);
    publish_job(session);
    pthread_mutex_unlock(&session->jobs_lock);
}

static void store_jobs(struct session *session, const struct jobs *jobs)
{
    const struct {
        enum session_counter counter;
        uint64_t value;
    } all[] = {
        {COUNTER_JOBS, jobs->n},
        {COUNTER_MISSES, jobs->misses},
        {COUNTER_RESPONSE_NS, (uint64_t)jobs->response_sum},
        {COUNTER_COMPUTE_OCCUPYING_NS, (uint64_t)jobs->compute_sum},
        {COUNTER_COPY_OCCUPYING_NS, (uint64_t)jobs->copy_sum},
        {COUNTER_PENDING_NS, (uint64_t)jobs->pending_sum},
        {COUNTER_RESPONSE_MAX_NS, (uint64_t)jobs->worst.response},
        {COUNTER_JITTER_MAX_NS, (uint64_t)jobs->worst.jitter},
        {COUNTER_TARDINESS_MAX_NS, (uint64_t)jobs->worst.tardiness},
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        atomic_store_explicit(&session->view.counters[all[i].counter], all[i].value, memory_order_relaxed);
}

/*
 * Distributions, for the metrics. They count in the page, so that a new page begins at zero like
 * its counterpart in batond.
 */
static void publish_times(struct session *session, const struct jobs *jobs)
{
    struct page *page = atomic_load(&session->protocol.page);

    if (!page)
        return;
    page_times_add(&page->responses, jobs->last_response);
    page_times_add(&page->pendings, jobs->last_pending);
}

/* Clears what inferred jobs have counted. */
static void forget_times(struct session *session)
{
    struct page *page = atomic_load(&session->protocol.page);

    for (unsigned i = 0; page && i < PAGE_CLASSES; i++) {
        atomic_store_explicit(&page->responses.classes[i], 0, memory_order_relaxed);
        atomic_store_explicit(&page->pendings.classes[i], 0, memory_order_relaxed);
    }
    if (page) {
        atomic_store_explicit(&page->responses.sum_ns, 0, memory_order_relaxed);
        atomic_store_explicit(&page->pendings.sum_ns, 0, memory_order_relaxed);
    }
}

/* Under the lock. */
static bool job_asked_for(const struct session *session, uint32_t what)
{
    bool asked = (session->protocol.flags & WELCOME_JOBS) || (session->protocol.plan.flags & PLAN_JOBS);

    return asked && (what != JOB_GPU_OVER || (session->protocol.flags & WELCOME_TOKENS));
}

/* Under the lock. */
static void send_job(struct session *session, uint32_t what, baton_nsec deadline_at)
{
    struct frame frame = {.type = FRAME_JOB,
                          .job = {.what = what,
                                  .number = atomic_load(&session->job_number),
                                  .deadline_at = deadline_at == NSEC_MAX ? 0 : (uint64_t)deadline_at}};

    protocol_send(&session->protocol, &frame);
    session_flush(session);
}

/*
 * Tells the daemon, if it asked for jobs: policies that rank jobs need their begins and ends.
 * Otherwise makes no frame: a frame is large, and each synchronous launch may be a job.
 */
static void tell_daemon(struct session *session, uint32_t what, baton_nsec deadline_at)
{
    if (!atomic_load(&session->view.online))
        return;
    pthread_mutex_lock(&session->lock);
    if (job_asked_for(session, what))
        send_job(session, what, deadline_at);
    pthread_mutex_unlock(&session->lock);
}

static _Thread_local unsigned named_in; /* the number of the session that was told of this thread */

/*
 * The thread that begins a job works for it: it has the program's rank, and batond knows it. Each
 * synchronous launch may be a job, so that there is no system call in the common case.
 */
static void name_thread(struct session *session)
{
    if (named_in == session->number)
        return;
    named_in = session->number;
    if (!session_has_thread(session, gettid()))
        session_register_thread(session, gettid());
}

/* release_at: the release that the program states; NULL: not stated. */
static int begin_job(struct session *session, bool explicit_job, const baton_nsec *release_at, baton_nsec at)
{
    baton_nsec deadline_at = NSEC_MAX;
    bool begun = false;
    int result = 0;

    if (session_forked(session))
        return 0;
    pthread_mutex_lock(&session->jobs_lock);
    if (explicit_job && !session->explicit_jobs) {
        session->explicit_jobs = true;
        jobs_restart(&session->jobs); /* the inferred jobs, including one in progress, do not count */
        store_jobs(session, &session->jobs);
        forget_times(session);
    }
    if (explicit_job == session->explicit_jobs && !session->jobs.running) {
        if (release_at)
            result = jobs_begin_released(&session->jobs, *release_at, at);
        else
            jobs_begin(&session->jobs, at);
        begun = result == 0;
    }
    if (begun) {
        deadline_at = jobs_deadline_at(&session->jobs);
        (void)atomic_fetch_add(&session->job_number, 1);
        note_begin(session);
    } else if (!explicit_job && session->explicit_jobs) {
        note_commands(session);
    }
    pthread_mutex_unlock(&session->jobs_lock);
    if (!begun)
        return result;
    name_thread(session);
    if (explicit_job && session->listener.on_explicit_job)
        session->listener.on_explicit_job(session->listener.user, true);
    if (session->listener.on_job)
        session->listener.on_job(session->listener.user, true, explicit_job,
                                 atomic_load(&session->job_number), at);
    tell_daemon(session, explicit_job ? JOB_SAID : JOB_INFERRED, deadline_at);
    return 0;
}

void session_job_begin(struct session *session, bool explicit_job, baton_nsec at)
{
    (void)begin_job(session, explicit_job, NULL, at);
}

int session_job_begin_released(struct session *session, baton_nsec release_at, baton_nsec at)
{
    return begin_job(session, true, &release_at, at);
}

/* For the trace: the job's span, and how late it was. */
static void record_job(struct session *session, baton_nsec release_at, baton_nsec deadline_at, baton_nsec at)
{
    struct page *page = atomic_load(&session->protocol.page);
    uint32_t number = atomic_load(&session->job_number);

    if (!page || at < release_at)
        return;
    page_ran(page, &(struct page_entry){
                       .lease = PAGE_RUN_JOB, .job = number, .begin_at = release_at, .end_at = at});
    if (at > deadline_at)
        page_ran(page, &(struct page_entry){
                           .lease = PAGE_RUN_MISS, .job = number, .begin_at = deadline_at, .end_at = at});
}

/*
 * A missed deadline or an exceeded bound is always reported. Answers whether a limit was passed;
 * the frame has LATE_*.
 */
static bool find_late(const struct session *session, baton_nsec at, struct frame *ret_frame)
{
    const struct jobs *jobs = &session->jobs;
    baton_nsec release_at = jobs->release_at < at ? jobs->release_at : at;
    uint64_t response = (uint64_t)(at - release_at);
    uint64_t bound = atomic_load_explicit(&session->bound, memory_order_relaxed);

    *ret_frame = (struct frame){.type = FRAME_LATE,
                                .late = {.release_at = (uint64_t)release_at, .end_at = (uint64_t)at}};
    ret_frame->late.number = atomic_load(&session->job_number);
    if (bound && response > bound) {
        ret_frame->late.flags |= LATE_EXCEEDED;
        ret_frame->late.limit = bound;
    }
    if (jobs->deadline && response > (uint64_t)jobs->deadline) {
        ret_frame->late.flags |= LATE_MISSED;
        ret_frame->late.limit = (uint64_t)jobs->deadline;
    }
    return ret_frame->late.flags != 0;
}

static void tell_late(struct session *session, const struct frame *frame)
{
    pthread_mutex_lock(&session->lock);
    protocol_send(&session->protocol, frame);
    session_flush(session);
    pthread_mutex_unlock(&session->lock);
}

static bool runs(struct session *session, bool explicit_job)
{
    bool running;

    if (session_forked(session))
        return false;
    pthread_mutex_lock(&session->jobs_lock);
    running = explicit_job == session->explicit_jobs && session->jobs.running;
    pthread_mutex_unlock(&session->jobs_lock);
    return running;
}

void session_job_ending(struct session *session, bool explicit_job)
{
    if (session->listener.on_job_ending && !session->gpu_done && runs(session, explicit_job))
        session->listener.on_job_ending(session->listener.user);
    session->gpu_done = false;
}

void session_job_gpu_done(struct session *session)
{
    if (!runs(session, true))
        return;
    session_job_ending(session, true);
    session->gpu_done = true;
    tell_daemon(session, JOB_GPU_OVER, NSEC_MAX);
}

void session_job_end(struct session *session, bool explicit_job, baton_nsec at)
{
    bool ended = false;
    bool late = false;
    bool counts;
    struct frame frame;

    if (session_forked(session))
        return;
    pthread_mutex_lock(&session->jobs_lock);
    if (explicit_job == session->explicit_jobs && session->jobs.running) {
        counts = jobs_counting(&session->jobs);
        if (counts) {
            record_job(session, session->jobs.release_at, jobs_deadline_at(&session->jobs), at);
            late = find_late(session, at, &frame);
        }
        jobs_end(&session->jobs, at);
        if (counts)
            publish_times(session, &session->jobs);
        store_jobs(session, &session->jobs);
        session_plan_border(session);
        session->job_mark += session->job_mark % 2;
        publish_job(session);
        ended = true;
    }
    pthread_mutex_unlock(&session->jobs_lock);
    if (!ended)
        return;
    if (explicit_job && session->listener.on_explicit_job)
        session->listener.on_explicit_job(session->listener.user, false);
    session_publish(session);
    if (session->listener.on_job)
        session->listener.on_job(session->listener.user, false, explicit_job,
                                 atomic_load(&session->job_number), at);
    if (late && atomic_load(&session->view.online))
        tell_late(session, &frame);
    tell_daemon(session, JOB_ENDS, NSEC_MAX);
}

void session_reset_worst(struct session *session)
{
    if (session_forked(session))
        return;
    pthread_mutex_lock(&session->jobs_lock);
    jobs_reset_worst(&session->jobs);
    store_jobs(session, &session->jobs);
    pthread_mutex_unlock(&session->jobs_lock);
    session_publish(session);
}

/* ---- the file of --stats ---- */

static uint64_t count_of(const struct session *session, enum session_counter counter)
{
    return session ? session_counter(session, counter) : 0;
}

/* The counters that are named "KIND:reason", as an object of reasons. */
static void print_reasons(FILE *out, const struct session *session, const char *kind)
{
    size_t length = strlen(kind);
    const char *comma = "";

    (void)fprintf(out, "\"%s\": {", kind);
    for (unsigned i = 0; i < COUNTER_N; i++) {
        uint64_t n = count_of(session, i);

        if (strncmp(page_counter_names[i], kind, length) != 0 || page_counter_names[i][length] != ':' ||
            n == 0)
            continue;
        (void)fprintf(out, "%s\"%s\": %" PRIu64, comma, page_counter_names[i] + length + 1, n);
        comma = ", ";
    }
    (void)fprintf(out, "}");
}

static void print_counters(FILE *out, const struct session *session)
{
    static const enum session_counter plain[] = {
        COUNTER_KERNEL_LAUNCHES, COUNTER_PIECES,       COUNTER_COPIES,      COUNTER_CHUNKS,
        COUNTER_SPLIT_LAUNCHES,  COUNTER_MERGED_BYTES, COUNTER_MOVED_BYTES, COUNTER_PLACED_LAUNCHES,
        COUNTER_DISAGREEMENTS,   COUNTER_YIELDS};

    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        (void)fprintf(out, "\"%s\": %" PRIu64 ", ", page_counter_names[plain[i]],
                      count_of(session, plain[i]));
    (void)fprintf(out, "\"moved_ms\": %.6f, \"merge_ms\": %.6f, ",
                  nsec_to_ms((baton_nsec)count_of(session, COUNTER_MOVED_NS)),
                  nsec_to_ms((baton_nsec)count_of(session, COUNTER_MERGE_NS)));
    print_reasons(out, session, "unsliced");
    (void)fprintf(out, ", ");
    print_reasons(out, session, "unsplit");
}

static void print_jobs(FILE *out, const struct jobs *jobs)
{
    (void)fprintf(out,
                  ", \"response_ms\": %.6f, \"occupying_ms\": %.6f, \"compute_occupying_ms\": %.6f, "
                  "\"copy_occupying_ms\": %.6f, \"pending_ms\": %.6f",
                  nsec_to_ms(jobs->response_sum), nsec_to_ms(jobs->compute_sum + jobs->copy_sum),
                  nsec_to_ms(jobs->compute_sum), nsec_to_ms(jobs->copy_sum), nsec_to_ms(jobs->pending_sum));
    (void)fprintf(out,
                  ", \"jobs\": {\"n\": %" PRIu64 ", \"misses\": %" PRIu64
                  ", \"response_ms\": {\"p50\": %.6f, \"p99\": %.6f, \"max\": %.6f}, \"jitter_ms\": %.6f, "
                  "\"tardiness_ms\": %.6f}",
                  jobs->n, jobs->misses, nsec_to_ms(jobs_percentile(jobs, 500)),
                  nsec_to_ms(jobs_percentile(jobs, 990)), nsec_to_ms(jobs->response_max),
                  nsec_to_ms(jobs->jitter_max), nsec_to_ms(jobs->tardiness_max));
}

int session_write_stats(struct session *session, const char *path)
{
    static const struct jobs none;
    struct draft draft;
    int result = draft_begin(&draft);

    if (result)
        return result;
    (void)fprintf(draft.out, "{");
    print_counters(draft.out, session);
    if (session) {
        pthread_mutex_lock(&session->jobs_lock);
        print_jobs(draft.out, &session->jobs);
        pthread_mutex_unlock(&session->jobs_lock);
    } else {
        print_jobs(draft.out, &none);
    }
    session_print_notices(session, draft.out);
    (void)fprintf(draft.out, "}\n");
    return draft_finish(&draft, path, 0);
}
