/*
 * What PTX declares outside of its functions. Only declarations are looked at, by their first
 * words: whatever is not understood counts as state.
 */
#include <ctype.h>
#include <string.h>

#include "cuda/migrate/code.h"

/* Behind blanks and comments; NULL: a comment has no end. */
static const char *skip(const char *at)
{
    for (;;) {
        while (isspace((unsigned char)*at))
            at++;
        if (at[0] == '/' && at[1] == '/') {
            at += strcspn(at, "\n");
        } else if (at[0] == '/' && at[1] == '*') {
            at = strstr(at + 2, "*/");
            if (!at)
                return NULL;
            at += 2;
        } else {
            return at;
        }
    }
}

/* Behind a string, a word or a single character; NULL: a string has no end. */
static const char *next(const char *at)
{
    if (*at == '"') {
        for (at++; *at && *at != '"'; at++)
            at += *at == '\\' && at[1];
        return *at ? at + 1 : NULL;
    }
    if (*at != '.' && *at != '_' && *at != '$' && *at != '%' && !isalnum((unsigned char)*at))
        return *at ? at + 1 : at;
    do
        at++;
    while (*at == '_' || *at == '$' || *at == ':' || isalnum((unsigned char)*at));
    return at;
}

static bool is_word(const char *at, const char *end, const char *word)
{
    return (size_t)(end - at) == strlen(word) && strncmp(at, word, (size_t)(end - at)) == 0;
}

bool ptx_is(const char *text)
{
    const char *at = skip(text);

    return at && strncmp(at, ".version", sizeof ".version" - 1) == 0;
}

/* One word of a declaration, outside of all brackets. */
static const char *state_of(const char *at, const char *end, bool is_extern)
{
    if (is_word(at, end, ".global"))
        return "a module with variables in global memory";
    if (is_word(at, end, ".texref") || is_word(at, end, ".samplerref") || is_word(at, end, ".surfref") ||
        is_word(at, end, ".tex"))
        return "a module with textures";
    if (is_extern && (is_word(at, end, ".func") || is_word(at, end, ".const") || is_word(at, end, ".entry")))
        return "a module that uses functions or variables from elsewhere";
    return NULL;
}

const char *ptx_state(const char *text)
{
    const char *found = NULL, *end;
    bool is_extern = false;
    int depth = 0;

    for (const char *at = skip(text); !at || (*at && !found); at = skip(end)) {
        end = at ? next(at) : NULL;
        if (!end)
            return "a module that cannot be read";
        if (*at == '{' || *at == '(' || *at == '[')
            depth++;
        else if (*at == '}' || *at == ')' || *at == ']')
            depth--;
        if (depth < 0)
            return "a module that cannot be read";
        if (depth > 0)
            continue;
        if (*at == ';' || *at == '}')
            is_extern = false;
        is_extern = is_extern || is_word(at, end, ".extern");
        found = state_of(at, end, is_extern);
    }
    return found ? found : depth != 0 ? "a module that cannot be read" : NULL;
}
