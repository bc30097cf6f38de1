#include "translate/tool/tool_options.h"

#include <ctype.h>
#include <string.h>

/* The next word of a command line; quotes group as in a shell. NULL at the end. */
static char *next_word(const char **at, const char *end, struct refusal *refusal)
{
    struct text word = {0};
    char quote = 0;
    const char *c = *at;

    while (c < end && isspace((unsigned char)*c))
        c++;
    if (c == end)
        return NULL;
    for (; c < end && (quote || !isspace((unsigned char)*c)); c++) {
        if (quote ? *c == quote : *c == '"' || *c == '\'') {
            quote = quote ? 0 : *c;
        } else {
            if (*c == '\\' && c + 1 < end && (c[1] == '"' || c[1] == '\'' || c[1] == '\\' || c[1] == ' '))
                c++;
            text_add(&word, c, 1);
        }
    }
    if (quote)
        refuse(refusal, "build options with an open quote");
    *at = c;
    text_add(&word, "", 0);
    return word.bytes;
}

/* The value of an option, attached to it or in the next word. */
static const char *value_of(const char *word, size_t skip, const char **at, const char *end,
                            struct refusal *refusal)
{
    const char *value = word[skip] ? word + skip : next_word(at, end, refusal);

    if (!value || !value[0])
        refuse(refusal, "build option %.20s without a value", word);
    return value ? value : "";
}

static void keep_word(struct options *options, const char *word)
{
    text_print(&options->rest, strpbrk(word, " \t\n") ? "%s\"%s\"" : "%s%s", options->rest.length ? " " : "",
               word);
}

void tool_options_parse(struct options *options, const char *text, size_t length, struct refusal *refusal)
{
    const char *at = text;
    const char *end = text + length;
    char *word;

    *options = (struct options){0};
    options->defines = text_alloc(length / 2 + 1, sizeof *options->defines);
    options->folders = text_alloc(length / 2 + 1, sizeof *options->folders);
    text_add(&options->rest, "", 0);
    if (memchr(text, 0, length))
        refuse(refusal, "build options with a NUL byte");
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] > 0x7e)
            refuse(refusal, "build options beyond ASCII");
    if (memmem(text, length, "-D", 2) &&
        (memchr(text, '"', length) || memchr(text, '\'', length) || memchr(text, '\\', length)))
        refuse(refusal, "build options with quotes"); /* drivers treat them differently */
    while (!refusal->reason[0] && (word = next_word(&at, end, refusal))) {
        if (!strncmp(word, "-D", 2)) {
            options->defines[options->n_defines++] = value_of(word, 2, &at, end, refusal);
        } else if (!strncmp(word, "-U", 2)) {
            struct text name = {0};

            text_print(&name, "-%s", value_of(word, 2, &at, end, refusal));
            options->defines[options->n_defines++] = name.bytes;
        } else if (!strncmp(word, "-I", 2)) {
            options->folders[options->n_folders++] = value_of(word, 2, &at, end, refusal);
        } else if (!strncmp(word, "-cl-std=", 8)) {
            options->standard = word + 8;
            if (strncmp(word, "-cl-std=CL", 10) != 0 || !isdigit((unsigned char)word[10]))
                refuse(refusal, "language %.20s", word + 8);
            keep_word(options, word);
        } else if (!strncmp(word, "-x", 2) || !strncmp(word, "-include", 8) || !strncmp(word, "-spir", 5) ||
                   !strncmp(word, "-imacros", 8) || word[0] != '-') {
            refuse(refusal, "build option %.40s", word);
            /* has no effect; below */
        } else if (strcmp(word, "-g") != 0 && strcmp(word, "-w") != 0) {
            options->fast_relaxed_math |= !strcmp(word, "-cl-fast-relaxed-math");
            keep_word(options, word);
        }
    }
    /* the program has shown its warnings, and none of the rewriting's are errors */
    keep_word(options, "-w");
}
