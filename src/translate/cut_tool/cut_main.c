/*
 * baton-cut: reads one question about a PTX text (translate/cut_record.h) from standard input,
 * writes one answer to standard output. For people: `baton-cut FILE.ptx` writes the rewritten
 * module to standard output and a line for each kernel to standard error; `--why` leaves the module
 * out.
 *
 * Exit: 0 an answer was written, 1 no kernel of the file could be cut, 2 bad usage or question. 3
 * the environment failed, 4 no memory.
 */
#include "base/file.h"
#include "base/patience.h"
#include "translate/cut_record.h"
#include "version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define CPU_LIMIT (10 * NSEC_PER_SEC)

enum { EXIT_MEMORY = 4 }; /* translate/ask.c uses the same number */

static int answer(const uint8_t *message, size_t length)
{
    struct record_writer writer;
    struct record record;
    struct ptx_cut cut;
    size_t position = 0;
    int r;

    if (record_check(message, length) < 0 || record_next(message, length, &position, &record) ||
        strcmp(record.tag, CUT_QUESTION) != 0)
        return 2;
    if (ptx_cut((const char *)record.bytes, record.length, &cut) < 0)
        return EXIT_MEMORY;
    r = cut_encode(&cut, cut_text_size((const char *)record.bytes, record.length), &writer);
    if (r || file_write_all(STDOUT_FILENO, writer.bytes, writer.length) < 0)
        r = 3;
    record_done(&writer);
    ptx_cut_done(&cut);
    return r;
}

static void show_whole(const char *path, const char *name, uint32_t line, const char *detail,
                       enum ptx_whole reason)
{
    (void)fprintf(stderr, "%s:%u: %s runs whole: %s [%s]:\n  %s\n  help: %s\n", path, line, name,
                  ptx_whole_sentence(reason), ptx_whole_name(reason), detail, ptx_whole_help(reason));
}

static int show(const char *path, bool only_why)
{
    struct ptx_cut cut;
    char *text;
    size_t size;
    int r = 1;

    if (file_read(path, RECORD_LARGEST, &text, &size) < 0) {
        (void)fprintf(stderr, "baton-cut: cannot read %s\n", path);
        return 2;
    }
    if (ptx_cut(text, size, &cut) < 0)
        return EXIT_MEMORY;
    if (cut.reason != PTX_CUT)
        show_whole(path, "every kernel", cut.line, cut.detail, cut.reason);
    for (size_t i = 0; i < cut.n_entries; i++) {
        const struct ptx_cut_entry *entry = &cut.entries[i];

        if (entry->reason != PTX_CUT)
            show_whole(path, entry->name, entry->line, entry->detail, entry->reason);
        else
            (void)fprintf(stderr, "%s: %s is cut: %s takes the descriptor at byte %u\n", path, entry->name,
                          entry->piece_name, entry->piece_offset);
    }
    if (cut.text)
        r = only_why || file_write_all(STDOUT_FILENO, cut.text, cut.size) == 0 ? 0 : 3;
    ptx_cut_done(&cut);
    free(text);
    return r;
}

/*
 * A hostile text may need any amount of resources: the caller bounds the time, this bounds the
 * rest.
 */
static void bound_resources(void)
{
    const struct rlimit memory = {.rlim_cur = (rlim_t)2 << 30, .rlim_max = (rlim_t)2 << 30};
    const rlim_t longest = (rlim_t)(patience_limit(CPU_LIMIT) / NSEC_PER_SEC);
    const struct rlimit seconds = {.rlim_cur = longest, .rlim_max = longest};
    const struct rlimit none = {0};

#if !defined(BATON_SANITIZED) /* their shadow memory needs terabytes of addresses */
    (void)setrlimit(RLIMIT_AS, &memory);
#else
    (void)memory;
#endif
    (void)setrlimit(RLIMIT_CPU, &seconds);
    (void)setrlimit(RLIMIT_CORE, &none);
}

int main(int argc, char **argv)
{
    bool only_why = argc > 1 && !strcmp(argv[1], "--why");
    size_t length;
    char *bytes;
    int r;

    if (argc == 2 && !strcmp(argv[1], "--version")) {
        (void)printf("baton-cut %s\n", BATON_VERSION);
        return 0;
    }
    if (argc == 2 + only_why && argv[1 + only_why][0] != '-')
        return show(argv[1 + only_why], only_why);
    if (argc > 1 || isatty(STDIN_FILENO)) {
        (void)fprintf(stderr,
                      "usage: baton-cut [--why] FILE.ptx   (without arguments: answers one question of "
                      "Baton's libraries)\n");
        return 2;
    }
    bound_resources();
    if (file_read("-", (size_t)RECORD_LARGEST + 64, &bytes, &length) < 0)
        return 3;
    r = answer((const uint8_t *)bytes, length);
    free(bytes);
    return r;
}
