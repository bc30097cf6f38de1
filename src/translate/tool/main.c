/*
 * baton-translate: reads one request (translate/record.h) from standard input, writes one answer to
 * standard output. For people: `baton-translate [-E] FILE.cl|FILE.spv [BUILD OPTIONS]` shows the
 * rewritten program; -E stops after the preprocessor. For CUDA's PTX see baton-cut.
 *
 * Exit: 0 an answer was written (also "not translated"), 1 the file was not translated, 2 bad usage
 * or request, 3 the environment failed.
 */
#include "translate/record.h"
#include "translate/tool/driver_macros.h"
#include "translate/tool/intermediate.h"
#include "translate/tool/tool_report.h"
#include "translate/tool/rewrite.h"
#include "base/file.h"
#include "base/patience.h"
#include "version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define CPU_LIMIT (10 * NSEC_PER_SEC)

struct request {
    enum translate_mode mode;
    struct text source;
    struct text options;
    struct driver driver;
    struct include_header *headers;
    size_t n_headers;
};

static const char *string_of(const struct record *record)
{
    return text_copy((const char *)record->bytes, record->length);
}

static int read_record(struct request *request, const struct record *record, size_t room)
{
    struct driver *driver = &request->driver;
    const struct {
        const char *tag;
        const char **target;
    } strings[] = {{"vers", &driver->version},
                   {"cver", &driver->c_version},
                   {"exts", &driver->extensions},
                   {"feat", &driver->features},
                   {"defs", &driver->defines}};

    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
        if (!strcmp(record->tag, strings[i].tag)) {
            *strings[i].target = string_of(record);
            return 0;
        }
    if (!strcmp(record->tag, "srce")) {
        text_add(&request->source, (const char *)record->bytes, record->length);
    } else if (!strcmp(record->tag, "opts")) {
        text_add(&request->options, (const char *)record->bytes, record->length);
    } else if (!strcmp(record->tag, "mode") && record->length == 4) {
        request->mode = record->bytes[0] ? TRANSLATE_COMPILE : TRANSLATE_BUILD;
        driver->address_bits = record->bytes[1];
        driver->images = record->bytes[2];
        driver->little_endian = record->bytes[3];
    } else if (!strcmp(record->tag, "hdrn") && request->n_headers < room) {
        request->headers[request->n_headers++].name = string_of(record);
    } else if (!strcmp(record->tag, "hdrt") && request->n_headers) {
        request->headers[request->n_headers - 1].text = (const char *)record->bytes;
        request->headers[request->n_headers - 1].length = record->length;
    } else if (strcmp(record->tag, "cwd ") != 0 &&
               strcmp(record->tag, "drvr") != 0) { /* these two are for the cache's key */
        return 2;
    }
    return 0;
}

static int read_request(struct request *request, const char *bytes, size_t length)
{
    const uint8_t *message = (const uint8_t *)bytes;
    struct record record;
    size_t position = 0;
    size_t room = length / 16 + 1;
    int r = 0;

    if (record_check(message, length) < 0)
        return 2;
    request->headers = text_alloc(room, sizeof *request->headers);
    while (!r && !(r = record_next(message, length, &position, &record)))
        r = read_record(request, &record, room);
    return r == 1 ? 0 : 2;
}

/*
 * Parses with everything that clang knows. If that fails, parses again with only what the device
 * offers.
 */
static void parse(const struct request *request, const struct preprocessor *pp, const char *standard,
                  struct syntax *ret_syntax)
{
    const struct driver *driver = &request->driver;
    struct syntax less;

    syntax_parse(ret_syntax, pp->out.bytes, pp->out.length, standard, driver->address_bits, NULL);
    if (!ret_syntax->refusal.reason[0])
        return;
    syntax_parse(&less, pp->out.bytes, pp->out.length, standard, driver->address_bits,
                 driver_extensions(driver));
    if (!less.refusal.reason[0])
        *ret_syntax = less;
}

/* Preprocess, parse, analyse, rewrite: the answer, or its refusal. */
static void translate(const struct request *request, bool only_preprocess, struct report *ret_report)
{
    struct preprocessor *pp = text_alloc(1, sizeof *pp);
    struct report *report = ret_report;
    struct options options;

    if (intermediate_is(&request->source)) {
        intermediate_translate(&request->source, request->mode, report);
        report->options = request->options.bytes;
        return;
    }
    tool_options_parse(&options, request->options.bytes ? request->options.bytes : "",
                       request->options.length, &report->refusal);
    if (report->refusal.reason[0])
        return;
    pp->folders = options.folders;
    pp->n_folders = options.n_folders;
    pp->headers = request->headers;
    pp->n_headers = request->n_headers;
    driver_macros(pp, &request->driver, &options);
    for (size_t i = 0; i < options.n_defines; i++)
        if (options.defines[i][0] == '-') {
            macro_enter(pp, options.defines[i] + 1, strlen(options.defines[i] + 1))->state = MACRO_UNDEFINED;
            text_print(&report->source, "#undef %s\n", options.defines[i] + 1);
        } else {
            macro_option(pp, options.defines[i]);
        }
    preprocess(pp, request->source.bytes ? request->source.bytes : "", request->source.length);
    report->dependencies = pp->dependencies;
    report->refusal = pp->refusal;
    if (only_preprocess)
        text_add(&report->source, pp->out.bytes, pp->out.length);
    if (report->refusal.reason[0] || only_preprocess)
        return;
    parse(request, pp, driver_standard(&request->driver, &options), &report->syntax);
    if (!report->syntax.refusal.reason[0])
        analyse(&report->syntax, request->mode);
    text_add(&report->source, pp->guards.bytes ? pp->guards.bytes : "", pp->guards.length);
    if (!report->syntax.refusal.reason[0])
        rewrite(&report->syntax, request->mode, &report->source);
    report->refusal = report->syntax.refusal;
    report->options = options.rest.bytes;
}

static int answer(struct report *report)
{
    struct record_writer writer;
    char *json = tool_report_json(report);
    int r;

    record_begin(&writer);
    record_add(&writer, "meta", json, strlen(json));
    record_add(&writer, "deps", report->dependencies.bytes, report->dependencies.length);
    if (!report->refusal.reason[0])
        record_add(&writer, "text", report->source.bytes, report->source.length);
    r = record_finish(&writer);
    if (!r)
        r = file_write_all(STDOUT_FILENO, writer.bytes, writer.length);
    record_done(&writer);
    return r < 0 ? 3 : 0;
}

/* For people: the text on standard output, the analysis on standard error. */
static int show(int argc, char **argv)
{
    struct request request = {.driver = {.version = "OpenCL 3.0 PoCL",
                                         .c_version = "OpenCL C 1.2 PoCL",
                                         .extensions = "cl_khr_fp64",
                                         .features = "",
                                         .defines = "",
                                         .address_bits = 64,
                                         .images = true,
                                         .little_endian = true}};
    bool only_preprocess = !strcmp(argv[1], "-E");
    struct report report = {0};
    size_t length;
    char *text;

    argc -= only_preprocess;
    argv += only_preprocess;
    if (argc < 2 || file_read(argv[1], RECORD_LARGEST, &text, &length) < 0) {
        (void)fprintf(stderr, "baton-translate: cannot read %s\n", argc < 2 ? "nothing" : argv[1]);
        return 2;
    }
    text_add(&request.source, text, length);
    for (int i = 2; i < argc; i++)
        text_print(&request.options, "%s%s", i > 2 ? " " : "", argv[i]);
    translate(&request, only_preprocess, &report);
    (void)fprintf(stderr, "%s\n", tool_report_json(&report));
    free(text);
    if (report.refusal.reason[0])
        return 1;
    return file_write_all(STDOUT_FILENO, report.source.bytes, report.source.length) < 0 ? 3 : 0;
}

/*
 * A hostile program may make the compiler use any resources: the caller bounds the time, this
 * bounds the rest.
 */
static void bound_resources(void)
{
    const struct rlimit memory = {.rlim_cur = (rlim_t)2 << 30, .rlim_max = (rlim_t)2 << 30};
    const rlim_t longest = (rlim_t)(patience_limit(CPU_LIMIT) / NSEC_PER_SEC);
    const struct rlimit seconds = {.rlim_cur = longest, .rlim_max = longest};
    const struct rlimit none = {0};

#if !defined(__SANITIZE_ADDRESS__) &&                                                                        \
    !defined(BATON_SANITIZED) /* their shadow memory needs terabytes of addresses */
    (void)setrlimit(RLIMIT_AS, &memory);
#else
    (void)memory;
#endif
    (void)setrlimit(RLIMIT_CPU, &seconds);
    (void)setrlimit(RLIMIT_CORE, &none);
}

#if defined(BATON_SANITIZED)
/*
 * One request a process: nothing is freed before it ends, and an answer must not fail because of
 * that.
 */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
#endif

int main(int argc, char **argv)
{
    struct request request = {
        .driver = {.version = "", .c_version = "", .extensions = "", .features = "", .defines = ""}};
    struct report report = {0};
    size_t length;
    char *bytes;

    if (argc > 1 && !strcmp(argv[1], "--version")) {
        (void)printf("baton-translate %s\n", BATON_VERSION);
        return 0;
    }
    if (argc > 1 && (argv[1][0] != '-' || !strcmp(argv[1], "-E")))
        return show(argc, argv);
    if (argc > 1 || isatty(STDIN_FILENO)) {
        (void)fprintf(stderr, "usage: baton-translate [-E] FILE.cl|FILE.spv [BUILD OPTIONS]\n"
                              "(without arguments: answers one request of Baton's libraries)\n");
        return 2;
    }
    bound_resources();
    if (file_read("-", (size_t)RECORD_LARGEST + 64, &bytes, &length) < 0)
        return 3;
    if (read_request(&request, bytes, length))
        return 2;
    translate(&request, false, &report);
    return answer(&report);
}
