#include "study/spec/spec.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "study/gema_experiment.h"
#include "study/spec/spec_read.h"

#define SPEC_FILE_LIMIT ((size_t)1 << 20)

const char *const study_parameter_names[] = {"utilisation", "period",    "kernel", "data",
                                             "state",       "gpu_share", NULL};
const char *const study_organisation_names[] = {"P", "C", "G", NULL};

static int read_grid(const struct document *document, const struct node *node, struct study_spec *spec,
                     struct input_error *ret_error)
{
    static const char *const keys[] = {"step", "until", NULL};
    double until = 12;
    int result = 0;

    spec->step = 0.25;
    if (node) {
        const struct node *step = NULL;
        const struct node *last = NULL;

        result = node_expect_mapping(document, node, keys, ret_error);
        if (!result) {
            step = node_get(node, "step");
            last = node_get(node, "until");
        }
        if (!result && step)
            result =
                node_number(document, step, "a step of utilisation", 0.001, 1000, &spec->step, ret_error);
        if (!result && last)
            result = node_number(document, last, "the largest utilisation", 0.001, 1000, &until, ret_error);
    }
    if (result)
        return result;
    spec->n_points = (size_t)(until / spec->step + 1e-9);
    if (spec->n_points < 1 || spec->n_points > STUDY_MAX_POINTS)
        return document_reject(document, node ? node : document->root, ret_error,
                               "1 to %d points of the grid", STUDY_MAX_POINTS);
    return 0;
}

static int read_stopping(const struct document *document, const struct node *node, struct study_spec *spec,
                         struct input_error *ret_error)
{
    static const char *const keys[] = {"least", "most", "interval", "cut", NULL};
    int64_t least = 500;
    int64_t most = 4000;
    int64_t cut = 3;
    double interval = 0.03;
    int result = 0;

    if (node) {
        result = node_expect_mapping(document, node, keys, ret_error);
        if (!result && node_get(node, "least"))
            result = node_int(document, node_get(node, "least"), "a number of sets", 1, 100000000, &least,
                              ret_error);
        most = least > most ? least : most;
        if (!result && node_get(node, "most"))
            result = node_int(document, node_get(node, "most"), "a number of sets, not below `least`", least,
                              100000000, &most, ret_error);
        if (!result && node_get(node, "interval"))
            result = node_number(document, node_get(node, "interval"), "a width between 0 and 1", 0, 1,
                                 &interval, ret_error);
        if (!result && node_get(node, "cut"))
            result =
                node_int(document, node_get(node, "cut"), "a number of points", 0, 1000000, &cut, ret_error);
    }
    if (!result)
        spec->stopping = (struct study_stopping){(uint32_t)least, (uint32_t)most, interval, (uint32_t)cut};
    return result;
}

static int read_doubles(const struct document *document, const struct node *node, const char *what,
                        double low, double high, struct arena *arena, double **ret_values, size_t *ret_n,
                        struct input_error *ret_error)
{
    size_t n = 0;
    double *values;
    int result;

    if (!node)
        return document_reject(document, document->root, ret_error, "%s", what);
    if (node->kind != NODE_SEQUENCE) {
        values = arena_calloc(arena, 1, sizeof *values);
        if (!values)
            return -ENOMEM;
        *ret_values = values;
        *ret_n = 1;
        return node_number(document, node, what, low, high, values, ret_error);
    }
    if (node->n == 0 || node->n > STUDY_MAX_POINTS)
        return document_reject(document, node, ret_error, "1 to %d values", STUDY_MAX_POINTS);
    values = arena_calloc(arena, node->n, sizeof *values);
    if (!values)
        return -ENOMEM;
    for (const struct node *entry = node->first; entry; entry = entry->next) {
        result = node_number(document, entry, what, low, high, &values[n], ret_error);
        if (result)
            return result;
        for (size_t i = 0; i < n; i++)
            if (values[i] == values[n])
                return document_reject(document, entry, ret_error, "each value once");
        n++;
    }
    *ret_values = values;
    *ret_n = n;
    return 0;
}

static int read_gema(const struct document *document, struct study_spec *spec, struct input_error *ret_error)
{
    static const char *const keys[] = {"study", "seed", "sets", "gpu_utilisation", "dependent", NULL};
    const struct node *root = document->root;
    struct study_gema *gema = &spec->gema;
    int64_t sets = 1000;
    int result = node_expect_mapping(document, root, keys, ret_error);

    if (!result && node_get(root, "sets"))
        result =
            node_int(document, node_get(root, "sets"), "a number of sets", 1, 100000000, &sets, ret_error);
    if (!result)
        result = read_doubles(document, node_get(root, "gpu_utilisation"),
                              "gpu_utilisation: one or a list of U_G above 0", 1e-3, 64, &spec->arena,
                              &gema->utilisation, &gema->n_utilisation, ret_error);
    if (!result)
        result =
            read_doubles(document, node_get(root, "dependent"), "dependent: one or a list of probabilities",
                         0, 1, &spec->arena, &gema->dependent, &gema->n_dependent, ret_error);
    if (!result && gema->n_utilisation * gema->n_dependent > STUDY_MAX_POINTS)
        result = document_reject(document, root, ret_error, "at most %d points", STUDY_MAX_POINTS);
    gema->sets = (uint32_t)sets;
    spec->n_units = gema->n_utilisation * gema->n_dependent;
    return result;
}

static int read_gpusync(const struct document *document, const char *path, struct study_spec *spec,
                        struct input_error *ret_error)
{
    static const char *const keys[] = {"study",      "seed", "analysis", "platforms", "overheads",
                                       "parameters", "grid", "stop",     NULL};
    static const char *const names[] = {"gpusync", "gpusync-printed", NULL};
    const struct node *root = document->root;
    unsigned analysis = 0;
    int result = node_expect_mapping(document, root, keys, ret_error);

    if (!result && node_get(root, "analysis"))
        result =
            node_choice(document, node_get(root, "analysis"), "an analysis", names, &analysis, ret_error);
    spec->analysis = names[analysis];
    spec->options = analysis == 0 ? gpusync_sound : gpusync_printed;
    spec->options.decide = true;
    if (!result)
        result = spec_read_platforms(document, node_get(root, "platforms"), spec, ret_error);
    if (!result)
        result = spec_read_overheads(document, path, node_get(root, "overheads"), spec, ret_error);
    if (!result)
        result = spec_read_parameters(document, node_get(root, "parameters"), spec, ret_error);
    if (!result)
        result = read_grid(document, node_get(root, "grid"), spec, ret_error);
    if (!result)
        result = read_stopping(document, node_get(root, "stop"), spec, ret_error);
    if (result)
        return result;
    spec->n_units = spec->n_overheads;
    for (size_t p = 0; p < STUDY_PARAMETERS; p++)
        spec->n_units *= spec->choices[p].n;
    for (size_t i = 0; i < spec->choices[PARAMETER_UTILISATION].n; i++)
        if (spec->step * (double)spec->n_points / spec->choices[PARAMETER_UTILISATION].values[i].low + 2 >
            STUDY_MAX_TASKS)
            return document_reject(document, root, ret_error, "sets of at most %d tasks", STUDY_MAX_TASKS);
    return 0;
}

static int read_document(const struct document *document, const char *path, struct study_spec *spec,
                         struct input_error *ret_error)
{
    static const char *const kinds[] = {"gpusync", "gema", NULL};
    const struct node *root = document->root;
    int64_t seed = 1;
    unsigned kind = 0;
    int result = 0;

    if (root->kind != NODE_MAPPING || !node_get(root, "study"))
        return document_reject(document, root, ret_error, "a study: `study: gpusync` or `study: gema`");
    result = node_choice(document, node_get(root, "study"), "a kind of study", kinds, &kind, ret_error);
    if (!result && node_get(root, "seed"))
        result = node_int(document, node_get(root, "seed"), "a seed", 0, INT64_MAX, &seed, ret_error);
    spec->kind = (enum study_kind)kind;
    spec->seed = (uint64_t)seed;
    if (result)
        return result;
    return kind == STUDY_GEMA ? read_gema(document, spec, ret_error)
                              : read_gpusync(document, path, spec, ret_error);
}

int study_spec_read(const char *path, struct study_spec *ret_spec, struct input_error *ret_error)
{
    struct document document;
    char *text;
    size_t size;
    int result = file_read(path, SPEC_FILE_LIMIT, &text, &size);

    if (result == -EFBIG)
        return input_reject(ret_error, path, 0, 0, "a larger one", "a file of at most 1 MiB");
    if (result)
        return result;
    memset(ret_spec, 0, sizeof *ret_spec);
    arena_init(&ret_spec->arena, 0);
    ret_spec->text = arena_strndup(&ret_spec->arena, text, size);
    ret_spec->size = size;
    result = ret_spec->text ? document_parse(path, text, size, &document, ret_error) : -ENOMEM;
    if (!result) {
        result = read_document(&document, path, ret_spec, ret_error);
        document_done(&document);
    }
    free(text);
    if (result)
        study_spec_done(ret_spec);
    return result;
}

void study_spec_done(struct study_spec *spec)
{
    arena_done(&spec->arena);
}

void study_combination(const struct study_spec *spec, size_t unit, struct study_combination *ret_combination)
{
    size_t rest = unit / spec->n_overheads;

    ret_combination->overheads = unit % spec->n_overheads;
    for (size_t p = 0; p < STUDY_PARAMETERS; p++) {
        size_t n = spec->choices[p].n;

        ret_combination->choice[p] = rest % n;
        ret_combination->values[p] = &spec->choices[p].values[rest % n];
        rest /= n;
    }
}

size_t study_rows(const struct study_spec *spec)
{
    return spec->kind == STUDY_GEMA ? (size_t)GEMA_CURVES * GEMA_POLICIES : spec->n_configurations;
}
