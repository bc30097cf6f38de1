#include "client/jobs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void jobs_init(struct jobs *jobs, baton_nsec period, baton_nsec deadline)
{
    memset(jobs, 0, sizeof *jobs);
    jobs->period = period;
    jobs->deadline = deadline ? deadline : period;
}

void jobs_done(struct jobs *jobs)
{
    free(jobs->responses);
    jobs->responses = NULL;
    jobs->room = 0;
}

void jobs_warm_up(struct jobs *jobs, uint64_t n)
{
    jobs->warm_up = jobs->warm = n;
}

void jobs_restart(struct jobs *jobs)
{
    struct jobs fresh;

    jobs_init(&fresh, jobs->period, jobs->deadline);
    jobs_warm_up(&fresh, jobs->warm_up);
    jobs_done(jobs);
    *jobs = fresh;
}

bool jobs_counting(const struct jobs *jobs)
{
    return jobs->warm == 0;
}

/* The release of a job that begins now and whose release the program does not state. */
static baton_nsec release_of(const struct jobs *jobs, baton_nsec at)
{
    baton_nsec last_at;

    if (!jobs->period || jobs->n == 0 || at < jobs->grid_at + jobs->period)
        return at;
    last_at = jobs->grid_at + (at - jobs->grid_at) / jobs->period * jobs->period;
    if (jobs->previous_end_at <= last_at)
        return at;
    /*
     * The begin is nearer to the next release than to the previous end. So the program waited for
     * that release and woke a little early.
     */
    return at - jobs->previous_end_at <= last_at + jobs->period - at ? last_at : at;
}

static void raise_to(baton_nsec *most, baton_nsec value)
{
    *most = value > *most ? value : *most;
}

void jobs_reset_worst(struct jobs *jobs)
{
    jobs->worst = (struct jobs_worst){0};
}

static void begin(struct jobs *jobs, baton_nsec release_at, baton_nsec grid_at, baton_nsec at)
{
    jobs->running = true;
    jobs->release_at = release_at;
    jobs->grid_at = grid_at;
    jobs->begin_at = at;
    occupied_begin(&jobs->compute, at);
    occupied_begin(&jobs->any, at);
    if (jobs->period && jobs->n > 0) {
        baton_nsec jitter = llabs(at - (jobs->previous_begin_at + jobs->period));

        raise_to(&jobs->jitter_max, jitter);
        raise_to(&jobs->worst.jitter, jitter);
    }
    jobs->previous_begin_at = at;
}

void jobs_begin(struct jobs *jobs, baton_nsec at)
{
    if (!jobs->running)
        begin(jobs, release_of(jobs, at), at, at);
}

int jobs_begin_released(struct jobs *jobs, baton_nsec release_at, baton_nsec at)
{
    if (jobs->running)
        return 0;
    if (release_at < 0 || release_at > at || (jobs->n > 0 && release_at < jobs->release_at))
        return -EINVAL;
    begin(jobs, release_at, release_at, at);
    return 0;
}

void jobs_ran(struct jobs *jobs, bool copy, baton_nsec begin_at, baton_nsec end_at)
{
    if (!jobs->running)
        return;
    occupied_add(&jobs->any, begin_at, end_at);
    if (!copy)
        occupied_add(&jobs->compute, begin_at, end_at);
}

/*
 * Adds response = compute + copy + pending of the job that ends. No part is negative, whatever the
 * driver's clock says.
 */
static void divide_response(struct jobs *jobs, baton_nsec at, baton_nsec response)
{
    baton_nsec any = occupied_until(&jobs->any, at);
    baton_nsec compute = occupied_until(&jobs->compute, at);

    any = any < response ? any : response > 0 ? response : 0;
    compute = compute < any ? compute : any;
    jobs->response_sum += response;
    jobs->compute_sum += compute;
    jobs->copy_sum += any - compute;
    jobs->pending_sum += response - any;
    jobs->last_response = response;
    jobs->last_pending = response - any;
}

baton_nsec jobs_deadline_at(const struct jobs *jobs)
{
    return jobs->running && jobs->deadline ? jobs->release_at + jobs->deadline : NSEC_MAX;
}

/* Without memory for more, the ring keeps its size. */
static void keep(struct jobs *jobs, baton_nsec response)
{
    if (jobs->n >= jobs->room && jobs->room < JOBS_KEPT) {
        size_t room = jobs->room ? jobs->room * 2 : 256;
        baton_nsec *more = realloc(jobs->responses, room * sizeof *more);

        if (more) {
            jobs->responses = more;
            jobs->room = room;
        }
    }
    if (jobs->room)
        jobs->responses[jobs->n % jobs->room] = response;
}

void jobs_end(struct jobs *jobs, baton_nsec at)
{
    baton_nsec response = at - jobs->release_at;

    if (!jobs->running)
        return;
    jobs->running = false;
    if (jobs->warm > 0) {
        jobs->warm--;
        return;
    }
    if (jobs->deadline && response > jobs->deadline) {
        jobs->misses++;
        raise_to(&jobs->tardiness_max, response - jobs->deadline);
        raise_to(&jobs->worst.tardiness, response - jobs->deadline);
    }
    keep(jobs, response);
    jobs->n++;
    divide_response(jobs, at, response);
    raise_to(&jobs->response_max, response);
    raise_to(&jobs->worst.response, response);
    jobs->previous_end_at = at;
}

static int compare(const void *a, const void *b)
{
    baton_nsec x = *(const baton_nsec *)a;
    baton_nsec y = *(const baton_nsec *)b;

    return (x > y) - (x < y);
}

baton_nsec jobs_percentile(const struct jobs *jobs, unsigned permille)
{
    size_t n = jobs->n < jobs->room ? (size_t)jobs->n : jobs->room;
    baton_nsec *sorted;
    baton_nsec answer;
    size_t rank;

    if (n == 0)
        return 0;
    sorted = malloc(n * sizeof *sorted);
    if (!sorted)
        return jobs->response_max;
    memcpy(sorted, jobs->responses, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare);
    rank = (n * permille + 999) / 1000;
    answer = sorted[rank ? rank - 1 : 0];
    free(sorted);
    return answer;
}
