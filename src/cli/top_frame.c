#include "cli/top_frame.h"

#include <math.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/nsec.h"
#include "cli/task_words.h"
#include "wire/lease_word.h"
#include "wire/page.h"

#define LINE 512

static const struct {
    char key;
    const char *name, *words;
} sorts[TOP_SORT_N] = {
#define TOP_KEY(identifier, key, name, words) {key, name, words},
    TOP_SORTS(TOP_KEY)
#undef TOP_KEY
};

enum top_sort top_sort_of(char key)
{
    unsigned i = 0;

    while (i < TOP_SORT_N && sorts[i].key != key)
        i++;
    return (enum top_sort)i;
}

static double ms(uint64_t nsec)
{
    return nsec_to_ms((baton_nsec)nsec);
}

/* Three significant digits in at most six columns: "0.71", "12.3", "1801", "99999+". */
static void number(double value, char ret_text[16])
{
    int decimals = value >= 100 ? 0 : value >= 10 ? 1 : value >= 0.1 || value == 0 ? 2 : 3;

    if (value > 999999)
        (void)snprintf(ret_text, 16, "999999");
    else
        (void)snprintf(ret_text, 16, "%.*f", decimals, value);
}

/* Names come from programs, so only printable ASCII passes. */
static void plain(const char *name, size_t size, char *ret_text)
{
    size_t n = 0;

    for (; name[n] && n + 1 < size; n++)
        ret_text[n] = (char)(name[n] >= ' ' && name[n] < 127 ? name[n] : '?');
    ret_text[n] = 0;
}

static void user_of(uint32_t uid, char ret_text[16])
{
    const struct passwd *entry = getpwuid(uid);

    if (entry)
        plain(entry->pw_name, 16, ret_text);
    else
        (void)snprintf(ret_text, 16, "%u", uid);
}

/* ---- lines: cut to the width, styles not counted ---- */

struct screen {
    const struct top_view *view;
    FILE *out;
    unsigned used; /* rows */
};

static bool is_style(char c)
{
    return (c >= 1 && c <= 6) || c == '\016';
}

static void put_line(struct screen *screen, const char *line)
{
    unsigned column = 0;

    for (; *line; line++) {
        if (is_style(*line))
            (void)fputc(*line, screen->out);
        else if (column++ < screen->view->columns)
            (void)fputc(*line >= ' ' && *line < 127 ? *line : '?', screen->out);
    }
    (void)fputs(TOP_PLAIN "\n", screen->out);
    screen->used++;
}

static unsigned rows_left(const struct screen *screen)
{
    return !screen->view->rows                 ? UINT32_MAX
           : screen->view->rows > screen->used ? screen->view->rows - screen->used
                                               : 0;
}

/* ---- rates ---- */

/* Seconds between the two frames; with one frame, since that instant. */
static double seconds_since(const struct top_view *view, uint64_t since_at)
{
    uint64_t from_at = view->before->daemon.pid ? view->before->daemon.now_at : since_at;

    return ((double)view->now->daemon.now_at - (double)from_at) / (double)NSEC_PER_SEC;
}

static double rate(const struct top_view *view, uint64_t now, uint64_t before, uint64_t since_at)
{
    double seconds = seconds_since(view, since_at);

    return now >= before && seconds > 0 ? (double)(now - before) / seconds : 0;
}

/*
 * A run is counted when it ends, so a long run may add more than the time since the previous frame.
 */
static double share(const struct top_view *view, uint64_t now, uint64_t before, uint64_t since_at)
{
    return fmin(rate(view, now, before, since_at) / (double)NSEC_PER_SEC, 1);
}

/* ---- the head and the engines ---- */

static void put_head(struct screen *screen)
{
    const struct frame_about_daemon *about = &screen->view->now->daemon;
    const struct frame_about_admission *admission = &screen->view->now->admission;
    char line[LINE];

    (void)snprintf(line, sizeof line,
                   TOP_BOLD "batond %s" TOP_PLAIN
                            "  %s  up %.0f s  %u program%s  %s%llu late%s  %s%llu late yields" TOP_PLAIN
                            "  real-time %s%s%s",
                   about->version, about->profile, ms(about->now_at - about->started_at) / 1000,
                   about->clients, about->clients == 1 ? "" : "s", admission->late ? TOP_BAD : "",
                   (unsigned long long)admission->late, TOP_PLAIN, about->late_yields ? TOP_BAD : "",
                   (unsigned long long)about->late_yields, about->flags & ABOUT_REALTIME ? "yes" : "no",
                   admission->planning ? "  planning" : "", admission->stale ? "  plan is stale" : "");
    put_line(screen, line);
}

static const struct frame_about_engine *engine_before(const struct top_view *view, uint32_t index)
{
    for (uint32_t i = 0; i < view->before->n_engines; i++) {
        if (view->before->engines[i].index == index)
            return &view->before->engines[i];
    }
    return NULL;
}

/* "[|||||||     ]" of `width` columns. */
static void put_bar(double filled, unsigned width, char *ret_text)
{
    unsigned n = (unsigned)lround(filled * width);

    ret_text += sprintf(ret_text, "[" TOP_BUSY);
    for (unsigned i = 0; i < width; i++) {
        if (i == n)
            ret_text += sprintf(ret_text, TOP_DIM);
        *ret_text++ = i < n ? '|' : '.';
    }
    (void)sprintf(ret_text, TOP_PLAIN "]");
}

static void put_engine(struct screen *screen, const struct frame_about_engine *engine)
{
    const struct top_view *view = screen->view;
    const struct frame_about_client *holder = snapshot_client(view->now, engine->holder);
    const struct frame_about_engine *before = engine_before(view, engine->index);
    uint64_t since_at = view->now->daemon.started_at;
    double busy = share(view, engine->busy, before ? before->busy : 0, since_at);
    const char *state = !engine->holder ? "" : engine->holder_state == LEASE_STATE_BUSY ? "runs " : "keeps ";
    char bar[96];
    char name[24];
    char line[LINE];

    plain(holder ? holder->name : "", sizeof name, name);
    put_bar(busy, 16, bar);
    (void)snprintf(line, sizeof line,
                   "%-9.9s %s %3.0f%%  %6s%-12.12s %s%2u waiting" TOP_PLAIN " %5.0f grants/s", engine->name,
                   bar, 100 * busy, engine->holder ? state : "free", name,
                   engine->waiting ? TOP_BOLD : TOP_DIM, engine->waiting,
                   rate(view, engine->grants, before ? before->grants : 0, since_at));
    put_line(screen, line);
}

/* If rows are scarce, unused engines are left out first, then the rest beyond `room`. */
static void put_engines(struct screen *screen, unsigned room)
{
    const struct snapshot *now = screen->view->now;
    unsigned left_out = 0;
    unsigned shown = 0;
    char line[LINE];

    for (uint32_t i = 0; i < now->n_engines; i++) {
        const struct frame_about_engine *engine = &now->engines[i];
        bool idle = !engine->grants && !engine->holder && !engine->waiting && strchr(engine->name, ' ');
        /* held together with a copy engine, which is more specific */
        bool bus = strncmp(engine->name, "bus", 3) == 0;

        if (bus || (idle && now->n_engines > room))
            continue;
        if (shown == room) {
            left_out++;
            continue;
        }
        put_engine(screen, engine);
        shown++;
    }
    if (left_out) {
        (void)snprintf(line, sizeof line, TOP_DIM "%u engines more" TOP_PLAIN, left_out);
        put_line(screen, line);
    }
}

/* ---- programs ---- */

struct top_row {
    const struct frame_about_client *client;
    const struct frame_about_task *task; /* NULL: it belongs to no task */
    double gpu, jobs;
    double response, worst; /* ms; negative: none ended */
    uint64_t misses;
};

static const struct frame_about_task *task_of(const struct snapshot *snapshot, const char *name)
{
    for (uint32_t i = 0; i < snapshot->n_tasks; i++) {
        if (strcmp(snapshot->tasks[i].name, name) == 0)
            return &snapshot->tasks[i];
    }
    return NULL;
}

static uint64_t since(const struct frame_about_client *now, const struct frame_about_client *before,
                      enum page_counter counter)
{
    uint64_t old = before ? before->counters[counter] : 0;

    return now->counters[counter] > old ? now->counters[counter] - old : 0;
}

static void fill_row(const struct top_view *view, const struct frame_about_client *client,
                     struct top_row *row)
{
    const struct frame_about_client *before = snapshot_client(view->before, client->client);
    uint64_t jobs = since(client, before, PAGE_COUNTER_JOBS);

    *row = (struct top_row){
        .client = client,
        .task = task_of(view->now, client->name),
        .gpu = share(view, client->busy, before ? before->busy : 0, client->since_at),
        .jobs = rate(view, client->counters[PAGE_COUNTER_JOBS],
                     before ? before->counters[PAGE_COUNTER_JOBS] : 0, client->since_at),
        .response = jobs ? ms(since(client, before, PAGE_COUNTER_RESPONSE_NS)) / (double)jobs : -1,
        .worst =
            client->counters[PAGE_COUNTER_JOBS] ? ms(client->counters[PAGE_COUNTER_RESPONSE_MAX_NS]) : -1,
        .misses = client->counters[PAGE_COUNTER_MISSES]};
}

/* The sort value of a row. Larger values come first, except for names and ids. */
static double value_of(const struct top_row *row, enum top_sort sort)
{
    switch (sort) {
    case TOP_SORT_GPU:
        return row->gpu;
    case TOP_SORT_PRIORITY:
        return row->client->priority;
    case TOP_SORT_PID:
        return -(double)row->client->pid;
    case TOP_SORT_JOBS:
        return row->jobs;
    case TOP_SORT_RESPONSE:
        return row->response;
    case TOP_SORT_WORST:
        return row->worst;
    case TOP_SORT_MISSES:
        return (double)row->misses;
    case TOP_SORT_NAME:
    default:
        return 0;
    }
}

/* Does a come before b? Equal rows keep the order of their numbers. */
static bool before_in(const struct top_view *view, const struct top_row *a, const struct top_row *b)
{
    double x = value_of(a, view->sort);
    double y = value_of(b, view->sort);
    int order = view->sort == TOP_SORT_NAME ? strcmp(a->client->name, b->client->name) : (x < y) - (x > y);

    if (order == 0)
        return a->client->client < b->client->client;
    return view->reversed ? order > 0 : order < 0;
}

static void sort_rows(const struct top_view *view, struct top_row *rows, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct top_row row = rows[i];
        size_t k = i;

        for (; k > 0 && before_in(view, &row, &rows[k - 1]); k--)
            rows[k] = rows[k - 1];
        rows[k] = row;
    }
}

static unsigned name_width(const struct top_view *view)
{
    return view->columns > 80 ? 10 + (view->columns - 80 < 20 ? view->columns - 80 : 20) : 10;
}

/* What the program does now, and its bound: in brackets if it is not claimed. */
static void put_program(struct screen *screen, const struct top_row *row)
{
    const struct frame_about_client *client = row->client;
    uint64_t deadline = client->deadline ? client->deadline : client->period;
    bool over = row->task && row->task->exceeded > row->task->unclaimed; /* a claimed bound */
    const char *state = client->state == CLIENT_DRAINING ? "D"
                        : client->holding                ? "R"
                        : client->waiting                ? "W"
                                                         : "-";
    char numbers[4][16] = {"-", "-", "-", "-"};
    char bound[20] = "-";
    char user[16];
    char name[40];
    char line[LINE];
    int width = (int)name_width(screen->view);

    if (row->response >= 0)
        number(row->response, numbers[0]);
    if (row->worst >= 0)
        number(row->worst, numbers[1]);
    if (deadline)
        number(ms(deadline), numbers[2]);
    if (row->task && row->task->bound) {
        number(ms(row->task->bound), numbers[3]);
        (void)snprintf(bound, sizeof bound, row->task->rule == RULE_MET ? "%s" : "(%s)", numbers[3]);
    }
    user_of(client->uid, user);
    plain(client->name, sizeof name, name);
    (void)snprintf(line, sizeof line,
                   "%7u %-8.8s %-*.*s %2u %s %3.0f%% %5.1f %6s %6s %6s %s%8s" TOP_PLAIN " %s%5llu" TOP_PLAIN,
                   client->pid, user, width, width, name, client->priority, state, 100 * row->gpu, row->jobs,
                   numbers[0], numbers[1], numbers[2], over ? TOP_BAD : "", bound, row->misses ? TOP_BAD : "",
                   (unsigned long long)row->misses);
    put_line(screen, line);
}

static void put_programs(struct screen *screen, unsigned room)
{
    const struct top_view *view = screen->view;
    size_t n = view->now->n_clients;
    struct top_row *rows = calloc(n + 1, sizeof *rows);
    char line[LINE];

    (void)snprintf(line, sizeof line, TOP_HEAD "%7s %-8s %-*s %2s %s %4s %5s %6s %6s %6s %8s %5s", "PID",
                   "USER", (int)name_width(view), "PROGRAM", "PR", "S", "GPU", "JOB/S", "RESP", "WORST",
                   "DEADL", "BOUND", "MISS");
    put_line(screen, line);
    for (size_t i = 0; rows && i < n; i++)
        fill_row(view, &view->now->clients[i], &rows[i]);
    if (rows)
        sort_rows(view, rows, n);
    for (size_t i = 0; rows && i < n && i < room; i++) {
        if (i + 1 == room && n > room) {
            (void)snprintf(line, sizeof line, TOP_DIM "%zu programs more" TOP_PLAIN, n - i);
            put_line(screen, line);
        } else {
            put_program(screen, &rows[i]);
        }
    }
    free(rows);
}

/* ---- tasks that wait to be started or were refused, programs outside of Baton ---- */

static void put_tasks(struct screen *screen)
{
    const struct snapshot *now = screen->view->now;
    char line[LINE];

    for (uint32_t i = 0; i < now->n_tasks && rows_left(screen) > 0; i++) {
        const struct frame_about_task *task = &now->tasks[i];
        char why[256] = "";
        char bound[48] = "no bound";
        char name[65];

        plain(task->name, sizeof name, name);
        if (task->bound) {
            (void)snprintf(bound, sizeof bound, "bound %.3f ms, ", ms(task->bound));
            task_rule_words(task->rule, task->who, why, sizeof why);
        }
        (void)snprintf(line, sizeof line, TOP_DIM "task" TOP_PLAIN " %s: %s, %s%s", name,
                       task_verdict_word(task->state), bound, why);
        put_line(screen, line);
    }
}

static void put_outsiders(struct screen *screen)
{
    const struct outsiders *outsiders = screen->view->outsiders;
    char line[LINE];

    for (size_t i = 0; i < outsiders->n && rows_left(screen) > 0; i++) {
        const struct outsider *outsider = &outsiders->all[i];
        char user[16];
        char name[32];
        size_t more = outsiders->n - i + outsiders->more;

        user_of(outsider->uid, user);
        plain(outsider->name, sizeof name, name);
        if (rows_left(screen) == 1 && more > 1)
            (void)snprintf(line, sizeof line,
                           TOP_BOLD "%zu programs outside of Baton have a GPU open" TOP_PLAIN, more);
        else
            (void)snprintf(line, sizeof line,
                           "%7u %-8.8s %s " TOP_BOLD "outside of Baton" TOP_PLAIN ", has %s open",
                           outsider->pid, user, name, outsider->device);
        put_line(screen, line);
    }
}

/* ---- the frame ---- */

void top_frame(const struct top_view *view, FILE *out)
{
    struct screen screen = {.view = view, .out = out};
    unsigned engines = 0;
    unsigned outside = (unsigned)view->outsiders->n;
    unsigned room;

    for (uint32_t i = 0; i < view->now->n_engines; i++)
        engines += strncmp(view->now->engines[i].name, "bus", 3) != 0;
    put_head(&screen);
    if (!view->rows) { /* text without a limit */
        put_engines(&screen, engines);
        put_programs(&screen, UINT32_MAX);
    } else {
        /* Engines get a third of the rows; outsiders get what programs leave, at least one row. */
        room = view->rows / 3 > 1 ? view->rows / 3 : 1;
        if (view->rows > 3)
            put_engines(&screen, engines < room ? engines : room);
        room = rows_left(&screen) > 1 + (outside > 0) ? rows_left(&screen) - 1 - (outside > 0) : 1;
        if (rows_left(&screen) > 1)
            put_programs(&screen, room);
    }
    put_outsiders(&screen);
    put_tasks(&screen);
}

void top_help(const struct top_view *view, FILE *out)
{
    static const char *const lines[] = {
        TOP_BOLD "Keys" TOP_PLAIN "  q quits   h this page   s the next sort   x reverses it",
        "      sort by  g gpu%  p priority  n name  i pid  j jobs  r response  w worst",
        "      m missed",
        TOP_BOLD "Columns" TOP_PLAIN "  times are ms from a job's release to its end",
        "      PR priority, larger is more urgent   S  R runs, W waits, - neither",
        "      GPU share of a GPU's time   JOB/S jobs a second   RESP their mean response",
        "      WORST and MISS since the program began   DEADL its deadline",
        "      BOUND of the plan; in brackets it is computed, but not claimed here",
        TOP_BOLD "Engines" TOP_PLAIN
                 "  runs: works for that program; keeps: idle, and the program has it still",
        TOP_BOLD "Outside of Baton" TOP_PLAIN "  has a GPU's device open without asking batond",
    };
    struct screen screen = {.view = view, .out = out};

    for (size_t i = 0; i < sizeof lines / sizeof lines[0] && rows_left(&screen) > 0; i++)
        put_line(&screen, lines[i]);
    if (view->outsiders->partial && rows_left(&screen) > 0)
        put_line(&screen, "  Only root sees the open files of other users' programs.");
}
