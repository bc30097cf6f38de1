#include "ptx/cut/ptx_rewrite.h"
#include "ptx/cut/ptx_piece.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_ALIGNMENT = 4 };

static bool occurs(const struct ptx_module *module, const char *text)
{
    return memmem(module->source.text, module->source.size, text, strlen(text));
}

void rewrite_begin(struct rewrite *rewrite, const struct ptx_module *module)
{
    *rewrite = (struct rewrite){.module = module};
    (void)snprintf(rewrite->suffix, sizeof rewrite->suffix, "_baton_piece");
    for (unsigned i = 1; i < 1000 && occurs(module, rewrite->suffix); i++)
        (void)snprintf(rewrite->suffix, sizeof rewrite->suffix, "_baton_piece%u", i);
    for (size_t i = 0; i < module->source.n && !rewrite->has_sections; i++)
        rewrite->has_sections = ptx_token_is(&module->source, &module->source.tokens[i], ".section");
}

uint32_t rewrite_most_parameters(const struct ptx_module *module)
{
    return module->version >= 81 && module->target >= 70 ? 32764 : 4096;
}

uint32_t rewrite_piece_offset(const struct ptx_routine *entry)
{
    return (entry->parameter_bytes + PIECE_ALIGNMENT - 1) / PIECE_ALIGNMENT * PIECE_ALIGNMENT;
}

struct labels {
    struct ptx_name *names;
    size_t n;
};

static int by_name(const void *left, const void *right)
{
    const struct ptx_name *a = left;
    const struct ptx_name *b = right;
    int order = memcmp(a->text, b->text, a->length < b->length ? a->length : b->length);

    return order ? order : (a->length > b->length) - (a->length < b->length);
}

/* Sections of debug information name labels, so a sibling gets its own labels in such a module. */
static int find_labels(const struct rewrite *rewrite, const struct ptx_routine *entry, struct labels *ret)
{
    size_t n = 0;

    *ret = (struct labels){0};
    for (size_t i = 0; i < entry->n && rewrite->has_sections; i++)
        n += entry->statements[i].kind == PTX_STATEMENT_LABEL;
    if (!n)
        return 0;
    ret->names = malloc(n * sizeof *ret->names);
    if (!ret->names)
        return -ENOMEM;
    for (size_t i = 0; i < entry->n; i++)
        if (entry->statements[i].kind == PTX_STATEMENT_LABEL)
            ret->names[ret->n++] = entry->statements[i].label;
    qsort(ret->names, ret->n, sizeof *ret->names, by_name);
    return 0;
}

static void put(const struct rewrite *rewrite, uint32_t begin, uint32_t end, FILE *out)
{
    if (end > begin)
        (void)fwrite(rewrite->module->source.text + begin, 1, end - begin, out);
}

/* Which of %ctaid (0) and %nctaid (1) the tokens at `token` read, and the component; -1: none. */
static int number_at(const struct ptx_source *source, const struct ptx_token *token, unsigned *ret_component)
{
    static const char *const components[] = {".x", ".y", ".z"};
    int which = ptx_token_is(source, token, "%ctaid") ? 0 : ptx_token_is(source, token, "%nctaid") ? 1 : -1;

    for (unsigned i = 0; which >= 0 && i < 3; i++)
        if (ptx_token_is(source, token + 1, components[i])) {
            *ret_component = i;
            return which;
        }
    return -1;
}

static unsigned used_numbers(const struct rewrite *rewrite, const struct ptx_token *begin,
                             const struct ptx_token *end)
{
    unsigned used = 0;

    for (const struct ptx_token *token = begin; token < end; token++) {
        unsigned component = 0;
        int which = number_at(&rewrite->module->source, token, &component);

        if (which >= 0)
            used |= 1U << (3 * (unsigned)which + component);
    }
    return used;
}

static const char *const registers[6] = {"ctaid_x", "ctaid_y", "ctaid_z", "nctaid_x", "nctaid_y", "nctaid_z"};

static void put_load(const struct rewrite *rewrite, const char *reg, size_t offset, FILE *out)
{
    (void)fprintf(out, "ld.param.u32 %%%s%s, [param%s+%zu];\n", reg, rewrite->suffix, rewrite->suffix,
                  offset);
}

/*
 * q = n / grid[i] and rest = n - q * grid[i], in registers of these names. Each register is written
 * once, so that a compiler sees that the numbers are the same for all threads of a block.
 */
static void put_division(const struct rewrite *rewrite, unsigned i, const char *n, const char *q,
                         const char *rest, FILE *out)
{
    static const char *const names[2][6] = {{"magic_x", "shift_x", "size_x", "twice_x", "high_x", "whole_x"},
                                            {"magic_y", "shift_y", "size_y", "twice_y", "high_y", "whole_y"}};
    const char *const *name = names[i];
    const char *s = rewrite->suffix;

    for (unsigned k = 0; k < 6; k++)
        (void)fprintf(out, ".reg .b32 %%%s%s;\n", name[k], s);
    put_load(rewrite, name[0], offsetof(struct ptx_piece, magic) + 4 * i, out);
    put_load(rewrite, name[1], offsetof(struct ptx_piece, shift) + 4 * i, out);
    put_load(rewrite, name[2], offsetof(struct ptx_piece, grid) + 4 * i, out);
    (void)fprintf(out, "shl.b32 %%%s%s, %%%s%s, 1;\n", name[3], s, n, s);
    (void)fprintf(out, "mul.hi.u32 %%%s%s, %%%s%s, %%%s%s;\n", name[4], s, name[3], s, name[0], s);
    (void)fprintf(out, "shr.u32 %%%s%s, %%%s%s, %%%s%s;\n", q, s, name[4], s, name[1], s);
    (void)fprintf(out, "mul.lo.u32 %%%s%s, %%%s%s, %%%s%s;\n", name[5], s, q, s, name[2], s);
    (void)fprintf(out, "sub.u32 %%%s%s, %%%s%s, %%%s%s;\n", rest, s, n, s, name[5], s);
}

/* Computes, once, the numbers of the block that the body reads. */
static void put_prologue(const struct rewrite *rewrite, unsigned used, FILE *out)
{
    static const char *const scratch[] = {"first", "launched", "block", "row"};
    const char *s = rewrite->suffix;

    for (unsigned i = 0; i < 6; i++)
        if (used >> i & 1 || i < 3)
            (void)fprintf(out, ".reg .b32 %%%s%s;\n", registers[i], s);
    for (unsigned i = 0; i < sizeof scratch / sizeof scratch[0]; i++)
        (void)fprintf(out, ".reg .b32 %%%s%s;\n", scratch[i], s);
    for (unsigned i = 3; i < 6; i++)
        if (used >> i & 1)
            put_load(rewrite, registers[i], offsetof(struct ptx_piece, grid) + 4 * (i - 3), out);
    if (!(used & 7))
        return;
    put_load(rewrite, "first", offsetof(struct ptx_piece, first), out);
    (void)fprintf(out, "mov.u32 %%launched%s, %%ctaid.x;\nadd.u32 %%block%s, %%launched%s, %%first%s;\n", s,
                  s, s, s);
    put_division(rewrite, 0, "block", "row", "ctaid_x", out);
    if (used & 6)
        put_division(rewrite, 1, "row", "ctaid_z", "ctaid_y", out);
}

/* The parameter list from `(` to `)`, or nothing, with the descriptor added. */
static const struct ptx_token *put_parameters(const struct rewrite *rewrite, const struct ptx_routine *entry,
                                              FILE *out)
{
    const struct ptx_source *source = &rewrite->module->source;
    const struct ptx_token *open = entry->token + 1;
    const struct ptx_token *close = open;

    (void)fputs("(", out);
    if (ptx_token_is(source, open, "(")) {
        unsigned depth = 0;

        do {
            depth += ptx_token_is(source, close, "(");
            depth -= ptx_token_is(source, close, ")");
            close++;
        } while (depth);
        put(rewrite, open->offset + 1, (close - 1)->offset, out);
    }
    (void)fprintf(out, "%s.param .align %d .b8 param%s[%zu])\n", entry->n_parameters ? ",\n" : "",
                  PIECE_ALIGNMENT, rewrite->suffix, sizeof(struct ptx_piece));
    return close;
}

/* The replacement of the token; false: the token stays. *ret_next: where to continue. */
static bool put_changed(const struct rewrite *rewrite, const struct labels *labels,
                        const struct ptx_token *token, const struct ptx_token **ret_next, FILE *out)
{
    const struct ptx_source *source = &rewrite->module->source;
    struct ptx_name name = {source->text + token->offset, token->length};
    unsigned component = 0;
    int which = number_at(source, token, &component);

    *ret_next = token + 1;
    if (which >= 0) {
        (void)fprintf(out, "%%%s%s", registers[3 * (unsigned)which + component], rewrite->suffix);
        *ret_next = token + 2;
        return true;
    }
    if (token->kind == PTX_TOKEN_DOT && ptx_token_is(source, token, ".loc")) {
        *ret_next = ptx_location_end(source, token);
        return true;
    }
    if (token->kind == PTX_TOKEN_WORD && labels->n &&
        bsearch(&name, labels->names, labels->n, sizeof name, by_name)) {
        (void)fprintf(out, "%.*s%s", (int)name.length, name.text, rewrite->suffix);
        return true;
    }
    return false;
}

/* The body from behind its first brace to its last one. */
static void put_body(const struct rewrite *rewrite, const struct labels *labels,
                     const struct ptx_token *brace, const struct ptx_token *end, FILE *out)
{
    uint32_t copied = brace->offset + 1;
    const struct ptx_token *next;

    for (const struct ptx_token *token = brace + 1; token < end; token = next) {
        put(rewrite, copied, token->offset, out);
        if (!put_changed(rewrite, labels, token, &next, out))
            put(rewrite, token->offset, token->offset + token->length, out);
        copied = (next - 1)->offset + (next - 1)->length;
    }
    (void)fputs("\n", out);
}

int rewrite_entry(const struct rewrite *rewrite, const struct ptx_routine *entry, FILE *out)
{
    static const char *const linkages[] = {[PTX_PRIVATE] = "",
                                           [PTX_VISIBLE] = ".visible ",
                                           [PTX_EXTERN] = "",
                                           [PTX_WEAK] = ".weak ",
                                           [PTX_COMMON] = ""};
    const struct ptx_source *source = &rewrite->module->source;
    const struct ptx_token *directives;
    const struct ptx_token *brace;
    struct labels labels;
    int r = find_labels(rewrite, entry, &labels);

    if (r)
        return r;
    (void)fprintf(out, "\n%s.entry %.*s%s", linkages[entry->linkage], (int)entry->name.length,
                  entry->name.text, rewrite->suffix);
    directives = put_parameters(rewrite, entry, out);
    for (brace = directives; !ptx_token_is(source, brace, "{"); brace++)
        ;
    put(rewrite, directives->offset, brace->offset, out);
    (void)fputs("{\n", out);
    put_prologue(rewrite, used_numbers(rewrite, brace, entry->end), out);
    put_body(rewrite, &labels, brace, entry->end, out);
    free(labels.names);
    return 0;
}
