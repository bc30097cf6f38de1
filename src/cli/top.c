/*
 * baton top: a live table of engines, programs and what they wait for. Plain ANSI on the terminal's
 * alternate screen. The size is read for every frame, so the table follows the window. Without a
 * terminal, or with --once, it prints one frame as text. top_frame.c writes the frame.
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
#include "cli/cli_signals.h"
#include "cli/subcommand.h"
#include "cli/top_frame.h"

#define ENTER_SCREEN "\033[?1049h\033[?25l"
#define LEAVE_SCREEN "\033[0m\033[?25h\033[?1049l"
#define HOME         "\033[H"
#define CLEAR_LINE   "\033[K"
#define CLEAR_BELOW  "\033[J"
#define INTERVAL_MS  500
#define GONE_MS      1000 /* between two attempts to find a daemon that has ended */
#define OUTSIDE_S    5    /* seconds between two searches of /proc */
/* previous frames over which rates are computed: one run may outlast a frame */
#define PAST         4
#define TEXT_COLUMNS 160 /* columns of a frame without a terminal */

struct top {
    struct monitor monitor;
    bool connected;
    const char *socket; /* given, or NULL */
    struct snapshot now;
    /* the previous frames, the newest at 0; daemon.pid 0: there is none */
    struct snapshot past[PAST];
    struct outsiders outsiders;
    uint64_t looked_at; /* by batond's clock; 0: never */
    enum top_sort sort;
    bool reversed, help, colours;
    struct termios saved;
};

static const struct snapshot *oldest(const struct top *top)
{
    unsigned i = PAST - 1;

    while (i > 0 && !top->past[i].daemon.pid)
        i--;
    return &top->past[i];
}

/*
 * One frame as text with its styles, for a screen of that size (0 rows: no limit); the caller frees
 * it.
 */
static char *compose(const struct top *top, unsigned rows, unsigned columns)
{
    struct top_view view = {.now = &top->now,
                            .before = oldest(top),
                            .outsiders = &top->outsiders,
                            .sort = top->sort,
                            .reversed = top->reversed,
                            .rows = rows,
                            .columns = columns};
    struct draft draft;
    char *text = NULL;
    size_t size;

    if (draft_begin(&draft) < 0)
        return NULL;
    if (top->help)
        top_help(&view, draft.out);
    else if (!top->connected)
        (void)fprintf(draft.out, "no batond answers; waiting for one\n");
    else
        top_frame(&view, draft.out);
    (void)draft_take(&draft, 0, &text, &size);
    return text;
}

/* ---- the terminal ---- */

/* The escape sequence of a style; "" for any other character. */
static const char *style_of(char c)
{
    static const struct {
        const char *style, *sequence;
    } styles[] = {
        {TOP_PLAIN, "\033[0m"}, {TOP_BOLD, "\033[1m"},   {TOP_DIM, "\033[2m"},  {TOP_GOOD, "\033[32m"},
        {TOP_BUSY, "\033[36m"}, {TOP_BAD, "\033[1;31m"}, {TOP_HEAD, "\033[7m"},
    };

    for (size_t i = 0; i < sizeof styles / sizeof styles[0]; i++) {
        if (styles[i].style[0] == c)
            return styles[i].sequence;
    }
    return "";
}

/* Prints a line of a frame: styles become escape sequences, or nothing. */
static void put_line(const char *line, size_t length, bool colours)
{
    for (size_t i = 0; i < length; i++) {
        if (line[i] < ' ')
            (void)fputs(colours ? style_of(line[i]) : "", stdout);
        else
            (void)fputc(line[i], stdout);
    }
}

static void put_keys(const struct top *top, unsigned columns)
{
    static const char *const names[] = {
#define TOP_KEY(identifier, key, name, words) name,
        TOP_SORTS(TOP_KEY)
#undef TOP_KEY
    };
    char line[128];
    int n = snprintf(line, sizeof line, "q quits  h %s  s sort: %s%s  x reverse", top->help ? "back" : "help",
                     names[top->sort], top->reversed ? " reversed" : "");
    size_t length = (size_t)n < columns ? (size_t)n : columns;

    put_line(line, length, false);
}

static void draw(struct top *top)
{
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    unsigned row = 0;
    char *text;

    (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    text = compose(top, size.ws_row > 1 ? size.ws_row - 1U : 1, size.ws_col);
    (void)fputs(HOME, stdout);
    for (const char *line = text ? text : ""; *line && row + 1 < size.ws_row; row++) {
        size_t length = strcspn(line, "\n");

        put_line(line, length, top->colours);
        (void)fputs(CLEAR_LINE "\r\n", stdout);
        line += length + (line[length] == '\n');
    }
    put_keys(top, size.ws_col);
    (void)fputs(CLEAR_LINE CLEAR_BELOW, stdout);
    (void)fflush(stdout);
    free(text);
}

static void on_signal(int number)
{
    if (number == SIGWINCH)
        cli_signals.resized = 1;
    else
        cli_signals.stopped = 1;
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

/* False: the user wants to quit. */
static bool take_key(struct top *top, char key)
{
    enum top_sort sort = top_sort_of(key);

    if (key == 'q' || key == 3)
        return false;
    if (sort < TOP_SORT_N)
        top->sort = sort;
    else if (key == 's')
        top->sort = (enum top_sort)((top->sort + 1) % TOP_SORT_N);
    else if (key == 'x')
        top->reversed = !top->reversed;
    else if (key == 'h' || key == '?')
        top->help = !top->help;
    else if (key == 27 || key == ' ')
        top->help = false;
    return true;
}

enum pause_end { PAUSE_FRAME, PAUSE_REDRAW, PAUSE_QUIT };

/* Waits until the next frame is due, a key is pressed or the size changes. */
static enum pause_end pause_frame(struct top *top, int wait_ms)
{
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    char keys[64];
    ssize_t n;

    cli_signals.resized = 0;
    if (poll(&input, 1, wait_ms) <= 0 || cli_signals.stopped)
        return cli_signals.stopped ? PAUSE_QUIT : cli_signals.resized ? PAUSE_REDRAW : PAUSE_FRAME;
    n = read(STDIN_FILENO, keys, sizeof keys);
    if (n == 0 && (input.revents & POLLHUP))
        return PAUSE_QUIT; /* the terminal is closed */
    for (ssize_t i = 0; i < n; i++) {
        if (!take_key(top, keys[i]))
            return PAUSE_QUIT;
    }
    return n > 0 ? PAUSE_REDRAW : PAUSE_FRAME;
}

/* ---- frames ---- */

/* Searching /proc costs more than asking the daemon. */
static void look_outside(struct top *top)
{
    uint32_t clients[SNAPSHOT_CLIENTS + 1];

    if (top->looked_at && top->now.daemon.now_at < top->looked_at + (uint64_t)OUTSIDE_S * NSEC_PER_SEC)
        return;
    for (uint32_t i = 0; i < top->now.n_clients; i++)
        clients[i] = top->now.clients[i].pid;
    clients[top->now.n_clients] = top->now.daemon.pid;
    (void)outsiders_find("/proc", clients, top->now.n_clients + 1, &top->outsiders);
    top->looked_at = top->now.daemon.now_at;
}

static int refresh(struct top *top)
{
    int result = 0;

    if (!top->connected)
        result = monitor_open(&top->monitor, top->socket);
    if (result)
        return result;
    memmove(&top->past[1], &top->past[0], (PAST - 1) * sizeof top->past[0]);
    top->past[0] = top->now;
    result = snapshot_take(&top->now, &top->monitor);
    top->connected = result == 0;
    if (result) {
        monitor_close(&top->monitor);
        memset(&top->now, 0, sizeof top->now);
        memset(top->past, 0, sizeof top->past);
        top->looked_at = 0;
    } else {
        look_outside(top);
    }
    return result;
}

static int live(const struct cli_args *args, struct top *top, int interval_ms)
{
    const char *no_colour = getenv("NO_COLOR");
    int result = open_terminal(top);
    enum pause_end end = PAUSE_FRAME;

    if (result)
        return cli_fail_environment(args, result, "terminal");
    top->colours = !no_colour || !*no_colour;
    while (end != PAUSE_QUIT && !cli_signals.stopped) {
        draw(top);
        end = pause_frame(top, top->connected ? interval_ms : GONE_MS);
        if (end == PAUSE_FRAME)
            (void)refresh(top);
    }
    close_terminal(top);
    return CLI_YES;
}

/* For a script: no styles, and every row. */
static int print_once(const struct cli_args *args, const struct top *top)
{
    char *text = compose(top, 0, TEXT_COLUMNS);

    if (!text)
        return cli_fail_environment(args, ENOMEM, "memory");
    for (const char *c = text; *c; c++) {
        if (*c >= ' ' || *c == '\n')
            (void)fputc(*c, stdout);
    }
    free(text);
    return CLI_YES;
}

/* The sort named by --sort; TOP_SORT_N: unknown. */
static enum top_sort sort_named(const char *word)
{
    static const char *const names[] = {
#define TOP_KEY(identifier, key, name, words) name,
        TOP_SORTS(TOP_KEY)
#undef TOP_KEY
    };
    unsigned i = 0;

    while (i < TOP_SORT_N && strcmp(names[i], word) != 0)
        i++;
    return (enum top_sort)i;
}

static int show(const struct cli_args *args, struct top *top, int interval_ms)
{
    int result = refresh(top);
    int status;

    if (result)
        return monitor_fail_absent(args, top->socket, result);
    if (!cli_has(args, "once") && isatty(STDOUT_FILENO) && isatty(STDIN_FILENO))
        status = live(args, top, interval_ms);
    else
        status = print_once(args, top);
    if (top->connected)
        monitor_close(&top->monitor);
    return status;
}

static int run(const struct cli_args *args)
{
    long long interval_ms = INTERVAL_MS;
    int status = cli_int(args, "interval", 50, 60000, &interval_ms);
    enum top_sort sort = sort_named(cli_value(args, "sort", "gpu%"));
    struct top *top;

    if (status)
        return status;
    if (sort == TOP_SORT_N)
        return cli_fail_usage(args,
                              "--sort: expected gpu%%, priority, name, pid, jobs, response, worst or missed");
    top = calloc(1, sizeof *top);
    if (!top)
        return cli_fail_environment(args, -ENOMEM, "top");
    top->sort = sort;
    top->socket = cli_value(args, "socket", NULL);
    status = show(args, top, (int)interval_ms);
    free(top);
    return status;
}

static const struct cli_option options[] = {
    {"once", 0, NULL, "print one frame and end, as without a terminal; rates are means since the start"},
    {"interval", 0, "MS", "between two frames (default 500)"},
    {"sort", 0, "KEY", "gpu%, priority, name, pid, jobs, response, worst or missed (default gpu%)"},
    {"socket", 0, "PATH", "of the daemon; otherwise as for `baton run`"},
    {NULL, 0, NULL, NULL},
};

const struct cli_command command_top = {
    .name = "top",
    .summary = "watch the holder of each engine, and how programs and tasks fare",
    .arguments = "",
    .options = options,
    .example = "baton top    # q quits, h helps; `baton top --once` for a script",
    .run = run,
};
