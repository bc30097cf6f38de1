#include "layer/program/handed_out.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layer/layer.h"
#include "layer/program/twin.h"
#include "translate/cache.h"
#include "translate/hash.h"
#include "translate/record.h"

enum { MAX_DEVICES = 64 };

static char mark[32]; /* written once */
static pthread_once_t mark_once = PTHREAD_ONCE_INIT;

bool handed_out_wanted(void)
{
    return settings.slice != SETTING_OFF || settings.gpus != SETTING_OFF;
}

static void make_mark(void)
{
    bool marks = settings.binaries != SETTING_BINARIES_KEEP && handed_out_wanted();
    char *folder = marks ? cache_folder() : NULL;
    char digits[CACHE_MARK];

    if (folder && cache_mark(folder, digits) == 0)
        (void)snprintf(mark, sizeof mark, " baton-%s", digits);
    free(folder);
}

const char *handed_out_mark(void)
{
    pthread_once(&mark_once, make_mark);
    return mark;
}

static void key_of(const unsigned char *binary, size_t length, char ret_key[HASH_TEXT])
{
    static const char salt[] = "binary handed out by Baton's layer";
    struct hash hash;
    uint8_t digest[HASH_BYTES];

    hash_init(&hash);
    hash_add(&hash, salt, sizeof salt);
    hash_add(&hash, binary, length);
    hash_end(&hash, digest);
    hash_print(digest, ret_key);
}

void handed_out_remember(const struct program_record *program, unsigned char *const binaries[], size_t n)
{
    size_t sizes[MAX_DEVICES] = {0};
    struct record_writer writer;
    char *folder = NULL;

    /* Which files were included is known only if it was noted when they were read. */
    if (!program->source || program->n_headers || program->linked || program->mode != TRANSLATE_BUILD ||
        (!program->files && twin_includes(program)) ||
        target.clGetProgramInfo(program->handle, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, NULL) !=
            CL_SUCCESS)
        return;
    folder = cache_folder();
    record_begin(&writer);
    record_add(&writer, "SRCE", program->source, program->length);
    record_add(&writer, "OPTS", program->options ? program->options : "",
               program->options ? strlen(program->options) : 0);
    record_add(&writer, "FILE", program->files ? program->files : "",
               program->files ? strlen(program->files) : 0);
    if (folder && record_finish(&writer) == 0)
        for (size_t i = 0; i < n && i < MAX_DEVICES; i++) {
            char key[HASH_TEXT];
            if (!binaries[i] || !sizes[i])
                continue;
            key_of(binaries[i], sizes[i], key);
            (void)cache_write(folder, key, writer.bytes,
                              writer.length); /* without it the binary is merely not sliceable */
        }
    record_done(&writer);
    free(folder);
}

static char *text_of(const struct record *record)
{
    return program_text_copy((const char *)record->bytes, record->length);
}

/* What one binary came from; NULL: unknown. The caller's. */
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

bool handed_out_refuses(const unsigned char *const binaries[], const size_t lengths[], size_t n,
                        cl_int *ret_status)
{
    bool refuses = false;

    if (settings.binaries != SETTING_BINARIES_REFUSE || !handed_out_mark()[0])
        return false; /* without a folder nothing is known, and the next build would be refused as well */
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

static void take(struct program_record *program, const uint8_t *bytes, size_t n)
{
    struct record record;
    size_t position = 0;

    while (record_next(bytes, n, &position, &record) == 0) {
        if (!strcmp(record.tag, "SRCE") && !program->source) {
            program->source = text_of(&record);
            program->length = record.length;
        } else if (!strcmp(record.tag, "OPTS") && !program->options) {
            program->options = text_of(&record);
        } else if (!strcmp(record.tag, "FILE") && !program->files) {
            program->files = text_of(&record);
        }
    }
    program->handed_out = program->source && program->options && program->files;
    program->mode = TRANSLATE_BUILD;
    if (!program->handed_out) {
        free(program->source);
        program->source = NULL;
    }
}

void handed_out_find(struct program_record *program, const unsigned char *const binaries[],
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
