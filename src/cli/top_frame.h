/*
 * What `baton top` shows, as text of limited rows and columns. Pure: snapshots and settings in,
 * text out. Styles are single control characters (TOP_*) in the text. The caller replaces them by
 * escape sequences of its terminal, or drops them. All other characters are printable ASCII. Rates
 * are between two snapshots; with only one, they are means since the daemon or the program started.
 */
#ifndef CLI_TOP_FRAME_H
#define CLI_TOP_FRAME_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/outsiders.h"
#include "cli/snapshot.h"

#define TOP_PLAIN "\001"
#define TOP_BOLD  "\002"
#define TOP_DIM   "\003"
#define TOP_GOOD  "\004"
#define TOP_BUSY  "\005"
#define TOP_BAD   "\006" /* a missed deadline, an exceeded bound, a holder that does not yield */
#define TOP_HEAD  "\016"

/* TOP_KEY(identifier, key, name, what it sorts by) */
#define TOP_SORTS(TOP_KEY)                                                                                   \
    TOP_KEY(GPU, 'g', "gpu%", "share of the GPUs' time")                                                     \
    TOP_KEY(PRIORITY, 'p', "priority", "priority")                                                           \
    TOP_KEY(NAME, 'n', "name", "name")                                                                       \
    TOP_KEY(PID, 'i', "pid", "process id")                                                                   \
    TOP_KEY(JOBS, 'j', "jobs", "jobs a second")                                                              \
    TOP_KEY(RESPONSE, 'r', "response", "mean response time")                                                 \
    TOP_KEY(WORST, 'w', "worst", "worst response time")                                                      \
    TOP_KEY(MISSES, 'm', "missed", "missed deadlines")

enum top_sort {
#define TOP_KEY(identifier, key, name, words) TOP_SORT_##identifier,
    TOP_SORTS(TOP_KEY)
#undef TOP_KEY
        TOP_SORT_N
};

struct top_view {
    const struct snapshot *now, *before; /* before->daemon.pid 0: there is none */
    const struct outsiders *outsiders;
    enum top_sort sort;
    bool reversed;
    unsigned rows, columns; /* 0 rows: unlimited */
};

/* The sort of that key, or TOP_SORT_N. */
enum top_sort top_sort_of(char key);

/* Writes the frame: one line per row, each ended with a newline. */
void top_frame(const struct top_view *view, FILE *out);

/* Writes the help page in the same way. */
void top_help(const struct top_view *view, FILE *out);

#endif
