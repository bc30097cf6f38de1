/* Preprocessing tokens of OpenCL C (C99 6.4), each with its place, as a list. */
#ifndef TRANSLATE_TOOL_LEX_H
#define TRANSLATE_TOOL_LEX_H

#include "translate/tool/text.h"

enum token_kind { TOKEN_NAME, TOKEN_NUMBER, TOKEN_STRING, TOKEN_CHARACTER, TOKEN_PUNCTUATOR, TOKEN_OTHER };

/*
 * The macros that must not replace a token again (Prosser's hide set); shared, never changed.
 */
struct hide {
    const struct macro *macro;
    const struct hide *next;
};

struct source_file {
    const char *name;   /* as found, for a relative #include and for messages */
    const char *folder; /* of the file, "" for the program itself */
    unsigned depth;     /* of #include */
};

struct token {
    const char *text; /* borrowed from the file, or made by # and ## */
    uint32_t length;
    uint32_t line;
    uint16_t blanks; /* columns of white space before it */
    uint8_t kind;
    bool begins_line;
    /*
     * Made by a macro: its neighbour in memory is not its neighbour in the program.
     */
    bool made;
    const struct source_file *file;
    const struct hide *hide;
    struct token *next;
};

/*
 * Splits text[0..length) into a list (NULL if there is no token); the text must stay valid.
 * Comments and joined lines become white space. Refuses what would silently change the meaning: NUL
 * bytes, trigraphs, digraphs of #, open comments.
 */
struct token *lex(const char *text, size_t length, const struct source_file *file, struct refusal *refusal);

bool token_is(const struct token *token, const char *text);

#endif
