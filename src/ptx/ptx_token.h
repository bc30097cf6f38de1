/*
 * PTX text as tokens. Every token keeps its place in the text, so that a rewriter can copy what it
 * does not change. A name and its dotted parts are tokens of their own: `ld.global.u32 %r1` is a
 * word, two dots and a word.
 */
#ifndef PTX_PTX_TOKEN_H
#define PTX_PTX_TOKEN_H

#include "base/arena.h"
#include "base/input_error.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    PTX_LARGEST = 64 << 20,    /* bytes of a text */
    PTX_MOST_TOKENS = 24 << 20 /* of a text: nvcc writes about three bytes for each */
};

enum ptx_token_kind {
    PTX_TOKEN_END,
    PTX_TOKEN_WORD,   /* name, %register, $label, opcode, _ */
    PTX_TOKEN_DOT,    /* .word; the text includes the dot */
    PTX_TOKEN_INT,    /* value: 64 bits */
    PTX_TOKEN_F32,    /* 0f...: value: the 32 bits */
    PTX_TOKEN_F64,    /* 0d... or decimal: value: the bits of the double */
    PTX_TOKEN_STRING, /* with its quotes */
    PTX_TOKEN_MARK,   /* one character of punctuation */
};

struct ptx_token {
    uint32_t offset; /* in the text */
    uint32_t length;
    uint32_t line;
    uint8_t kind;
    bool is_unsigned; /* an integer with suffix U, or beyond INT64_MAX */
    uint64_t value;
};

struct ptx_source {
    const char *name; /* of the file, for errors; borrowed */
    const char *text; /* borrowed until the source is done with */
    size_t size;
    struct ptx_token *tokens; /* in the arena; the last one is PTX_TOKEN_END */
    size_t n;
};

/* Splits the text. 0, -ENOMEM or INPUT_REJECTED. */
int ptx_tokens(struct arena *arena, const char *name, const char *text, size_t size,
               struct ptx_source *ret_source, struct input_error *ret_error);

/* Is the token this text? */
bool ptx_token_is(const struct ptx_source *source, const struct ptx_token *token, const char *text);
unsigned ptx_token_column(const struct ptx_source *source, const struct ptx_token *token);

/*
 * The token behind a .loc or .file directive, which has no semicolon. Examples: `.loc 1 5 3`, the
 * same with `, function_name NAME` or `, inlined_at 1 4 2` behind it, `.file 1 "a.cu"`.
 */
const struct ptx_token *ptx_location_end(const struct ptx_source *source, const struct ptx_token *token);

/* Fills *ret_error for this token; answers INPUT_REJECTED. */
int ptx_reject(const struct ptx_source *source, const struct ptx_token *token, struct input_error *ret_error,
               const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
