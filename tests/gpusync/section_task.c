/*
 * One task of a task set as a program: periodic jobs of CPU and GPU segments in order, on the fake
 * OpenCL driver (section_opencl.c) or the CPU device of CUDA (section_cuda.c). A script says how
 * long a copy and a work-group takes. CPU segments are work for the virtual CPUs
 * (tests/virtual_clock/clock.h), or, without a virtual clock, CPU time of this thread.
 *
 *     section-task PERIOD_US JOBS OFFSET_US GO SEGMENTS
 *
 * SEGMENTS: cNUMBER CPU work in microseconds, kNUMBER a kernel of so many work-groups, iNUMBER a
 * copy in of so many bytes, oNUMBER a copy out, g the job needs no GPU any more; separated by
 * commas. eNUMBER: CPU work of the job before it calls baton_job_begin_at().
 *
 * sNUMBER in front: so many bytes stay on the GPU from job to job, and every kernel changes them;
 * at the end they are compared with a computation on the host. bNUMBER behind it: they are in so
 * many buffers, and the kernels of a job take them in turn. Without state nothing stays there.
 *
 * Waits until the file GO is there. The first program that sees it writes into it when all of them
 * start: at a full second, in one to two seconds. Releases no further job once there is a file
 * GO.enough. Prints `JOBS MAX_RESPONSE_NS` at the end, and stays connected until GO is gone.
 * SECTION_JOBS names a file for the release and the end of every job, in nanoseconds. With
 * SECTION_WARM the segments run again and again while it waits for GO, beside those of the others,
 * so that the threads of each GPU are there before the first job.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "baton/job.h"
#include "section_gpu.h"

#define SECOND INT64_C(1000000000)

static void (*virtual_work)(int64_t ns);

static int64_t now_of(clockid_t which)
{
    struct timespec now;

    (void)clock_gettime(which, &now);
    return now.tv_sec * SECOND + now.tv_nsec;
}

static void sleep_until(int64_t at)
{
    struct timespec until = {at / SECOND, at % SECOND};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) {
    }
}

static void work(int64_t us)
{
    int64_t end = now_of(CLOCK_THREAD_CPUTIME_ID) + us * 1000;

    if (virtual_work)
        virtual_work(us * 1000);
    while (!virtual_work && now_of(CLOCK_THREAD_CPUTIME_ID) < end) {
    }
}

static void segment(const char *text)
{
    size_t size = strtoul(text + 1, NULL, 10);

    switch (text[0]) {
    case 'c':
        work(strtoll(text + 1, NULL, 10));
        break;
    case 'k':
        section_launch(size);
        break;
    case 'i':
        section_copy_in(size);
        break;
    case 'o':
        section_copy_out(size);
        break;
    case 'g':
        (void)baton_job_gpu_done();
        break;
    default: /* the state, or work before the begin of the job */
        break;
    }
}

static void run_segments(const char *segments)
{
    for (const char *at = segments; at; at = strchr(at, ',')) {
        at += *at == ',';
        segment(at);
    }
}

/* The CPU work of a job before its begin, in microseconds. */
static int64_t work_before(const char *segments)
{
    int64_t us = 0;

    for (const char *at = segments; at; at = strchr(at, ',')) {
        at += *at == ',';
        us += at[0] == 'e' ? strtoll(at + 1, NULL, 10) : 0;
    }
    return us;
}

/*
 * When all programs start. Each on its own would take another second if a full one began between
 * their looks.
 */
static int64_t common_start(const char *go)
{
    int64_t start_at = 0;
    int file = open(go, O_RDWR | O_CLOEXEC);

    if (file < 0 || flock(file, LOCK_EX) != 0)
        exit(2);
    if (read(file, &start_at, sizeof start_at) != sizeof start_at) {
        start_at = (now_of(CLOCK_MONOTONIC) / SECOND + 2) * SECOND;
        if (write(file, &start_at, sizeof start_at) != sizeof start_at)
            exit(2);
    }
    (void)close(file);
    return start_at;
}

/* Release and end of every job, for the file that SECTION_JOBS names. */
static void write_jobs(const int64_t *jobs, unsigned n)
{
    const char *path = getenv("SECTION_JOBS");
    FILE *out = path ? fopen(path, "w") : NULL;

    for (unsigned i = 0; out && i < n; i++)
        (void)fprintf(out, "%lld %lld\n", (long long)jobs[2 * i], (long long)jobs[2 * i + 1]);
    if (out && fclose(out) != 0)
        exit(2);
}

/*
 * Ends the job; its response. A job ends in baton_job_end(), when its state is saved. Once batond
 * knows that, this thread has the rank of the next job, and may run again much later. So the end is
 * taken from Baton's statistics, and must lie between the instants before and after the call.
 */
static int64_t end_job(int64_t release_at)
{
    static int64_t before;
    struct baton_job_report report = {.size = sizeof report};
    int64_t from = now_of(CLOCK_MONOTONIC), to, ended, response;

    (void)baton_job_end();
    to = now_of(CLOCK_MONOTONIC);
    if (baton_job_report(&report) != 0)
        exit(4);
    response = report.response_sum - before;
    before = report.response_sum;
    ended = release_at + response;
    if (ended < from || ended > to) {
        fprintf(stderr, "a job that ended between %lld and %lld is said to have ended at %lld\n",
                (long long)from, (long long)to, (long long)ended);
        exit(4);
    }
    return response;
}

int main(int argc, char **argv)
{
    int64_t period = argc == 6 ? strtoll(argv[1], NULL, 10) * 1000 : 0;
    int64_t release_at, most = 0;
    int64_t *times;
    size_t words = 0;
    unsigned n_buffers = 1, n = 0;
    char enough[4096];
    unsigned jobs = argc == 6 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;

    times = jobs ? calloc(jobs, 2 * sizeof *times) : NULL;
    if (!times || snprintf(enough, sizeof enough, "%s.enough", argv[4]) >= (int)sizeof enough)
        return 2;
    *(void **)&virtual_work = dlsym(RTLD_DEFAULT, "virtual_clock_work");
    if (argv[5][0] == 's') {
        char *rest;

        words = strtoul(argv[5] + 1, &rest, 10) / sizeof(unsigned);
        n_buffers = rest[0] == ',' && rest[1] == 'b' ? (unsigned)strtoul(rest + 2, NULL, 10) : 1;
        if (!n_buffers)
            return 2;
        words /= n_buffers;
    }
    section_set_up(words, n_buffers);
    run_segments(argv[5]); /* what is made once is made now */
    (void)printf("ready\n");
    (void)fflush(stdout);
    while (access(argv[4], F_OK) != 0) {
        if (getenv("SECTION_WARM"))
            run_segments(argv[5]);
        sleep_until(now_of(CLOCK_MONOTONIC) + SECOND / 100);
    }
    release_at = common_start(argv[4]) + strtoll(argv[3], NULL, 10) * 1000;
    for (; n < jobs && (n < 2 || access(enough, F_OK) != 0); n++, release_at += period) {
        int64_t response;

        sleep_until(release_at);
        work(work_before(argv[5]));
        (void)baton_job_begin_at(release_at);
        run_segments(argv[5]);
        response = end_job(release_at);
        times[2 * n] = release_at;
        times[2 * n + 1] = release_at + response;
        most = response > most ? response : most;
    }
    write_jobs(times, n);
    free(times);
    (void)printf("%u %lld\n", n, (long long)most);
    (void)fflush(stdout);
    while (access(argv[4], F_OK) == 0)
        sleep_until(now_of(CLOCK_MONOTONIC) + SECOND / 100);
    section_check_state();
    return 0;
}
