#include "ptx/ptx_token.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lexer {
    struct ptx_source source;
    size_t at;
    uint32_t line;
    struct ptx_token *tokens; /* grows with realloc, copied to the arena at the end */
    size_t room;
    struct input_error *error;
};

static bool is_word_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_word_start(c) || is_digit(c);
}

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool ptx_token_is(const struct ptx_source *source, const struct ptx_token *token, const char *text)
{
    const char *at = source->text + token->offset;

    /* Most questions are answered by the first character. */
    return token->length && *at == *text && token->length == strlen(text) &&
           memcmp(at, text, token->length) == 0;
}

unsigned ptx_token_column(const struct ptx_source *source, const struct ptx_token *token)
{
    size_t start = token->offset;

    while (start > 0 && source->text[start - 1] != '\n')
        start--;
    return (unsigned)(token->offset - start) + 1;
}

int ptx_reject(const struct ptx_source *source, const struct ptx_token *token, struct input_error *ret_error,
               const char *format, ...)
{
    char expected[200];
    char found[200] = "the end of the text";
    va_list list;

    va_start(list, format);
    (void)vsnprintf(expected, sizeof expected, format, list);
    va_end(list);
    if (token->kind != PTX_TOKEN_END)
        (void)snprintf(found, sizeof found, "%.*s", token->length > 150 ? 150 : (int)token->length,
                       source->text + token->offset);
    return input_reject(ret_error, source->name, token->line, ptx_token_column(source, token), found, "%s",
                        expected);
}

const struct ptx_token *ptx_location_end(const struct ptx_source *source, const struct ptx_token *token)
{
    for (token++;; token++) {
        const struct ptx_token *next;

        while (token->kind == PTX_TOKEN_INT || token->kind == PTX_TOKEN_STRING)
            token++;
        next = token + 1;
        if (token->kind == PTX_TOKEN_END || !ptx_token_is(source, token, ","))
            return token;
        if (ptx_token_is(source, next, "function_name") && next[1].kind == PTX_TOKEN_WORD) {
            token = next + 1;
            if (ptx_token_is(source, token + 1, "+") && token[2].kind == PTX_TOKEN_INT)
                token++;
        } else if (ptx_token_is(source, next, "inlined_at")) {
            token = next;
        } else if (next->kind != PTX_TOKEN_INT) {
            return token;
        }
    }
}

static char peek(const struct lexer *lexer, size_t ahead)
{
    size_t at = lexer->at + ahead;

    return at < lexer->source.size ? lexer->source.text[at] : 0;
}

static int refuse(struct lexer *lexer, size_t length, const char *expected)
{
    struct ptx_token token = {.offset = (uint32_t)lexer->at,
                              .length = (uint32_t)length,
                              .line = lexer->line,
                              .kind = PTX_TOKEN_MARK};

    return ptx_reject(&lexer->source, &token, lexer->error, "%s", expected);
}

/* Blanks and comments. */
static int skip(struct lexer *lexer)
{
    for (;;) {
        char c = peek(lexer, 0);

        if (c == '\n') {
            lexer->line++;
            lexer->at++;
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
            lexer->at++;
        } else if (c == '/' && peek(lexer, 1) == '/') {
            while (lexer->at < lexer->source.size && peek(lexer, 0) != '\n')
                lexer->at++;
        } else if (c == '/' && peek(lexer, 1) == '*') {
            size_t start = lexer->at;
            uint32_t line = lexer->line;

            for (lexer->at += 2; !(peek(lexer, 0) == '*' && peek(lexer, 1) == '/'); lexer->at++) {
                if (lexer->at >= lexer->source.size) {
                    lexer->at = start;
                    lexer->line = line;
                    return refuse(lexer, 2, "an end of the comment");
                }
                lexer->line += peek(lexer, 0) == '\n';
            }
            lexer->at += 2;
        } else {
            return 0;
        }
    }
}

static struct ptx_token *push(struct lexer *lexer, enum ptx_token_kind kind)
{
    struct ptx_token *token;

    if (lexer->source.n == lexer->room) {
        size_t room = lexer->room ? 2 * lexer->room : 1024;
        struct ptx_token *more = realloc(lexer->tokens, room * sizeof *more);

        if (!more)
            return NULL;
        lexer->tokens = more;
        lexer->room = room;
    }
    token = &lexer->tokens[lexer->source.n++];
    *token = (struct ptx_token){.offset = (uint32_t)lexer->at, .line = lexer->line, .kind = kind};
    return token;
}

/* 0f and 0d: the bits in exactly so many hexadecimal digits. */
static int lex_bits(struct lexer *lexer, struct ptx_token *token, unsigned digits)
{
    for (unsigned i = 0; i < digits; i++) {
        int digit = hex_digit(peek(lexer, 2 + i));

        if (digit < 0)
            return refuse(lexer, 2 + i,
                          digits == 8 ? "8 hexadecimal digits after 0f" : "16 hexadecimal digits after 0d");
        token->value = token->value << 4 | (unsigned)digit;
    }
    token->kind = digits == 8 ? PTX_TOKEN_F32 : PTX_TOKEN_F64;
    token->length = 2 + digits;
    return 0;
}

/* A decimal floating-point number: digits, a dot or an exponent. 0 when the text here is none. */
static size_t decimal_length(const struct lexer *lexer)
{
    size_t n = 0;
    bool is_float = false;

    while (is_digit(peek(lexer, n)))
        n++;
    if (peek(lexer, n) == '.' && is_digit(peek(lexer, n + 1))) {
        is_float = true;
        for (n++; is_digit(peek(lexer, n)); n++)
            ;
    }
    if (peek(lexer, n) == 'e' || peek(lexer, n) == 'E') {
        size_t sign = peek(lexer, n + 1) == '+' || peek(lexer, n + 1) == '-';

        if (is_digit(peek(lexer, n + 1 + sign))) {
            is_float = true;
            for (n += 1 + sign; is_digit(peek(lexer, n)); n++)
                ;
        }
    }
    return is_float ? n : 0;
}

static int lex_decimal(struct lexer *lexer, struct ptx_token *token, size_t length)
{
    char copy[64];
    double value;

    if (length >= sizeof copy)
        return refuse(lexer, length, "a number of less than 64 characters");
    memcpy(copy, lexer->source.text + lexer->at, length);
    copy[length] = 0;
    value = strtod(copy, NULL);
    memcpy(&token->value, &value, sizeof value);
    token->kind = PTX_TOKEN_F64;
    token->length = (uint32_t)length;
    return 0;
}

static int lex_integer(struct lexer *lexer, struct ptx_token *token)
{
    unsigned base = 10;
    size_t n = 0;
    bool any = false;

    if (peek(lexer, 0) == '0') {
        char x = peek(lexer, 1);

        base = x == 'x' || x == 'X' ? 16 : x == 'b' || x == 'B' ? 2 : 8;
        n = base == 8 ? 1 : 2;
        any = base == 8;
    }
    for (;; n++) {
        int digit = hex_digit(peek(lexer, n));

        if (digit < 0 || (unsigned)digit >= base)
            break;
        if (token->value > (UINT64_MAX - (unsigned)digit) / base)
            return refuse(lexer, n + 1, "an integer of at most 64 bits");
        token->value = token->value * base + (unsigned)digit;
        any = true;
    }
    token->is_unsigned = token->value > INT64_MAX;
    if (peek(lexer, n) == 'U' || peek(lexer, n) == 'u') {
        token->is_unsigned = true;
        n++;
    }
    if (!any || is_word(peek(lexer, n)))
        return refuse(lexer, n + 1, "a number");
    token->kind = PTX_TOKEN_INT;
    token->length = (uint32_t)n;
    return 0;
}

static int lex_number(struct lexer *lexer, struct ptx_token *token)
{
    char second = peek(lexer, 1);
    size_t length;
    int r;

    if (peek(lexer, 0) == '0' && (second == 'f' || second == 'F'))
        r = lex_bits(lexer, token, 8);
    else if (peek(lexer, 0) == '0' && (second == 'd' || second == 'D'))
        r = lex_bits(lexer, token, 16);
    else if ((length = decimal_length(lexer)) > 0)
        r = lex_decimal(lexer, token, length);
    else
        r = lex_integer(lexer, token);
    if (!r)
        lexer->at += token->length;
    return r;
}

static int lex_string(struct lexer *lexer, struct ptx_token *token)
{
    size_t n = 1;

    while (peek(lexer, n) != '"') {
        if (lexer->at + n >= lexer->source.size || peek(lexer, n) == '\n')
            return refuse(lexer, n, "an end of the string");
        n += peek(lexer, n) == '\\' && peek(lexer, n + 1) != '\n' ? 2 : 1;
    }
    token->length = (uint32_t)n + 1;
    lexer->at += n + 1;
    return 0;
}

/* A word, or a dot and a word; both may contain `::`. */
static void lex_word(struct lexer *lexer, struct ptx_token *token)
{
    size_t n = 1;

    while (is_word(peek(lexer, n)) ||
           (peek(lexer, n) == ':' && peek(lexer, n + 1) == ':' && is_word(peek(lexer, n + 2))))
        n += peek(lexer, n) == ':' ? 2 : 1;
    token->length = (uint32_t)n;
    lexer->at += n;
}

static int lex_one(struct lexer *lexer)
{
    char c = peek(lexer, 0);
    struct ptx_token *token = push(lexer, PTX_TOKEN_MARK);

    if (!token)
        return -ENOMEM;
    if (is_word_start(c) || (c == '.' && is_word(peek(lexer, 1)))) {
        token->kind = c == '.' ? PTX_TOKEN_DOT : PTX_TOKEN_WORD;
        lex_word(lexer, token);
        return 0;
    }
    if (is_digit(c))
        return lex_number(lexer, token);
    if (c == '"') {
        token->kind = PTX_TOKEN_STRING;
        return lex_string(lexer, token);
    }
    if (!c || !strchr(",;{}[]()<>|!@+-*/=:&^~?", c))
        return refuse(lexer, 1, "a character of PTX");
    token->length = 1;
    lexer->at++;
    return 0;
}

/* Anything else is not PTX at all, whatever its characters are. */
static int expect_version(struct lexer *lexer)
{
    static const char first[] = ".version";
    size_t n = 0;
    int r = skip(lexer);

    if (r || (lexer->source.size - lexer->at >= strlen(first) &&
              memcmp(lexer->source.text + lexer->at, first, strlen(first)) == 0))
        return r;
    while (n < 24 && peek(lexer, n) > ' ')
        n++;
    if (!n && push(lexer, PTX_TOKEN_END))
        return ptx_reject(&lexer->source, &lexer->tokens[0], lexer->error, ".version, with which PTX begins");
    return refuse(lexer, n, ".version, with which PTX begins");
}

int ptx_tokens(struct arena *arena, const char *name, const char *text, size_t size,
               struct ptx_source *ret_source, struct input_error *ret_error)
{
    struct lexer lexer = {
        .source = {.name = name, .text = text, .size = size}, .line = 1, .error = ret_error};
    int r = 0;

    if (size > PTX_LARGEST)
        return input_reject(ret_error, name, 0, 0, "more", "at most %d bytes of PTX", PTX_LARGEST);
    r = expect_version(&lexer);
    while (!r && !(r = skip(&lexer)) && lexer.at < size)
        r = lexer.source.n < PTX_MOST_TOKENS ? lex_one(&lexer)
                                             : refuse(&lexer, 1, "fewer words, numbers and marks");
    if (!r && !push(&lexer, PTX_TOKEN_END))
        r = -ENOMEM;
    if (!r) {
        lexer.source.tokens = arena_calloc(arena, lexer.source.n, sizeof *lexer.tokens);
        if (lexer.source.tokens)
            memcpy(lexer.source.tokens, lexer.tokens, lexer.source.n * sizeof *lexer.tokens);
        else
            r = -ENOMEM;
    }
    free(lexer.tokens);
    if (!r)
        *ret_source = lexer.source;
    return r;
}
