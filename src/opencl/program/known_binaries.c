#include "opencl/program/known_binaries.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl/layer.h"
#include "opencl/program/twin.h"
#include "translate/cache.h"
#include "translate/hash.h"
#include "translate/record.h"

enum { MAX_DEVICES = 64 };

bool known_binaries_wanted(void)
{
    return runtime.settings.slice != SETTING_OFF || runtime.settings.gpus != SETTING_OFF;
}

static void make_mark(void)
{
    bool marks = runtime.settings.binaries != SETTING_BINARIES_KEEP && known_binaries_wanted();
    char *folder = marks ? cache_folder() : NULL;
    char digits[CACHE_MARK];

    if (folder && cache_mark(folder, digits) == 0)
        (void)snprintf(front.mark.text, sizeof front.mark.text, " baton-%s", digits);
    free(folder);
}

const char *known_binaries_mark(void)
{
    pthread_once(&front.mark.once, make_mark);
    return front.mark.text;
}

static void key_of(const unsigned char *binary, size_t length, char ret_key[HASH_TEXT])
{
    static const char salt[] = "binary that Baton's layer gave to a program";
    struct hash hash;
    uint8_t digest[HASH_BYTES];

    hash_init(&hash);
    hash_add(&hash, salt, sizeof salt);
    hash_add(&hash, binary, length);
    hash_end(&hash, digest);
    hash_print(digest, ret_key);
}

/*
 * Can the text be obtained again? Included files are known only if they were noted when they were
 * read.
 */
static bool repeatable(const struct program_record *program)
{
    return program->source && !program->lacks_header && (program->files || !twin_includes(program));
}

static bool all_repeatable(const struct program_record *program)
{
    if (!program->linked)
        return program->mode == TRANSLATE_BUILD && repeatable(program);
    for (size_t i = 0; i < program->n_parts; i++)
        if (!repeatable(program->parts[i]))
            return false;
    return program->built && program->n_parts > 0;
}

static void add_text(struct record_writer *writer, const char *tag, const char *text)
{
    record_add(writer, tag, text ? text : "", text ? strlen(text) : 0);
}

static void add_program(struct record_writer *writer, const struct program_record *program)
{
    record_add(writer, "SRCE", program->source, program->length);
    add_text(writer, "OPTS", program->options);
    add_text(writer, "FILE", program->files);
    for (size_t i = 0; i < program->n_headers; i++) {
        add_text(writer, "HDRN", program->headers[i].name);
        record_add(writer, "HDRT", program->headers[i].text, program->headers[i].length);
    }
}

/* A program that was linked: the options of the link, then its parts. */
static int describe(struct record_writer *writer, const struct program_record *program)
{
    record_begin(writer);
    if (program->linked)
        add_text(writer, "LINK", program->options);
    else
        add_program(writer, program);
    for (size_t i = 0; i < program->n_parts; i++)
        add_program(writer, program->parts[i]);
    return record_finish(writer);
}

void known_binaries_remember(const struct program_record *program, unsigned char *const binaries[], size_t n)
{
    size_t sizes[MAX_DEVICES] = {0};
    struct record_writer writer;
    char *folder = NULL;

    if (!all_repeatable(program) || front.target.clGetProgramInfo(program->handle, CL_PROGRAM_BINARY_SIZES,
                                                                  sizeof sizes, sizes, NULL) != CL_SUCCESS)
        return;
    folder = cache_folder();
    if (describe(&writer, program) == 0 && folder)
        for (size_t i = 0; i < n && i < MAX_DEVICES; i++) {
            char key[HASH_TEXT];
            if (!binaries[i] || !sizes[i])
                continue;
            key_of(binaries[i], sizes[i], key);
            (void)cache_write(folder, key, writer.bytes,
                              writer.length); /* if this fails, kernels of the binary only run whole */
        }
    record_done(&writer);
    free(folder);
}

static char *text_of(const struct record *record)
{
    return program_text_copy((const char *)record->bytes, record->length);
}

/* What the binary was made from; NULL: unknown. The caller frees it. */
static uint8_t *look_up(const unsigned char *binary, size_t length, size_t *ret_n)
{
    char key[HASH_TEXT], *folder = cache_folder();
    uint8_t *bytes = NULL;

    key_of(binary, length, key);
    if (folder && cache_read(folder, key, &bytes, ret_n) == 0 && record_check(bytes, *ret_n) < 0) {
        free(bytes);
        bytes = NULL;
    }
    if (bytes)
        cache_touch(folder, key);
    free(folder);
    return bytes;
}

bool known_binaries_refuses(const unsigned char *const binaries[], const size_t lengths[], size_t n,
                            cl_int *ret_status)
{
    bool refuses = false;

    if (runtime.settings.binaries != SETTING_BINARIES_REFUSE || !known_binaries_mark()[0])
        /* without a folder nothing is known, and refusing would fail the next build too */
        return false;
    for (size_t i = 0; i < n; i++) {
        size_t size;
        uint8_t *known = look_up(binaries[i], lengths[i], &size);

        refuses = refuses || !known;
        if (ret_status)
            ret_status[i] = known ? CL_SUCCESS : CL_INVALID_BINARY;
        free(known);
    }
    return refuses;
}

/* A part of a linked program, as it was compiled. NULL: no memory. */
static struct program_record *add_part(struct program_record *program)
{
    struct program_record **grown =
        realloc(program->parts, (program->n_parts + 1) * sizeof(struct program_record *));
    struct program_record *part = grown ? calloc(1, sizeof *part) : NULL;

    if (grown)
        program->parts = grown;
    if (!part)
        return NULL;
    object_init(&part->object, &program_class);
    part->context = program->context;
    part->mode = TRANSLATE_COMPILE;
    part->built = true;
    program->parts[program->n_parts++] = part;
    return part;
}

static bool add_header(struct program_record *part, const struct record *name)
{
    struct translate_header *grown = realloc(part->headers, (part->n_headers + 1) * sizeof *grown);

    if (!grown)
        return false;
    part->headers = grown;
    part->headers[part->n_headers++] = (struct translate_header){.name = text_of(name)};
    return grown[part->n_headers - 1].name != NULL;
}

/*
 * Reads one record written by describe(). *at: the program or part that it belongs to. False:
 * malformed, or no memory.
 */
static bool take_record(struct program_record *program, struct program_record **at,
                        const struct record *record)
{
    struct translate_header *header;

    if (!strcmp(record->tag, "LINK")) {
        program->linked = true;
        return !program->options && (program->options = text_of(record));
    }
    if (!strcmp(record->tag, "SRCE")) {
        *at = program->linked ? add_part(program) : program;
        if (!*at || (*at)->source)
            return false;
        (*at)->length = record->length;
        return ((*at)->source = text_of(record)) != NULL;
    }
    if (!*at)
        return false;
    header = (*at)->n_headers ? &(*at)->headers[(*at)->n_headers - 1] : NULL;
    if (!strcmp(record->tag, "OPTS") && !(*at)->options)
        return ((*at)->options = text_of(record)) != NULL;
    if (!strcmp(record->tag, "FILE") && !(*at)->files)
        return ((*at)->files = text_of(record)) != NULL;
    if (!strcmp(record->tag, "HDRN"))
        return add_header(*at, record);
    if (strcmp(record->tag, "HDRT") != 0 || !header || header->text)
        return false;
    header->length = record->length;
    return (header->text = text_of(record)) != NULL;
}

static void take(struct program_record *program, const uint8_t *bytes, size_t n)
{
    struct program_record *at = NULL;
    struct record record;
    size_t position = 0;
    bool good = true;
    int code = 0;

    while (good && (code = record_next(bytes, n, &position, &record)) == 0)
        good = take_record(program, &at, &record);
    program->mode = TRANSLATE_BUILD;
    program->known_binary = good && code == 1 && at && at->source && at->options && at->files;
    if (program->known_binary)
        return;
    program->linked = false; /* what was read is freed with the record */
    free(program->source);
    program->source = NULL;
}

void known_binaries_find(struct program_record *program, const unsigned char *const binaries[],
                         const size_t lengths[], size_t n)
{
    size_t n_first = 0, n_other = 0;
    uint8_t *first = n ? look_up(binaries[0], lengths[0], &n_first) : NULL;
    bool same = first != NULL;

    for (size_t i = 1; i < n && same; i++) {
        uint8_t *other = look_up(binaries[i], lengths[i], &n_other);
        same = other && n_other == n_first && !memcmp(first, other, n_first);
        free(other);
    }
    if (same)
        take(program, first, n_first);
    free(first);
}
