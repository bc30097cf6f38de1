#include "model/document.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#define ARENA_LIMIT      ((size_t)512 << 20)
#define MAX_MAPPING_KEYS 1000

/* The parser's state while it processes libyaml's events; the stack holds the open containers. */
struct document_builder {
    struct document *document;
    struct input_error *error;
    struct node *stack[DOCUMENT_MAX_DEPTH];
    struct node *last[DOCUMENT_MAX_DEPTH]; /* last child of each, to append in O(1) */
    size_t depth;
    const char *key; /* key of the next value in the mapping on top of the stack; else NULL */
    unsigned key_line, key_column;
};

void document_error_set(const struct document *document, const struct node *node,
                        struct input_error *ret_error, const char *expected_format, ...)
{
    char expected[sizeof ret_error->expected];
    va_list arguments;

    va_start(arguments, expected_format);
    (void)vsnprintf(expected, sizeof expected, expected_format, arguments);
    va_end(arguments);
    input_error_set(ret_error, document->name, node->line, node->column, node_found(node), "%s", expected);
}

const char *node_found(const struct node *node)
{
    if (node->kind == NODE_SEQUENCE)
        return "a list";
    if (node->kind == NODE_MAPPING)
        return "a mapping";
    return *node->text ? node->text : "nothing";
}

static int reject_at(const struct document_builder *builder, const yaml_mark_t *mark, const char *found,
                     const char *expected)
{
    return input_reject(builder->error, builder->document->name, (unsigned)mark->line + 1,
                        (unsigned)mark->column + 1, found, "%s", expected);
}

/* Appends node to the container on top of the stack, or makes it the root. */
static int attach(struct document_builder *builder, struct node *node)
{
    struct node *parent;

    if (builder->depth == 0) {
        builder->document->root = node;
        return 0;
    }
    parent = builder->stack[builder->depth - 1];
    if (parent->kind == NODE_MAPPING) {
        assert(builder->key); /* libyaml gives a key before every value */
        if (node_get(parent, builder->key))
            return input_reject(builder->error, builder->document->name, builder->key_line,
                                builder->key_column, builder->key, "each key once");
        if (parent->n == MAX_MAPPING_KEYS)
            return input_reject(builder->error, builder->document->name, builder->key_line,
                                builder->key_column, builder->key, "at most %d keys in one mapping",
                                MAX_MAPPING_KEYS);
        node->key = builder->key;
        node->key_line = builder->key_line;
        node->key_column = builder->key_column;
        builder->key = NULL;
    }
    if (builder->last[builder->depth - 1])
        builder->last[builder->depth - 1]->next = node;
    else
        parent->first = node;
    builder->last[builder->depth - 1] = node;
    parent->n++;
    return 0;
}

static struct node *new_node(struct document_builder *builder, enum node_kind kind, const yaml_mark_t *mark)
{
    struct node *node = arena_calloc(&builder->document->arena, 1, sizeof *node);

    if (node)
        *node = (struct node){
            .kind = kind, .line = (unsigned)mark->line + 1, .column = (unsigned)mark->column + 1, .text = ""};
    return node;
}

static int too_large(const struct document_builder *builder, const yaml_mark_t *mark)
{
    return reject_at(builder, mark, "more", "a document that fits in 512 MiB of memory");
}

static int on_scalar(struct document_builder *builder, const yaml_event_t *event)
{
    const char *value = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    struct node *top = builder->depth ? builder->stack[builder->depth - 1] : NULL;
    const char *text;
    struct node *node;

    if (event->data.scalar.anchor)
        return reject_at(builder, &event->start_mark, "an anchor", "no anchors (&name)");
    if (memchr(value, 0, length))
        return reject_at(builder, &event->start_mark, "a NUL character", "text");
    text = arena_strndup(&builder->document->arena, value, length);
    if (!text)
        return too_large(builder, &event->start_mark);
    if (top && top->kind == NODE_MAPPING && !builder->key) {
        builder->key = text;
        builder->key_line = (unsigned)event->start_mark.line + 1;
        builder->key_column = (unsigned)event->start_mark.column + 1;
        return 0;
    }
    node = new_node(builder, NODE_SCALAR, &event->start_mark);
    if (!node)
        return too_large(builder, &event->start_mark);
    node->text = text;
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    return attach(builder, node);
}

static int on_container(struct document_builder *builder, const yaml_event_t *event, enum node_kind kind,
                        const yaml_char_t *anchor)
{
    struct node *top = builder->depth ? builder->stack[builder->depth - 1] : NULL;
    struct node *node;
    int result;

    if (anchor)
        return reject_at(builder, &event->start_mark, "an anchor", "no anchors (&name)");
    if (top && top->kind == NODE_MAPPING && !builder->key)
        return reject_at(builder, &event->start_mark, kind == NODE_MAPPING ? "a mapping" : "a list", "a key");
    if (builder->depth == DOCUMENT_MAX_DEPTH)
        return reject_at(builder, &event->start_mark, "deeper nesting", "at most 32 levels");
    node = new_node(builder, kind, &event->start_mark);
    if (!node)
        return too_large(builder, &event->start_mark);
    result = attach(builder, node);
    if (result)
        return result;
    builder->stack[builder->depth] = node;
    builder->last[builder->depth++] = NULL;
    return 0;
}

/* One event: 0, or INPUT_REJECTED. */
static int on_event(struct document_builder *builder, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return on_scalar(builder, event);
    case YAML_SEQUENCE_START_EVENT:
        return on_container(builder, event, NODE_SEQUENCE, event->data.sequence_start.anchor);
    case YAML_MAPPING_START_EVENT:
        return on_container(builder, event, NODE_MAPPING, event->data.mapping_start.anchor);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        builder->depth--;
        return 0;
    case YAML_ALIAS_EVENT:
        return reject_at(builder, &event->start_mark, "an alias", "no aliases (*name)");
    case YAML_DOCUMENT_START_EVENT:
        if (builder->document->root)
            return reject_at(builder, &event->start_mark, "a second document", "one document");
        return 0;
    default:
        return 0;
    }
}

/*
 * Reports what libyaml could not scan. Reader errors have only an offset, so the lines up to it are
 * counted.
 */
static int syntax_error(const yaml_parser_t *parser, const struct document_builder *builder, const char *text,
                        size_t size)
{
    char found[160];
    unsigned line = (unsigned)parser->problem_mark.line + 1;
    unsigned column = (unsigned)parser->problem_mark.column + 1;

    if (parser->error == YAML_READER_ERROR) {
        line = column = 1;
        for (size_t i = 0; i < parser->problem_offset && i < size; i++) {
            column = text[i] == '\n' ? 1 : column + 1;
            line += text[i] == '\n';
        }
    }
    (void)snprintf(found, sizeof found, "a syntax error (%s)", parser->problem ? parser->problem : "unknown");
    return input_reject(builder->error, builder->document->name, line, column, found, "YAML or JSON");
}

int document_parse(const char *name, const char *text, size_t size, struct document *ret_document,
                   struct input_error *ret_error)
{
    struct document document = {.name = name};
    struct document_builder builder = {.document = &document, .error = ret_error};
    yaml_parser_t parser;
    int result = 0;
    bool done = false;

    if (!yaml_parser_initialize(&parser))
        return -ENOMEM;
    arena_init(&document.arena, ARENA_LIMIT);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
    while (!result && !done) {
        yaml_event_t event;

        if (!yaml_parser_parse(&parser, &event)) {
            result =
                parser.error == YAML_MEMORY_ERROR ? -ENOMEM : syntax_error(&parser, &builder, text, size);
            break;
        }
        result = on_event(&builder, &event);
        done = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    if (!result && !document.root)
        result = input_reject(ret_error, name, 1, 1, "an empty file", "a YAML mapping");
    if (result)
        arena_done(&document.arena);
    else
        *ret_document = document;
    return result;
}

void document_done(struct document *document)
{
    arena_done(&document->arena);
    *document = (struct document){0};
}

const struct node *node_get(const struct node *mapping, const char *key)
{
    for (const struct node *child = mapping->first; child; child = child->next) {
        if (strcmp(child->key, key) == 0)
            return child;
    }
    return NULL;
}
