#include "translate/tool/cut_tool.h"
#include "translate/cut_record.h"
#include "translate/tool/text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool cut_tool_is_question(const uint8_t *message, size_t length, const char **ret_text, size_t *ret_size)
{
    struct record record;
    size_t position = 0;

    if (record_check(message, length) < 0 || record_next(message, length, &position, &record) ||
        strcmp(record.tag, CUT_QUESTION) != 0)
        return false;
    *ret_text = (const char *)record.bytes;
    *ret_size = record.length;
    return true;
}

static int write_all(const void *bytes, size_t n)
{
    const char *at = bytes;

    while (n) {
        ssize_t done = write(STDOUT_FILENO, at, n);

        if (done <= 0)
            return 3;
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

int cut_tool_answer(const char *text, size_t size)
{
    struct record_writer writer;
    struct ptx_cut cut;
    int r;

    if (ptx_cut(text, size, &cut) < 0)
        return TEXT_EXIT_MEMORY;
    r = cut_encode(&cut, cut_text_size(text, size), &writer) < 0 ? 3 : write_all(writer.bytes, writer.length);
    record_done(&writer);
    ptx_cut_done(&cut);
    return r;
}

static void show_reason(const char *path, const char *name, uint32_t line, const char *detail,
                        enum ptx_whole reason)
{
    (void)fprintf(stderr, "%s:%u: %s runs whole: %s: %s\n  help: %s\n", path, line, name,
                  ptx_whole_sentence(reason), detail, ptx_whole_help(reason));
}

int cut_tool_show(const char *path, const char *text, size_t size)
{
    struct ptx_cut cut;
    int r = 1;

    if (ptx_cut(text, size, &cut) < 0)
        return TEXT_EXIT_MEMORY;
    if (cut.reason != PTX_CUT)
        show_reason(path, "every kernel", cut.line, cut.detail, cut.reason);
    for (size_t i = 0; i < cut.n_entries; i++) {
        const struct ptx_cut_entry *entry = &cut.entries[i];

        if (entry->reason != PTX_CUT)
            show_reason(path, entry->name, entry->line, entry->detail, entry->reason);
        else
            (void)fprintf(stderr, "%s: %s is cut: %s takes the descriptor at byte %u\n", path, entry->name,
                          entry->piece_name, entry->piece_offset);
    }
    if (cut.text)
        r = write_all(cut.text, cut.size);
    ptx_cut_done(&cut);
    return r;
}
