#include "translate/tool/syntax.h"

#include <ctype.h>
#include <string.h>

struct syntax_node *syntax_strip(struct syntax_node *node)
{
    while (node && (node->kind == NODE_PAREN || node->kind == NODE_OTHER) && node->children &&
           !node->children->next)
        node = node->children;
    return node;
}

struct syntax_node *syntax_parent(struct syntax_node *node, struct syntax_node **ret_child)
{
    struct syntax_node *parent = node->parent;

    while (parent && (parent->kind == NODE_PAREN || (parent->kind == NODE_OTHER && parent->type.spelling))) {
        node = parent;
        parent = parent->parent;
    }
    *ret_child = node;
    return parent;
}

struct symbol *syntax_callee(const struct syntax_node *call)
{
    const struct syntax_node *callee = syntax_strip(call->children);

    return callee && callee->kind == NODE_NAME ? callee->symbol : NULL;
}

struct syntax_node *syntax_argument(const struct syntax_node *call, unsigned i)
{
    struct syntax_node *node = call->children ? call->children->next : NULL;

    while (node && i--)
        node = node->next;
    return node;
}

enum address_space syntax_points_at(struct syntax_node *argument)
{
    const struct syntax_node *inner = syntax_strip(argument);

    if (inner->type.pointer)
        return inner->type.pointee_space;
    return inner->type.spelling && strchr(inner->type.spelling, '[') ? inner->type.space : SPACE_GENERIC;
}

struct syntax_node *syntax_next(struct syntax_node *node, const struct syntax_node *top)
{
    if (node->children)
        return node->children;
    while (node != top && !node->next)
        node = node->parent;
    return node == top ? NULL : node->next;
}

bool syntax_inside(const struct syntax_node *node, const struct syntax_node *ancestor)
{
    while (node && node != ancestor)
        node = node->parent;
    return node;
}

bool syntax_is_assignment(const struct syntax_node *node)
{
    return node->kind == NODE_COMPOUND_ASSIGN || (node->kind == NODE_BINARY && !strcmp(node->op, "="));
}

size_t syntax_token(const struct syntax *syntax, size_t offset, size_t *ret_end)
{
    const char *text = syntax->text;
    size_t end;

    while (offset < syntax->length && isspace((unsigned char)text[offset]))
        offset++;
    end = offset < syntax->length ? offset + 1 : offset;
    if (offset < syntax->length && (text[offset] == '"' || text[offset] == '\'')) {
        while (end < syntax->length && text[end] != text[offset] && text[end] != '\n')
            end += text[end] == '\\' ? 2 : 1;
        end = end < syntax->length ? end + 1 : syntax->length;
    } else if (offset < syntax->length && (isalnum((unsigned char)text[offset]) || text[offset] == '_')) {
        while (end < syntax->length &&
               (isalnum((unsigned char)text[end]) || text[end] == '_' || text[end] == '$'))
            end++;
    }
    *ret_end = end;
    return offset;
}

size_t syntax_closing(const struct syntax *syntax, size_t open)
{
    size_t depth = 0;
    size_t end;

    for (size_t at = open; at < syntax->length; at = end) {
        at = syntax_token(syntax, at, &end);
        if (at >= syntax->length)
            break;
        if (syntax->text[at] == '(')
            depth++;
        if (syntax->text[at] == ')' && !--depth)
            return at;
    }
    return 0;
}
