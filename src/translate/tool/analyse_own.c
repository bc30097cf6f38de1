/*
 * Which elements each work-group reaches through a pointer that the kernel reads and writes
 * (translate/reach.h), read from the text of the kernel.
 *
 * An access is p[index], or q[index] with q a pointer variable that is p + something and never
 * changes. The index is what analyse_index.h can read. All accesses must agree in the digits that
 * differ between groups, so that a group's elements form one pattern around one place. What only
 * some accesses add, as in p[2 * id], p[2 * id + 1], or p[i], p[i + n], is one more digit.
 *
 * Anything else is unknown: min(id, 63), an index from memory, a pointer that is passed to a
 * function. Such a kernel runs on one device.
 */
#include "translate/tool/analyse.h"
#include "translate/tool/analyse_index.h"

#include <string.h>

enum { MOST_ACCESSES = 256 };

struct access {
    struct syntax_node *index;
    const struct symbol *through; /* the pointer variable; NULL: the parameter itself */
    uint32_t size;                /* bytes of the element */
};

struct own {
    struct index_text text;
    struct symbol *param;
    struct access list[MOST_ACCESSES];
    size_t n;
};

static bool is_plus(const struct syntax_node *node)
{
    return node->kind == NODE_BINARY && !strcmp(node->op, "+");
}

/* --- accesses --- */

static bool add_access(struct own *own, struct syntax_node *name, const struct symbol *through)
{
    struct syntax_node *child;
    struct syntax_node *element = syntax_parent(name, &child);
    struct access access = {.through = through};
    bool reads, writes;

    if (!element || element->kind != NODE_SUBSCRIPT || child != element->children ||
        own->n == MOST_ACCESSES || !analyse_element(element, own->text.body, &reads, &writes))
        return false;
    access.index = child->next;
    access.size = element->type.size;
    if (!access.size || access.size != (own->n ? own->list[0].size : access.size))
        return false; /* elements of another size have other places */
    own->list[own->n++] = access;
    return true;
}

/*
 * The variable that is declared as this pointer plus something and never changes; NULL: the use is
 * another.
 */
static const struct symbol *declared_from(const struct own *own, struct syntax_node *name)
{
    struct syntax_node *child;
    struct syntax_node *parent = syntax_parent(name, &child);

    if (parent && is_plus(parent) && parent->type.pointer)
        parent = syntax_parent(parent, &child);
    if (!parent || parent->kind != NODE_VARIABLE || !parent->symbol || !parent->symbol->type.pointer ||
        !index_only_value(&own->text, parent->symbol) || !index_never_changes(&own->text, parent->symbol))
        return NULL;
    return parent->symbol;
}

static bool gather(struct own *own)
{
    for (struct syntax_node *node = own->text.body; node; node = syntax_next(node, own->text.body)) {
        const struct symbol *pointer;

        if (node->kind != NODE_NAME || node->symbol != own->param)
            continue;
        pointer = declared_from(own, node);
        if (!pointer && !add_access(own, node, NULL))
            return false;
        for (struct syntax_node *use = own->text.body; pointer && use; use = syntax_next(use, own->text.body))
            if (use->kind == NODE_NAME && use->symbol == pointer && !add_access(own, use, pointer))
                return false;
    }
    return index_never_changes(&own->text, own->param);
}

/* What is added to the parameter in the declaration of the pointer; NULL: nothing. */
static struct syntax_node *offset_of(const struct own *own, const struct symbol *pointer)
{
    struct syntax_node *value = pointer ? syntax_strip(index_only_value(&own->text, pointer)) : NULL;

    if (!value || !is_plus(value))
        return NULL;
    return value->children->type.pointer ? value->children->next : value->children;
}

static bool read_access(const struct own *own, const struct access *access, struct sum *ret_sum)
{
    struct syntax_node *offset = offset_of(own, access->through);
    struct sum index;

    *ret_sum = (struct sum){0};
    return (!offset || index_read(&own->text, offset, ret_sum)) &&
           index_read(&own->text, access->index, &index) && sum_add(ret_sum, &index, 1);
}

/* --- the pattern of all accesses --- */

struct pattern {
    struct reach reach;
    bool mirrored[REACH_DIGITS]; /* the digit is subtracted */
    uint32_t n_accesses;
    struct sum added;       /* products that are equal for all items */
    uint32_t in[SUM_TERMS]; /* accesses that add them */
    int64_t least, most;    /* of the numbers that are added */
};

static bool differs_between_groups(const struct reach_digit *digit)
{
    return digit->kind < REACH_LOCAL_ID;
}

/*
 * A digit that is subtracted counts down. Its elements differ like those of an added digit, if
 * every access subtracts it.
 */
static bool digit_of(const struct term *term, struct reach_digit *ret_digit)
{
    bool may_be_negative = term->has_digit && differs_between_groups(&term->digit);
    int64_t number = may_be_negative && term->number < 0 ? -term->number : term->number;

    *ret_digit = term->digit;
    ret_digit->each = (struct reach_product){.number = (uint32_t)number, .n = term->n};
    memcpy(ret_digit->each.factors, term->factors, sizeof term->factors);
    return number > 0 && number <= INT32_MAX;
}

/*
 * Widens a digit to the values of both. Only counted digits may differ in their number of values.
 */
static bool widen(struct reach_digit *digit, const struct reach_digit *by)
{
    bool counted = digit->kind == REACH_COUNTED;

    if (digit->kind != by->kind || digit->dim != by->dim || !reach_same_product(&digit->each, &by->each) ||
        !reach_same_factors(digit->room.factors, digit->room.n, by->room.factors, by->room.n) ||
        (!counted && digit->room.number != by->room.number))
        return false;
    digit->room.number = by->room.number > digit->room.number ? by->room.number : digit->room.number;
    return true;
}

/*
 * Adds the digits of one access to those of all. An access has each digit at most once, and all
 * digits that differ between groups.
 */
static bool add_digits(struct pattern *pattern, const struct sum *sum)
{
    struct reach *reach = &pattern->reach;
    bool used[REACH_DIGITS] = {false};

    for (uint32_t i = 0; i < sum->n; i++) {
        struct reach_digit digit;
        uint32_t k = 0;

        if (!sum->terms[i].has_digit)
            continue;
        if (!digit_of(&sum->terms[i], &digit))
            return false;
        while (k < reach->n && (used[k] || pattern->mirrored[k] != (sum->terms[i].number < 0) ||
                                !widen(&reach->digits[k], &digit)))
            k++;
        if (k == REACH_DIGITS || (k == reach->n && pattern->n_accesses && differs_between_groups(&digit)))
            return false;
        if (k == reach->n) {
            pattern->mirrored[k] = sum->terms[i].number < 0;
            reach->digits[reach->n++] = digit;
        }
        used[k] = true;
    }
    for (uint32_t k = 0; k < reach->n; k++)
        if (!used[k] && differs_between_groups(&reach->digits[k]))
            return false;
    return true;
}

static bool add_product(struct pattern *pattern, const struct term *term)
{
    uint32_t k = 0;

    while (k < pattern->added.n &&
           (!sum_same_kind(&pattern->added.terms[k], term) || pattern->added.terms[k].number != term->number))
        k++;
    if (k == SUM_TERMS)
        return false;
    if (k == pattern->added.n)
        pattern->added.terms[pattern->added.n++] = *term;
    pattern->in[k]++;
    return true;
}

static bool add_to_pattern(struct pattern *pattern, const struct sum *sum)
{
    int64_t number = 0;

    if (!add_digits(pattern, sum))
        return false;
    for (uint32_t i = 0; i < sum->n; i++) {
        const struct term *term = &sum->terms[i];

        if (term->has_digit)
            continue;
        if (term->n == 0)
            number = term->number;
        else if (!add_product(pattern, term))
            return false;
    }
    pattern->least = number < pattern->least ? number : pattern->least;
    pattern->most = number > pattern->most ? number : pattern->most;
    pattern->n_accesses++;
    return number >= -INT32_MAX && number <= INT32_MAX;
}

static bool add_counted(struct reach *reach, const struct reach_product *each, uint32_t room)
{
    if (reach->n == REACH_DIGITS)
        return false;
    reach->digits[reach->n++] =
        (struct reach_digit){.kind = REACH_COUNTED, .each = *each, .room = {.number = room}};
    return true;
}

/*
 * What only some accesses add becomes a digit: a product taken zero times or once, and the numbers
 * from the least to the most.
 */
static bool add_differences(struct pattern *pattern)
{
    struct reach_digit digit;

    for (uint32_t k = 0; k < pattern->added.n; k++)
        if (pattern->in[k] < pattern->n_accesses &&
            (!digit_of(&pattern->added.terms[k], &digit) || !add_counted(&pattern->reach, &digit.each, 2)))
            return false;
    if (pattern->most - pattern->least >= INT32_MAX)
        return false;
    digit.each = (struct reach_product){.number = 1};
    return pattern->most == pattern->least ||
           add_counted(&pattern->reach, &digit.each, (uint32_t)(pattern->most - pattern->least + 1));
}

void analyse_reach(const struct syntax *syntax, struct symbol *param, struct syntax_node *body,
                   struct reach *ret_reach)
{
    struct own own = {.text = {syntax, body}, .param = param};
    struct pattern pattern = {.least = INT64_MAX, .most = INT64_MIN};
    bool known = gather(&own) && own.n > 0;

    for (size_t i = 0; i < own.n && known; i++) {
        struct sum sum;

        known = read_access(&own, &own.list[i], &sum) && add_to_pattern(&pattern, &sum);
    }
    *ret_reach = known && add_differences(&pattern) ? pattern.reach : (struct reach){0};
}
