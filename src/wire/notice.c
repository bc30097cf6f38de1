#include "wire/notice.h"

#include <stdio.h>
#include <string.h>

#include "base/demangle.h"

const struct notice_words notice_table[NOTICE_N] = {
#define WHOLE(identifier, name, sentence, advice)  {name, sentence, advice, true},
#define NOTICE(identifier, name, sentence, advice) {name, sentence, advice, false},
#include "wire/notice.def"
#undef WHOLE
#undef NOTICE
};

const struct notice_words *notice_find(const char *name)
{
    for (size_t i = 0; i < NOTICE_N; i++)
        if (strcmp(notice_table[i].name, name) == 0)
            return &notice_table[i];
    return NULL;
}

void notice_line(enum notice notice, const char *kernel, const char *detail, char *ret_text, size_t size)
{
    const struct notice_words *words = &notice_table[notice];
    char readable[DEMANGLE_SIZE];

    demangle_kernel(kernel, readable, sizeof readable);
    (void)snprintf(ret_text, size, "%s%s%s%s%s%s%s; %s", words->whole ? "kernel " : "", readable,
                   words->whole ? " runs whole: " : "", words->sentence, detail[0] ? " (" : "", detail,
                   detail[0] ? ")" : "", words->advice);
}
