/*
 * Several result files on one page: the output of `baton report`. Inputs are the JSON that other
 * commands print. It is a trace, a simulation, an analysis or plan, a batch, a makespan, a study's
 * ranking, or a daemon's status. Inputs that name the same tasks belong together, so that responses
 * are drawn against bounds.
 */
#ifndef REPORT_STORY_H
#define REPORT_STORY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/input_error.h"
#include "report/html_page.h"

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
    const char *shown; /* its name on the page; borrowed */
    enum story_kind kind;
    json_t *root;  /* owned; NULL: a picture */
    char *picture; /* owned; an SVG that Baton drew */
};

#define STORY_MAX_INPUTS 16

/* What the inputs say about a task. Times in ms; negative: unknown. */
struct story_task {
    const char *name; /* borrowed from the inputs */
    double deadline_ms, bound_ms;
    bool unclaimed; /* a daemon reports that it does not claim the bound */
    double misses;  /* since the program began, if a trace has it; else 0 */
};

struct story {
    struct story_input inputs[STORY_MAX_INPUTS];
    size_t n_inputs;
    struct story_task *tasks; /* owned */
    size_t n_tasks, tasks_room;
};

/* Reads a file of any kind and adds it; the page calls it `shown`. 0, INPUT_REJECTED, -errno. */
int story_add(struct story *story, const char *path, const char *shown, struct input_error *ret_error);

/*
 * Adds a picture (SVG) to the page unchanged: only for files that Baton itself has just written.
 * Results as above.
 */
int story_add_picture(struct story *story, const char *path, const char *shown,
                      struct input_error *ret_error);
void story_done(struct story *story);

/* Writes the whole page. */
void story_write(const struct story *story, const char *title, FILE *out);

/* The entry of that task, or NULL. */
const struct story_task *story_find(const struct story *story, const char *name);

/* The chapters, each in its own file. */
void story_trace(const struct story *story, const struct story_input *input, struct html_page *page);
void story_tables(const struct story *story, const struct story_input *input, struct html_page *page);

#endif
