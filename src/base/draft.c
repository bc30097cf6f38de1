#include "base/draft.h"

#include <errno.h>
#include <stdlib.h>

#include "base/file.h"

int draft_begin(struct draft *draft)
{
    *draft = (struct draft){0};
    draft->out = open_memstream(&draft->text, &draft->size);
    return draft->out ? 0 : -ENOMEM;
}

int draft_take(struct draft *draft, int result, char **ret_text, size_t *ret_size)
{
    int torn = draft->out ? ferror(draft->out) : 0;

    if (draft->out && (fclose(draft->out) != 0 || torn) && !result)
        result = -ENOMEM;
    draft->out = NULL;
    if (result) {
        draft_drop(draft);
        return result;
    }
    *ret_text = draft->text;
    *ret_size = draft->size;
    *draft = (struct draft){0};
    return 0;
}

int draft_finish(struct draft *draft, const char *path, int result)
{
    char *text = NULL;
    size_t size = 0;

    result = draft_take(draft, result, &text, &size);
    if (!result)
        result = file_write_atomic(path, text, size);
    free(text);
    draft->size = size;
    return result;
}

void draft_drop(struct draft *draft)
{
    if (draft->out)
        (void)fclose(draft->out);
    free(draft->text);
    *draft = (struct draft){0};
}
