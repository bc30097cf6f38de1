/* A trace as a chapter; chapter/ answers its questions. */
#include "report/chapter/chapter.h"

void story_trace(const struct story *story, const struct story_input *input, struct html_page *page)
{
    struct chapter chapter;

    if (chapter_read(&chapter, story, input->root) == 0) {
        chapter_deadlines(&chapter, page);
        chapter_margins(&chapter, page);
        chapter_waits(&chapter, page);
        chapter_time(&chapter, page);
    }
    chapter_done(&chapter);
}
