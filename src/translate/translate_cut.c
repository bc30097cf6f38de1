#include "translate/translate_cut.h"
#include "translate/ask.h"
#include "translate/cut_record.h"

#include <errno.h>
#include <string.h>

struct cut_answer {
    const char *text;
    size_t size;
    struct ptx_cut *cut;
    bool from_cache;
};

static int take_answer(void *context, const uint8_t *bytes, size_t n, bool from_cache)
{
    struct cut_answer *answer = context;
    int r = cut_decode(bytes, n, answer->text, answer->size, answer->cut);

    answer->from_cache = from_cache;
    return r;
}

/* A refusal because of the environment: not kept in the cache. */
static int not_cut(struct ptx_cut *ret_cut, const char *why)
{
    struct ptx_cut cut = {.reason = PTX_WHOLE_TRANSLATOR, .detail = strdup(why)};

    if (!cut.detail)
        return -ENOMEM;
    *ret_cut = cut;
    return 0;
}

int translate_cut(const char *text, size_t size, struct ptx_cut *ret_cut, bool *ret_from_cache)
{
    static const struct ask_program program = {"baton-cut", "BATON_CUT"};
    struct cut_answer answer = {.text = text, .size = cut_text_size(text, size), .cut = ret_cut};
    struct record_writer question;
    const char *failure;
    int r;

    record_begin(&question);
    record_add(&question, CUT_QUESTION, text, answer.size);
    r = record_finish(&question);
    if (r == -EFBIG)
        r = not_cut(ret_cut, "the text is too large");
    else if (!r) {
        r = ask_question(&program, &question, take_answer, &answer, &failure);
        if (r == ASK_FAILED)
            r = not_cut(ret_cut, failure);
    }
    record_done(&question);
    if (!r && ret_from_cache)
        *ret_from_cache = answer.from_cache;
    return r;
}
