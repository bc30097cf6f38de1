#include "ptx/cut/ptx_cut.h"
#include "base/draft.h"
#include "ptx/cut/ptx_piece.h"
#include "ptx/cut/ptx_rewrite.h"
#include "ptx/cut/ptx_study.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_defined_entry(const struct ptx_routine *routine)
{
    return routine->is_entry && routine->has_body;
}

static char *sibling_name(const struct ptx_routine *entry, const struct rewrite *rewrite)
{
    size_t suffix = strlen(rewrite->suffix);
    char *name = malloc((size_t)entry->name.length + suffix + 1);

    if (name) {
        memcpy(name, entry->name.text, entry->name.length);
        memcpy(name + entry->name.length, rewrite->suffix, suffix + 1);
    }
    return name;
}

static void check_room(const struct ptx_module *module, const struct ptx_routine *entry,
                       struct verdict *verdict)
{
    if (verdict->reason == PTX_CUT &&
        rewrite_piece_offset(entry) + sizeof(struct ptx_piece) > rewrite_most_parameters(module))
        verdict_set(verdict, module, PTX_WHOLE_PARAMETERS, entry->token, entry->token);
    if (verdict->reason == PTX_CUT && module->address_bits != 64)
        verdict_set(verdict, module, PTX_WHOLE_UNKNOWN, entry->token, entry->token);
}

/* NULL: no memory. */
static struct ptx_cut_parameter *copy_parameters(const struct ptx_routine *entry)
{
    struct ptx_cut_parameter *copy = calloc(entry->n_parameters + 1, sizeof *copy);
    size_t n = 0;

    for (const struct ptx_variable *at = entry->parameters; copy && at; at = at->next)
        copy[n++] = (struct ptx_cut_parameter){at->offset, (uint32_t)at->size};
    return copy;
}

static int fill_entry(const struct ptx_routine *entry, const struct rewrite *rewrite,
                      const struct verdict *verdict, struct ptx_cut_entry *ret_entry)
{
    bool is_cut = verdict->reason == PTX_CUT;

    *ret_entry = (struct ptx_cut_entry){
        .name = strndup(entry->name.text, entry->name.length),
        .piece_name = is_cut ? sibling_name(entry, rewrite) : strdup(""),
        .reason = verdict->reason,
        .line = verdict->line,
        .detail = strdup(verdict->detail),
        .n_parameters = entry->n_parameters,
        .parameters = copy_parameters(entry),
        .bytes = entry->parameter_bytes,
        .piece_offset = is_cut ? rewrite_piece_offset(entry) : 0,
    };
    return ret_entry->name && ret_entry->piece_name && ret_entry->detail && ret_entry->parameters ? 0
                                                                                                  : -ENOMEM;
}

/* Studies every entry and writes its sibling. *ret_any: at least one was written. */
static int cut_entries(const struct ptx_module *module, const struct rewrite *rewrite, FILE *out,
                       struct ptx_cut *cut, bool *ret_any)
{
    struct study study;
    int r = study_begin(&study, module);

    *ret_any = false;
    for (struct ptx_routine *entry = module->routines; entry && !r; entry = entry->next) {
        struct verdict verdict;

        if (!is_defined_entry(entry))
            continue;
        r = study_entry(&study, entry, &verdict);
        if (r)
            break;
        check_room(module, entry, &verdict);
        r = fill_entry(entry, rewrite, &verdict, &cut->entries[cut->n_entries++]);
        if (!r && verdict.reason == PTX_CUT) {
            *ret_any = true;
            r = rewrite_entry(rewrite, entry, out);
        }
    }
    study_done(&study);
    return r;
}

static int cut_module(const struct ptx_module *module, struct ptx_cut *cut)
{
    struct rewrite rewrite;
    struct draft draft;
    size_t n = 0;
    bool any = false;
    int r;

    for (const struct ptx_routine *routine = module->routines; routine; routine = routine->next)
        n += is_defined_entry(routine);
    cut->entries = calloc(n + 1, sizeof *cut->entries);
    if (!cut->entries)
        return -ENOMEM;
    rewrite_begin(&rewrite, module);
    r = draft_begin(&draft);
    if (r)
        return r;
    (void)fwrite(module->source.text, 1, module->source.size, draft.out);
    (void)fputs("\n", draft.out);
    r = draft_take(&draft, cut_entries(module, &rewrite, draft.out, cut, &any), &cut->text, &cut->size);
    if (!r && !any) {
        free(cut->text);
        cut->text = NULL;
        cut->size = 0;
    }
    return r;
}

/* The text as a whole cannot be read, or is too large for the analysis. */
static int whole(struct ptx_cut *cut, enum ptx_whole reason, const struct input_error *error)
{
    ptx_cut_done(cut);
    cut->reason = reason;
    cut->line = error ? error->line : 0;
    if (!error)
        cut->detail = strdup("");
    else if (asprintf(&cut->detail, "expected %.120s, found %.60s", error->expected, error->found) < 0)
        cut->detail = NULL;
    for (char *c = cut->detail; c && *c; c++)
        if (*c < ' ' || *c > 126)
            *c = '?';
    return cut->detail ? 0 : -ENOMEM;
}

int ptx_cut(const char *text, size_t size, struct ptx_cut *ret_cut)
{
    struct ptx_cut cut = {.detail = strdup("")};
    struct ptx_module module;
    struct input_error error = {0};
    int r = cut.detail ? ptx_module_outline(&module, "PTX", text, size, &error) : -ENOMEM;

    if (!cut.detail)
        return r;
    if (!r)
        r = cut_module(&module, &cut);
    ptx_module_done(&module);
    if (r == INPUT_REJECTED)
        r = whole(&cut, PTX_WHOLE_UNREADABLE, &error);
    else if (r == -ENOMEM && size > (size_t)1 << 20)
        r = whole(&cut, PTX_WHOLE_TOO_LARGE, NULL);
    if (r)
        ptx_cut_done(&cut);
    else
        *ret_cut = cut;
    return r;
}

static void entry_done(struct ptx_cut_entry *entry)
{
    free(entry->name);
    free(entry->piece_name);
    free(entry->detail);
    free(entry->parameters);
}

int ptx_cut_entry_copy(const struct ptx_cut_entry *entry, struct ptx_cut_entry *ret_copy)
{
    struct ptx_cut_entry copy = *entry;

    copy.name = strdup(entry->name);
    copy.piece_name = strdup(entry->piece_name);
    copy.detail = strdup(entry->detail);
    copy.parameters = calloc(entry->n_parameters + (size_t)1, sizeof *copy.parameters);
    if (!copy.name || !copy.piece_name || !copy.detail || !copy.parameters) {
        entry_done(&copy);
        return -ENOMEM;
    }
    memcpy(copy.parameters, entry->parameters, entry->n_parameters * sizeof *copy.parameters);
    *ret_copy = copy;
    return 0;
}

void ptx_cut_done(struct ptx_cut *cut)
{
    for (size_t i = 0; i < cut->n_entries; i++)
        entry_done(&cut->entries[i]);
    free(cut->entries);
    free(cut->text);
    free(cut->detail);
    *cut = (struct ptx_cut){0};
}

const struct ptx_cut_entry *ptx_cut_find(const struct ptx_cut *cut, const char *name)
{
    for (size_t i = 0; i < cut->n_entries; i++)
        if (!strcmp(cut->entries[i].name, name))
            return &cut->entries[i];
    return NULL;
}
