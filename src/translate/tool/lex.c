#include "translate/tool/lex.h"

#include <ctype.h>
#include <string.h>

/*
 * The text without its backslash-newlines, and their places: the tokens of a joined line keep their
 * line numbers.
 */
struct lex_reader {
    const char *at;
    const char *end;
    const char *begin;
    const uint32_t *joins; /* offsets before which a line was joined, ascending */
    size_t n_joins;
    size_t joined;
    uint32_t line;
};

static char *join_lines(const char *text, size_t length, size_t *ret_length, uint32_t **ret_joins,
                        size_t *ret_n)
{
    char *out = text_alloc(length + 2, 1);
    size_t n_joins = 0;
    size_t n = 0;

    for (size_t i = 0; i + 1 < length; i++)
        n_joins += text[i] == '\\' && (text[i + 1] == '\n' || text[i + 1] == '\r');
    *ret_joins = text_alloc(n_joins, sizeof **ret_joins);
    *ret_n = 0;
    for (size_t i = 0; i < length; i++) {
        size_t skip = 0;

        if (text[i] == '\\' && i + 1 < length && text[i + 1] == '\n')
            skip = 2;
        else if (text[i] == '\\' && i + 2 < length && text[i + 1] == '\r' && text[i + 2] == '\n')
            skip = 3;
        if (skip) {
            (*ret_joins)[(*ret_n)++] = (uint32_t)n;
            i += skip - 1;
        } else {
            out[n++] = text[i];
        }
    }
    if (n && out[n - 1] != '\n')
        out[n++] = '\n';
    *ret_length = n;
    return out;
}

static void step(struct lex_reader *reader)
{
    while (reader->joined < reader->n_joins && reader->joins[reader->joined] <= reader->at - reader->begin) {
        reader->joined++;
        reader->line++;
    }
    reader->line += *reader->at == '\n';
    reader->at++;
}

static char peek(const struct lex_reader *reader, size_t ahead)
{
    return (size_t)(reader->end - reader->at) > ahead ? reader->at[ahead] : 0;
}

static bool name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

/*
 * Skips white space and comments and answers their columns; *line_end: a line ended.
 */
static uint32_t skip_blanks(struct lex_reader *reader, bool *line_end, struct refusal *refusal)
{
    uint32_t blanks = 0;

    while (reader->at < reader->end) {
        char c = *reader->at;

        if (c == '\n') {
            *line_end = true;
            blanks = 0;
            step(reader);
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f') {
            blanks++;
            step(reader);
        } else if (c == '/' && peek(reader, 1) == '/') {
            while (reader->at < reader->end && *reader->at != '\n')
                step(reader);
        } else if (c == '/' && peek(reader, 1) == '*') {
            uint32_t line = reader->line;
            step(reader);
            step(reader);
            while (reader->at < reader->end && !(*reader->at == '*' && peek(reader, 1) == '/'))
                step(reader);
            if (reader->at >= reader->end) {
                refuse(refusal, "line %u: comment without an end", line);
                return 0;
            }
            step(reader);
            step(reader);
            blanks++;
        } else {
            break;
        }
    }
    return blanks;
}

static uint8_t read_quoted(struct lex_reader *reader, char quote)
{
    step(reader);
    while (reader->at < reader->end && *reader->at != quote && *reader->at != '\n') {
        if (*reader->at == '\\' && peek(reader, 1) != '\n')
            step(reader);
        step(reader);
    }
    if (reader->at >= reader->end || *reader->at != quote)
        /* an apostrophe in a skipped #if group, or an error for the compiler to report */
        return TOKEN_OTHER;
    step(reader);
    return quote == '"' ? TOKEN_STRING : TOKEN_CHARACTER;
}

static size_t punctuator_length(const char *at, size_t left)
{
    static const char *const long_ones[] = {"...", "<<=", ">>=", "->", "++", "--", "<<", ">>",
                                            "<=",  ">=",  "==",  "!=", "&&", "||", "*=", "/=",
                                            "%=",  "+=",  "-=",  "&=", "^=", "|=", "##"};

    for (size_t i = 0; i < sizeof long_ones / sizeof long_ones[0]; i++) {
        size_t n = strlen(long_ones[i]);

        if (n <= left && !memcmp(at, long_ones[i], n))
            return n;
    }
    return 1;
}

static uint8_t read_token(struct lex_reader *reader)
{
    char c = *reader->at;

    if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)peek(reader, 1)))) {
        while (reader->at < reader->end) {
            char d = *reader->at;

            if (strchr("eEpP", d) && d && (peek(reader, 1) == '+' || peek(reader, 1) == '-'))
                step(reader);
            else if (!name_char(d) && d != '.')
                break;
            step(reader);
        }
        return TOKEN_NUMBER;
    }
    if (name_char(c)) {
        while (reader->at < reader->end && name_char(*reader->at))
            step(reader);
        return TOKEN_NAME;
    }
    if (c == '"' || c == '\'')
        return read_quoted(reader, c);
    for (size_t n = punctuator_length(reader->at, (size_t)(reader->end - reader->at)); n; n--)
        step(reader);
    return ispunct((unsigned char)c) && !strchr("@`\\", c) ? TOKEN_PUNCTUATOR : TOKEN_OTHER;
}

/*
 * A line ends here in a way that compilers treat differently: \ and blanks before the line break,
 * or a carriage return alone.
 */
static bool odd_line_end(const char *at, const char *end)
{
    const char *after = at + 1;

    if (*at == '\r')
        return after < end && *after != '\n';
    while (after < end && strchr(" \t\v\f", *after))
        after++;
    return *at == '\\' && after > at + 1 && after < end && (*after == '\n' || *after == '\r');
}

static void check_bytes(const char *text, size_t length, struct refusal *refusal)
{
    if (length > UINT32_MAX / 4)
        refuse(refusal, "source is too large");
    if (memchr(text, 0, length))
        refuse(refusal, "source contains a NUL byte");
    for (const char *at = text; at < text + length && !refusal->reason[0]; at++)
        if ((*at == '\r' || *at == '\\') && odd_line_end(at, text + length))
            refuse(refusal, "source with an odd end of line");
    for (const char *at = text; (at = memmem(at, length - (size_t)(at - text), "??", 2)); at++)
        if (at + 2 < text + length && strchr("=/'()!<>-", at[2])) {
            refuse(refusal, "source contains a trigraph");
            return;
        }
}

struct token *lex(const char *text, size_t length, const struct source_file *file, struct refusal *refusal)
{
    struct lex_reader reader = {.line = 1};
    struct token *first = NULL;
    struct token **link = &first;
    bool begins_line = true;
    uint32_t *joins;
    size_t joined_length;

    while (length && !text[length - 1])
        length--; /* many programs count the NUL of a string literal */
    check_bytes(text, length, refusal);
    if (refusal->reason[0])
        return NULL;
    reader.begin = reader.at = join_lines(text, length, &joined_length, &joins, &reader.n_joins);
    reader.joins = joins;
    reader.end = reader.begin + joined_length;
    while (!refusal->reason[0]) {
        uint32_t blanks = skip_blanks(&reader, &begins_line, refusal);
        struct token *token;

        if (reader.at >= reader.end || refusal->reason[0])
            break;
        while (reader.joined < reader.n_joins && reader.joins[reader.joined] <= reader.at - reader.begin) {
            reader.joined++;
            reader.line++;
        }
        token = text_alloc(1, sizeof *token);
        token->text = reader.at;
        token->line = reader.line;
        token->blanks = (uint16_t)(blanks < 400 ? blanks : 400);
        token->file = file;
        token->begins_line = begins_line;
        token->kind = read_token(&reader);
        token->length = (uint32_t)(reader.at - token->text);
        if (begins_line && token->length == 1 && *token->text == '%' && peek(&reader, 0) == ':')
            refuse(refusal, "line %u: digraph", token->line);
        begins_line = false;
        *link = token;
        link = &token->next;
    }
    return first;
}

bool token_is(const struct token *token, const char *text)
{
    return token && strlen(text) == token->length && !memcmp(token->text, text, token->length);
}
