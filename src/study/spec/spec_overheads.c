/* `overheads:`: sets from files beside the study, all of them or some by name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "model/overheads.h"
#include "study/spec/spec_read.h"

#define OVERHEADS_FILE_LIMIT ((size_t)1 << 20)

static int read_flag(const struct document *document, const struct node *entry, const char *key,
                     bool *ret_value, struct input_error *ret_error)
{
    const struct node *node = node_get(entry, key);

    return node ? node_bool(document, node, ret_value, ret_error) : 0;
}

static int read_set(const struct document *document, const struct node *entry, struct arena *arena,
                    struct study_overheads *ret_set, struct input_error *ret_error)
{
    static const char *const keys[] = {"name", "worst_case", "loaded", "all", "P", "C", "G", NULL};
    const struct node *all;
    const char *name = NULL;
    int result = node_expect_mapping(document, entry, keys, ret_error);

    *ret_set = (struct study_overheads){0};
    if (!result && !node_get(entry, "name"))
        result = document_reject(document, entry, ret_error, "an overhead set with a name");
    if (!result)
        result = node_text(document, node_get(entry, "name"), "a name", &name, ret_error);
    if (!result)
        result = read_flag(document, entry, "worst_case", &ret_set->worst_case, ret_error);
    if (!result)
        result = read_flag(document, entry, "loaded", &ret_set->loaded, ret_error);
    all = result ? NULL : node_get(entry, "all");
    for (size_t o = 0; o < STUDY_ORGANISATIONS && !result; o++) {
        const struct node *one = node_get(entry, study_organisation_names[o]);

        one = one ? one : all;
        result = one ? overheads_read(document, one, arena, &ret_set->sets[o], ret_error)
                     : document_reject(document, entry, ret_error, "overheads for P, C and G, or for all");
    }
    if (!result && !(ret_set->name = arena_strndup(arena, name, strlen(name))))
        result = -ENOMEM;
    return result;
}

int study_overheads_read(const struct document *document, const struct node *list, struct arena *arena,
                         struct study_overheads ret_sets[STUDY_MAX_OVERHEADS], size_t *ret_n,
                         struct input_error *ret_error)
{
    size_t n = 0;
    int result = node_expect_sequence(document, list, "a list of overhead sets", ret_error);

    if (!result && (list->n == 0 || list->n > STUDY_MAX_OVERHEADS))
        result = document_reject(document, list, ret_error, "1 to %d overhead sets", STUDY_MAX_OVERHEADS);
    for (const struct node *entry = result ? NULL : list->first; entry && !result; entry = entry->next) {
        result = read_set(document, entry, arena, &ret_sets[n], ret_error);
        for (size_t i = 0; i < n && !result; i++)
            if (strcmp(ret_sets[i].name, ret_sets[n].name) == 0)
                result = document_reject(document, entry, ret_error, "each name once");
        n++;
    }
    if (!result)
        *ret_n = n;
    return result;
}

int study_overheads_read_file(const char *path, struct arena *arena,
                              struct study_overheads ret_sets[STUDY_MAX_OVERHEADS], size_t *ret_n,
                              struct input_error *ret_error)
{
    static const char *const keys[] = {"sets", NULL};
    struct document document;
    char *text;
    size_t size;
    int result = file_read(path, OVERHEADS_FILE_LIMIT, &text, &size);

    if (result == -EFBIG)
        return input_reject(ret_error, path, 0, 0, "a larger one", "a file of at most 1 MiB");
    if (result)
        return input_reject(ret_error, path, 0, 0, strerror(-result), "a readable file of overhead sets");
    result = document_parse(path, text, size, &document, ret_error);
    if (!result) {
        result = node_expect_mapping(&document, document.root, keys, ret_error);
        if (!result && !node_get(document.root, "sets"))
            result = document_reject(&document, document.root, ret_error, "`sets:`, a list of overhead sets");
        if (!result)
            result = study_overheads_read(&document, node_get(document.root, "sets"), arena, ret_sets, ret_n,
                                          ret_error);
        document_done(&document);
    }
    free(text);
    return result;
}

/* Keeps the sets that `sets:` names, in its order. */
static int choose(const struct document *document, const struct node *list,
                  const struct study_overheads found[], size_t n, struct study_spec *spec,
                  struct input_error *ret_error)
{
    int result = node_expect_sequence(document, list, "a list of names of overhead sets", ret_error);

    if (!result && (list->n == 0 || list->n > n))
        result = document_reject(document, list, ret_error, "1 to %zu names", n);
    for (const struct node *entry = result ? NULL : list->first; entry && !result; entry = entry->next) {
        const char *name = NULL;
        size_t i = 0;

        result = node_text(document, entry, "the name of an overhead set", &name, ret_error);
        if (result)
            break;
        while (i < n && strcmp(found[i].name, name) != 0)
            i++;
        if (i == n)
            result = document_reject(document, entry, ret_error, "the name of a set in the file");
        else
            spec->overheads[spec->n_overheads++] = found[i];
        for (size_t k = 0; !result && k + 1 < spec->n_overheads; k++)
            if (strcmp(spec->overheads[k].name, name) == 0)
                result = document_reject(document, entry, ret_error, "each name once");
    }
    return result;
}

/* Resolves file relative to the folder of path. */
static int beside(const char *path, const char *file, char ret_path[], size_t size)
{
    const char *slash = strrchr(path, '/');
    int length;

    if (file[0] == '/' || !slash)
        length = snprintf(ret_path, size, "%s", file);
    else
        length = snprintf(ret_path, size, "%.*s/%s", (int)(slash - path), path, file);
    return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}

int spec_read_overheads(const struct document *document, const char *path, const struct node *node,
                        struct study_spec *spec, struct input_error *ret_error)
{
    static const char *const keys[] = {"file", "sets", NULL};
    struct study_overheads found[STUDY_MAX_OVERHEADS];
    char name[4096];
    const char *file = NULL;
    size_t n = 0;
    int result;

    if (!node)
        return document_reject(document, document->root, ret_error, "overheads: {file: FILE, sets: [NAMES]}");
    result = node_expect_mapping(document, node, keys, ret_error);
    if (!result && !node_get(node, "file"))
        result = document_reject(document, node, ret_error, "the file of the overhead sets");
    if (!result)
        result = node_text(document, node_get(node, "file"), "a file", &file, ret_error);
    if (!result)
        result = beside(path, file, name, sizeof name);
    if (!result)
        result = study_overheads_read_file(name, &spec->arena, found, &n, ret_error);
    if (result)
        return result;
    if (node_get(node, "sets"))
        return choose(document, node_get(node, "sets"), found, n, spec, ret_error);
    memcpy(spec->overheads, found, n * sizeof found[0]);
    spec->n_overheads = n;
    return 0;
}
