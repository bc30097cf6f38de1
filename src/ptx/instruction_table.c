#include "ptx/instruction_table.h"

#include <stdio.h>
#include <string.h>

#define PTX_ROW(opcode, modifiers, operands, family, note) {opcode, modifiers, operands, family, note},
const struct ptx_row ptx_rows[] = {
#include "ptx/instructions.def"
};
#undef PTX_ROW
const size_t ptx_n_rows = sizeof ptx_rows / sizeof ptx_rows[0];
const struct ptx_row ptx_unknown_row = {"", "", "", PTX_UNKNOWN, ""};

/* One group of a row's modifiers. */
struct type_group {
    const char *begin, *end; /* the alternatives */
    const char *fallback;    /* behind `?`: up to the next blank; NULL: mandatory */
    bool is_type, is_silent;
};

/* The group at *at, which moves behind it; false at the end. */
static bool next_group(const char **at, struct type_group *ret_group)
{
    const char *c = *at;

    while (*c == ' ')
        c++;
    if (!*c)
        return false;
    *ret_group = (struct type_group){.is_type = *c == ':', .is_silent = *c == '-'};
    c += ret_group->is_type || ret_group->is_silent;
    ret_group->begin = c;
    while (*c && *c != ' ' && *c != '?')
        c++;
    ret_group->end = c;
    if (*c == '?')
        ret_group->fallback = ++c;
    while (*c && *c != ' ')
        c++;
    *at = c;
    return true;
}

static bool has_alternative(const struct type_group *group, const char *word, size_t length)
{
    for (const char *c = group->begin; c < group->end;) {
        const char *bar = memchr(c, '|', (size_t)(group->end - c));
        size_t n = (size_t)((bar ? bar : group->end) - c);

        if (n == length && memcmp(c, word, n) == 0)
            return true;
        c += n + 1;
    }
    return false;
}

static void append(struct ptx_match *match, const char *word, size_t length)
{
    size_t used = strlen(match->function);

    if (used + length + 2 < sizeof match->function) {
        if (used)
            match->function[used++] = '_';
        for (size_t i = 0; i < length; i++)
            match->function[used + i] = word[i] == ':' ? '_' : word[i];
        match->function[used + length] = 0;
    }
}

/* Takes what a matched modifier says about the instruction as a whole. */
static void take(struct ptx_match *match, const struct type_group *group, const char *word, size_t length)
{
    if (group->is_type) {
        unsigned second = match->types[0] != PTX_NONE;

        match->types[second] = ptx_type_named(word, length);
    }
    if (length == 2 && word[0] == 'v' && word[1] >= '2' && word[1] <= '8')
        match->vector = (unsigned)(word[1] - '0');
    if (!group->is_silent)
        append(match, word, length);
}

/*
 * Accesses to memory name semantics, scope, space and the rest in any order, as assemblers accept
 * it.
 */
static size_t try_unordered(const struct ptx_row *row, const struct ptx_source *source,
                            const struct ptx_token *dots, size_t n, struct ptx_match *ret_match,
                            bool *ret_complete)
{
    const char *at = row->modifiers;
    struct type_group group;
    uint32_t taken = 0;

    *ret_match = (struct ptx_match){.row = row, .vector = 1};
    *ret_complete = n < 32;
    append(ret_match, row->opcode, strlen(row->opcode));
    while (*ret_complete && next_group(&at, &group)) {
        bool found = false;

        for (size_t i = 0; i < n && !found; i++) {
            const char *word = source->text + dots[i].offset + 1;

            if (taken >> i & 1 || !has_alternative(&group, word, dots[i].length - 1))
                continue;
            take(ret_match, &group, word, dots[i].length - 1);
            taken |= UINT32_C(1) << i;
            found = true;
        }
        *ret_complete = found || group.fallback;
    }
    for (size_t i = 0; i < n && i < 32; i++)
        if (!(taken >> i & 1))
            return i;
    return n;
}

/*
 * How many of the dots the row accepts; `n` when all and no mandatory group is left. *ret_missing:
 * what it wanted next.
 */
static size_t try_row(const struct ptx_row *row, const struct ptx_source *source,
                      const struct ptx_token *dots, size_t n, struct ptx_match *ret_match, bool *ret_complete)
{
    const char *at = row->modifiers;
    struct type_group group;
    size_t used = 0;

    *ret_match = (struct ptx_match){.row = row, .vector = 1};
    *ret_complete = true;
    append(ret_match, row->opcode, strlen(row->opcode));
    while (next_group(&at, &group)) {
        const char *word = used < n ? source->text + dots[used].offset + 1 : "";
        size_t length = used < n ? dots[used].length - 1 : 0;

        if (used < n && has_alternative(&group, word, length)) {
            take(ret_match, &group, word, length);
            used++;
        } else if (!group.fallback) {
            *ret_complete = false;
            break;
        } else if (*group.fallback && *group.fallback != ' ') {
            append(ret_match, group.fallback, strcspn(group.fallback, " "));
        }
    }
    return used;
}

int ptx_match(const struct ptx_source *source, const struct ptx_token *tokens, size_t n,
              struct ptx_match *ret_match, struct input_error *ret_error)
{
    size_t farthest = 0;
    bool is_known = false;

    for (size_t i = 0; i < ptx_n_rows; i++) {
        struct ptx_match match;
        bool complete;
        size_t used;

        if (ptx_rows[i].opcode[0] != source->text[tokens[0].offset] ||
            !ptx_token_is(source, &tokens[0], ptx_rows[i].opcode))
            continue;
        is_known = true;
        if (ptx_rows[i].family == PTX_ATOMIC || ptx_rows[i].family == PTX_REDUCE ||
            ptx_rows[i].family == PTX_LOAD || ptx_rows[i].family == PTX_STORE)
            used = try_unordered(&ptx_rows[i], source, tokens + 1, n - 1, &match, &complete);
        else
            used = try_row(&ptx_rows[i], source, tokens + 1, n - 1, &match, &complete);
        if (complete && (used == n - 1 || ptx_rows[i].family == PTX_REFUSED)) {
            *ret_match = match;
            return 0;
        }
        farthest = used > farthest ? used : farthest;
    }
    if (!is_known)
        return ptx_reject(source, &tokens[0], ret_error, "an instruction");
    if (farthest + 1 < n)
        return ptx_reject(source, &tokens[farthest + 1], ret_error, "a modifier or type that %.*s can have",
                          (int)tokens[0].length, source->text + tokens[0].offset);
    return ptx_reject(source, &tokens[0], ret_error, "a type or modifier behind the last one");
}
