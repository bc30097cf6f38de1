/*
 * A YAML document (JSON is YAML) as a tree that keeps the position of every node, with typed
 * access. Errors name file, line, column, what was expected and what was found. Anchors and aliases
 * are rejected, so the tree is no larger than the text.
 */
#ifndef MODEL_DOCUMENT_H
#define MODEL_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/input_error.h"
#include "base/nsec.h"

#define DOCUMENT_MAX_DEPTH 32

enum node_kind { NODE_SCALAR, NODE_SEQUENCE, NODE_MAPPING };

struct node {
    enum node_kind kind;
    unsigned line, column; /* from 1 */
    const char *text;      /* scalar: its characters, without embedded 0 */
    bool quoted;           /* scalar: 'x' or "x", so never a number or null */
    const char *key;       /* as an entry of a mapping: its key; else NULL */
    unsigned key_line, key_column;
    struct node *first, *next; /* children in order; the next sibling */
    size_t n;                  /* number of children */
};

struct document {
    const char *name; /* borrowed; names the file in messages */
    struct arena arena;
    struct node *root; /* never NULL in a parsed document */
};

/* Parses exactly one document. On success the caller calls document_done(). */
int document_parse(const char *name, const char *text, size_t size, struct document *ret_document,
                   struct input_error *ret_error);
void document_done(struct document *document);

/* Fills *ret_error for this node; its kind or text is what was found. */
void document_error_set(const struct document *document, const struct node *node,
                        struct input_error *ret_error, const char *expected_format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same, as an expression that is INPUT_REJECTED. */
#define document_reject(...) (document_error_set(__VA_ARGS__), INPUT_REJECTED)

/* The child of a mapping with this key, or NULL. */
const struct node *node_get(const struct node *mapping, const char *key);

/* The node's name in messages: "a mapping", "a list", or the scalar's text. */
const char *node_found(const struct node *node);

/*
 * Typed access. Each answers 0 or INPUT_REJECTED and leaves *ret untouched unless it succeeds.
 * `what` names the expected value in the message ("a period in ms").
 */
int node_expect_mapping(
    const struct document *document, const struct node *node, const char *const known_keys[],
    struct input_error *ret_error); /* a mapping, no key twice, all among known_keys (NULL-ended) */
int node_expect_sequence(const struct document *document, const struct node *node, const char *what,
                         struct input_error *ret_error);
int node_text(const struct document *document, const struct node *node, const char *what,
              const char **ret_text,
              struct input_error *ret_error); /* not empty; lives as long as the document */
int node_int(const struct document *document, const struct node *node, const char *what, int64_t low,
             int64_t high, int64_t *ret_value, struct input_error *ret_error);
/* An optional key of a mapping: *value is untouched if the key is missing. */
int node_get_count(const struct document *document, const struct node *mapping, const char *key, int64_t low,
                   int64_t high, unsigned *value, struct input_error *ret_error);
int node_bool(const struct document *document, const struct node *node, bool *ret_value,
              struct input_error *ret_error);
int node_number(const struct document *document, const struct node *node, const char *what, double low,
                double high, double *ret_value, struct input_error *ret_error); /* finite */
/*
 * A duration in units of `unit` nanoseconds (NSEC_PER_MS, NSEC_PER_US), rounded to the nearest
 * nanosecond; at least low.
 */
int node_duration(const struct document *document, const struct node *node, const char *what, baton_nsec unit,
                  baton_nsec low, baton_nsec *ret_value, struct input_error *ret_error);
/* A size: bytes, or a number with kB MB GB (powers of 1000) or KiB MiB GiB. Not negative. */
int node_bytes(const struct document *document, const struct node *node, const char *what, int64_t *ret_bytes,
               struct input_error *ret_error);
/* The index of the text among the NULL-ended names. */
int node_choice(const struct document *document, const struct node *node, const char *what,
                const char *const names[], unsigned *ret_index, struct input_error *ret_error);

/* The same for text from another source (a command line): 0 or -EINVAL. */
int parse_bytes(const char *text, int64_t *ret_bytes);
int parse_duration(const char *text, baton_nsec unit, baton_nsec *ret_value);

#endif
