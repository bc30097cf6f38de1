/*
 * baton top: a live table of devices, holders, programs and tasks. Plain ANSI on the terminal's second screen; the size is asked
 * for at every frame, so it follows the window. Without a terminal, or with --once, one frame as text. Rates count from the frame before; those of the
 * first frame, from the start of the daemon or of the program.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/draft.h"
#include "base/nsec.h"
#include "cli/command.h"
#include "cli/snapshot.h"
#include "cli/task_words.h"
#include "wire/lease_word.h"
#include "wire/page.h"

#define ENTER_SCREEN "\033[?1049h\033[?25l"
#define LEAVE_SCREEN "\033[?25h\033[?1049l"
#define HOME         "\033[H"
#define CLEAR_LINE   "\033[K"
#define CLEAR_BELOW  "\033[J"
#define INTERVAL_MS  500
#define GONE_MS      1000 /* between two attempts to find a daemon that has gone */

struct top {
    struct monitor monitor;
    bool connected;
    const char *socket;          /* given, or NULL */
    struct snapshot now, before; /* before.daemon.pid 0: there is none */
    struct termios saved;
};

static volatile sig_atomic_t stopped, resized;

static double ms(uint64_t nsec)
{
    return nsec_to_ms((baton_nsec)nsec);
}

/* ---- what a frame says ---- */

/* Events per second since the frame before; in the first frame, since since_at, when the count was 0. */
static double rate(const struct top *top, uint64_t now, uint64_t before, uint64_t since_at)
{
    uint64_t from_at = top->before.daemon.pid ? top->before.daemon.now_at : since_at;
    double seconds = ((double)top->now.daemon.now_at - (double)from_at) / (double)NSEC_PER_SEC;

    return now >= before && seconds > 0 ? (double)(now - before) / seconds : 0;
}

/* The engine in the frame before; NULL: it was not there. */
static const struct frame_about_engine *engine_before(const struct top *top, uint32_t index)
{
    for (uint32_t i = 0; i < top->before.n_engines; i++) {
        if (top->before.engines[i].index == index)
            return &top->before.engines[i];
    }
    return NULL;
}

static void print_head(const struct top *top, FILE *out)
{
    const struct frame_about_daemon *about = &top->now.daemon;
    const struct frame_about_admission *admission = &top->now.admission;

    (void)fprintf(out,
                  "batond %s  pid %u  profile %s  up %.0f s  programs %u  %.0f grants/s  %.0f yields/s\n",
                  about->version, about->pid, about->profile, ms(about->now_at - about->started_at) / 1000,
                  about->clients, rate(top, about->grants, top->before.daemon.grants, about->started_at),
                  rate(top, about->yields, top->before.daemon.yields, about->started_at));
    (void)fprintf(
        out, "real-time %s  overdue %llu  late jobs %llu  plans %llu (last %.1f ms, %llu failed)%s%s\n\n",
        about->flags & ABOUT_REALTIME ? "yes" : "no", (unsigned long long)about->overdue,
        (unsigned long long)admission->late, (unsigned long long)admission->plans, ms(admission->cost_last),
        (unsigned long long)admission->failures, admission->planning ? "  planning" : "",
        admission->stale ? "  plan is stale" : "");
}

static void print_engines(const struct top *top, FILE *out)
{
    (void)fprintf(out, "%-10s %-28s %-20s %-5s %7s %10s\n", "engine", "device", "held by", "lease", "waiting",
                  "grants/s");
    for (uint32_t i = 0; i < top->now.n_engines; i++) {
        const struct frame_about_engine *engine = &top->now.engines[i];
        const struct frame_about_client *holder = snapshot_client(&top->now, engine->holder);
        const struct frame_about_engine *before = engine_before(top, engine->index);
        bool known = engine->device < top->now.n_devices;
        char who[96] = "-";

        if (engine->holder)
            (void)snprintf(who, sizeof who, "%u %s", engine->holder, holder ? holder->name : "");
        (void)fprintf(out, "%-10s %-28.28s %-20.20s %-5s %7u %10.0f\n", engine->name,
                      known ? top->now.devices[engine->device].name : "-", who,
                      !engine->holder                            ? "-"
                      : engine->holder_state == LEASE_STATE_BUSY ? "busy"
                                                                 : "idle",
                      engine->waiting,
                      rate(top, engine->grants, before ? before->grants : 0, top->now.daemon.started_at));
    }
}

static uint64_t since(const struct frame_about_client *now, const struct frame_about_client *before,
                      enum page_counter counter)
{
    uint64_t old = before ? before->counters[counter] : 0;

    return now->counters[counter] > old ? now->counters[counter] - old : 0;
}

static void print_clients(const struct top *top, FILE *out)
{
    (void)fprintf(out, "\n%6s %-20s %4s %-9s %8s %12s %12s %10s %7s\n", "client", "name", "prio", "state",
                  "jobs/s", "response ms", "pending ms", "worst ms", "misses");
    for (uint32_t i = 0; i < top->now.n_clients; i++) {
        const struct frame_about_client *client = &top->now.clients[i];
        const struct frame_about_client *before = snapshot_client(&top->before, client->client);
        uint64_t jobs = since(client, before, PAGE_COUNTER_JOBS);

        (void)fprintf(out, "%6u %-20.20s %4u %-9s %8.1f", client->client, client->name, client->priority,
                      client->state == CLIENT_DRAINING ? "draining" : "connected",
                      rate(top, client->counters[PAGE_COUNTER_JOBS],
                           before ? before->counters[PAGE_COUNTER_JOBS] : 0, client->since_at));
        if (jobs)
            (void)fprintf(out, " %12.3f %12.3f",
                          ms(since(client, before, PAGE_COUNTER_RESPONSE_NS)) / (double)jobs,
                          ms(since(client, before, PAGE_COUNTER_PENDING_NS)) / (double)jobs);
        else
            (void)fprintf(out, " %12s %12s", "-", "-");
        (void)fprintf(out, " %10.3f %7llu\n", ms(client->counters[PAGE_COUNTER_RESPONSE_MAX_NS]),
                      (unsigned long long)client->counters[PAGE_COUNTER_MISSES]);
    }
}

static void print_tasks(const struct top *top, FILE *out)
{
    char why[256];

    if (top->now.n_tasks)
        (void)fprintf(out, "\n%-20s %4s %4s %-13s %8s %10s %11s %6s  %s\n", "task", "prio", "gpus",
                      "decision", "jobs", "worst ms", "bound ms", "over", "bound");
    for (uint32_t i = 0; i < top->now.n_tasks; i++) {
        const struct frame_about_task *task = &top->now.tasks[i];
        char bound[32] = "-";

        if (task->bound)
            (void)snprintf(bound, sizeof bound, task->rule == RULE_MET ? "%.3f" : "(%.3f)", ms(task->bound));
        task_rule_words(task->rule, task->who, why, sizeof why);
        (void)fprintf(out, "%-20.20s %4u %4u %-13s %8llu %10.3f %11s %6llu  %s\n", task->name, task->priority,
                      task->gpus, task_verdict_word(task->state), (unsigned long long)task->jobs,
                      ms(task->response_max), bound, (unsigned long long)task->exceeded,
                      task->bound ? why : "");
    }
}

/* One frame as text, without regard to any screen; the caller frees it. */
static char *compose(const struct top *top)
{
    struct draft draft;
    char *text = NULL;
    size_t size;

    if (draft_begin(&draft) < 0)
        return NULL;
    if (!top->connected) {
        (void)fprintf(draft.out, "no batond answers; waiting for one\n");
    } else {
        print_head(top, draft.out);
        print_engines(top, draft.out);
        print_clients(top, draft.out);
        print_tasks(top, draft.out);
    }
    (void)draft_take(&draft, 0, &text, &size);
    return text;
}

/* ---- the terminal ---- */

/* Names come from programs: on a terminal nothing but plain characters is let through. */
static void put_line(const char *line, size_t length, unsigned columns)
{
    for (size_t i = 0; i < length && i < columns; i++)
        (void)fputc(line[i] >= ' ' && line[i] < 127 ? line[i] : '?', stdout);
}

static void draw(const char *text)
{
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    unsigned row = 0;

    (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    (void)fputs(HOME, stdout);
    for (const char *line = text; *line && row + 1 < size.ws_row; row++) {
        size_t length = strcspn(line, "\n");

        put_line(line, length, size.ws_col);
        (void)fputs(CLEAR_LINE "\r\n", stdout);
        line += length + (line[length] == '\n');
    }
    put_line("q quits", 7, size.ws_col);
    (void)fputs(CLEAR_LINE CLEAR_BELOW, stdout);
    (void)fflush(stdout);
}

static void on_signal(int number)
{
    if (number == SIGWINCH)
        resized = 1;
    else
        stopped = 1;
}

static int open_terminal(struct top *top)
{
    struct sigaction action = {.sa_handler = on_signal};
    struct termios raw;

    if (tcgetattr(STDIN_FILENO, &top->saved) < 0)
        return -errno;
    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGWINCH, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGHUP, &action, NULL);
    raw = top->saved;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) < 0)
        return -errno;
    (void)fputs(ENTER_SCREEN, stdout);
    return 0;
}

static void close_terminal(const struct top *top)
{
    (void)fputs(LEAVE_SCREEN, stdout);
    (void)fflush(stdout);
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &top->saved);
}

/* Waits for the next frame's time, a key or a new size. False: the user has had enough. */
static bool pause_frame(int wait_ms)
{
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    char keys[64];
    ssize_t n;

    resized = 0;
    if (poll(&input, 1, wait_ms) <= 0 || stopped)
        return !stopped;
    n = read(STDIN_FILENO, keys, sizeof keys);
    if (n == 0 && (input.revents & POLLHUP))
        return false; /* the terminal has gone */
    return n <= 0 || (!memchr(keys, 'q', (size_t)n) && !memchr(keys, 3, (size_t)n));
}

/* ---- frames ---- */

static int refresh(struct top *top)
{
    int result = 0;

    if (!top->connected)
        result = monitor_open(&top->monitor, top->socket);
    if (result)
        return result;
    top->before = top->now;
    result = snapshot_take(&top->now, &top->monitor);
    top->connected = result == 0;
    if (result) {
        monitor_close(&top->monitor);
        memset(&top->now, 0, sizeof top->now);
    }
    return result;
}

static int live(const struct cli_args *args, struct top *top, int interval_ms)
{
    int result = open_terminal(top);

    if (result)
        return cli_fail_environment(args, result, "terminal");
    do {
        char *text = compose(top);

        if (text)
            draw(text);
        free(text);
        if (!pause_frame(top->connected ? interval_ms : GONE_MS))
            break;
        (void)refresh(top);
    } while (!stopped);
    close_terminal(top);
    return CLI_YES;
}

static int run(const struct cli_args *args)
{
    static struct top top;
    long long interval_ms = INTERVAL_MS;
    int status = cli_int(args, "interval", 50, 60000, &interval_ms);
    int result;

    if (status)
        return status;
    top.socket = cli_value(args, "socket", NULL);
    result = refresh(&top);
    if (result)
        return cli_fail_environment(args, result, "no batond answers (`batond` starts one)");
    if (!cli_has(args, "once") && isatty(STDOUT_FILENO) && isatty(STDIN_FILENO)) {
        status = live(args, &top, (int)interval_ms);
    } else {
        char *text = compose(&top);

        status = text ? CLI_YES : cli_fail_environment(args, ENOMEM, "memory");
        if (text)
            (void)fputs(text, stdout);
        free(text);
    }
    if (top.connected)
        monitor_close(&top.monitor);
    return status;
}

static const struct cli_option options[] = {
    {"once", 0, NULL, "print one frame and end, as without a terminal; rates are means since the start"},
    {"interval", 0, "MS", "between two frames (default 500)"},
    {"socket", 0, "PATH", "of the daemon; otherwise as for `baton run`"},
    {NULL, 0, NULL, NULL},
};

const struct cli_command command_top = {
    .name = "top",
    .summary = "watch who holds which engine, and how programs and tasks fare",
    .arguments = "",
    .options = options,
    .example = "baton top    # q quits; `baton top --once` for a script",
    .run = run,
};
