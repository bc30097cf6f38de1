/*
 * The story of some result files on one page: what `baton report` tells. Inputs are the JSON that other commands print (a trace, a
 * simulation, an analysis or plan, a batch, a makespan, a study's ranking, a daemon's status); several belong together when they name the same
 * tasks, so that responses are drawn against bounds.
 */
#ifndef REPORT_STORY_H
#define REPORT_STORY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/input_error.h"
#include "report/page.h"

enum story_kind {
    STORY_TRACE,
    STORY_ANALYSIS,
    STORY_SIMULATION,
    STORY_BATCH,
    STORY_MAKESPAN,
    STORY_STATUS,
    STORY_STUDY,
    STORY_PICTURE,
};

struct story_input {
    const char *shown; /* what the page calls it; borrowed */
    enum story_kind kind;
    json_t *root;  /* owned; NULL: a picture */
    char *picture; /* owned; an SVG of our own */
};

#define STORY_MAX_INPUTS 16

/* What is known of a task from any input. Times in ms; negative: not known. */
struct story_task {
    const char *name; /* borrowed from the inputs */
    double deadline_ms, bound_ms;
    bool unclaimed; /* a daemon says that it does not claim the bound */
    double misses;  /* since the program began, where a trace says it; else 0 */
};

struct story {
    struct story_input inputs[STORY_MAX_INPUTS];
    size_t n_inputs;
    struct story_task *tasks; /* owned */
    size_t n_tasks, tasks_room;
};

/* Reads a file of any kind and adds it; the page calls it `shown`: 0, INPUT_REJECTED, -errno. */
int story_add(struct story *story, const char *path, const char *shown, struct input_error *ret_error);

/* A picture (SVG) becomes part of the page as it is: only for files that Baton itself has just written. The same answers. */
int story_add_picture(struct story *story, const char *path, const char *shown,
                      struct input_error *ret_error);
void story_done(struct story *story);

/* Writes the whole page. */
void story_write(const struct story *story, const char *title, FILE *out);

/* The entry of that task, or NULL. */
const struct story_task *story_find(const struct story *story, const char *name);

/* The chapters, each in its own file. */
void story_trace(const struct story *story, const struct story_input *input, struct page *page);
void story_tables(const struct story *story, const struct story_input *input, struct page *page);

#endif
