/* What the server asks of the loop (struct server_host). */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fingerprint.h"
#include "daemon/edge/connections.h"
#include "daemon/edge/loop.h"
#include "daemon/edge/machine.h"
#include "daemon/edge/threads.h"
#include "daemon/edge/words.h"

#define LINES_A_SECOND 8 /* of one kind, since clients can cause them */

static int page_new(void *user, unsigned slot, struct page **ret_page)
{
    struct loop *loop = user;
    int fd = memfd_create("baton-leases", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    void *page = MAP_FAILED;

    if (fd < 0)
        return -errno;
    /*
     * The file's size is sealed: a client that shrinks the file would make batond's accesses fault.
     */
    if (ftruncate(fd, (off_t)PAGE_SIZE_BYTES) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        page = mmap(NULL, PAGE_SIZE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) {
        int result = -errno;

        close(fd);
        return result;
    }
    loop->connections[slot].page = fd;
    *ret_page = page;
    return 0;
}

static void page_free(void *user, unsigned slot, struct page *page)
{
    (void)user;
    (void)slot;
    (void)munmap(page, PAGE_SIZE_BYTES);
}

static void wake(void *user, lease_word *word)
{
    (void)user;
    (void)syscall(SYS_futex, page_futex(word), FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void boost(void *user, pid_t pid, const pid_t *threads, size_t n, unsigned priority)
{
    boost_threads(&((struct loop *)user)->boost, pid, threads, n, priority);
}

static int order(void *user, pid_t pid, const struct core_set *cores, unsigned level)
{
    return pins_order(&((struct loop *)user)->pins, pid, cores, level);
}

static size_t strangers(void *user, pid_t pid)
{
    return pins_strangers(&((const struct loop *)user)->pins, pid);
}

static int watch(void *user, pid_t pid, unsigned process)
{
    return connections_watch_unscheduled(user, pid, process);
}

static void end(void *user, unsigned peer)
{
    const struct loop *loop = user;

    if (loop->connections[peer].pidfd >= 0)
        (void)syscall(SYS_pidfd_send_signal, loop->connections[peer].pidfd, SIGKILL, NULL, 0);
}

/* Have enough lines of this kind been written for now? */
static bool said_enough(struct loop *loop, enum report_kind kind)
{
    baton_nsec now_at = clock_now();

    if (now_at - loop->said[kind].since_at >= NSEC_PER_SEC) {
        loop->said[kind].since_at = now_at;
        loop->said[kind].lines = 0;
    }
    /* Each difference is named once: their number is bounded, and a client causes few of them. */
    return loop->said[kind].lines++ >= (kind == REPORT_DIFFERS ? CLAIMS_MAX : LINES_A_SECOND);
}

static void forget_differences(struct loop *loop)
{
    loop->differences.n_before = loop->differences.n_now = 0;
}

/*
 * Was this difference in the list before? Whenever one changes, the server reports the whole list.
 * The log has those that are new.
 */
static bool difference_is_logged(struct loop *loop, bool first, const char *text)
{
    uint64_t print = fingerprint(FINGERPRINT_START, text, strlen(text));

    if (first) {
        memcpy(loop->differences.before, loop->differences.now, sizeof loop->differences.before);
        loop->differences.n_before = loop->differences.n_now;
        loop->differences.n_now = 0;
    }
    if (loop->differences.n_now < CLAIMS_MAX)
        loop->differences.now[loop->differences.n_now++] = print;
    for (unsigned i = 0; i < loop->differences.n_before; i++) {
        if (loop->differences.before[i] == print)
            return true;
    }
    return false;
}

static void report(void *user, const struct server_report *what)
{
    struct loop *loop = user;
    unsigned *left_out = &loop->said[what->kind].left_out;
    char text[768];

    words_report(what, text, sizeof text);
    if (what->kind == REPORT_AGREES)
        forget_differences(loop);
    if (!text[0] || (what->kind == REPORT_DIFFERS && difference_is_logged(loop, what->count == 0, text)))
        return;
    if (said_enough(loop, what->kind)) {
        (*left_out)++;
        return;
    }
    if (*left_out)
        loop->log(words_level(what), "%s (%u similar lines were left out)", text, *left_out);
    else
        loop->log(words_level(what), "%s", text);
    *left_out = 0;
}

static int reload(void *user, char *ret_text, size_t size)
{
    struct loop *loop = user;

    return loop->reload(loop, ret_text, size);
}

static int load(void *user, bool tasks, const char *path, char *ret_text, size_t size)
{
    struct loop *loop = user;

    forget_differences(loop); /* the log names those of the new plan */
    return loop->load(loop, tasks, path, ret_text, size);
}

/* The answer still goes out: loop_run() flushes before it returns. */
static int stop(void *user, char *ret_text, size_t size)
{
    struct loop *loop = user;

    (void)snprintf(ret_text, size, "%s%s", loop->listener.path,
                   loop->listener.handed ? " is systemd's: the next program that connects starts batond again"
                                         : "");
    loop->stop = true;
    return 0;
}

static int plan(void *user, const char *file, const char *text, size_t size)
{
    struct loop *loop = user;
    struct planner_question question = {.program = loop->config.planner,
                                        .analysis = sched_profiles[loop->config.profile].analysis,
                                        .file = file,
                                        .set = text,
                                        .size = size,
                                        .limit = loop->config.planner_limit};
    struct planner_child *planner = loop->planner;
    int result = planner_start(planner, &question, clock_now());

    if (!result)
        result = loop_watch(loop, planner->pidfd, EPOLLIN, SOURCE_PLANNED, 0);
    for (unsigned i = 0; i < PLANNER_PIPES && !result; i++)
        result = loop_watch(loop, planner->fds[i], EPOLLIN, SOURCE_PLANNER, i);
    if (result)
        planner_stop(planner);
    return result;
}

static int machine(void *user, struct machine *ret_machine)
{
    (void)user;
    return machine_look("", ret_machine);
}

static int cores_of(void *user, pid_t pid, pid_t tid, struct core_set *ret_cores)
{
    (void)user;
    return thread_belongs(pid, tid) ? machine_cores_of(tid, ret_cores) : -ESRCH;
}

static size_t limits_of(void *user, pid_t pid, struct rt_limit ret_limits[RT_LIMITS])
{
    (void)user;
    return machine_limits_of("", pid, ret_limits);
}

static size_t threads_on(void *user, pid_t pid, const struct core_set *cores)
{
    (void)user;
    return machine_threads_on(pid, cores);
}

static pid_t next_process(void *user)
{
    return processes_next(&((struct loop *)user)->processes);
}

static bool realtime_of(void *user, pid_t pid, const struct core_set *cores,
                        struct realtime_thread *ret_thread)
{
    (void)user;
    return processes_realtime(pid, cores, ret_thread);
}

static bool is_realtime(void *user, pid_t pid)
{
    (void)user;
    return machine_is_realtime(pid);
}

static int rank_of(void *user, pid_t pid, pid_t tid)
{
    (void)user;
    return thread_belongs(pid, tid) ? machine_rank_of(tid) : -ESRCH;
}

struct server_host loop_host(struct loop *loop)
{
    return (struct server_host){.user = loop,
                                .page_new = page_new,
                                .page_free = page_free,
                                .wake = wake,
                                .boost = boost,
                                .order = order,
                                .strangers = strangers,
                                .watch = watch,
                                .end = end,
                                .report = report,
                                .reload = reload,
                                .load = load,
                                .stop = stop,
                                .plan = plan,
                                .machine = machine,
                                .cores_of = cores_of,
                                .limits_of = limits_of,
                                .threads_on = threads_on,
                                .next_process = next_process,
                                .realtime_of = realtime_of,
                                .is_realtime = is_realtime,
                                .rank_of = rank_of};
}
