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

int draft_finish(struct draft *draft, const char *path, int result)
{
    int torn = draft->out ? ferror(draft->out) : 0;

    if (draft->out && (fclose(draft->out) != 0 || torn) && !result)
        result = -ENOMEM;
    if (!result)
        result = file_write_atomic(path, draft->text, draft->size);
    free(draft->text);
    *draft = (struct draft){0};
    return result;
}
