#include "report/story.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define INPUT_LIMIT ((size_t)512 << 20)

static const char *const kind_names[] = {"trace",    "analysis", "simulation", "batch",
                                         "makespan", "status",   "study",      "picture"};

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : -1;
}

const struct story_task *story_find(const struct story *story, const char *name)
{
    for (size_t i = 0; i < story->n_tasks; i++) {
        if (strcmp(story->tasks[i].name, name) == 0)
            return &story->tasks[i];
    }
    return NULL;
}

/* The keys of an object show which kind of answer it is. */
static int recognise(const json_t *root, enum story_kind *ret_kind)
{
    static const struct {
        const char *key;
        enum story_kind kind;
    } signs[] = {
        {"traceEvents", STORY_TRACE}, {"analysis", STORY_ANALYSIS}, {"streams", STORY_BATCH},
        {"warps", STORY_MAKESPAN},    {"clients", STORY_STATUS},    {"combinations", STORY_STUDY},
        {"tasks", STORY_SIMULATION},
    };

    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        if (json_object_get(root, signs[i].key)) {
            *ret_kind = signs[i].kind;
            return 0;
        }
    }
    return -EINVAL;
}

/* The entry of that task, created when first seen; NULL: memory is short. */
static struct story_task *make_task(struct story *story, const char *name)
{
    struct story_task *task = (struct story_task *)story_find(story, name);

    if (task)
        return task;
    if (story->n_tasks == story->tasks_room) {
        size_t room = story->tasks_room ? story->tasks_room * 2 : 64;
        struct story_task *more = realloc(story->tasks, room * sizeof *more);

        if (!more)
            return NULL;
        story->tasks = more;
        story->tasks_room = room;
    }
    task = &story->tasks[story->n_tasks++];
    *task = (struct story_task){.name = name, .deadline_ms = -1, .bound_ms = -1};
    return task;
}

/* Deadlines and bounds, from any input that has them: 0 or -ENOMEM. */
static int learn_tasks(struct story *story, const struct story_input *input)
{
    const json_t *tasks = json_object_get(input->root, "tasks");
    size_t i;
    json_t *entry;

    json_array_foreach(tasks, i, entry)
    {
        const char *name = json_string_value(json_object_get(entry, "name"));
        struct story_task *task = name ? make_task(story, name) : NULL;

        if (!name)
            continue;
        if (!task)
            return -ENOMEM;
        if (number(entry, "deadline_ms") >= 0)
            task->deadline_ms = number(entry, "deadline_ms");
        if (input->kind == STORY_ANALYSIS && number(entry, "response_ms") >= 0)
            task->bound_ms = number(entry, "response_ms");
        else if (number(entry, "bound_ms") >= 0)
            task->bound_ms = number(entry, "bound_ms");
        if (input->kind == STORY_TRACE && number(entry, "misses") > 0)
            task->misses = number(entry, "misses");
        /*
         * For programs that really ran only batond can claim a bound. A simulation is the model
         * itself.
         */
        if (input->kind == STORY_TRACE)
            task->unclaimed = !json_is_true(json_object_get(entry, "bound_claimed"));
        else
            task->unclaimed = task->unclaimed || json_is_false(json_object_get(entry, "bound_claimed"));
    }
    return 0;
}

/* Reads the file's text, if there is room for one more input. */
static int read_input(const struct story *story, const char *path, const char *shown, char **ret_text,
                      size_t *ret_size, struct input_error *ret_error)
{
    int result;

    if (story->n_inputs == STORY_MAX_INPUTS)
        return input_reject(ret_error, shown, 0, 0, "one more", "at most %d inputs", STORY_MAX_INPUTS);
    result = file_read(path, INPUT_LIMIT, ret_text, ret_size);
    if (result == -EFBIG)
        return input_reject(ret_error, shown, 0, 0, "a larger one", "a file of at most 512 MiB");
    return result;
}

int story_add_picture(struct story *story, const char *path, const char *shown, struct input_error *ret_error)
{
    struct story_input input = {.shown = shown, .kind = STORY_PICTURE};
    size_t size;
    int result = read_input(story, path, shown, &input.picture, &size, ret_error);

    if (!result)
        story->inputs[story->n_inputs++] = input;
    return result;
}

int story_add(struct story *story, const char *path, const char *shown, struct input_error *ret_error)
{
    struct story_input input = {.shown = shown};
    json_error_t error;
    char *text;
    size_t size;
    int result;

    result = read_input(story, path, shown, &text, &size, ret_error);
    if (result)
        return result;
    input.root = json_loadb(text, size, 0, &error);
    free(text);
    if (!input.root) {
        char found[JSON_ERROR_TEXT_LENGTH + 32];

        (void)snprintf(found, sizeof found, "a syntax error (%s)", error.text);
        return input_reject(ret_error, shown, error.line > 0 ? (unsigned)error.line : 1,
                            error.column > 0 ? (unsigned)error.column : 1, found,
                            "JSON, as `baton trace -o` and --json of other commands write it");
    }
    if (recognise(input.root, &input.kind)) {
        json_decref(input.root);
        return input_reject(
            ret_error, path, 1, 1, "something else",
            "what `baton simulate|analyze|plan|batch|makespan|status --json` or a trace command wrote");
    }
    story->inputs[story->n_inputs++] = input;
    return learn_tasks(story, &input);
}

void story_done(struct story *story)
{
    for (size_t i = 0; i < story->n_inputs; i++) {
        json_decref(story->inputs[i].root);
        free(story->inputs[i].picture);
    }
    free(story->tasks);
    *story = (struct story){0};
}

/* Consecutive pictures share a heading. */
static void write_picture(const struct story_input *input, struct html_page *page, bool follows)
{
    if (!follows)
        page_section(page, "Curves", input->shown);
    page_picture_begin(page);
    (void)fputs(input->picture, page->out);
    page_picture_end(page);
}

void story_write(const struct story *story, const char *title, FILE *out)
{
    struct html_page page;
    char subtitle[512] = "from";

    for (size_t i = 0; i < story->n_inputs; i++) {
        size_t used = strlen(subtitle);

        if (story->inputs[i].kind != STORY_PICTURE)
            (void)snprintf(subtitle + used, sizeof subtitle - used, "%s %s (%s)", used > 4 ? "," : "",
                           story->inputs[i].shown, kind_names[story->inputs[i].kind]);
    }
    page_begin(&page, out, title, subtitle);
    for (size_t i = 0; i < story->n_inputs; i++) {
        if (story->inputs[i].kind == STORY_TRACE)
            story_trace(story, &story->inputs[i], &page);
        else if (story->inputs[i].kind == STORY_PICTURE)
            write_picture(&story->inputs[i], &page, i > 0 && story->inputs[i - 1].kind == STORY_PICTURE);
        else
            story_tables(story, &story->inputs[i], &page);
    }
    page_end(&page);
}
